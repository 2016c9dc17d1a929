"""What a record has beside the columns of its design: an offset, a weight, and groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds, Covariates, scaled
from dpmcmc.models.formula.factors import Factor, factor
from dpmcmc.models.formula.terms import Parsed
from dpmcmc.models.groups import any_groups, to_unit
from dpmcmc.records import Schema


@dataclass(frozen=True)
class Beside:
    """Offset and weight, which are numbers, and groups, which have labels."""

    offset: Factor | None
    weights: Factor | None
    groups: tuple[Factor, ...]

    @property
    def bounds(self) -> dict[str, Bounds]:
        """Of the numbers, by names that tell what they are."""
        roles = {"offset": self.offset, "weights": self.weights}
        return {f"{role}({one.name})": one.bounds for role, one in roles.items() if one is not None}

    @property
    def settings(self) -> dict[str, Any]:
        """What a family is told of them."""
        offset = None if self.offset is None else f"offset({self.offset.name})"
        weights = None if self.weights is None else f"weights({self.weights.name})"
        return {"offset": offset, "weights": weights, "groups": {one.name: one.labels for one in self.groups}}

    @property
    def inputs(self) -> list[str]:
        """Columns of the table that η depends on."""
        return [one.column for one in (self.offset, *self.groups) if one is not None]

    @property
    def offset_centre(self) -> float:
        return 0.0 if self.offset is None else sum(self.offset.bounds) / 2

    @property
    def levels(self) -> tuple[int, ...]:
        return (*(0,) * len(self.bounds), *(len(one.labels) for one in self.groups))

    def encode(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        """Covariates in [−1, 1], one row a record; weights, where they are not read, at the centre of their bounds."""
        n = len(next(iter(encoded.values())))
        rows = [scaled(self.offset.values(encoded)[0], self.offset.bounds)] if self.offset is not None else []
        if self.weights is not None:
            read = self.weights.column in encoded
            rows.append(scaled(encoded[self.weights.column], self.weights.bounds) if read else np.zeros(n))
        rows += [to_unit(encoded[one.column], len(one.labels)) for one in self.groups]
        return np.stack(rows, axis=1) if rows else np.zeros((n, 0))

    def anywhere(self, key: Array, n: int) -> Array:
        """n rows from public knowledge only."""
        numbers = [Covariates(self.bounds).anywhere(key, n)] if self.bounds else []
        groups = any_groups(self.settings["groups"], jax.random.fold_in(key, 1), n)
        return jnp.concatenate([jnp.zeros((n, 0)), *numbers, *(codes[:, None] for codes in groups)], axis=1)


def beside(parsed: Parsed, schema: Schema, offset: str | None, weights: str | None) -> Beside:
    """By the formula and the arguments; an offset may be in either, as a column or a function of one."""
    if offset is not None and parsed.offset is not None:
        raise ValueError(
            f"there are two offsets, offset={offset!r} and {parsed.offset!r} in the formula: leave one out"
        )
    text = offset if offset is not None else parsed.offset
    in_terms = {name for term in parsed.terms for name in term}
    return Beside(
        None if text is None else _number("offset", text, schema),
        None if weights is None else _weights(weights, schema),
        tuple(_group(name, schema, in_terms) for name in parsed.groups),
    )


def _number(role: str, text: Any, schema: Schema) -> Factor:
    if not isinstance(text, str):
        raise TypeError(f"{role} must be the name of a declared column, got {text!r}")
    found = factor(text, schema)
    if found.labels:
        raise ValueError(
            f"{role}={text!r} is declared as dp.{type(schema[found.column]).__name__}: declare a number with bounds"
        )
    return found


def _weights(text: Any, schema: Schema) -> Factor:
    found = _number("weights", text, schema)
    if found.function or found.bounds[0] < 0:
        raise ValueError(
            f"weights={text!r} must be a declared number that is not negative: declare it with a lower bound of at "
            "least 0"
        )
    return found


def _group(name: str, schema: Schema, in_terms: set[str]) -> Factor:
    found = factor(name, schema)
    if not found.labels:
        raise ValueError(
            f"'(1|{name})': column {name!r} is declared as dp.{type(schema[name]).__name__}, and its values are not "
            "collected from the records: declare it as dp.Category, with its levels"
        )
    if in_terms & {name, f"C({name})"}:
        raise ValueError(f"the formula has {name!r} as a term and as a group, (1|{name}): leave one out")
    return found
