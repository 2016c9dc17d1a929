"""How many records a Poisson minibatch draws, and which: from secret bits, by work that never depends on the data.

The count B ~ Poisson(mean) is read off a table of 128-bit thresholds that is computed in whole numbers on the host, so
its law is within ``LAW_ERROR`` of the Poisson law in total variation, truncation at the largest count included. A
compiled step always has ``slots`` places, of which the first B count.

Reference: docs/theory/poisson.md, "In machine arithmetic".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array

LAW_ERROR = 2.0**-108
"""Bound on the total variation distance between the law of the table and the Poisson law."""

MOST = 2.0**24
"""The largest mean for which ``LAW_ERROR`` is proved (and far beyond what pays)."""

MOST_PLACES = 2**31 - 1
"""The most records that :func:`places` tells apart: indices have 32 bits and a sign."""

_TAIL = 2**112  # the mass left out on either side is below 1/_TAIL
_SCALE = 2**256


@dataclass(frozen=True, eq=False)
class CountTable:
    """B = ``first`` + how many of the thresholds are at most a uniform 128-bit integer."""

    first: int
    high: np.ndarray
    low: np.ndarray

    @property
    def slots(self) -> int:
        """The largest count."""
        return self.first + len(self.high)

    def draw(self, bits: Array) -> Array:
        """B from two secret 64-bit words. Every threshold is compared, whatever the words are."""
        high, low = jnp.asarray(self.high), jnp.asarray(self.low)
        below = (high < bits[0]) | ((high == bits[0]) & (low <= bits[1]))
        return self.first + jnp.sum(below, dtype=jnp.int64)


@lru_cache(maxsize=64)
def count_table(mean: float) -> CountTable:
    """The thresholds of Poisson(``mean``): cumulative sums of weights grown from the mode, in whole numbers."""
    if not 0 < mean <= MOST:
        raise ValueError(f"a Poisson minibatch of {mean:.4g} records on average is beyond {MOST:.4g}; use all records")
    numerator, denominator = mean.as_integer_ratio()
    mode = int(mean)
    up = [_SCALE]
    while (b := mode + len(up)) <= mean or up[-1] * numerator * _TAIL > _SCALE * (b * denominator - numerator):
        up.append(up[-1] * numerator // (denominator * b))
    down: list[int] = []
    weight = _SCALE
    while (b := mode - len(down)) > 0 and weight * b * _TAIL > _SCALE:
        weight = weight * denominator * b // numerator
        down.append(weight)
    weights = [*reversed(down), *up]
    total, cumulative, thresholds = sum(weights), 0, []
    for weight in weights[:-1]:
        cumulative += weight
        thresholds.append((cumulative << 128) // total)
    split = [divmod(threshold, 2**64) for threshold in thresholds]
    high, low = (np.array([pair[side] for pair in split], np.uint64) for side in (0, 1))
    return CountTable(mode - len(down), high, low)


def places(bits: Array, n: int) -> tuple[Array, Array]:
    """Uniform indices 0..n−1 from 64-bit words, ⌊bits·n/2⁶⁴⌋, and what is left, bits·n mod 2⁶⁴; n ≤ MOST_PLACES.

    An index comes with a rest of at least t with probability (1 − t/2⁶⁴)/n up to 2⁻⁶⁴, for every t.
    """
    low = (bits & 0xFFFFFFFF) * n
    return (((bits >> 32) * n + (low >> 32)) >> 32).astype(jnp.int32), bits * jnp.uint64(n)
