"""Sums of clipped per-record terms in whole numbers, so that the claimed sensitivity holds in machine arithmetic.

Each term is divided by the public clip bound, rounded to one of 2·LEVELS + 1 whole numbers and added as an integer.
Changing one record changes the sum by at most 2·LEVELS units: for any data, in any order of addition, on any number
of devices, bit for bit. Rounding is symmetric, so the sum for the way back is minus the sum for the way there.

Reference: docs/theory/finite-precision.md.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

LEVELS = 2**24
"""Whole numbers from zero to the clip bound. A float32 holds each of them exactly."""

SMALLEST_BOUND = 2.0**-23
"""Clip bounds (tempered) are raised to this, so that a unit never underflows the clamp of the decision."""

MOST_UNITS = 2.0**61
"""Public terms are held as whole numbers of units up to this: with the smallest bound, up to 2¹⁴."""


def integer_sum(terms: Array, bound: Array) -> Array:
    """Σ round(clip(term / bound)·LEVELS) as a 64-bit integer. NaN counts as 0, ±∞ as the bound.

    Guarantee: the terms of one record move the result by at most 2·LEVELS.
    """
    terms = terms.astype(jnp.promote_types(terms.dtype, jnp.float32))  # narrower types do not hold LEVELS
    scaled = terms * (LEVELS / bound).astype(terms.dtype)
    scaled = jnp.where(jnp.isnan(terms), 0, jnp.clip(scaled, -LEVELS, LEVELS))
    # a bound so small that LEVELS/bound overflows makes 0·∞ = NaN here, which counts as 0 like any other NaN
    whole = jnp.where(jnp.isnan(scaled), 0, jnp.round(scaled)).astype(jnp.int32)
    return jnp.sum(whole, dtype=jnp.int64)


def statistic(total: Array, unit: Array, public: Array, clamp: Array | float, centre: Array | float = 0.0) -> Array:
    """t − ``centre``, t = unit·total + public, clamped to ±``clamp``, all added as whole numbers of units.

    ``public`` (log prior and proposal ratios) and ``centre`` are rounded to units, so that nothing is lost by
    cancellation: between neighbours the result moves by at most 2·LEVELS·unit and two roundings, each of a number no
    larger than twice the result. What rounding took from the centre is public and is put back.
    """

    def in_units(value: Array | float) -> Array:
        return jnp.round(jnp.clip(value / unit, -MOST_UNITS, MOST_UNITS))

    edge = jnp.clip(jnp.ceil(clamp / unit) + 1, 0, MOST_UNITS).astype(jnp.int64)
    centre_units = in_units(centre)
    whole = total + in_units(public).astype(jnp.int64) - centre_units.astype(jnp.int64)
    t = jnp.clip(whole, -edge, edge).astype(jnp.float64) * unit - (centre - centre_units * unit)
    return jnp.clip(t, -clamp, clamp)  # the edge lies beyond the clamp
