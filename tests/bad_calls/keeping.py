"""Ledgers, saved releases, tables in files, persons, audits."""

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from tests.bad_calls.calls import BUDGETS, NAMES, SEEDS, TRUTH, WHOLE, Good, given
from tests.ledger.places import RECORDS, charge

PATHS = (None, 3, object(), [], b"x", True, "no-such-file")


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="dpmcmc-bad-calls-"))


@cache
def ledger() -> dp.Ledger:
    return dp.Ledger.create(folder() / "good.db", dataset="clinic", budget=dp.Budget(1.0, 1e-6))


def _ledgers() -> Iterator[Good]:
    def create(where: Any, **settings: Any) -> Any:
        (folder() / "new.db").unlink(missing_ok=True)
        return dp.Ledger.create(where, **settings)

    good = {"where": folder() / "new.db", "dataset": "clinic", "budget": dp.Budget(1.0, 1e-6)}
    names = (*NAMES, None, "a" * 300, "\0", " ")
    wrong = {
        "where": (None, 3, [], b"x", "no-such-folder/x.db", folder(), "mysql://x/y"),
        "unit": names,
    }
    yield Good("Ledger.create", create, good, wrong | {"dataset": names, "budget": (*BUDGETS, None)})
    opened = {"where": (None, 3, [], "no-such-file.db", folder(), "mysql://x/y", __file__), "dataset": ("other", 3, "")}
    ledger()
    yield Good("Ledger", dp.Ledger, {"where": folder() / "good.db"}, opened)
    heads = (3, "", "x", "1", "1:2", "999:" + "0" * 64, b"0:", ["0"], "-1:" + "0" * 64)
    yield Good("Ledger.verify", lambda head: ledger().verify(head), {"head": None}, {"head": heads})
    recovered = {"number": (-1, 0, 999, "1", None, 1.5, [1])}
    yield Good("Ledger.recover", _recovered, {"number": 2}, recovered)
    tables = (None, 3, [], {}, "x.csv", np.array(["a"]), np.zeros(0))
    yield Good(
        "Ledger.admit", lambda data: dp.Ledger(_copy()).admit(data), {"data": np.zeros((3, 1))}, {"data": tables}
    )


def _copy() -> Path:
    path = folder() / "copy.db"
    ledger()
    path.write_bytes((folder() / "good.db").read_bytes())
    return path


def _recovered(number: Any) -> Any:
    book = dp.Ledger(_copy())
    book.settle(book.reserve((charge(),), RECORDS).number, b"x")
    (folder() / "out.npz").unlink(missing_ok=True)
    return book.recover(1 if number == 2 else number, folder() / "out.npz")


def _others() -> Iterator[Good]:
    separators = (None, 3, "", "ab", "a", "\n", ".", '"')
    marks = ("x", 3, [None], [1.5], [True], [["a"]])
    encodings = (None, 3, "utf-16", "no such", "")
    csv = {"path": (None, 3, [], b"x", True), "separator": separators, "decimal": (None, 3, ";", ""), "missing": marks}
    yield Good("CSV", dp.CSV, {"path": "x.csv"}, csv | {"encoding": encodings})
    people = dp.PerUnit(dp.models.GaussianMean(), "person", most=2)
    records = {"of": (None, 3, "x", [1, 2], np.zeros((4, 2))), "seed": given(SEEDS)}
    group = {"records": np.zeros((4, 1)), "of": np.array([0, 0, 1, 1])}
    yield Good("PerUnit.group", people.group, group, records)
    what = (None, 3, object(), [], [3], {}, "no such", dp.models.GaussianMean())
    audit = {"what": what, "runs": (*given(WHOLE), 5), "seed": (*given(SEEDS), None), "quick": TRUTH}
    audit |= {"claim": (3, (1.0, 1e-6)), "neighbours": (3, "x")}
    yield Good("audit", dp.audit, {"what": "dp_barker", "runs": 100}, audit)
    yield Good("Release.load", dp.Release.load, {"path": _release()}, {"path": (*PATHS, __file__, folder())})


@cache
def _release() -> Path:
    kernel = dp.dp_barker(step=0.1, clip=0.01)
    plan = dp.plan(dp.models.GaussianMean(), 10, dp.Budget(1.0, 1e-6), method=kernel, draws=4)
    return plan.sample(np.zeros((10, 1)), seed=1, progress=False).save(folder() / "release.npz")


def calls() -> Iterator[Good]:
    yield from _ledgers()
    yield from _others()
