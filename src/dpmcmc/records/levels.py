"""What is declared of a column that holds levels: categories, ordered levels and booleans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from dpmcmc.records.cells import Cells, Kind
from dpmcmc.records.columns import EXACT, REFUSE, Column

MISSING = "missing"  # the level that missing="level" adds
Level = str | int


class Levelled(Column):
    """A column of levels, encoded as their positions 0, 1, 2, … in ``labels``."""

    unknown_choices: ClassVar[str]

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, float(self.n_levels - 1)

    def code(self, label: Level) -> int:
        """The code of a level."""
        if str(label) not in self.labels:
            raise ValueError(f"there is no level {label!r}; the levels are {', '.join(map(repr, self.labels))}")
        return self.labels.index(str(label))

    def fitted(self, codes: np.ndarray, missing: np.ndarray, rules: tuple[Any, Any], name: str) -> np.ndarray:
        """Codes of all cells: ``rules`` give the codes of unknown cells (where ``codes`` are −1) and missing ones."""
        unknown, absent = rules
        strange = ~missing & (codes < 0)
        if unknown is None and strange.any():
            raise ValueError(
                f"column {name!r} has values that are not declared, and its declaration refuses them: declare all of "
                f"them from public knowledge, or what becomes of others, with {self.unknown_choices}"
            )
        return np.where(missing, 0 if absent is None else absent, np.where(strange, unknown or 0, codes)).astype(float)


@dataclass(frozen=True)
class Named(Levelled):
    """A column whose levels are declared by name: what categories and ordered levels share."""

    levels: Sequence[Level]
    _: KW_ONLY
    unknown: Level = REFUSE
    missing: Level = REFUSE

    missing_choices: ClassVar[str] = "missing='level', or missing=<one of the levels>"
    unknown_choices: ClassVar[str] = "unknown='other'"

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", checked_levels(self.levels))
        for rule in ("unknown", "missing"):
            value = plain_level(getattr(self, rule), rule)
            object.__setattr__(self, rule, value)
        if self.missing not in (REFUSE, "level") and str(self.missing) not in self.labels:
            raise ValueError(
                f"missing must be 'refuse', 'level' or one of the levels {list(self.labels)}, got {self.missing!r}"
            )

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return ("text",) if self.texts else ("number",)

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(level for level in self.levels if isinstance(level, str))

    @property
    def labels(self) -> tuple[str, ...]:
        added = [str(self.unknown)] * (self.unknown != REFUSE) + [MISSING] * (self.missing == "level")
        return tuple(dict.fromkeys([*map(str, self.levels), *added]))

    def encode(self, cells: Cells, name: str) -> np.ndarray:
        cells = self.read(cells, name)
        return self.fitted(positions(cells, self.levels), cells.missing, (self._unknown, self._missing), name)

    @property
    def _unknown(self) -> int | None:
        return None if self.unknown == REFUSE else self.code(self.unknown)

    @property
    def _missing(self) -> int | None:
        return None if self.missing == REFUSE else self.code(MISSING if self.missing == "level" else self.missing)

    def summary(self) -> tuple[str, str, str]:
        missing = "refused" if self._missing is None else f"become {self.labels[self._missing]!r}"
        unknown = "refused" if self._unknown is None else f"become {self.labels[self._unknown]!r}"
        return " < ".join(map(str, self.levels)), missing, unknown


@dataclass(frozen=True)
class Ordered(Named):
    """A column of levels in their order, the lowest first.

        dp.Ordered(["poor", "fair", "good", "excellent"])

    Levels are text, or whole numbers, which are then read from columns of numbers. Values that are not declared are
    refused, or become the level ``unknown``, which is added if it is not declared. Missing values are refused, become
    the level ``missing``, or with ``missing="level"`` a level called "missing" of their own. Levels that are added
    come after those that are declared, and have no place in their order. The words "refuse" and "level" are always
    the rules.
    """

    type_name: ClassVar[str] = "ordered"


@dataclass(frozen=True)
class Category(Named):
    """A column of levels without an order, and the level that others are compared with.

        dp.Category(["free", "basic", "full"], reference="free", unknown="other", missing="level")

    The reference is the first level if none is given. Levels, ``unknown`` and ``missing`` as for :class:`Ordered`.
    """

    reference: Level | None = None

    type_name: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        super().__post_init__()
        reference = self.levels[0] if self.reference is None else self.reference
        if reference not in self.levels or isinstance(reference, bool):
            raise ValueError(f"reference must be one of the levels {list(self.levels)}, got {self.reference!r}")
        object.__setattr__(self, "reference", self.levels[self.levels.index(reference)])

    def summary(self) -> tuple[str, str, str]:
        starred = [f"{level} (reference)" if level == self.reference else str(level) for level in self.levels]
        return (", ".join(starred), *super().summary()[1:])


@dataclass(frozen=True)
class Boolean(Levelled):
    """A column of yes and no, encoded as 1 and 0.

        dp.Boolean()
        dp.Boolean({"yes": True, "no": False}, missing="level")
        dp.Boolean({1: True, 2: False})

    Read from booleans, and from numbers 0 and 1; or, with a ``coding``, from booleans and the texts or whole numbers
    that it names. Other values are refused, or become ``unknown``, True or False. Missing values are refused, become
    True or False, or with ``missing="level"`` a third level called "missing", with the code 2.
    """

    coding: Any = ()
    _: KW_ONLY
    unknown: bool | str = REFUSE
    missing: bool | str = REFUSE

    type_name: ClassVar[str] = "boolean"
    reference: ClassVar[str] = "false"
    missing_choices: ClassVar[str] = "missing='level', missing=True or missing=False"
    unknown_choices: ClassVar[str] = "a coding such as dp.Boolean({'yes': True, 'no': False}), or unknown=False"

    def __post_init__(self) -> None:
        coding = checked_coding(self.coding)
        object.__setattr__(self, "coding", coding)
        for rule, words in (("unknown", (REFUSE,)), ("missing", (REFUSE, "level"))):
            value = getattr(self, rule)
            if not isinstance(value, bool) and value not in words:
                allowed = ", ".join([*map(repr, words), "True"])
                raise ValueError(f"{rule} must be {allowed} or False, got {value!r}")

    @property
    def kinds(self) -> tuple[Kind, ...]:
        if not self.coding:
            return "boolean", "number"
        return ("text" if self.texts else "number"), "boolean"

    @property
    def texts(self) -> frozenset[str]:
        return frozenset(key for key, _ in self.coding if isinstance(key, str))

    @property
    def labels(self) -> tuple[str, ...]:
        return ("false", "true", *([MISSING] * (self.missing == "level")))

    def encode(self, cells: Cells, name: str) -> np.ndarray:
        cells = self.read(cells, name)
        codes = cells.values
        if cells.kind != "boolean":
            coding = dict(self.coding) or {0: False, 1: True}
            found = positions(cells, tuple(coding)).astype(int)
            codes = np.array([*coding.values(), -1], dtype=float)[found]  # the last one for what is not found
        return self.fitted(codes, cells.missing, (self._as_code(self.unknown), self._as_code(self.missing)), name)

    @staticmethod
    def _as_code(rule: bool | str) -> int | None:
        return None if rule == REFUSE else 2 if rule == "level" else int(rule)

    def summary(self) -> tuple[str, str, str]:
        values = ", ".join(f"{key} is {str(value).lower()}" for key, value in self.coding) or "false, true"
        missing, unknown = (
            "refused" if rule == REFUSE else f"become {self.labels[self._as_code(rule) or 0]!r}"
            for rule in (self.missing, self.unknown)
        )
        return values, missing, unknown


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
            f"levels must be a list such as ['low', 'high'], from public knowledge and in an order of yours, "
            f"got {type(levels).__name__}: {levels!r}"
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
