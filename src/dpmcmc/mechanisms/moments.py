"""Sum and spread of the clipped terms of a batch, in whole numbers.

A test on a batch needs its mean and its variance. Each term is rounded to a whole number q of at most ``levels``; Σq
and Σq² are exact in 64 bits, and so is the sum of squares about the mean up to one last division:

    Σ(q − q̄)² = Σq² − (Σq)²/b = Σq² − b d² − 2 d r − r²/b        with Σq = b d + r, 0 ≤ r < b

whose first three terms are integers below 2⁶³. What a test claims about the variance of terms in [−1, 1] therefore
holds for what the machine computed it from, whatever the records are and in whatever order they are added.

Reference: docs/theory/finite-precision.md, docs/theory/subsampling.md.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array


def levels_for(batch: int) -> int:
    """Whole numbers from zero to the clip bound: 2²⁴, or fewer where the sum of ``batch`` squares would pass 2⁶²."""
    return int(2 ** min(24, (62 - (batch - 1).bit_length()) // 2))


def whole_terms(terms: Array, bound: Array | float, levels: int, margin: int = 0) -> Array:
    """round(clip(term/bound)·levels) as 64-bit integers of at most ``levels − margin``; NaN counts as 0, ±∞ in full.

    Guarantee: total, odd in the terms, and each record's integer depends on that record alone.
    """
    most = levels - margin
    terms = terms.astype(jnp.promote_types(terms.dtype, jnp.float32))  # narrower types do not hold the levels
    scaled = jnp.clip(terms * jnp.asarray(levels / bound, terms.dtype), -most, most)
    whole = jnp.where(jnp.isnan(scaled), 0, jnp.round(scaled)).astype(jnp.int64)
    return jnp.clip(whole, -most, most)


def sum_and_spread(whole: Array) -> tuple[Array, Array]:
    """Σq, exact, and Σ(q − q̄)² in float64 to a relative 2⁻⁵² of the larger of itself and b."""
    b = whole.shape[-1]
    total, squares = jnp.sum(whole, axis=-1), jnp.sum(whole * whole, axis=-1)
    d, r = total // b, total % b
    about_mean = squares - b * d * d - 2 * d * r
    return total, jnp.maximum(about_mean.astype(jnp.float64) - (r * r).astype(jnp.float64) / b, 0.0)
