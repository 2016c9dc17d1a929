"""A study file to fill in, from the header of a table alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dpmcmc.records import CSV, Schema
from dpmcmc.records.toml import PLACE, literal

_FAMILIES = (
    ("bernoulli", "yes or no: a boolean, or a category of two levels"),
    ("poisson", 'a count: a number with integer = true and bounds from 0; "negative binomial" if it varies more'),
    ("gaussian", 'any other number; "student-t" if it has outliers'),
    ("ordinal", "levels in order; ordered, at least three"),
    ("categorical", "levels without an order; category, at least three"),
)


def new_study(table: str | os.PathLike[str], file: str | os.PathLike[str] = "study.toml") -> str:
    """TOML text of a study of ``table``: commented, with a place to fill in for what only a person can know.

    Reads the names of the columns, and their storage types where the file has them, and no value. ``file`` is where
    the text will stand: the table's path is relative to it.
    """
    path = Path(os.fspath(table))
    columns = Schema.skeleton(table)
    stem = path.stem or "study"
    return "\n".join(
        [_head(path, Path(file), stem), *_csv(table), _model(), _privacy(), _ledger(stem), _output(stem), columns]
    )


def _head(path: Path, file: Path, stem: str) -> str:
    from_study = os.path.relpath(path.absolute(), file.absolute().parent)
    return f"""\
# A study: from a table to a private release and its report. Everything here is public, and is kept with the release.
# Fill in every "{PLACE}" from public knowledge, never by looking at the table. Then:
#
#     dpmcmc plan {file.name}     what the budget will buy; reads no record
#     dpmcmc fit {file.name}      asks, charges the ledger, and writes release and report

title = {literal(stem)}
table = {literal(Path(from_study).as_posix())}
"""


def _csv(table: Any) -> list[str]:
    if not isinstance(table, CSV):
        return []
    usual = CSV("x")
    given = {name: getattr(table, name) for name in ("separator", "decimal", "encoding", "missing", "dates")}
    lines = [f"{name} = {literal(value)}" for name, value in given.items() if value != getattr(usual, name)]
    return ["\n".join(["[csv]", *lines, ""])] if lines else []


def _model() -> str:
    families = "\n".join(f"#   {literal(name):<16}{about}" for name, about in _FAMILIES)
    return f"""\
[model]
formula = "{PLACE}"  # outcome ~ columns, such as "visits ~ age + plan"; `odd name` needs backquotes
family = "{PLACE}"   # what the outcome is:
{families}

[priors]
# Normal priors on the scale of the table, for coefficients by name; the others are wide by the declared bounds.
# age = {{mean = 0, std = 0.05}}
"""


def _privacy() -> str:
    return """\
[privacy]
protects = "record"  # or the column that says whose record it is (and most = 5, how many records of each count)
epsilon = 1.0        # of this release: smaller is more private
delta = 1e-6         # well below 1 over the number of records
# relation = "zero-out" protects whether a record is there, and not its values: less, with half the noise
"""


def _ledger(stem: str) -> str:
    return f"""\
[ledger]
# What may be learnt of this table in all, over every release: decided once by whoever holds the records. The first fit
# makes the ledger with this budget, which cannot be changed later. The file is as secret as the table.
file = {literal(f"{stem}-ledger.db")}
dataset = {literal(stem)}
epsilon = 3.0
delta = 1e-5
"""


def _output(stem: str) -> str:
    return f"""\
[output]
release = {literal(f"{stem}-release.npz")}
report = {literal(f"{stem}-report.html")}

# The columns. One that the formula does not name can stay as it is.
"""
