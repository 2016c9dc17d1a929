"""One choice among K candidates from 128 random bits, with every probability correct to a relative error.

Candidate k has probability ∝ exp(max(u_k, max u − CLAMP)). All but the likeliest get an interval of the 128-bit
integers as long as their probability, which is exact for every float64 in question; the likeliest gets what is left.
The errors that remain are those of evaluating the probabilities, relative to each of them, as for
:mod:`dpmcmc.mechanisms.coin`, of which this is the extension to more than two outcomes.

Reference: docs/theory/selection.md, "In machine arithmetic".
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from dpmcmc.mechanisms.coin import BITS_SHAPE as BITS_SHAPE
from dpmcmc.mechanisms.coin import CLAMP

MOST_CANDIDATES = 4096


def comparisons(candidates: int) -> int:
    """How many coins' worth of relative error one choice has: 1 up to 64 candidates."""
    return -(-candidates * (candidates + 40) // 2**13)


def probabilities(units: Array, unit: Array, allowed: Array) -> Array:
    """Probabilities ∝ exp(unit·units), not below e^−CLAMP of the largest, and 0 where not ``allowed``.

    ``units`` are whole numbers, so their differences are exact. At least one candidate must be allowed.

    Guarantee: the map from utilities to log weights is monotone and moves with a common shift, so changes of the
    utilities within an interval of length η change the log weights within an interval of length η.
    """
    largest = jnp.max(jnp.where(allowed, units, jnp.iinfo(units.dtype).min))
    below = jnp.where(allowed, units - largest, 0)
    weights = jnp.where(allowed, jnp.exp(jnp.maximum(below.astype(jnp.float64) * unit, -CLAMP)), 0.0)
    return weights / jnp.sum(weights)


def whole_units(public: Array, unit: Array | float) -> Array:
    """Public terms as whole numbers of units, the largest 0: a common shift changes no probability."""
    public = jnp.clip(jnp.where(jnp.isnan(public), -jnp.inf, public), -1e300, 1e300)
    return jnp.round(jnp.clip((public - jnp.max(public)) / unit, -(2.0**61), 0.0)).astype(jnp.int64)


def choose(bits: Array, probabilities: Array) -> Array:
    """The index of a candidate, drawn with the given ``probabilities`` (of which the largest is taken as the rest)."""
    likeliest = jnp.argmax(probabilities)
    others = jnp.where(jnp.arange(len(probabilities)) == likeliest, 0.0, probabilities)
    scaled = others * 2.0**64
    whole = jnp.floor(scaled)
    high = whole.astype(jnp.uint64)
    low = ((scaled - whole) * 2.0**64).astype(jnp.uint64)
    low_sum = jnp.cumsum(low)  # modulo 2^64; adding one more word passes it at most once
    carries = jnp.cumsum((low_sum < low).astype(jnp.uint64))
    high_sum = jnp.cumsum(high) + carries
    under = (bits[0] < high_sum) | ((bits[0] == high_sum) & (bits[1] < low_sum))
    return jnp.where(jnp.any(under), jnp.argmax(under), likeliest)
