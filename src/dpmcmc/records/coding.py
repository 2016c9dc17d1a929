"""Values of a table that are declared one by one, and what they mean: checks, and where cells are among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dpmcmc.records.cells import Cells, Kind
from dpmcmc.records.columns import EXACT

Level = str | int


def kind_of(values: Iterable[Level]) -> Kind:
    """What cells with these values are read as."""
    return "text" if any(isinstance(value, str) for value in values) else "number"


def positions(cells: Cells, levels: Sequence[Level]) -> np.ndarray:
    """The position of each cell's value among the levels, −1 if it is not one of them."""
    if cells.kind == "text":
        at = {level: position for position, level in enumerate(levels)}
        return np.fromiter((at.get(text, -1) for text in cells.values), np.float64, len(cells))
    numbers = np.array(levels, dtype=np.float64)
    order = np.argsort(numbers)
    nearest = order[np.minimum(np.searchsorted(numbers[order], cells.values), len(levels) - 1)]
    return np.where(numbers[nearest] == cells.values, nearest, -1).astype(np.float64)


def plain_level(level: Any, what: str) -> Level:
    """Text that can be written, or a whole number."""
    if isinstance(level, np.integer):
        level = int(level)
    if isinstance(level, str) and level and level.encode("utf-8", "ignore").decode() == level:
        return str(level)
    if isinstance(level, int) and not isinstance(level, bool) and abs(level) < EXACT:
        return level
    raise TypeError(f"{what} must be text that is not empty, or a whole number within ±2⁵³, got {level!r}")


def checked_levels(levels: Any) -> tuple[Level, ...]:
    """At least two levels, all text or all whole numbers, none twice."""
    if not isinstance(levels, list | tuple | range):
        raise TypeError(
            f"levels must be a list such as ['low', 'high'], or a mapping such as {{1: 'low', 2: 'high'}}, from public "
            f"knowledge and in an order of yours, got {type(levels).__name__}: {levels!r}"
        )
    found = tuple(plain_level(level, "a level") for level in levels)
    if len({isinstance(level, str) for level in found}) > 1:
        raise TypeError(f"levels must be all text or all whole numbers, got {list(found)}")
    repeated = sorted({str(level) for level in found if found.count(level) > 1})
    if repeated:
        raise ValueError(f"levels must differ, got more than one {', '.join(map(repr, repeated))}")
    if len(found) < 2:
        raise ValueError(f"there must be at least two levels, got {list(found)}: a constant says nothing")
    return found


def is_pairs(levels: Any) -> bool:
    """Whether values and levels come in pairs."""
    return (
        isinstance(levels, list | tuple)
        and bool(levels)
        and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in levels)
    )


def checked_codes(codes: Any) -> tuple[tuple[Level, str], ...]:
    """Pairs of a value in the table and its level: values that differ, and levels that are text."""
    pairs = list(codes.items() if isinstance(codes, Mapping) else codes)
    wrong = [level for _, level in pairs if not isinstance(level, str)]
    if wrong:
        boolean = " (for True and False, declare dp.Boolean)" if isinstance(wrong[0], bool | np.bool_) else ""
        raise TypeError(f"levels must be text where the table has codes for them, got {wrong[0]!r}{boolean}")
    values = checked_levels([value for value, _ in pairs])
    levels = [str(plain_level(level, "a level")) for _, level in pairs]
    checked_levels(list(dict.fromkeys(levels)))  # at least two
    return tuple(zip(values, levels, strict=True))


def checked_coding(coding: Any) -> tuple[tuple[Level, bool], ...]:
    """Pairs of a text or whole number and what it means, those for True first."""
    if coding == () or (isinstance(coding, Mapping) and not coding):
        return ()
    try:
        meaning = dict(coding)
    except (TypeError, ValueError):
        raise TypeError(f"coding must be a mapping such as {{'yes': True, 'no': False}}, got {coding!r}") from None
    wrong = {key: value for key, value in meaning.items() if not isinstance(value, bool | np.bool_)}
    if wrong:
        raise TypeError(f"coding must say True or False for each value, got {wrong!r}")
    checked_levels(list(meaning))
    if len(set(meaning.values())) < 2:
        raise ValueError(f"coding must say what is True and what is False, got {meaning!r}")
    pairs = [(plain_level(key, "a value"), bool(value)) for key, value in meaning.items()]
    return tuple(sorted(pairs, key=lambda pair: not pair[1]))
