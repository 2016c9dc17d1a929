"""Columns of a table as numbers, where nothing but that is declared of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dpmcmc.records.cells import typed
from dpmcmc.records.numbers import Number
from dpmcmc.records.tables import read

ANY = Number(-1e300, 1e300)


def numeric(table: Any, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Columns as float64 arrays, booleans as 0 and 1, missing cells as NaN.

    Tables are those of :meth:`dpmcmc.Schema.encode`. Guarantee: what a column is comes from its storage type; errors
    name the column, and no value of it.
    """
    found = read(table, dict.fromkeys(names, ANY))
    cells = {name: typed(each, ("number", "boolean"), name, "a number") for name, each in found.items()}
    return {name: np.where(each.missing, np.nan, each.values) for name, each in cells.items()}
