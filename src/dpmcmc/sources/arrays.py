"""Records in arrays, in memory or mapped from files: read block by block, and never copied whole."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

from dpmcmc.sources.base import Block, Local, Maker, PyTree, block_rows, filled


class Arrays(Local):
    """A pytree of arrays with a common leading axis, one entry a record.

        dp.sample(model, {"x": np.load("x.npy", mmap_mode="r"), "y": np.load("y.npy", mmap_mode="r")}, ...)

    Arrays mapped from files are read where they are, a block at a time. Every block is a copy: JAX lets programs read
    the memory of NumPy's arrays, so that what changes there or in a mapped file would change within a program.
    """

    def __init__(self, data: PyTree) -> None:
        self.data = jax.tree.map(np.asarray, data)
        first = jax.tree.leaves(self.data)[0]
        self._n = len(first)
        self._types = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], _native(leaf.dtype)), self.data)
        self._rows = block_rows(self._types)
        self._last: PyTree | None = None  # filled up, kept for the next pass

    @property
    def n(self) -> int:
        return self._n

    @property
    def types(self) -> PyTree:
        return self._types

    def makers(self, every: int = 1) -> Iterator[Maker]:
        for index in range(0, -(-self._n // self._rows), every):
            yield partial(self.block, index)

    def block(self, index: int) -> Block:
        start, rows = index * self._rows, self._rows
        count = min(rows, self._n - start)
        if count == rows:
            return Block(self._slice(start, start + rows), count)
        if self._last is None:
            self._last = filled(self._slice(start, self._n), rows)
        return Block(self._last, count)

    def rows(self, index: Any) -> PyTree:
        """Records by their numbers. Private."""
        return jax.tree.map(lambda leaf: np.asarray(leaf[index], _native(leaf.dtype)), self.data)

    def _slice(self, start: int, stop: int) -> PyTree:
        return jax.tree.map(lambda leaf: np.array(leaf[start:stop], _native(leaf.dtype), order="C"), self.data)


def _native(dtype: Any) -> np.dtype:
    return np.dtype(dtype).newbyteorder("=")
