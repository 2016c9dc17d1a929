"""Whose record it is: a column of a table as labels of persons or other units."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpmcmc.records.cells import Cells, RefusedType, RefusedValue
from dpmcmc.records.columns import EXACT
from dpmcmc.records.levels import Category
from dpmcmc.records.tables import read, read_column

TEXT = Category(["a", "b"])  # a CSV file is read as such


def identities(table: Any, name: str) -> np.ndarray:
    """The labels in a column, numbers or text; missing cells are refused.

    Tables are those of :meth:`dpmcmc.Schema.encode`; cells are all numbers, all text, all dates or all booleans.
    """
    return _labels(read(table, {name: TEXT})[name], name)


def identities_of(values: Any, name: str) -> np.ndarray:
    """The same of a column that stands for itself: an array, a series or a list."""
    return _labels(read_column(values, name), name)


def _labels(cells: Cells, name: str) -> np.ndarray:
    what = f"column {name!r} says whose record it is"
    if cells.missing.any():
        raise RefusedValue(f"{what}, and has missing values: give every record an identity, one of its own if need be")
    if cells.kind not in (None, "text"):
        if np.any(np.abs(cells.values) > EXACT):
            raise RefusedValue(f"{what}, and numbers beyond 2⁵³ cannot be told apart: convert it to text first")
        return cells.values
    kinds = set(map(type, cells.values))
    if kinds - {bool} == {int} or kinds == {bool}:
        return np.array([str(cell) for cell in cells.values])
    if kinds != {str}:
        raise RefusedType(f"{what}, and its cells must all be text or all be whole numbers: convert it first")
    return cells.values.astype(str)
