"""What is declared of the columns of X: public bounds, and how a column becomes numbers within them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.models.covariates import Bounds, Covariates, check_bounds
from dpmcmc.records import Boolean, Schema
from dpmcmc.sklearn.arrays import matrix, rows

EXAMPLE = "bounds=(0, 1) for all columns, bounds=[(18, 90), (0, 200)], or {'age': (18, 90), 'income': (0, 200)}"


@dataclass(frozen=True)
class Declared:
    """The columns of X by name, in their order, with public bounds; ``schema`` where they were declared by one."""

    bounds: Mapping[str, Bounds]
    schema: Schema | None = None

    def encode(self, X: Any) -> np.ndarray:
        """The covariates of the model: columns scaled to [−1, 1] by their bounds, values outside moved to them."""
        if self.schema is None:
            return Covariates(self.bounds).encode(self._named(matrix(X)))
        return Covariates(self.bounds).encode(self.schema.encode(X if hasattr(X, "columns") else self._named(rows(X))))

    def _named(self, array: np.ndarray) -> dict[str, np.ndarray]:
        return dict(zip(self.bounds, array.T, strict=True))


def declare(bounds: Any, names: tuple[str, ...] | None, count: int) -> Declared:
    """What ``bounds`` say of ``count`` columns, which have ``names`` or are called x0, x1, … Reads no value."""
    if bounds is None:
        raise ValueError(f"declare what is publicly known of the columns of X: {EXAMPLE}, or a dp.Schema")
    if isinstance(bounds, Schema):
        return _by_schema(bounds, names, count)
    called = names or tuple(f"x{number}" for number in range(count))
    if isinstance(bounds, Mapping):
        return Declared({name: as_pair(name, bounds[name]) for name in _all_declared(bounds, called)})
    given = list(bounds) if isinstance(bounds, list | tuple | np.ndarray) else [bounds]
    if len(given) == 2 and all(np.ndim(limit) == 0 for limit in given):
        given = [given] * count
    if len(given) != count:
        raise ValueError(f"bounds has {len(given)} entries, and X has {count} columns: give {EXAMPLE}")
    return Declared({name: as_pair(name, limits) for name, limits in zip(called, given, strict=True)})


def _by_schema(schema: Schema, names: tuple[str, ...] | None, count: int) -> Declared:
    if names is None and len(schema) != count:
        raise ValueError(
            f"the schema declares {len(schema)} columns, and X has {count} without names: give a data frame"
        )
    chosen = schema.subset(_all_declared(schema, names or schema.names))
    for name, declared in chosen.items():
        if declared.n_levels and not (isinstance(declared, Boolean) and declared.n_levels == 2):
            raise ValueError(
                f"column {name!r} is declared as dp.{type(declared).__name__} with {declared.n_levels} levels, and the "
                "columns of X are numbers: encode it as columns of 0 and 1, or use dp.regression, which does"
            )
    return Declared({name: column.bounds for name, column in chosen.items()}, chosen)


def _all_declared(bounds: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str, ...]:
    missing = [name for name in names if name not in bounds]
    if missing:
        raise ValueError(f"bounds declare nothing for the columns {', '.join(map(repr, missing))} of X")
    return names


def as_pair(name: str, limits: Any) -> Bounds:
    check_bounds(name, limits)
    low, high = limits
    return float(low), float(high)
