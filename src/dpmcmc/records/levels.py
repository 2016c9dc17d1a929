"""What is declared of a column that holds levels: categories, ordered levels and booleans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from dpmcmc.records.cells import Cells, Kind, RefusedValue
from dpmcmc.records.coding import (
    Level,
    checked_codes,
    checked_coding,
    checked_levels,
    is_pairs,
    kind_of,
    plain_level,
    positions,
)
from dpmcmc.records.columns import REFUSE, Column

MISSING = "missing"  # the level that missing="level" adds


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
            raise RefusedValue(
                f"column {name!r} has values that are not declared, and its declaration refuses them: declare all of "
                f"them from public knowledge, or what becomes of others, with {self.unknown_choices}"
            )
        return np.where(missing, 0 if absent is None else absent, np.where(strange, unknown or 0, codes)).astype(float)


@dataclass(frozen=True)
class Named(Levelled):
    """A column whose levels are declared by name: what categories and ordered levels share.

    ``levels`` are kept as a tuple, of pairs (value, level) if the table has codes for them.
    """

    levels: Any
    _: KW_ONLY
    unknown: Level = REFUSE
    missing: Level = REFUSE

    missing_choices: ClassVar[str] = "missing='level', or missing=<one of the levels>"
    unknown_choices: ClassVar[str] = "unknown='other'"

    def __post_init__(self) -> None:
        coded = isinstance(self.levels, Mapping) or is_pairs(self.levels)
        object.__setattr__(self, "levels", (checked_codes if coded else checked_levels)(self.levels))
        for rule in ("unknown", "missing"):
            value = plain_level(getattr(self, rule), rule)
            object.__setattr__(self, rule, value)
        if self.missing not in (REFUSE, "level") and str(self.missing) not in self.labels:
            raise ValueError(
                f"missing must be 'refuse', 'level' or one of the levels {list(self.labels)}, got {self.missing!r}"
            )

    @property
    def is_coded(self) -> bool:
        return is_pairs(self.levels)

    @property
    def coding(self) -> dict[Level, Level]:
        """The values in the table, and the level that each of them is."""
        return dict(self.levels) if self.is_coded else {level: level for level in self.levels}

    @property
    def declared(self) -> tuple[Level, ...]:
        """The levels, without those that rules for other and missing values add."""
        return tuple(dict.fromkeys(self.coding.values()))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return (kind_of(self.values),)

    @property
    def values(self) -> frozenset[Level]:
        return frozenset(self.coding)

    @property
    def labels(self) -> tuple[str, ...]:
        added = [str(self.unknown)] * (self.unknown != REFUSE) + [MISSING] * (self.missing == "level")
        return tuple(dict.fromkeys([*map(str, self.declared), *added]))

    def encode(self, cells: Cells, name: str) -> np.ndarray:
        cells, coding = self.read(cells, name), self.coding
        codes = np.array([*map(self.code, coding.values()), -1], dtype=float)  # the last one for what is not found
        found = codes[positions(cells, tuple(coding)).astype(int)]
        return self.fitted(found, cells.missing, (self._unknown, self._missing), name)

    @property
    def _unknown(self) -> int | None:
        return None if self.unknown == REFUSE else self.code(self.unknown)

    @property
    def _missing(self) -> int | None:
        return None if self.missing == REFUSE else self.code(MISSING if self.missing == "level" else self.missing)

    def shown(self, level: Level) -> str:
        """A level for people, after its codes if the table has such."""
        codes = [str(value) for value, meant in self.coding.items() if meant == level]
        return f"{' or '.join(codes)} is {level}" if self.is_coded else str(level)

    def summary(self) -> tuple[str, str, str]:
        missing = "refused" if self._missing is None else f"become {self.labels[self._missing]!r}"
        unknown = "refused" if self._unknown is None else f"become {self.labels[self._unknown]!r}"
        return " < ".join(map(self.shown, self.declared)), missing, unknown


@dataclass(frozen=True)
class Ordered(Named):
    """A column of levels in their order, the lowest first.

        dp.Ordered(["poor", "fair", "good", "excellent"])
        dp.Ordered({1: "poor", 2: "fair", 3: "good", 4: "good"})

    Levels are text, or whole numbers, which are then read from columns of numbers. A mapping says which level a value
    of the table is, and several values may be one; references and rules are then said by levels, not by values. Values
    that are not declared are refused, or become the level ``unknown``, which is added if it is not declared. Missing
    values are refused, become the level ``missing``, or with ``missing="level"`` a level called "missing" of their own.
    Levels that are added come after those that are declared, and have no place in their order. The words "refuse" and
    "level" are always the rules.
    """

    type_name: ClassVar[str] = "ordered"


@dataclass(frozen=True)
class Category(Named):
    """A column of levels without an order, and the level that others are compared with.

        dp.Category(["free", "basic", "full"], reference="free", unknown="other", missing="level")
        dp.Category({1: "yes", 2: "no", 9: "refused"}, reference="no")

    The reference is the first level if none is given. Levels, ``unknown`` and ``missing`` as for :class:`Ordered`.
    """

    reference: Level | None = None

    type_name: ClassVar[str] = "category"

    def __post_init__(self) -> None:
        super().__post_init__()
        declared = self.declared
        reference = declared[0] if self.reference is None else self.reference
        if reference not in declared or isinstance(reference, bool):
            raise ValueError(f"reference must be one of the levels {list(declared)}, got {self.reference!r}")
        object.__setattr__(self, "reference", declared[declared.index(reference)])

    def summary(self) -> tuple[str, str, str]:
        starred = [f"{self.shown(level)}{' (reference)' * (level == self.reference)}" for level in self.declared]
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
        return (kind_of(self.values), "boolean") if self.coding else ("boolean", "number")

    @property
    def values(self) -> frozenset[Level]:
        return frozenset(dict(self.coding))

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
