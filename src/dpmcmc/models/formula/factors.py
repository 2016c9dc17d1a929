"""The factors of a formula by the declaration alone: which numbers they are made of, and between which bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.records import Boolean, Category, Date, Number, Ordered, Schema

FUNCTIONS: dict[str, tuple[Any, float, bool]] = {
    "log": (np.log, 0.0, False),
    "log2": (np.log2, 0.0, False),
    "log10": (np.log10, 0.0, False),
    "log1p": (np.log1p, -1.0, False),
    "sqrt": (np.sqrt, 0.0, True),
    "exp": (np.exp, -np.inf, False),
    "expm1": (np.expm1, -np.inf, False),
}
"""Increasing functions, so that bounds go to bounds; where they are defined from, and whether there as well."""

_LEARNING = frozenset(
    (
        "center",
        "scale",
        "standardize",
        "poly",
        "bs",
        "cs",
        "cr",
        "cc",
        "ns",
        "te",
        "hashed",
        "lag",
        "rank",
        "cut",
        "qcut",
    )
)


@dataclass(frozen=True)
class Factor:
    """A number, or levels of which one is the reference.

    Its covariates are what records hold of it: the number itself, or whether the level is this one, for each level but
    the reference.
    """

    name: str
    column: str
    bounds: tuple[float, float]
    labels: tuple[str, ...] = ()
    reference: str = ""
    function: str = ""

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(label for label in self.labels if label != self.reference)

    @property
    def covariates(self) -> tuple[str, ...]:
        return tuple(f"{self.name}[{label}]" for label in self.others) if self.labels else (self.name,)

    def values(self, encoded: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Its covariates from the encoded columns of a table: numbers within the bounds, or 0 and 1."""
        given = encoded[self.column]
        if self.labels:
            return [(given == self.labels.index(label)).astype(np.float64) for label in self.others]
        return [FUNCTIONS[self.function][0](given) if self.function else given]


def factor(text: str, schema: Schema) -> Factor:
    """The factor that ``text`` stands for, by what is declared."""
    if text in schema:
        return _of_column(text, schema)
    called = re.fullmatch(r"(?:(?:np|numpy)\.)?(\w+)\((.*)\)", text, flags=re.S)
    if not called:
        if re.fullmatch(r"[\w.]+", text):
            schema.subset([text])  # raises, and says which columns there are
        raise _expression(text)
    function, inside = called[1], called[2].strip().strip("`")
    if function == "C":
        return _levels_asked(text, inside, schema)
    if function == "offset":
        raise ValueError(f"{text!r} is multiplied by something: an offset is a term of its own, as in '+ {text}'")
    if function in _LEARNING:
        raise ValueError(
            f"{text!r} is not allowed: {function} is computed from all records, which costs privacy; numbers are "
            "centred and scaled by their declared bounds anyway, and other columns can be declared"
        )
    if function not in FUNCTIONS:
        raise _expression(text)
    if inside not in schema:
        if re.fullmatch(r"[\w.]+", inside):
            schema.subset([inside])
        raise _expression(text)
    return _function_of(function, inside, schema)


def _of_column(name: str, schema: Schema) -> Factor:
    column = schema[name]
    if isinstance(column, Number | Date):
        return Factor(name, name, column.bounds)
    if isinstance(column, Category | Boolean):
        return Factor(name, name, (0.0, 1.0), column.labels, str(column.reference))
    if isinstance(column, Ordered):
        return Factor(name, name, (0.0, 1.0), column.labels, column.labels[0])
    raise TypeError(f"column {name!r} is declared as {type(column).__name__}, which formulas do not know")


def _levels_asked(text: str, inside: str, schema: Schema) -> Factor:
    if inside not in schema:
        plain = inside.partition(",")[0].strip()
        if plain in schema:
            raise ValueError(
                f"{text!r}: contrasts come from the declaration, every level against the reference: write {plain!r}, "
                "and choose the reference with dp.Category(levels, reference=...)"
            )
        schema.subset([inside])
    if not schema[inside].labels:
        raise ValueError(
            f"{text!r}: column {inside!r} is declared as dp.{type(schema[inside]).__name__}, and its values are not "
            "collected from the records: declare it as dp.Category, with its levels"
        )
    return _of_column(inside, schema)


def _function_of(function: str, name: str, schema: Schema) -> Factor:
    column = schema[name]
    if not isinstance(column, Number):
        raise ValueError(f"'{function}({name})': column {name!r} is a dp.{type(column).__name__}, and no number")
    apply, least, there = FUNCTIONS[function]
    low, high = column.bounds
    if low < least or (low == least and not there):
        raise ValueError(
            f"'{function}({name})': column {name!r} is declared from {low:g}, where {function} is not finite: "
            "declare a higher bound" + (", or write log1p" if function.startswith("log") and low == 0 else "")
        )
    with np.errstate(over="ignore"):
        bounds = (float(apply(low)), float(apply(high)))
    if not bounds[0] < bounds[1] or not np.isfinite(bounds).all():
        raise ValueError(f"'{function}({name})' is between {bounds[0]:g} and {bounds[1]:g}: declare narrower bounds")
    return Factor(f"{function}({name})", name, bounds, function=function)


def _expression(text: str) -> ValueError:
    return ValueError(
        f"{text!r} is not a declared column nor a function whose bounds follow from one ({', '.join(FUNCTIONS)}): "
        "compute it before, and declare it as a column with bounds of its own"
    )
