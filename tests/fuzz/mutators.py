"""Ways to change a file: byte by byte, and by somebody who knows how it is made and makes it whole again."""

import contextlib
import datetime
import io
import json
import sqlite3
import tomllib
import zipfile

import numpy as np

from dpmcmc.files import sealed
from dpmcmc.ledger.entries import FIRST, digest_after
from tests.files import mutations
from tests.files.mutations import of_bytes

SECRET = "Zq9secret"
"""A cell that no error may tell."""

TEXTS = ("", "\0", "\ufeff", "\r", "\n\n", '"', "''", "[", "]", "{", "}", "=", ",", ";", "\t", "#", "\\", "\\u0000",
         "\u202e", "9" * 5000, "-1e999", "nan", "inf", "1e308", "[" * 20_000, "a." * 5000, "{x=" * 3000, "x" * 200_000,
         "__import__('os').system('touch run')", "=cmd|' /C calc'!A0", "<script>", "%s%n", "${x}", "../../x",
         "true", "null", "1979-05-27T07:32:00Z", "0x10", "1_000", "__proto__", SECRET)  # fmt: skip


class Payload:
    """What a pickle in a file would do."""

    def __reduce__(self):
        return (__import__("os").system, ("touch dpmcmc-code-was-run",))


def of_text(rng, content):
    """Lines or pieces of the text lost, doubled, moved, or replaced by something odd; or its bytes changed."""
    if rng.random() < 0.3:
        return of_bytes(rng, content)
    lines = content.split(b"\n")
    at, other = (int(rng.integers(len(lines))) for _ in range(2))
    odd = TEXTS[rng.integers(len(TEXTS))].encode("utf-8", "surrogatepass")
    place = int(rng.integers(len(content) + 1))
    match rng.integers(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            return content[:place] + odd + content[place:]
        case 4:
            lines[at] = odd
        case 5:
            return content[:place] + odd + content[place + int(rng.integers(1, 30)) :]
    return b"\n".join(lines)


def of_sealed(rng, content, kind, key=b""):
    """A sealed file: bytes changed; or JSON, arrays or archive changed and sealed again."""
    how = rng.random()
    if how < 0.4:
        return of_bytes(rng, content)
    found = sealed.unpack(kind, content, "the good file")
    key = found.extra if kind == "checkpoint" else b""
    if how < 0.75:
        about = mutations.of_json(rng, found.about)
        for _ in range(int(rng.integers(3))):
            about = mutations.of_json(rng, about) if about else about
        return sealed.pack(kind, found.arrays, about, key)
    if how < 0.9:
        return sealed.pack(kind, mutations.of_arrays(rng, found.arrays), found.about, key)
    if how < 0.95:
        arrays = {name: values.copy() for name, values in found.arrays.items()}
        chosen = list(arrays)[rng.integers(len(arrays))]
        if arrays[chosen].size:
            odd = [np.nan, np.inf, -1, 0, 1, 1e300][rng.integers(6)]
            with np.errstate(all="ignore"):
                arrays[chosen].flat[rng.integers(arrays[chosen].size)] = np.array(odd).astype(arrays[chosen].dtype)
        return sealed.pack(kind, arrays, found.about, key)
    return _archive(rng, content, kind, key)


def _archive(rng, content, kind, key):
    """The archive itself made in another way, with a seal that is right: pickles, bombs, odd members."""
    length, buffer = sealed._comment_length(kind), io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for info in old.infolist():
            method = zipfile.ZIP_DEFLATED if rng.random() < 0.1 else zipfile.ZIP_STORED
            data = old.read(info)
            if rng.random() < 0.5 and info.filename.endswith(".npy"):
                data = _npy(rng, data)
            elif rng.random() < 0.3:
                data = of_text(rng, data)
            name = (
                ["../x.npy", "/x.npy", "about.json", "x", ""][rng.integers(5)] if rng.random() < 0.1 else info.filename
            )
            new.writestr(zipfile.ZipInfo(name), data, method)
        new.comment = b" " * length
    body = buffer.getvalue()[:-length]
    return body + sealed._comment(kind, key or bytes(sealed._EXTRA[kind]), sealed._seal(kind, body, key))


def _npy(rng, data):
    buffer = io.BytesIO()
    match rng.integers(4):
        case 0:
            np.lib.format.write_array(buffer, np.array([Payload()]), allow_pickle=True)
        case 1:
            np.lib.format.write_array(buffer, np.zeros(3, "U5"))
        case 2:
            end = data.index(b"\n")
            return data[:end].replace(b"(", b"(9999999999, ") + data[end:]
        case 3:
            return of_bytes(rng, data)
    return buffer.getvalue()


def rechained(rng, lines):
    """Entries of a ledger, one of them edited, with digests that are right again: (line, digest) pairs."""
    lines = list(lines)
    at = int(rng.integers(len(lines)))
    match rng.integers(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[int(rng.integers(len(lines)))])
        case 2:
            lines[at] = of_text(rng, lines[at].encode()).decode("utf-8", "replace")
        case _:
            lines[at] = json.dumps(mutations.of_json(rng, json.loads(lines[at])), sort_keys=True)
    pairs, before = [], FIRST
    for line in lines:
        before = digest_after(before, line.encode("utf-8", "replace").decode())
        pairs.append((line.encode("utf-8", "replace").decode(), before))
    return pairs


def of_export(rng, content):
    """An exported ledger: its text changed, its JSON changed, or an entry changed and all digests computed again."""
    how = rng.random()
    if how < 0.4:
        return of_text(rng, content)
    given = json.loads(content)
    if how < 0.7:
        return json.dumps(mutations.of_json(rng, given)).encode()
    pairs = rechained(rng, [entry["line"] for entry in given["entries"]])
    given["entries"] = [{"line": line, "digest": digest} for line, digest in pairs]
    if pairs:
        given["head"] = f"{len(pairs) - 1}:{pairs[-1][1]}"
    return json.dumps(given).encode()


ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r) "
SCHEMES = (
    ("DROP TABLE dpmcmc_ledgers",),
    ("DROP TABLE dpmcmc_entries",),
    ("DROP TABLE dpmcmc_releases",),
    ("ALTER TABLE dpmcmc_entries RENAME TO e",
     f"CREATE VIEW dpmcmc_entries AS {ENDLESS} SELECT e.dataset, r.n AS number, e.line, e.digest FROM e, r"),
    ("ALTER TABLE dpmcmc_ledgers RENAME TO l",
     f"CREATE VIEW dpmcmc_ledgers AS {ENDLESS} SELECT l.dataset, l.number, l.digest, l.key FROM l, r"),
    ("ALTER TABLE dpmcmc_releases RENAME TO s",
     "CREATE VIEW dpmcmc_releases AS SELECT s.dataset, s.number, randomblob(500000000) AS content FROM s"),
    ("CREATE TRIGGER t BEFORE INSERT ON dpmcmc_entries BEGIN DELETE FROM dpmcmc_releases; END",),
    ("ALTER TABLE dpmcmc_entries RENAME TO e", "CREATE TABLE dpmcmc_entries (dataset, number, line, digest)",
     "INSERT INTO dpmcmc_entries SELECT * FROM e", "INSERT INTO dpmcmc_entries SELECT * FROM e"),
    ("ALTER TABLE dpmcmc_ledgers ADD COLUMN more TEXT DEFAULT 'x'",),
    ("ALTER TABLE dpmcmc_entries RENAME COLUMN line TO lines",),
    ("CREATE VIRTUAL TABLE more USING fts5(x)",),
    ("ALTER TABLE dpmcmc_ledgers RENAME TO l",
     "CREATE TABLE dpmcmc_ledgers (dataset, number, digest, key, "
     "more AS (replace(hex(zeroblob(1000000)), '0', 'xxxxxxxx')))",
     "INSERT INTO dpmcmc_ledgers SELECT * FROM l"),
    ("INSERT INTO dpmcmc_ledgers VALUES ('other', 0, 'x', 'y')",),
    ("UPDATE dpmcmc_ledgers SET dataset = NULL",),
    ("PRAGMA user_version = 77", "PRAGMA application_id = 1"),
)  # fmt: skip
VALUES = (None, -1, 0, 3, 2**62, 1.5, "", "x", "\ud7ff", b"\xff\xfe", b"", "9" * 5000, "0" * 64, float("nan"))


def of_database(rng, content):
    """A SQLite file: bytes changed; rows edited; tables replaced; or written anew with digests that are right."""
    how = rng.random()
    if how < 0.4:
        return of_bytes(rng, content)
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.deserialize(content)
        for name in ("dpmcmc_no_update", "dpmcmc_no_delete"):
            database.execute(f"DROP TRIGGER {name}")
        if how < 0.6:
            _edit_rows(rng, database)
        elif how < 0.7:
            for statement in SCHEMES[rng.integers(len(SCHEMES))]:
                with contextlib.suppress(sqlite3.IntegrityError):  # what no such file can hold
                    database.execute(statement)
        else:
            _rewrite(rng, database)
        return database.serialize()
    finally:
        database.close()


def _edit_rows(rng, database):
    places = ("dpmcmc_entries.number", "dpmcmc_entries.line", "dpmcmc_entries.digest", "dpmcmc_entries.dataset",
              "dpmcmc_ledgers.number", "dpmcmc_ledgers.digest", "dpmcmc_ledgers.key", "dpmcmc_releases.content",
              "dpmcmc_releases.number")  # fmt: skip
    table, column = places[rng.integers(len(places))].split(".")
    where = "" if table == "dpmcmc_ledgers" else f" WHERE number = {int(rng.integers(6))}"
    value = VALUES[rng.integers(len(VALUES))]
    try:
        if rng.random() < 0.2:
            database.execute(f"DELETE FROM {table}{where}")
        else:
            database.execute(f"UPDATE {table} SET {column} = ?{where}", (value,))
    except sqlite3.IntegrityError:  # what no such file can hold
        database.execute("DELETE FROM dpmcmc_releases")


def _rewrite(rng, database):
    dataset, lines = "clinic", [row[0] for row in database.execute("SELECT line FROM dpmcmc_entries ORDER BY number")]
    pairs = rechained(rng, lines)
    database.execute("DELETE FROM dpmcmc_entries")
    rows = [(dataset, number, line, digest) for number, (line, digest) in enumerate(pairs)]
    database.executemany("INSERT INTO dpmcmc_entries VALUES (?, ?, ?, ?)", rows)
    if rows:
        database.execute("UPDATE dpmcmc_ledgers SET number = ?, digest = ?", (rows[-1][1], rows[-1][3]))


def of_toml(rng, content):
    """A TOML file: its text changed, or its values replaced by others, of any type, anywhere."""
    if rng.random() < 0.5:
        return of_text(rng, content)
    given = tomllib.loads(content.decode())
    for _ in range(int(rng.integers(1, 4))):
        given = mutations.of_json(rng, given) if given else given
    return "\n".join(f"{_key(name)} = {_toml(value)}" for name, value in given.items()).encode("utf-8", "surrogatepass")


def _key(name):
    return json.dumps(str(name)).replace("\x7f", "\\u007f")


def _toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_toml(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if value is None:
        return "'...'"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value).replace("\x7f", "\\u007f")


def of_csv(rng, content, separator=b","):
    """A table in a text file: its text changed, or a cell of it replaced, or a line made longer or shorter."""
    if rng.random() < 0.4:
        return of_text(rng, content)
    rows = [line.split(separator) for line in content.split(b"\n")]
    row = rows[rng.integers(len(rows) if rng.random() < 0.3 else min(len(rows), 1 + int(rng.integers(9))))]
    at = int(rng.integers(len(row)))
    odd = TEXTS[rng.integers(len(TEXTS))].encode("utf-8", "surrogatepass")
    match rng.integers(4):
        case 0:
            del row[at]
        case 1:
            row.insert(at, odd)
        case _:
            row[at] = odd
    return b"\n".join(separator.join(row) for row in rows)


def of_parquet(rng, content):
    """A Parquet file: bytes changed; or written again with columns of other types, names and metadata."""
    if rng.random() < 0.7:
        return of_bytes(rng, content)
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(content))
    at = int(rng.integers(table.num_columns))
    name, column = table.column_names[at], table.column(at).combine_chunks()
    n = len(column)
    pickled = {"ARROW:extension:name": "arrow.py_extension_type", "ARROW:extension:metadata": _pickled()}
    others = (
        lambda: pa.array([[1.0]] * n), lambda: pa.array([{"a": 1}] * n), lambda: pa.nulls(n),
        lambda: pa.array([SECRET] * n), lambda: pa.array([SECRET.encode()] * n),
        lambda: pa.array([2**63] * n, pa.uint64()), lambda: pa.array([SECRET] * n).dictionary_encode(),
        lambda: pa.array([1.5] * n, pa.float16()),
        lambda: pa.array([10**30] * n, pa.decimal128(38)), lambda: pa.array([0] * n, pa.timestamp("ns", "UTC")),
        lambda: pa.array([-(2**45)] * n, pa.timestamp("s")), lambda: pa.array([2**31 - 1] * n, pa.date32()),
        lambda: pa.array([1] * n, pa.duration("s")), lambda: pa.array([float("inf")] * n), lambda: column[:0],
        lambda: pa.array([True, None] * (n // 2) + [None] * (n % 2)), lambda: pa.array([1] * n, pa.time32("s")),
    )  # fmt: skip
    match rng.integers(5):
        case 0:
            table = table.slice(0, 0)
        case 1:
            table = table.append_column(name, column)
        case 2:
            table = table.replace_schema_metadata({"pandas": '{"columns": [' * int(rng.integers(3)), SECRET: SECRET})
        case 3:
            field = pa.field(name, column.type, metadata=pickled)
            table = table.set_column(at, field, column)
        case _:
            other = others[rng.integers(len(others))]()
            table = table.set_column(at, name, other) if len(other) == n else table.select([name]).slice(0, 0)
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _pickled():
    import pickle

    return pickle.dumps(Payload())
