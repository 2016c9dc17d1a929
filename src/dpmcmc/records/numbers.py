"""Columns of numbers with public bounds."""

from __future__ import annotations

import math
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from dpmcmc.records.cells import Cells, Kind, number_of
from dpmcmc.records.columns import EXACT, REFUSE, Amount, is_number, is_printable, short


@dataclass(frozen=True)
class Number(Amount):
    """A column of numbers between two public bounds, which are never computed from the records.

        dp.Number(0, 120, unit="years")
        dp.Number(0, 500_000, missing=0)

    Encoded on its own scale. Numbers outside the bounds, infinite ones included, are moved to the bounds
    (``outside="clip"``) or refused (``outside="refuse"``). NaN is a missing value: refused, or replaced by the number
    ``missing``. With ``integer`` the bounds are whole numbers and values are rounded to the nearest one, ties to the
    even one. Booleans are no numbers: declare them with :class:`Boolean`.
    """

    low: float
    high: float = math.inf  # no bound is a default: this one is refused
    _: KW_ONLY
    unit: str = ""
    integer: bool = False
    missing: float | str = REFUSE
    outside: str = "clip"

    type_name: ClassVar[str] = "number"
    missing_choices: ClassVar[str] = "missing=<a number within the bounds>"

    def __post_init__(self) -> None:
        given = (self.low, self.high)
        if not all(is_number(bound) for bound in given):
            raise TypeError(f"bounds must be two numbers, as in dp.Number(0, 120), got {given!r}")
        low, high = (number_of(bound) for bound in given)
        if not (low < high and math.isfinite(high - low)):
            raise ValueError(f"bounds must be two finite numbers, the lower one first, got {given!r}")
        if not isinstance(self.unit, str) or not is_printable(self.unit):
            raise TypeError(f"unit must be a short text such as 'years', got {self.unit!r}")
        if not isinstance(self.integer, bool):
            raise TypeError(f"integer must be True or False, got {self.integer!r}")
        if self.integer and not all(bound.is_integer() and abs(bound) <= EXACT for bound in (low, high)):
            raise ValueError(f"with integer=True the bounds must be whole numbers within ±2⁵³, got {given!r}")
        self.check_rules()
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.missing != REFUSE:
            object.__setattr__(self, "missing", self._neutral())

    def _neutral(self) -> float:
        if self.missing == "level":
            raise ValueError("missing='level' is for columns with levels; give a number within the bounds")
        if not is_number(self.missing) or not self.low <= self.missing <= self.high:  # type: ignore[operator]
            raise ValueError(
                f"missing must be 'refuse' or a number within the bounds {self.bounds}, got {self.missing!r}"
            )
        if self.integer and not float(self.missing).is_integer():
            raise ValueError(f"missing must be a whole number where integer=True, got {self.missing!r}")
        return number_of(self.missing)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return ("number",)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.low, self.high

    def encode(self, cells: Cells, name: str) -> np.ndarray:
        cells = self.read(cells, name)
        amounts = np.rint(cells.values) if self.integer else cells.values
        return self.within(amounts, cells.missing, 0.0 if self.missing == REFUSE else float(self.missing), name)

    def summary(self) -> tuple[str, str, str]:
        values = f"{short(self.low)} to {short(self.high)}{' ' * bool(self.unit)}{self.unit}"
        missing = "refused" if self.missing == REFUSE else f"become {short(float(self.missing))}"
        return values + ", whole" * self.integer, missing, self.otherwise()

    @classmethod
    def parse(cls, text: str, **rules: Any) -> Number:
        """Bounds from text, the unit before or after them: ``"years 0..120"``, ``"0..120 years"``, ``"-1..1"``."""
        found = re.fullmatch(r"\s*(?:(\D.*?)\s+)?(\S+?)\s*\.\.\s*(\S+)(?:\s+(.*?))?\s*", text)
        try:
            before, first, last, after = found.groups()  # type: ignore[union-attr]
            low, high = float(first), float(last)
        except (AttributeError, ValueError):
            raise ValueError(f"bounds as text are like '0..120 years' or 'years 0..120', got {text!r}") from None
        if before and after:
            raise ValueError(f"bounds as text have one unit, before or after them, got {text!r}")
        rules.setdefault("unit", before or after or "")
        return cls(low, high, **rules)

    @classmethod
    def age(cls, **rules: Any) -> Number:
        """An age: 0 to 120 years."""
        return cls(0, 120, unit="years", **rules)

    @classmethod
    def percent(cls, **rules: Any) -> Number:
        """A percentage: 0 to 100 %."""
        return cls(0, 100, unit="%", **rules)

    @classmethod
    def share(cls, **rules: Any) -> Number:
        """A share or probability: 0 to 1."""
        return cls(0, 1, **rules)

    @classmethod
    def count(cls, most: int, **rules: Any) -> Number:
        """A count of things: whole numbers from 0 to a public limit."""
        return cls(0, most, integer=True, **rules)
