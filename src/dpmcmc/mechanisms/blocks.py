"""Sums over records a few at a time, within a compiled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

BLOCK = 512
"""Records whose gradients are held at once: few enough to stay in a processor's cache with all chains."""

BLOCK_NUMBERS = 2**17
"""Of wide vectors, as many at once as have so many numbers together, a megabyte."""


def block_of(width: int) -> int:
    """How many records to hold at once whose vectors have ``width`` numbers: a power of two."""
    return min(BLOCK, max(2 ** ((BLOCK_NUMBERS // width).bit_length() - 1), BLOCK // 8))


def in_blocks(
    add: Callable[[Any, Array], Array], data: Any, count: Array | int | None = None, size: int = BLOCK
) -> Array:
    """Σ add(records, which count) over the first ``count`` records (all), ``size`` at a time.

    ``count`` may be traced: the time follows it, and what is compiled does not. Where the last few would go beyond the
    arrays' end, records that were added before are there again and do not count.
    """
    rows = jax.tree.leaves(data)[0].shape[0]
    count = rows if count is None else count
    if rows < 2 * size:
        return add(data, jnp.arange(rows) < count)

    def part(index: Any) -> Array:
        start = jnp.minimum(index * size, rows - size)
        records = jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, size), data)
        at = start + jnp.arange(size)
        return add(records, (at >= index * size) & (at < count))

    shape = jax.eval_shape(part, 0)
    zero = jnp.zeros(shape.shape, shape.dtype)
    return jax.lax.fori_loop(0, (count + size - 1) // size, lambda index, sofar: sofar + part(index), zero)
