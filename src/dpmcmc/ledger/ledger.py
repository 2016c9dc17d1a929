"""The ledger of a data set: what was spent on it, by whom and for what, and no way to spend more than its budget."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy import Connection

from dpmcmc.ledger import fingerprint
from dpmcmc.ledger.book import Book
from dpmcmc.ledger.entries import Admission, Entry, Failure, Reservation, Settlement, digest_after
from dpmcmc.ledger.errors import LedgerDamaged, LedgerError
from dpmcmc.ledger.opening import chosen, new_opening, now, who
from dpmcmc.ledger.report import described
from dpmcmc.ledger.rules import Booking, begun, check_head, check_known, check_records
from dpmcmc.ledger.store import LEDGERS, RELEASES, Store
from dpmcmc.posterior import Posterior, check_data, check_whole_units
from dpmcmc.privacy import Budget
from dpmcmc.receipts import RECORD, Guarantee, Receipt
from dpmcmc.sources import opened


class Ledger:
    """What was spent on one data set: a list of entries that only grows, and a budget that nothing passes.

        ledger = dp.Ledger.create("study.db", dataset="clinic-2024", budget=dp.Budget(3.0, 1e-6))
        release = dp.sample(model, data, epsilon=1.0, delta=1e-7, ledger=ledger, save_to="first.npz")
        print(ledger)

    ``dp.Ledger(where)`` opens it again: a SQLite file, or ``postgresql://user@host/database`` for teams. A run is
    charged before it reads a record and stays charged whatever becomes of it; its release is stored before the entry is
    settled, in ``save_to`` or else in the ledger (:meth:`recover`). Several processes may share a ledger.

    The file holds the key of the records' fingerprints, and is as secret as they are; it is written for its owner.

    Guarantee: everything that was charged to a ledger is together (ε, δ)-DP for its budget, whatever was chosen after
    seeing earlier releases.
    Reference: docs/theory/ledger.md.
    """

    def __init__(self, where: str | Path, dataset: str | None = None) -> None:
        self._store, self._lock = Store(where), threading.RLock()
        with self._store.reading() as connection:
            self.dataset = chosen(self._store.name, self._store.datasets(connection), dataset)
        self._book = Book()
        self._refresh()

    @classmethod
    def create(cls, where: str | Path, *, dataset: str, budget: Budget, unit: str = RECORD) -> Ledger:
        """A new ledger of the data set that the custodian calls ``dataset``.

        ``budget`` is for everything that will ever be charged to it, under its relation; ``unit`` says whom it
        protects, one record or, with :class:`dpmcmc.PerUnit`, all of one person's. None of it can be changed later.
        """
        key = fingerprint.new_key()
        opening = new_opening(dataset, budget, unit, fingerprint.commitment(key))
        book, line = Book(), opening.line()
        book.add(0, line, digest_after(book.digest, line))
        store = Store(where, create=True)
        with store.writing() as connection:
            store.make_tables(connection)
            if dataset in store.datasets(connection):
                raise LedgerError(f"{store.name} has a ledger of {dataset!r} already; dp.Ledger opens it")
            connection.execute(LEDGERS.insert().values(dataset=dataset, number=0, digest=book.digest, key=key))
            store.append(connection, dataset, 0, line, book.digest)
        return cls(where, dataset)

    # what it says

    @property
    def budget(self) -> Budget:
        """The budget of everything that is ever charged."""
        return self._book.balance.budget

    @property
    def unit(self) -> str:
        """Whom it protects."""
        return self._book.balance.unit

    @property
    def guarantee(self) -> Guarantee:
        """What holds for everything charged to the ledger together."""
        return self._book.balance.guarantee

    @property
    def book(self) -> Book:
        """All entries as they are now, verified."""
        return self._refresh()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, as they are now."""
        return tuple(self.book.entries)

    @property
    def head(self) -> str:
        """Number and digest of the last entry. Keep it elsewhere: :meth:`verify` can then tell a rewritten ledger."""
        return self.book.head

    @property
    def spent(self) -> float:
        """zCDP charged so far."""
        return self.book.balance.spent

    @property
    def left(self) -> float:
        """zCDP that may still be charged."""
        return self.book.balance.left

    @property
    def receipts(self) -> tuple[Receipt, ...]:
        """One receipt that stands for all entries: ``spent=ledger`` plans for what is left of the ledger's budget."""
        book = self.book
        return (book.balance.receipt(book.up_to(book.number)),)

    def __str__(self) -> str:
        return described(self.book)

    def __repr__(self) -> str:
        return f"Ledger({self._store.name!r}, dataset={self.dataset!r})"

    def verify(self, head: str | None = None) -> str:
        """Check every entry, price and stored release; :class:`LedgerDamaged` names the first that is wrong.

        ``head`` is one that was kept (:attr:`head`): a ledger that was put back to an earlier state, or written anew,
        cannot be told from an honest one without it. Returns the present head.
        """
        book = Book()
        with self._store.reading() as connection:
            if self._store.path is not None:
                _check_file(connection)
            self._read(connection, book)
            book.recheck()
            for number, entry in enumerate(book.entries):
                if isinstance(entry, Settlement) and not entry.file:
                    self._content(connection, number, entry)
        if head is not None:
            check_head(book, head)
        return book.head

    def export(self) -> dict[str, Any]:
        """All entries with their digests, as plain data: enough to verify them elsewhere. The key is left out."""
        book = self.book
        pairs = zip(book.lines, book.digests, strict=True)
        return {
            "dataset": self.dataset,
            "head": book.head,
            "entries": [{"line": line, "digest": digest} for line, digest in pairs],
        }

    def recover(self, number: int, path: str | Path) -> Path:
        """Write the release of reservation ``number`` that the ledger keeps to ``path``, which must not exist yet."""
        with self._store.reading() as connection:
            self._read(connection, self._book)
            kept = [
                (at, entry)
                for at, entry in enumerate(self._book.entries)
                if isinstance(entry, Settlement) and entry.of == number and not entry.file
            ]
            if not kept:
                raise LedgerError(f"the ledger keeps no release of entry {number!r}; print it to see which it keeps")
            content = self._content(connection, *kept[-1])
        try:
            with Path(path).open("xb") as file:
                file.write(content)
        except OSError as error:
            raise LedgerError(f"{str(path)!r} cannot be written: {error.strerror}") from None
        return Path(path)

    # what is done to it

    def admit(self, data: Any, model: Any = None) -> None:
        """Allow ``data``, as given to ``dp.sample``, to be read, and no other records that are not admitted too.

        ``model`` makes records of the path of a table, or of a Ray data set. For custodians: from the first
        admission on, records of which any array is not admitted are refused.
        """
        if model is not None:
            check_whole_units(model, data)
        arrays = check_data(opened(data, model))
        posterior = Posterior(None, arrays)  # type: ignore[arg-type]
        with self._writing() as (connection, head):
            marks = fingerprint.fingerprints(posterior, head.key)
            self._append(connection, Admission(posterior.n, marks, now(), who()))

    def reserve(self, receipts: tuple[Receipt, ...], posterior: Posterior, checkpoint: Path | None = None) -> Booking:
        """Charge the last of ``receipts`` for a run on the records of ``posterior``. It is on disk when this returns.

        Earlier receipts must have been charged here before. A run that goes on from its ``checkpoint`` is the run that
        was charged then, with the same coins: nothing is charged again. :class:`~dpmcmc.charge.OverBudget` if too
        little is left.
        """
        *earlier, receipt = receipts
        shape, key = fingerprint.shape_of(posterior), self._key()
        marks = fingerprint.fingerprints(posterior, key)
        place = "" if checkpoint is None else str(checkpoint.absolute())
        with self._writing() as (connection, _):
            check_known(self._book, earlier)
            if checkpoint is not None and checkpoint.exists():
                return begun(self._book, receipt, place)
            check_records(self._book, shape, marks)
            price, number = self._book.balance.price(receipt), self._book.number + 1
            name = f"{self.dataset} #{number}, {secrets.token_hex(4)}"
            booked = replace(receipt, purpose=f"{receipt.purpose} ({name})")
            entry = Reservation(
                name=name,
                purpose=receipt.purpose,
                zcdp=price,
                log_error=receipt.arithmetic.log_error,
                tail=receipt.arithmetic.tail,
                receipt=booked.to_dict(),
                n=posterior.n,
                shape=shape,
                records=marks,
                checkpoint=place,
                at=now(),
                by=who(),
            )
            self._append(connection, entry)
        return Booking(number, booked)

    def settle(self, number: int, content: bytes, file: Path | None = None) -> None:
        """Note that the release of a reservation is stored: in ``file`` if given, else here, with the note."""
        with self._writing() as (connection, _):
            at = self._book.number + 1
            if file is None:
                connection.execute(RELEASES.insert().values(dataset=self.dataset, number=at, content=content))
            digest = hashlib.sha256(content).hexdigest()
            self._append(connection, Settlement(number, "" if file is None else str(file.absolute()), digest, now()))

    def fail(self, number: int, error: BaseException) -> None:
        """Note that a run raised an error, by the name of its class; its reservation stays spent, noted or not."""
        with suppress(LedgerError), self._writing() as (connection, _):
            self._append(connection, Failure(number, type(error).__name__, now()))

    # how

    def _refresh(self) -> Book:
        with self._lock, self._store.reading() as connection:
            self._read(connection, self._book)
        return self._book

    def _key(self) -> str:
        with self._store.reading() as connection:
            return self._store.head(connection, self.dataset).key

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, Any]]:
        """A transaction that holds the ledger, and has read all of it."""
        with self._lock, self._store.writing() as connection:
            yield connection, self._read(connection, self._book, lock=True)

    def _read(self, connection: Connection, book: Book, *, lock: bool = False) -> Any:
        """Bring ``book`` up to date: every new entry is checked, and what was read before must still be there."""
        head = self._store.head(connection, self.dataset, lock=lock)
        seen = book.number
        rows = self._store.rows(connection, self.dataset, max(seen, 0))
        if seen >= 0:
            if not rows or (rows[0].number, rows[0].digest) != (seen, book.digest):
                raise LedgerDamaged(f"entry {seen} was changed or removed since it was read", seen)
            rows = rows[1:]
        book.read(rows)
        if book.number < 0 or (head.number, head.digest) != (book.number, book.digest):
            raise LedgerDamaged(
                f"the ledger ends with entry {book.number}, and says that it ends with entry {head.number}: "
                "entries were removed or added",
                book.number + 1,
            )
        if book.opening.dataset != self.dataset or fingerprint.commitment(str(head.key)) != book.opening.key:
            raise LedgerDamaged("the name or the key of the ledger is not what its first entry says", 0)
        return head

    def _append(self, connection: Connection, entry: Entry) -> None:
        line, number = entry.line(), self._book.number + 1
        self._store.append(connection, self.dataset, number, line, digest_after(self._book.digest, line))

    def _content(self, connection: Connection, number: int, entry: Settlement) -> bytes:
        """The release that settlement ``number`` keeps."""
        chosen = sql.select(RELEASES.c.content).where(RELEASES.c.dataset == self.dataset, RELEASES.c.number == number)
        content = connection.scalar(chosen)
        if not isinstance(content, bytes) or hashlib.sha256(content).hexdigest() != entry.sha256:
            raise LedgerDamaged(f"the release kept with entry {number} is missing or not what was stored", number)
        return content


def _check_file(connection: Connection) -> None:
    found = connection.exec_driver_sql("PRAGMA integrity_check").scalar()  # of indices too, by which entries are found
    if found != "ok":
        raise LedgerDamaged("the file is damaged, as SQLite finds by its own check")
