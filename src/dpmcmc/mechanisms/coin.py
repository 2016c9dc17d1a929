"""One accept bit from 128 random bits, with both probabilities correct to a relative error.

The rarer outcome has a probability held in a float64 and not below ``RAREST``; it happens when a 128-bit uniform
integer lies under that probability, which is exact for every float64 in that range. The only error left is that of
evaluating the probability itself, a *relative* one of at most ``COIN_ERROR`` for accept and reject alike. A
relative error moves ε by 2·COIN_ERROR a decision and leaves δ alone, whatever ε is.

Reference: docs/theory/finite-precision.md.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

COIN_ERROR = 2.0**-40
"""Bound on the relative error of an accept or reject probability (tests measure less than a fifth of it)."""

RAREST = 2.0**-60
"""Probabilities are raised to this; raising moves two probabilities towards each other and costs nothing."""

CLAMP = 40.0
"""Decision statistics are clamped to ±CLAMP: logistic(−40) = 4e-18."""

BITS_SHAPE = (2,)
"""Random bits a coin needs: two 64-bit words."""


def flip(bits: Array, accept: Array, reject: Array) -> Array:
    """True with probability ``accept``; the smaller of ``accept`` and ``reject`` decides how it is drawn."""
    rarer = jnp.maximum(jnp.minimum(accept, reject), RAREST)
    scaled = rarer * 2.0**64  # at most 2^63: exact, and so are its whole part and its fraction
    whole = jnp.floor(scaled)
    high, low = bits[..., 0], bits[..., 1]
    high_limit = whole.astype(jnp.uint64)
    low_limit = ((scaled - whole) * 2.0**64).astype(jnp.uint64)
    rare = (high < high_limit) | ((high == high_limit) & (low < low_limit))
    return jnp.where(accept <= reject, rare, ~rare)
