"""Whether the device in use computes what the proofs assume: asked once a process and device, before a guarantee.

Proofs in machine arithmetic rest on exact whole numbers, exact comparisons of random words and noise from a table. This
runs each of them as compiled, on values chosen to fail where 64 bits are narrowed, sums are rounded or noise is not
that of the table, and compares with Python's whole numbers. The probabilities of decisions, whose error is γ, are
tested by :mod:`dpmcmc.chain.acceptance.self_test`.

Reference: docs/theory/finite-precision.md, "On the device in use".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import jax
import numpy as np

from dpmcmc.mechanisms.coin import RAREST, flip
from dpmcmc.mechanisms.fixed_point import LEVELS, integer_sum
from dpmcmc.mechanisms.gaussian_sum import (
    DRAWS,
    FARTHEST,
    LARGEST_BOUND,
    RATIO,
    discrete_gaussian,
    thresholds,
    whole_sum,
)


class WrongArithmetic(RuntimeError):
    """The device in use does not compute what guarantees are proven for."""


def check_backend() -> None:
    """Refuse to go on where the arithmetic of the device in use is not that of the proofs."""
    refuse(_failures(jax.default_backend()))


def refuse(failures: tuple[str, ...]) -> None:
    """Raise if anything failed."""
    if failures:
        raise WrongArithmetic(
            f"no guarantee is issued on the device in use ({jax.default_backend()}, JAX {jax.__version__}): "
            f"{'; '.join(failures)}. Run on a CPU (JAX_PLATFORMS=cpu) or with a version of JAX that was tested"
        )


@lru_cache(maxsize=8)
def _failures(backend: str) -> tuple[str, ...]:
    with jax.enable_x64(True):
        return tuple(_wrong())


def _wrong() -> Iterator[str]:
    if not _sums_are_exact():
        yield "sums of whole numbers are not exact"
    if not _clipped_vectors_are_exact():
        yield "clipped sums of vectors are not exact"
    if not _coins_are_exact():
        yield "comparisons of 128 random bits are not exact"
    if not _noise_is_that_of_the_table():
        yield "noise is not that of its table"


def _sums_are_exact() -> bool:
    """Terms whose sum no float holds: many at the bound, one a single unit off, and what counts as 0 or in full."""
    terms = np.r_[np.ones(4099), (LEVELS - 1) / LEVELS, np.nan, np.inf, -np.inf, 0.5 / LEVELS, 1.5 / LEVELS]
    bound = np.float64(1.0)
    expected = 4099 * LEVELS + (LEVELS - 1) + 0 + LEVELS - LEVELS + 0 + 2  # halves are rounded to even
    return int(jax.jit(integer_sum)(terms, bound)) == expected


def _clipped_vectors_are_exact() -> bool:
    """Vectors within the ball are added as they are; those beyond come to lie in it; others count as nothing."""
    inside = np.array([[LARGEST_BOUND // 2, -3, 7], [1, LARGEST_BOUND // 3, 1], [np.nan, 1, 1], [np.inf, 0, 0]], float)
    outside = np.array([[1e30, -1e30, 1e-30], *np.zeros((3, 3))])
    compiled = jax.jit(whole_sum)
    total, beyond = (np.asarray(compiled(vectors, LARGEST_BOUND, 1.0)) for vectors in (inside, outside))
    norm = sum(int(x) ** 2 for x in beyond)
    near = (LARGEST_BOUND - 4) ** 2 <= norm <= LARGEST_BOUND**2
    return total.tolist() == [LARGEST_BOUND // 2 + 1, LARGEST_BOUND // 3 - 3, 8] and near


def _coins_are_exact() -> bool:
    """At its threshold, and one below."""
    rarer = np.array([RAREST, 1e-15, 2.0**-53, 0.1, 0.3, 0.5])
    limits = [int(p * 2.0**112) << 16 for p in rarer]  # exact: multiples of 2⁻¹¹²
    uniform = [limit - below for below in (1, 0) for limit in limits]
    words = np.array([[u >> 64, u & (2**64 - 1)] for u in uniform], np.uint64)
    found = np.asarray(jax.jit(flip)(words, np.tile(rarer, 2), np.tile(1 - rarer, 2)))
    return found.tolist() == [True] * len(rarer) + [False] * len(rarer)


def _noise_is_that_of_the_table() -> bool:
    """At every threshold of the table, one below, and at the ends."""
    table = [(int(a) << 128) | (int(b) << 64) | int(c) for a, b, c in thresholds()[: 2 * FARTHEST]]
    uniform = [0, 2**192 - 1, *table, *(limit - 1 for limit in table if limit)]
    mask = 2**64 - 1
    words = np.array([[u >> 128, (u >> 64) & mask, u & mask] for u in uniform], np.uint64)
    expected = np.searchsorted(np.array(table, object), np.array(uniform, object), side="right") - FARTHEST
    repeated = np.repeat(words[:, None], DRAWS, axis=1)
    found = np.asarray(jax.jit(discrete_gaussian)(repeated)), discrete_gaussian(repeated, np)  # compiled, on the host
    return all(each.tolist() == [int(k) * sum(RATIO**j for j in range(DRAWS)) for k in expected] for each in found)
