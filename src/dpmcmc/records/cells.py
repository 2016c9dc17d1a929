"""One column of a table as it is stored: numbers, booleans, text, dates or objects, and which cells are missing.

What a column is comes from its storage type, which is public, and from what was declared; never from its values.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np

Kind = Literal["number", "boolean", "text", "date"]
T = TypeVar("T")

PLURAL: dict[str, str] = {"number": "numbers", "boolean": "booleans", "text": "text", "date": "dates"}
_ORDINARY = frozenset({str, float, int, bool, datetime.date, datetime.datetime})
_BOOLEANS = (bool, np.bool_)
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DAY = {"h": 24, "m": 1440, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class Refused(Exception):
    """A table that cannot be read as it is declared. The message is fixed: it holds no cell, so it may be passed on.

    What other code raises on cells may quote them, and is not (:mod:`dpmcmc.sources`).
    """


class RefusedValue(Refused, ValueError):
    """Cells that a declaration refuses, or that cannot be read."""


class RefusedType(Refused, TypeError):
    """Columns, or tables, of a type that is not read."""


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """The cells of one column: private.

    ``values`` are float64 (numbers, booleans as 0 and 1, dates as days since 1970-01-01) or objects (text, and columns
    of ``kind`` None, whose storage type says nothing about them). Where ``missing`` is true they mean nothing.
    """

    kind: Kind | None
    values: np.ndarray
    missing: np.ndarray
    storage: str

    def __len__(self) -> int:
        return len(self.missing)

    def __reduce__(self) -> Any:
        raise TypeError("Cells hold private values and cannot be pickled")

    def __repr__(self) -> str:
        return f"Cells({self.kind or 'object'}, stored as {self.storage}, values not shown)"


def guarded(read: Callable[[], T], message: str) -> T:
    """What ``read`` gives; where it fails, an error with ``message`` and nothing else.

    Errors of other libraries quote values. The message is raised after the other error is gone, so no chain of causes
    holds it either.
    """
    try:
        return read()
    except Exception:
        pass
    raise RefusedValue(message)


def of_array(array: np.ndarray, name: str) -> Cells:
    """A NumPy array, by its dtype; masked cells are missing."""
    if array.ndim != 1:
        raise RefusedType(
            f"column {name!r} has {array.ndim} dimensions, shape {array.shape}: a column has one value a record; "
            "give every component a name and a column of its own"
        )
    masked = np.ma.getmaskarray(array)
    values, kind = np.asarray(np.ma.getdata(array)), array.dtype.kind
    storage = "text" if kind == "U" else str(array.dtype)  # the width of text is that of its longest cell
    if kind == "b":
        return Cells("boolean", values.astype(np.float64), masked, storage)
    if kind in "iuf":
        with np.errstate(over="ignore"):  # beyond float64 is infinite, and beyond all bounds
            numbers = values.astype(np.float64)
        return Cells("number", numbers, masked | np.isnan(numbers), storage)
    if kind == "M":
        return Cells("date", _days(values), masked | np.isnat(values), storage)
    if kind in "UTO":
        cells = _of_objects(values.astype(object), masked, storage, name)
        return cells if kind == "O" else Cells("text", cells.values, cells.missing, storage)
    raise unreadable(name, storage)


def of_list(values: Iterable[Any], name: str) -> Cells:
    """A list or tuple: its cells are what they are, whatever they have in common."""
    cells = list(values)
    objects = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        objects[row] = cell
    return _of_objects(objects, np.zeros(len(cells), bool), "a list", name)


def _of_objects(objects: np.ndarray, masked: np.ndarray, storage: str, name: str) -> Cells:
    message = f"column {name!r} has cells that cannot be compared: convert it to numbers, text or dates first"
    missing = guarded(lambda: np.fromiter(map(is_missing, objects), bool, len(objects)), message)
    return Cells(None, objects, masked | missing, storage)


def unreadable(name: str, storage: str) -> RefusedType:
    """For storage types that no declaration reads."""
    return RefusedType(
        f"column {name!r} is stored as {storage}, which no declaration reads: "
        "convert it to numbers, booleans, text, dates or datetimes first"
    )


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT, a masked cell, and the NA of pandas."""
    if type(cell) in _ORDINARY:  # most cells: the rest is slower
        missing: bool = cell != cell
        return missing
    if cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(cell, np.datetime64):
        return bool(np.isnat(cell))
    return isinstance(cell, (float, np.floating, Decimal)) and cell != cell


def typed(cells: Cells, kinds: tuple[Kind, ...], name: str, declared: str) -> Cells:
    """The cells as one of these kinds, by their storage type.

    Cells of a list or an object column are taken for the first of the kinds that all of them are; if there is none,
    a fixed message says so.
    """
    wanted = " or ".join(PLURAL[kind] for kind in kinds)
    if cells.kind in kinds:
        return cells
    if cells.kind is not None:
        raise RefusedType(
            f"column {name!r} is declared as {declared} and reads {wanted}, but is stored as {cells.storage} "
            f"({PLURAL[cells.kind]}): {_remedy(cells.kind, kinds)}"
        )
    for kind in kinds:
        values = _all_of(kind, cells)
        if values is not None:
            return Cells(kind, values, cells.missing, cells.storage)
    raise RefusedType(
        f"column {name!r} is declared as {declared}, but not all of its cells are {wanted}, or they are of mixed "
        f"types: convert the column to one type first (it is stored as {cells.storage}, which promises none)"
    )


def _remedy(found: Kind, kinds: tuple[Kind, ...]) -> str:
    if found == "text":
        return "convert it first, or give the path of the .csv file, which is read by what is declared"
    if found == "boolean":
        return "declare it with dp.Boolean()"
    if found == "number" and kinds[0] == "text":
        return "declare its levels as whole numbers, or convert it to text first"
    return "convert it first, or declare another type"


def _all_of(kind: Kind, cells: Cells) -> np.ndarray | None:
    """The values, if every cell that is not missing is of this kind.

    A cell that cannot be read, for whatever reason, is not of this kind: ``typed`` says so without the reason, which
    may quote it.
    """
    blank, read = _READ[kind]
    try:
        found = [blank if gone else read(cell) for cell, gone in zip(cells.values, cells.missing, strict=True)]
    except Exception:
        return None
    return np.array(found, dtype=object if kind == "text" else np.float64)


def _number(cell: Any) -> float:
    if type(cell) not in (float, int) and (isinstance(cell, _BOOLEANS) or not isinstance(cell, (Real, Decimal))):
        raise TypeError
    return number_of(cell)


def number_of(value: Any) -> float:
    """A real number as float64, infinite beyond its range; minus zero is zero."""
    try:
        return float(value) + 0.0
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _boolean(cell: Any) -> float:
    if not isinstance(cell, _BOOLEANS):
        raise TypeError
    return float(cell)


def _text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise TypeError
    return str(cell)


def day_number(cell: datetime.date) -> float:
    """Days since 1970-01-01 of a date, or of a datetime without a time zone."""
    days = float(cell.toordinal() - _EPOCH)
    if not isinstance(cell, datetime.datetime):
        return days
    if cell.tzinfo is not None:
        raise TypeError
    seconds = 3600 * cell.hour + 60 * cell.minute + cell.second
    return days + (1_000_000 * seconds + cell.microsecond) / _DAY["us"]


def _date(cell: Any) -> float:
    if isinstance(cell, np.datetime64):
        return float(_days(np.array([cell]))[0])
    if not isinstance(cell, datetime.date):
        raise TypeError
    return day_number(cell)


def _days(values: np.ndarray) -> np.ndarray:
    """Days since 1970-01-01 of a datetime64 array, without overflow for any of its units."""
    unit, step = np.datetime_data(values.dtype)
    if step != 1:
        values = values.astype(f"datetime64[{unit}]")
    if unit in _DAY:
        whole, rest = np.divmod(values.astype(np.int64), _DAY[unit])
        return whole + rest / _DAY[unit]
    if unit in ("ps", "fs", "as"):
        return _days(values.astype("datetime64[ns]"))
    return values.astype("datetime64[D]").astype(np.int64).astype(np.float64)


_READ: dict[Kind, tuple[Any, Callable[[Any], Any]]] = {
    "number": (0.0, _number),
    "boolean": (0.0, _boolean),
    "text": ("", _text),
    "date": (0.0, _date),
}
