"""Planning and running a study: what can be refused is refused before anything is charged."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.charge import OverBudget
from dpmcmc.method import Plan
from dpmcmc.privacy import Budget
from dpmcmc.receipts import RECORD
from dpmcmc.records import CSV, identities
from dpmcmc.records.cells import Refused
from dpmcmc.records.files import open_file
from dpmcmc.records.toml import SETTINGS
from dpmcmc.release import Release
from dpmcmc.sampling import plan as make_plan
from dpmcmc.study.places import Places, StudyError
from dpmcmc.study.regression import mistakes_at
from dpmcmc.study.study import Study


def check_header(study: Study) -> None:
    """Refuse a table that is not there, or whose header has not what the study needs. Reads no value."""
    places = study.places
    if not study.path.is_file():
        raise places.error(("table",), f"there is no file {str(study.path)!r}", "the path of the table, from the study")
    with mistakes_at(places, ("csv",) if isinstance(study.table, CSV) else ("table",), "a table with a header"):
        names = open_file(study.table).names
    listed = ", ".join(map(repr, names))
    read = study.regression._read
    for name in read:
        if names.count(name) != 1:
            problem = "no such column" if name not in names else "the column more than once"
            raise places.error(("columns", name), f"the table {str(study.path)!r} has {problem}", listed)
    if study.unit != RECORD and names.count(study.unit) != 1:
        raise places.error(("privacy", "protects"), "the table has no such column, or has it more than once", listed)


def counted(study: Study) -> int:
    """How many records, or persons, the table holds: public, and all that is learnt of it here."""
    check_header(study)
    if study.unit != RECORD:
        return len(np.unique(identities(study.table, study.unit)))
    from dpmcmc.records.files import pyarrow

    pyarrow()
    if study.path.suffix.lower() == ".parquet" and not isinstance(study.table, CSV):
        from pyarrow import parquet

        return int(parquet.read_metadata(study.path).num_rows)
    outcome = study.regression.outcome
    with refusals_at(study):
        return len(study.schema.encode(study.table, only=[outcome])[outcome])


def planned(study: Study, n: int, budget: Budget | None = None) -> Plan:
    """The plan of the study for ``n`` records or persons."""
    try:
        return make_plan(study.model, n, study.budget if budget is None else budget)
    except OverBudget as error:
        raise study.places.error(("privacy", "epsilon"), str(error), "a budget that pays for a release") from None
    except ValueError as error:
        path = ("privacy", "delta") if str(error).startswith("delta") else ("model", "formula")
        raise study.places.error(path, str(error), "what the message names") from None


@contextmanager
def refusals_at(study: Study) -> Iterator[None]:
    """What a table's cells are refused for, at the column that refuses them, or at the table. No cell is named."""
    try:
        yield
    except Refused as error:
        said = str(error)
        name = next((name for name in study.regression._read if f"column {name!r}" in said), None)
        if name is None:
            raise study.places.error(("table",), said, "a table with a header and records, one in each line") from None
        settings = ", ".join(SETTINGS[study.schema[name].type_name])
        raise study.places.error(("columns", name), said, f"a declaration that covers them, by {settings}") from None


@dataclass(frozen=True)
class Ready:
    """A study that was checked as far as can be without charging: the plan, the records, and a ledger that pays."""

    study: Study
    plan: Plan
    data: Any
    ledger: Any = None

    @property
    def makes_ledger(self) -> bool:
        """Whether the ledger is yet to be made."""
        return self.study.ledger is not None and self.ledger is None

    def run(self, progress: bool) -> Release:
        """Charge, run and store the release. From here on the budget counts as spent."""
        ledger, wanted = self.ledger, self.study.ledger
        if self.makes_ledger and wanted is not None:
            from dpmcmc.ledger import Ledger

            ledger = Ledger.create(wanted.where, dataset=wanted.dataset, budget=wanted.budget, unit=self.study.unit)
        return self.plan.sample(self.data, ledger=ledger, save_to=self.study.release, progress=progress)


def prepared(study: Study) -> Ready:
    """Everything that can be refused is refused here: header, files, ledger, cells, budget, in this order."""
    check_header(study)
    _check_output(study)
    ledger = opened_ledger(study)
    with refusals_at(study):
        data = study.model.encode(study.table)
    n = len(next(iter(data.values()))) if study.unit == RECORD else len(data["counts"])
    plan = planned(study, n)
    if study.ledger is not None:
        with mistakes_at(study.places, ("privacy", "epsilon"), "a budget that the ledger can still pay for"):
            _balance(study, ledger).price(plan.receipts[-1])
    return Ready(study, plan, data, ledger)


def price_of(ready: Ready) -> tuple[float, float, float]:
    """What the run will cost, what the ledger has left before it, and its limit, in zCDP."""
    balance = _balance(ready.study, ready.ledger)
    return balance.price(ready.plan.receipts[-1]), balance.left, balance.limit


def _balance(study: Study, ledger: Any) -> Any:
    """What the ledger has left; of one that is yet to be made, all of its budget."""
    if ledger is not None:
        return ledger.book.balance
    from dpmcmc.ledger.balance import Balance

    assert study.ledger is not None
    return Balance(study.ledger.budget, study.unit)


def opened_ledger(study: Study) -> Any:
    """The ledger that the study names, if it has been made; refused if it is not as the study says."""
    wanted = study.ledger
    if wanted is None:
        return None
    from dpmcmc.ledger import Ledger
    from dpmcmc.ledger.store import Store

    places = study.places
    if "://" not in wanted.where and not os.path.lexists(wanted.where):
        _check_folder(places, ("ledger", "file"), Path(wanted.where))
        return None
    with mistakes_at(places, ("ledger", "file"), "a ledger, or a file that is not there yet"):
        store = Store(wanted.where)
        with store.reading() as connection:
            there = store.datasets(connection)
        if wanted.dataset not in there:
            if "://" in wanted.where:
                return None
            raise places.error(("ledger", "dataset"), "the ledger is of another data set", ", ".join(map(repr, there)))
        ledger = Ledger(wanted.where, wanted.dataset)
    for name in ("epsilon", "delta", "relation"):
        held, said = getattr(ledger.budget, name), getattr(wanted.budget, name)
        if held != said:
            raise places.error(("ledger", name), "the ledger was made with another budget, which stays", str(held))
    if ledger.unit != study.unit:
        raise places.error(
            ("privacy", "protects"), f"the ledger protects one {ledger.unit}, and the study one {study.unit}",
            repr(ledger.unit),
        )  # fmt: skip
    return ledger


def _check_output(study: Study) -> None:
    for name in ("release", "report"):
        file: Path = getattr(study, name)
        path = ("output", name)
        if os.path.lexists(file):
            raise study.places.error(path, "the file exists already, and is not overwritten", "a new name")
        _check_folder(study.places, path, file)
    if study.release == study.report:
        raise StudyError(f"{study.places.source}: release and report are one file; allowed: two names")


def _check_folder(places: Places, path: tuple[str, str], file: Path) -> None:
    """Refuse a file that could not be written, by writing another one beside it, which goes at once."""
    folder = file.absolute().parent
    if not folder.is_dir():
        raise places.error(path, "there is no such folder", "a file in a folder that there is")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        raise places.error(path, "its folder cannot be written to", "a file in a folder of yours") from None
