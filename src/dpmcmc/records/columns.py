"""What every declared column has: what it reads, the bounds of its encoded values, and rules for what does not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dpmcmc.records.cells import Cells, Kind, RefusedValue, typed

REFUSE = "refuse"
EXACT = 2**53  # whole numbers up to here are exact in float64


class Column(ABC):
    """A column as declared from public knowledge: what its cells mean, and what becomes of those that do not fit.

    Encoded values are float64 within ``bounds``, never NaN: amounts on their own scale (``n_levels`` is 0), or the
    positions of levels in ``labels``.

    Guarantee: what a cell becomes depends on that cell and the declaration alone. Only the rule ``"refuse"`` lets a
    value raise, with a fixed message that names the column and no value, row or count. That it was raised still says
    that such a cell exists: it is for whoever holds the records, and no part of a release.
    """

    type_name: ClassVar[str]
    missing_choices: ClassVar[str]
    missing: Any

    @property
    @abstractmethod
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of cells that it reads; the first is what a CSV file is read as."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest encoded value."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the levels, in the order of their codes; none for amounts."""
        return ()

    @property
    def n_levels(self) -> int:
        return len(self.labels)

    @property
    def values(self) -> frozenset[str | int]:
        """The values that are declared one by one, as the table has them."""
        return frozenset()

    @abstractmethod
    def encode(self, cells: Cells, name: str) -> np.ndarray:
        """The cells as float64 within ``bounds``."""

    @abstractmethod
    def summary(self) -> tuple[str, str, str]:
        """For people: which values there are, and what becomes of missing ones and of others."""

    def read(self, cells: Cells, name: str) -> Cells:
        """The cells as a kind that this column reads, with missing ones refused where that is declared."""
        cells = typed(cells, self.kinds, name, f"dp.{type(self).__name__}")
        if self.missing == REFUSE and cells.missing.any():
            raise RefusedValue(
                f"column {name!r} has missing values, and its declaration refuses them: "
                f"declare what becomes of them, with {self.missing_choices}"
            )
        return cells


class Amount(Column):
    """A column of amounts between two bounds; those outside are moved to the bounds, or refused."""

    outside: str

    def check_rules(self) -> None:
        if self.outside not in ("clip", REFUSE):
            raise ValueError(f"outside must be 'clip' (to the bounds) or 'refuse', got {self.outside!r}")

    def within(self, amounts: np.ndarray, missing: np.ndarray, neutral: float, name: str) -> np.ndarray:
        """The amounts within the bounds, the neutral one where they are missing."""
        low, high = self.bounds
        if self.outside == REFUSE and np.any(~missing & ~((amounts >= low) & (amounts <= high))):
            raise RefusedValue(
                f"column {name!r} has values outside its bounds, and its declaration refuses them: declare wider "
                "bounds from public knowledge, or outside='clip' to move them to the bounds"
            )
        return np.clip(np.where(missing, neutral, amounts) if missing.any() else amounts, low, high)

    def otherwise(self) -> str:
        return "moved to the bounds" if self.outside == "clip" else "refused"


def is_number(value: Any) -> bool:
    """A real number that is no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_printable(text: str) -> bool:
    """No control characters, and nothing that UTF-8 cannot write."""
    return text.isprintable() and text.encode("utf-8", "ignore").decode() == text


def short(number: float) -> str:
    """A number as people write it."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def reserved(name: str) -> str:
    """Why a column cannot have this name; empty if it can."""
    if not name or name != name.strip() or not is_printable(name):
        return "which is empty, or has spaces around it or characters that cannot be printed"
    if name.lower() == "intercept":
        return "a parameter of every regression"
    return "since names that begin with '_' are reserved" if name.startswith("_") else ""
