"""Hostile files of every kind, and what was found by such."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.files import sealed
from dpmcmc.variational import Fit
from tests.fuzz import guard
from tests.fuzz.driver import fuzz
from tests.fuzz.mutators import SCHEMES
from tests.fuzz.targets import TARGETS, fits, ledgers

QUICK = 60  # inputs of every target; `python -m tests.fuzz --inputs 100000` takes its time


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_file_does_more_than_be_read_or_refused(target):
    found = fuzz(target, 0, range(QUICK))
    assert not found.failures, found.failures
    assert found.counts["refused"] > QUICK / 4


@pytest.mark.slow
def test_very_many_files_do_no_more():
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-m", "tests.fuzz", "--inputs", "100000"], cwd=root, check=False)
    assert ran.returncode == 0


def test_shares_add_up():
    assert sum(target.share for target in TARGETS) == pytest.approx(1)


@pytest.mark.parametrize(
    "act",
    [
        lambda folder: exec("1 + 1"),
        lambda folder: subprocess.run(["true"], check=True),
        lambda folder: (folder / "x").write_text("x"),
        lambda folder: __import__("pickle").loads(b"cos\nsystem\n."),
    ],
    ids=["code", "program", "file", "pickle"],
)
def test_the_watch_sees_what_reading_never_does(act, tmp_path):
    with guard.watched() as done:
        act(tmp_path)
    assert done
    act(tmp_path)
    assert len(done) < 20


# what was found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[columns.age]\nunit = '\x8a'", "is not UTF-8 text: invalid start byte at byte 22"),
        (b"x = " + b"[" * 20_000, "is not TOML: it is nested too deeply"),
        (b"a." * 5000 + b"b = 1", "is not TOML: it is nested too deeply"),
        (b"x = " + b"9" * 5000, "is not TOML: Exceeds the limit"),
    ],
)
def test_schemas_that_cannot_be_parsed_or_quoted(text, message, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=message) as refused:
        dp.Schema.load(path)
    assert guard.is_ours(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("line", [b"age,pl\ran\n", b"x" * 200_000 + b",age\n"], ids=["carriage return", "long name"])
def test_headers_that_no_reader_of_csv_takes(line, tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(line + b"1,2\n")
    with pytest.raises(ValueError, match="has no header") as refused:
        dp.Schema(age="0..120").encode(path)
    assert guard.is_ours(refused.value)


@pytest.mark.parametrize(
    "arrays",
    [{"mean": np.zeros(3)}, {"root": np.eye(3)}, {"root": np.zeros((1, 2))}, {"mean": np.full(2, np.nan)},
     {"root": np.eye(2, dtype=np.float32)}],
)  # fmt: skip
def test_fits_whose_parts_do_not_belong_together(arrays, tmp_path):
    """They were loaded, and ended in an error of NumPy's when they were printed or used."""
    found = sealed.unpack("fit", fits(tmp_path).good[0], "good")
    path = tmp_path / "edited.npz"
    path.write_bytes(sealed.pack("fit", found.arrays | arrays, found.about))
    with pytest.raises(dp.FileError, match="is not a fit that dpmcmc saved"):
        Fit.load(path)


@pytest.mark.parametrize("statements", [each for each in SCHEMES if any("VIEW" in s or "AS (" in s for s in each)])
def test_ledgers_whose_tables_compute_what_they_hold(statements, tmp_path):
    """A view over an endless query took all memory and never ended."""
    path = tmp_path / "study.db"
    path.write_bytes(ledgers(tmp_path).good[0])
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    with pytest.raises(dp.LedgerError, match="is not one of a ledger"):
        dp.Ledger(path)


def test_a_ledger_whose_index_is_damaged_does_not_verify(tmp_path):
    """Entries are found by their index: one that says otherwise than the table was passed over by the quick check."""
    path = tmp_path / "study.db"
    content = ledgers(tmp_path).good[0]
    path.write_bytes(content)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        page, size = connection.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE type = 'index' AND "
            "tbl_name = 'dpmcmc_entries'"
        ).fetchone()
    connection.close()
    start = (page - 1) * size
    index = content[start : start + size]
    changed = index.replace(b"clinic\x05", b"clinic\x04")  # the last entry by another number
    assert changed != index
    path.write_bytes(content[:start] + changed + content[start + size :])
    with pytest.raises(dp.LedgerError):
        dp.Ledger(path).verify()
