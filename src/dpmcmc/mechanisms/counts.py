"""Histograms of several columns at once with Gaussian noise, in whole numbers.

Every record is in one bin of each column and adds the same whole number there. Under substitution it leaves one bin of
a column for another, which moves the table by √2 of that number, not by 2 as a clipped sum would be charged; under
zero-out it leaves or enters one, which moves it by 1.

    counts = Histograms.of_multiplier(columns=3, noise_multiplier=20.0)
    run = jax.jit(lambda words, data, weight: noisy_counts(words, data, bins_of, bins, weight))
    run(words, data, counts.weight)                  # (3, bins) counts of records; costs counts.event(n)

Reference: docs/theory/gaussian-sums.md, Claim 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpmcmc.mechanisms.blocks import in_blocks
from dpmcmc.mechanisms.gaussian_sum import (
    CHARGED_STD,
    MOST_COORDINATES,
    NOISE_STD,
    discrete_gaussian,
    need_64_bits,
)
from dpmcmc.privacy.events import Event, Gaussian
from dpmcmc.privacy.filter import LEAST_MULTIPLIER
from dpmcmc.privacy.relations import SUBSTITUTION, ZERO_OUT, reach

LEAST_WEIGHT = 16
"""Of smaller weights too few noise multipliers could be had: the weight is a whole number."""

_ROUND_DOWN = 1 - 2**-50


@dataclass(frozen=True)
class Histograms:
    """Counts of records by bin, for each of ``columns``, with Gaussian noise of standard deviation :attr:`std`.

    Each record adds ``weight`` units to one bin of each column, whatever it holds; the noise is the one of
    :class:`~dpmcmc.mechanisms.gaussian_sum.GaussianSum`, in units.

    Guarantee: :meth:`event`. Under substitution the table moves by ``weight``·√(2·columns) at most, exactly; under
    zero-out by ``weight``·√columns.
    """

    columns: int
    weight: int
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        if self.columns != int(self.columns):
            raise ValueError(f"columns must be a whole number, at least 1, got {self.columns!r}")
        most = largest_weight(self.columns, self.relation)
        if self.weight != int(self.weight) or not LEAST_WEIGHT <= self.weight <= most:
            noisiest = _multiplier(self.columns, LEAST_WEIGHT, self.relation)
            raise ValueError(
                f"the weight of a record in counts of {self.columns} columns must be a whole number from "
                f"{LEAST_WEIGHT} to {most} (noise multipliers from {noisiest:.3g} to "
                f"{LEAST_MULTIPLIER:g}), got {self.weight!r}"
            )

    @classmethod
    def of_multiplier(cls, columns: int, noise_multiplier: float, relation: str = SUBSTITUTION) -> Histograms:
        """The counts whose noise is at least ``noise_multiplier`` times their sensitivity, and hardly more."""
        most = _multiplier(columns, LEAST_WEIGHT, relation)
        if not LEAST_MULTIPLIER <= noise_multiplier <= most:
            raise ValueError(
                f"counts of {columns} columns can be released with noise multipliers from {LEAST_MULTIPLIER:g}, the "
                f"least that is proven in machine arithmetic, to {most:.3g}; got {noise_multiplier!r}"
            )
        weight = max(math.floor(_multiplier(columns, 1, relation) / noise_multiplier), LEAST_WEIGHT)
        if _multiplier(columns, weight, relation) < noise_multiplier:  # a rounding at an edge
            weight -= 1
        return cls(columns, weight, relation)

    @property
    def noise_multiplier(self) -> float:
        """Standard deviation of the noise over the L2 sensitivity, both in units; rounded down."""
        return _multiplier(self.columns, self.weight, self.relation)

    @property
    def std(self) -> float:
        """Standard deviation of the noise of one count, in records."""
        return NOISE_STD / self.weight

    def event(self, n: int) -> Event:
        """One release of all counts over all ``n`` records."""
        return Gaussian(self.noise_multiplier, self.relation)

    def of_records(self, words: Array, data: Any, bins_of: Callable[[Any], Array], bins: int) -> Array:
        """The noisy counts (columns, bins) of :func:`noisy_counts`, with the weight compiled in."""
        if words.shape[0] != self.columns * bins:
            raise ValueError(f"noise for {self.columns} × {bins} counts is needed, got it for {words.shape[0]}")
        return noisy_counts(words, data, bins_of, bins, self.weight)


def largest_weight(columns: int, relation: str = ZERO_OUT) -> int:
    """The weight at the least noise multiplier of a relation; the largest of all is that of zero-out."""
    return math.floor(_multiplier(columns, 1, relation) / LEAST_MULTIPLIER)


def _multiplier(columns: int, weight: int, relation: str) -> float:
    if columns < 1:
        raise ValueError(f"columns must be a whole number, at least 1, got {columns!r}")
    return CHARGED_STD / (weight * math.sqrt(reach(relation) * columns)) * _ROUND_DOWN


def noisy_counts(words: Array, data: Any, bins_of: Callable[[Any], Array], bins: int, weight: Array | int) -> Array:
    """How many records are in each bin of each column, with Gaussian noise: (columns, bins), float64, in records.

    ``bins_of`` maps a block of records to whole numbers (rows, columns) from 0 to ``bins`` − 1; it decides where values
    go that are missing or out of range. Numbers outside are taken to the nearest bin. ``words`` are secret, of shape
    (columns · bins, DRAWS, 3). ``weight`` may be traced, so that one compiled program serves every noise multiplier;
    ``columns`` is what the shape of ``words`` says.

    Guarantee: Gaussian(noise multiplier of ``Histograms(columns, weight, relation)``) under either relation, whatever
    ``bins_of`` is.
    """
    columns, rest = divmod(words.shape[0], bins)
    if bins < 1 or rest or not 1 <= columns * bins <= MOST_COORDINATES:
        raise ValueError(
            f"the number of counts must be a multiple of bins and at most {MOST_COORDINATES}, "
            f"got {words.shape[0]} with {bins} bins"
        )
    units = jnp.clip(jnp.asarray(weight, jnp.int64), 1, largest_weight(columns))
    noise = discrete_gaussian(words).reshape(columns, bins)
    return (weighted_counts(data, bins_of, (columns, bins), weight) + noise).astype(jnp.float64) / units.astype(
        jnp.float64
    )


def weighted_counts(
    data: Any, bins_of: Callable[[Any], Array], shape: tuple[int, int], weight: Array | int, count: Array | None = None
) -> Array:
    """How many of the first ``count`` records (of all) are in each bin of each column, times ``weight``, as whole
    numbers of ``shape`` (columns, bins). Private."""
    columns, bins = shape
    if not 1 <= columns * bins <= MOST_COORDINATES:
        raise ValueError(f"up to {MOST_COORDINATES} counts can be released, got {columns} × {bins}")

    def add(records: Any, counted: Array) -> Array:
        return whole_counts(bins_of(records), columns, bins, counted)

    return in_blocks(add, data, count) * jnp.clip(jnp.asarray(weight, jnp.int64), 1, largest_weight(columns))


def whole_counts(chosen: Array, columns: int, bins: int, counted: Array | None = None) -> Array:
    """How many rows of ``chosen`` (rows, columns) are in each bin of each column, (columns, bins). Private.

    Guarantee: each row adds 1 to exactly one bin of each column; one that is not ``counted`` adds 0.
    """
    if chosen.ndim != 2 or chosen.shape[1] != columns or not jnp.issubdtype(chosen.dtype, jnp.integer):
        raise ValueError(
            f"bins_of must give whole numbers, a row of {columns} for each record; "
            f"got {chosen.dtype} of shape {chosen.shape}"
        )
    need_64_bits()
    inside = jnp.clip(chosen.astype(jnp.int64), 0, bins - 1)
    one = jnp.ones((chosen.shape[0], 1), jnp.int64) if counted is None else counted[:, None].astype(jnp.int64)
    return jnp.zeros((columns, bins), jnp.int64).at[jnp.arange(columns), inside].add(one)
