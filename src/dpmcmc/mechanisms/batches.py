"""Batches of a fixed size without replacement, drawn on the device from secret random words.

Records are drawn with replacement, in order, until enough different ones have been seen: no permutation of all n. The
number of words is fixed beforehand, so a draw takes the same work whatever comes up:

1. Each word becomes an index by multiply-high; words in the last, incomplete stretch of 2⁶⁴ are void (Lemire 2019), so
   that given a word counts, its index is exactly uniform.
2. Repeated indices are found by one sort; the first ones to appear, in draw order, are the batch.

The law of "the first b different of a sequence of uniform draws" is exactly uniform over subsets. What is left is the
event that too few different ones come up: its probability is below ``FAILURE``, and then the batch is the first b
records, whatever they are. A decision's coin has probabilities of at least 2⁻⁶⁰ on every batch, so this changes either
outcome's probability by a relative 2⁻⁴⁴ at most, inside the margin that is charged for arithmetic.

Reference: Lemire, "Fast random integer generation in an interval" (2019); docs/theory/subsampling.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import jax.numpy as jnp
from jax import Array

FAILURE = 2.0**-104
"""Bound on the probability that the words do not yield enough different records."""

_HALF = 2**32


def draw(bits: Array, n: int, batch: int) -> Array:
    """``batch`` different indices below ``n``, a uniform subset, from :func:`words` uniform 64-bit words.

    Guarantee: independent of the records, and within ``FAILURE`` of uniform in total variation. Work O(batch log batch)
    for batches of up to half the records; for larger ones those left out are drawn, and the work is O(n).
    """
    few = min(batch, n - batch)
    if few == 0:
        return jnp.arange(n)
    chosen = _first_different(bits, n, few)
    if few == batch:
        return chosen
    left_out = jnp.zeros(n, bool).at[chosen].set(True)
    return jnp.nonzero(~left_out, size=batch)[0]


@lru_cache(maxsize=256)
def words(n: int, batch: int) -> int:
    """How many words :func:`draw` needs.

    While fewer than k different records have been seen, a draw is wasted (seen before, or void) with probability at
    most β = (k−1)/n + n/2⁶⁴. So m draws fail with probability at most P(Binomial(m, β) ≥ m−k+1), and Chernoff's bound
    on that is exp(−m·KL((m−k+1)/m ‖ β)), which falls in m.
    """
    check(n, batch)
    few = min(batch, n - batch)
    if few == 0:
        return 0
    waste = (few - 1) / n + n / 2.0**64

    def enough(m: int) -> bool:
        share = (m - few + 1) / m
        return share > waste and m * _kl(share, waste) > -math.log(FAILURE)

    low, high = few, 2 * few
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def check(n: int, batch: int) -> None:
    """Refuse sizes that cannot be drawn."""
    if not 1 <= batch <= n:
        raise ValueError(f"batch must be between 1 and the number of records, {n}, got {batch!r}")
    if n >= _HALF:
        raise ValueError(f"batches are drawn from fewer than 2**32 records, got {n}")


def _kl(a: float, b: float) -> float:
    """KL divergence of Bernoulli(a) from Bernoulli(b), in nats."""
    return a * math.log(a / b) + (0.0 if a == 1 else (1 - a) * math.log((1 - a) / (1 - b)))


def _first_different(bits: Array, n: int, few: int) -> Array:
    """The first ``few`` different indices, in draw order; 0, 1, 2, … if there are not enough."""
    high, low = bits >> 32, bits & (_HALF - 1)
    index = (high * n + (low * n >> 32)) >> 32  # ⌊word·n / 2⁶⁴⌋
    counts = bits * jnp.uint64(n) >= jnp.uint64(2**64 % n)  # the low word of word·n
    position = jnp.arange(bits.shape[0], dtype=jnp.uint64)
    ordered = jnp.sort(jnp.where(counts, index, n) << 32 | position)  # by index, then by draw
    index, position = ordered >> 32, (ordered & (_HALF - 1)).astype(jnp.int64)
    first = jnp.concatenate([jnp.array([True]), index[1:] != index[:-1]]) & (index < n)
    drawn = jnp.full(bits.shape, n, jnp.int64).at[position].set(jnp.where(first, index, n).astype(jnp.int64))
    rank = jnp.cumsum(drawn < n)
    slot = jnp.where((drawn < n) & (rank <= few), rank - 1, few)  # slot ``few`` does not exist: dropped
    chosen = jnp.zeros(few, jnp.int64).at[slot].set(drawn, mode="drop")
    return jnp.where(rank[-1] >= few, chosen, jnp.arange(few))
