"""Where a ledger is kept: a SQLite file, or a PostgreSQL server for teams. One table of entries that only grows.

A transaction that writes holds the ledger for itself from its first statement on (``BEGIN IMMEDIATE``; on a server, a
lock on the ledger's row), so what it reads stays true until it has written. When it returns, what it wrote is on disk
(``synchronous=EXTRA``; ``synchronous_commit=on``).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import sqlalchemy as sql
from sqlalchemy import Column, Connection, Engine, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from dpmcmc.ledger.errors import LedgerError

SECONDS_TO_WAIT = 120
"""How long a transaction waits for others to finish; each takes milliseconds."""

TABLES = MetaData()
LEDGERS = Table(
    "dpmcmc_ledgers",
    TABLES,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("key", Text, nullable=False),
)
ENTRIES = Table(
    "dpmcmc_entries",
    TABLES,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("line", Text, nullable=False),
    Column("digest", Text, nullable=False),
)
RELEASES = Table(
    "dpmcmc_releases",
    TABLES,
    Column("dataset", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)

APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER dpmcmc_no_{change.lower()} BEFORE {change} ON dpmcmc_entries "
        "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END"
        for change in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION dpmcmc_never() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'entries of a ledger are never changed'; END $$",
        "CREATE TRIGGER dpmcmc_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON dpmcmc_entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION dpmcmc_never()",
    ],
}
"""Against accidents: whoever may alter the database can remove these, and is found out by the digests."""


OURS = (LEDGERS.name, ENTRIES.name, RELEASES.name)


class Head(NamedTuple):
    """A ledger's row: its last entry, and the key of its fingerprints."""

    number: int
    digest: str
    key: str


class Store:
    """A database that holds ledgers, and transactions on it. ``name`` is what messages call it (no password)."""

    def __init__(self, where: str | Path, *, create: bool = False) -> None:
        text = os.fspath(where) if isinstance(where, str | os.PathLike) else None
        if not isinstance(text, str) or not text:
            raise LedgerError(f"say where the ledger is: a file or postgresql://...; got {where!r}")
        self.name, self.path = text, None
        if "://" in text:
            self.name, self.engine = _server(text)
        else:
            self.path = Path(text).absolute()
            if create:
                _new_file(self.path)
            elif not self.path.is_file():
                raise LedgerError(f"there is no ledger {text!r}; dp.Ledger.create, or `dpmcmc ledger init`, makes one")
            self.engine = _file(self.path)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database."""
        with self._errors(), self.engine.connect() as connection:
            if self.path is None:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that may write. On a server, :meth:`head` with ``lock`` must be its first statement."""
        with self._errors(), self.engine.connect() as connection:
            connection = connection.execution_options(writes=True)
            with connection.begin():
                if self.path is None:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{SECONDS_TO_WAIT}s'")
                yield connection

    def make_tables(self, connection: Connection) -> None:
        """Tables, and triggers that refuse changes of entries; nothing where they are."""
        if not sql.inspect(connection).has_table(ENTRIES.name):
            TABLES.create_all(connection)
            for statement in APPEND_ONLY[connection.dialect.name]:
                connection.exec_driver_sql(statement)

    def datasets(self, connection: Connection) -> list[str]:
        """The data sets that have a ledger here."""
        if not sql.inspect(connection).has_table(LEDGERS.name):
            raise LedgerError(f"{self.name} holds no ledger; dp.Ledger.create, or `dpmcmc ledger init`, makes one")
        return [str(name) for name in connection.scalars(sql.select(LEDGERS.c.dataset).order_by(LEDGERS.c.dataset))]

    def head(self, connection: Connection, dataset: str, *, lock: bool = False) -> Head:
        """The ledger's row, kept for this transaction if ``lock``."""
        query = sql.select(LEDGERS.c.number, LEDGERS.c.digest, LEDGERS.c.key).where(LEDGERS.c.dataset == dataset)
        row = connection.execute(query.with_for_update() if lock else query).first()
        if row is None:
            raise LedgerError(f"{self.name} has no ledger of {dataset!r}")
        return Head(*row)

    def rows(self, connection: Connection, dataset: str, after: int) -> list[Any]:
        """Entries (number, line, digest) from number ``after`` on, that one included."""
        columns = (ENTRIES.c.number, ENTRIES.c.line, ENTRIES.c.digest)
        chosen = sql.select(*columns).where(ENTRIES.c.dataset == dataset, ENTRIES.c.number >= after)
        return list(connection.execute(chosen.order_by(ENTRIES.c.number)))

    def append(self, connection: Connection, dataset: str, number: int, line: str, digest: str) -> None:
        """One more entry, which is the head from now on."""
        connection.execute(ENTRIES.insert().values(dataset=dataset, number=number, line=line, digest=digest))
        connection.execute(LEDGERS.update().where(LEDGERS.c.dataset == dataset).values(number=number, digest=digest))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """The database's errors as ours; what they say of statements and parameters is left out."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError, UnicodeError) as error:
            fault = error.orig if isinstance(error, DBAPIError) else error
            said = str(fault).strip().splitlines() or [type(fault).__name__]
            raise LedgerError(f"the ledger {self.name} cannot be used: {said[0]}") from None


def _new_file(path: Path) -> None:
    """An empty file for its owner alone; what is there already is left alone."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
    except FileExistsError:
        raise LedgerError(f"{str(path)!r} exists already; dp.Ledger({str(path)!r}) opens a ledger") from None
    except OSError as error:
        raise LedgerError(f"{str(path)!r} cannot be created: {error.strerror}") from None


def _file(path: Path) -> Engine:
    def connect() -> sqlite3.Connection:
        address = f"file:{quote(str(path))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=SECONDS_TO_WAIT)
        connection.execute("PRAGMA synchronous = EXTRA")  # on disk, the end of the journal included
        connection.execute("PRAGMA trusted_schema = OFF")
        _check_plain(connection)
        return connection

    engine = sql.create_engine("sqlite://", creator=connect, poolclass=NullPool)

    @sql.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        immediate = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine


def _check_plain(connection: sqlite3.Connection) -> None:
    """Refuse a file whose tables compute what they hold (views, virtual tables, generated columns) or run something
    when they are written to: entries are what is stored, and reading them ends."""
    for kind, name, code in connection.execute(
        f"SELECT type, name, sql FROM sqlite_schema WHERE tbl_name COLLATE NOCASE IN {OURS}"
    ):
        plain = {
            "table": str(code).upper().startswith("CREATE TABLE"),
            "index": code is None,  # of a primary key
            "trigger": code in APPEND_ONLY["sqlite"],
        }
        hidden = kind == "table" and any(
            row[-1] for row in connection.execute("SELECT * FROM pragma_table_xinfo(?)", (name,))
        )
        if not plain.get(kind, False) or hidden:
            connection.close()
            raise sqlite3.DatabaseError(f"its {kind} {name!r} is not one of a ledger")


def _server(address: str) -> tuple[str, Engine]:
    try:
        url = sql.make_url(address)
    except ArgumentError:
        raise LedgerError("a ledger's address looks like postgresql://user@host/database") from None
    if url.get_backend_name() != "postgresql":
        raise LedgerError(
            f"ledgers are kept in SQLite files, given by their path, or by PostgreSQL (postgresql://...); got "
            f"{url.render_as_string(hide_password=True)}"
        )
    try:
        engine = sql.create_engine(url.set(drivername="postgresql+psycopg"), poolclass=NullPool)
    except ImportError:
        raise LedgerError("a ledger on PostgreSQL needs psycopg: pip install 'dpmcmc[postgresql]'") from None
    return url.render_as_string(hide_password=True), engine
