"""A schema to fill in: the names of a table's columns and how they are stored, without a look at any value."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw

from dpmcmc.records.columns import reserved
from dpmcmc.records.files import open_file
from dpmcmc.records.tables import check_names, names_of, opened, read_column
from dpmcmc.records.toml import PLACE, key, literal

_HEAD = f"""\
# Fill in every "{PLACE}" from public knowledge: what is known before anyone looks at the table.
# Columns that are not needed can be left out.
#
# type       settings
# number     bounds = [0, 120]; unit = "year"; integer = true; missing = 0; outside = "refuse"
# category   levels = ["a", "b"]; reference = "a"; unknown = "other"; missing = "level"
# ordered    levels = ["low", "high"]; unknown = "other"; missing = "level"
#            levels = {{1 = "low", 2 = "high"}} where the table has codes for them
# boolean    true = ["yes"]; false = ["no"]; unknown = false; missing = "level"
# date       bounds = [2000-01-01, 2020-12-31]; missing = 2000-01-01; outside = "refuse"; where cells are such as
#            31.12.2020 and not 2020-12-31, dates = "31.12.2020" in a section [csv] above
#
# Missing and unknown values are refused where nothing else is declared; numbers and dates outside the bounds are moved
# to them.
"""

_FIELDS: dict[str | None, list[tuple[str, Any]]] = {
    None: [("type", PLACE)],
    "number": [("type", "number"), ("bounds", [PLACE, PLACE])],
    "boolean": [("type", "boolean")],
    "text": [("type", "category"), ("levels", [PLACE])],
    "date": [("type", "date"), ("bounds", [PLACE, PLACE])],
}


def skeleton(table: Any) -> str:
    """TOML text with a table for each column, and places to fill in."""
    names, empty = public_part(table)
    return "\n".join([_HEAD, *(_place(name, None if empty is None else empty(name)) for name in names)])


def public_part(table: Any) -> tuple[list[Any], Callable[[Any], Any] | None]:
    """The names of a table's columns, and a function that gives a column without any of its rows."""
    if isinstance(table, str | os.PathLike):
        file = open_file(table)
        names, table = file.names, file.empty
    else:
        table = opened(table)
        names = names_of(table)
    check_names(names, names)
    return names, None if table is None else lambda name: without_rows(table[name])


def without_rows(column: Any) -> Any:
    """The type of a column, as a column without rows."""
    series = nw.from_native(column, pass_through=True, allow_series=True)
    return series.head(0).to_native() if isinstance(series, nw.Series) else column[:0]


def _place(name: Any, empty: Any) -> str:
    problem = reserved(str(name))
    if problem:
        return f"# a column cannot be called {literal(str(name))}, {problem}: rename it to declare it\n"
    try:
        cells = None if empty is None else read_column(empty, str(name))
    except TypeError as error:
        return f"# {error}\n"
    kind = None if cells is None else cells.kind
    stored = "" if cells is None else f"  # stored as {cells.storage}"
    lines = "".join(f"{setting} = {literal(value)}\n" for setting, value in _FIELDS[kind])
    return f"[columns.{key(str(name))}]{stored}\n{lines}"
