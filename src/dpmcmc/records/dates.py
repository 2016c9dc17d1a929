"""Columns of dates and datetimes with public bounds."""

from __future__ import annotations

import datetime
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from dpmcmc.records.cells import Cells, Kind, day_number
from dpmcmc.records.columns import REFUSE, Amount


@dataclass(frozen=True)
class Date(Amount):
    """A column of dates between two public bounds, encoded as days since the first.

        dp.Date("2000-01-01", "2020-12-31")
        dp.Date("2020-01-01 00:00", "2020-12-31 23:59")

    Bounds are ISO text or objects of ``datetime``, both dates or both datetimes. Between dates, a datetime counts as
    its day; between datetimes, days have fractions. Values outside the bounds are moved to them (``outside="clip"``)
    or refused; missing ones are refused or become the date ``missing``. Datetimes with a time zone are not read.
    """

    low: Any
    high: Any = None
    _: KW_ONLY
    missing: Any = REFUSE
    outside: str = "clip"

    type_name: ClassVar[str] = "date"
    missing_choices: ClassVar[str] = "missing=<a date within the bounds>"

    def __post_init__(self) -> None:
        given = (self.low, self.high)
        low, high = as_date(self.low, "a bound"), as_date(self.high, "a bound")
        if isinstance(low, datetime.datetime) != isinstance(high, datetime.datetime):
            raise ValueError(f"bounds must be two dates or two datetimes, got one of each: {given!r}")
        if not low < high:
            raise ValueError(f"bounds must be two dates, the earlier one first, got {low} and {high}")
        self.check_rules()
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.missing != REFUSE:
            missing = as_date(self.missing, "missing")
            alike = isinstance(missing, datetime.datetime) == isinstance(low, datetime.datetime)
            if not alike or not low <= missing <= high:
                raise ValueError(f"missing must be 'refuse' or a date within the bounds, got {self.missing!r}")
            object.__setattr__(self, "missing", missing)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return ("date",)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self._since(self.high)

    def _since(self, date: datetime.date) -> float:
        return day_number(date) - day_number(self.low)

    def encode(self, cells: Cells, name: str) -> np.ndarray:
        cells = self.read(cells, name)
        days = cells.values if isinstance(self.low, datetime.datetime) else np.floor(cells.values)
        neutral = 0.0 if self.missing == REFUSE else self._since(self.missing)
        return self.within(days - day_number(self.low), cells.missing, neutral, name)

    def summary(self) -> tuple[str, str, str]:
        missing = "refused" if self.missing == REFUSE else f"become {self.missing}"
        return f"{self.low} to {self.high}", missing, self.otherwise()


def as_date(given: Any, what: str) -> datetime.date:
    """A date, or a datetime without a time zone, from ISO text or an object that is one."""
    if isinstance(given, np.datetime64):
        days = np.datetime_data(given.dtype)[0] in ("Y", "M", "W", "D")
        given = given.astype("datetime64[D]" if days else "datetime64[us]").item()
    if isinstance(given, str):
        try:
            parse = datetime.date if len(given.strip()) <= 10 else datetime.datetime
            given = parse.fromisoformat(given.strip())
        except ValueError:
            raise ValueError(f"{what} must be a date such as '2020-12-31', got {given!r}") from None
    if not isinstance(given, datetime.date) or given != given:
        raise TypeError(f"{what} must be a date such as '2020-12-31', got {given!r}")
    if not isinstance(given, datetime.datetime):
        return datetime.date(given.year, given.month, given.day)
    if given.tzinfo is not None:
        raise ValueError(f"{what} must be without a time zone, got {given!r}")
    return datetime.datetime(*given.timetuple()[:6], given.microsecond)
