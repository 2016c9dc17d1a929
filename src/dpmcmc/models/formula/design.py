"""The design of a regression from its terms: columns, their bounds by interval arithmetic, and their values.

Records hold covariates in [−1, 1]: numbers scaled by their bounds, and ±1 for each level but the reference. The columns
that coefficients belong to are products of these, made record by record within the likelihood, so that records which
are simulated from covariates have products and levels that are possible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Covariates, scaled
from dpmcmc.models.formula.factors import Factor

Term = tuple[Factor, ...]
Coding = dict[str, bool]  # for each factor with levels whether all of them have a column, or all but the reference


@dataclass(frozen=True)
class Part:
    """A number, or whether a level is this one: constant + weights · covariates.

    ``base`` is its value at the centre of the bounds, or at the reference level.
    """

    name: str
    positions: tuple[int, ...]
    weights: tuple[float, ...]
    constant: float
    bounds: tuple[float, float]
    base: float

    def value(self, x: Array) -> Array:
        found = sum(
            (w * x[..., i] for i, w in zip(self.positions, self.weights, strict=True)), jnp.asarray(self.constant)
        )
        return jnp.clip(found, *self.bounds) if len(self.positions) > 1 else found  # simulated levels may coincide


@dataclass(frozen=True)
class DesignColumn:
    """A product of parts, of which (value − shift)/scale lies within [−1, 1]."""

    name: str
    term: str
    parts: tuple[Part, ...]
    bounds: tuple[float, float]
    shift: float

    @property
    def scale(self) -> float:
        low, high = self.bounds
        return max(high - self.shift, self.shift - low)

    @property
    def half_range(self) -> float:
        return (self.bounds[1] - self.bounds[0]) / 2

    def unit(self, x: Array) -> Array:
        """(value − shift)/scale."""
        if len(self.parts) == 1:
            part = self.parts[0]
            unit = Part(
                part.name,
                part.positions,
                tuple(weight / self.scale for weight in part.weights),
                (part.constant - self.shift) / self.scale,
                ((part.bounds[0] - self.shift) / self.scale, (part.bounds[1] - self.shift) / self.scale),
                0.0,
            )
            return unit.value(x)
        values = [part.value(x) for part in self.parts]
        return jnp.clip((math.prod(values) - self.shift) / self.scale, -1, 1)


@dataclass(frozen=True)
class Design:
    """Covariates of a record, and columns of coefficients. Equal where factors and columns are."""

    factors: tuple[Factor, ...]
    columns: tuple[DesignColumn, ...]
    intercept: bool

    @property
    def levels(self) -> tuple[int, ...]:
        """For each covariate 0 if it is a number, and 2 if it says whether a level is this one."""
        return tuple(2 if factor.labels else 0 for factor in self.factors for _ in factor.covariates)

    def units(self, x: Array) -> Array:
        """Columns in [−1, 1], of one row of covariates or of many; clipped, so that rounding takes none outside."""
        if not self.columns:
            return x[..., :0]
        return jnp.clip(jnp.stack([column.unit(x) for column in self.columns], axis=-1), -1.0, 1.0)

    def encode(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        """Covariates in [−1, 1] from the encoded columns of a table, one row a record."""
        rows = [scaled(values, factor.bounds) for factor in self.factors for values in factor.values(encoded)]
        return np.stack(rows, axis=1) if rows else np.zeros((len(next(iter(encoded.values()))), 0))

    def anywhere(self, key: Array, n: int) -> Array:
        """n rows of covariates from public knowledge only: numbers within the bounds or at them, any level."""
        keys = iter(jax.random.split(key, len(self.factors) + 1))
        return jnp.concatenate(
            [jnp.zeros((n, 0)), *(_anywhere(factor, next(keys), n) for factor in self.factors)], axis=1
        )


def _anywhere(factor: Factor, key: Array, n: int) -> Array:
    if not factor.labels:
        return Covariates({factor.name: factor.bounds}).anywhere(key, n)
    level = jax.random.randint(key, (n, 1), 0, len(factor.labels))  # the last is the reference
    return jnp.where(level == jnp.arange(len(factor.others)), 1.0, -1.0)


def design(terms: Sequence[Term], intercept: bool) -> Design:
    """The design of these terms, the columns of each in the order of the formula."""
    factors = tuple(dict.fromkeys(factor for term in terms for factor in term))
    counts = np.cumsum([0, *(len(factor.covariates) for factor in factors)])
    first = {factor.name: int(place) for factor, place in zip(factors, counts[:-1], strict=True)}
    columns = tuple(
        _column(parts, ":".join(factor.name for factor in term), intercept)
        for term, coding in coded(terms, intercept)
        for parts in product(*(_parts(factor, first[factor.name], coding) for factor in term if _used(factor, coding)))
    )
    return Design(factors, columns, intercept)


def _used(factor: Factor, coding: Coding) -> bool:
    return not factor.labels or factor.name in coding


def _parts(factor: Factor, first: int, coding: Coding) -> list[Part]:
    if not factor.labels:
        low, high = factor.bounds
        centre, half = (low + high) / 2, (high - low) / 2
        return [Part(factor.name, (first,), (half,), centre, factor.bounds, centre)]
    count = len(factor.others)
    ones = {
        label: Part(f"{factor.name}[{label}]", (first + place,), (0.5,), 0.5, (0.0, 1.0), 0.0)
        for place, label in enumerate(factor.others)
    }
    if coding[factor.name]:
        places = tuple(range(first, first + count))
        name = f"{factor.name}[{factor.reference}]"
        ones[factor.reference] = Part(name, places, (-0.5,) * count, 1 - count / 2, (0.0, 1.0), 1.0)
    return [ones[label] for label in factor.labels if label in ones]


def _column(parts: tuple[Part, ...], term: str, intercept: bool) -> DesignColumn:
    """The bounds of a product are among the products of bounds."""
    corners = [float(math.prod(corner)) for corner in product(*(part.bounds for part in parts))]
    name, bounds = ":".join(part.name for part in parts), (min(corners), max(corners))
    if not np.isfinite(corners).all():
        raise ValueError(f"the term {name!r} has bounds {bounds}: declare narrower bounds of its columns")
    base = float(math.prod(part.base for part in parts))
    return DesignColumn(name, term, parts, bounds, base if intercept else 0.0)


def coded(terms: Sequence[Term], intercept: bool) -> Iterator[tuple[Term, Coding]]:
    """How levels become columns, so that together they say what the terms say, and none follows from others.

    A level of every factor has a column, unless the other terms already say what the reference level would: with an
    intercept, ``plan`` has none for it; without, it has. A term may come in several pieces.

    Reference: the rules are those of R and Bambi, see the documentation of patsy, "Redundancy and categorical factors".
    """
    seen: dict[frozenset[str], set[frozenset[str]]] = {frozenset(): {frozenset()} if intercept else set()}
    for term in terms:
        numbers = frozenset(factor.name for factor in term if not factor.labels)
        levelled = [factor.name for factor in term if factor.labels]
        known = seen.setdefault(numbers, set())
        every = [frozenset(some) for size in range(len(levelled) + 1) for some in combinations(levelled, size)]
        new = [some for some in every if some not in known]
        known.update(new)
        for coding in _joined([dict.fromkeys(some, False) for some in new]):
            yield term, coding


def _joined(pieces: list[Coding]) -> list[Coding]:
    """A piece with and one without a factor's contrasts are one with all its levels."""
    for short, long in combinations(range(len(pieces)), 2):
        more = pieces[long].keys() - pieces[short].keys()
        if len(more) == 1 and pieces[long].items() >= pieces[short].items() and not pieces[long][min(more)]:
            joined = pieces[long] | {min(more): True}
            return _joined([joined if at == long else piece for at, piece in enumerate(pieces) if at != short])
    return pieces
