"""Totals of whole numbers over records, block by block, and the one way from there to a release: noise.

A :class:`Program` is compiled for blocks of one size, and for nothing that depends on how many records there are. A
source applies it to its blocks, wherever they are, and adds up what comes out.

Reference: docs/theory/isolation.md, "Blocks"; docs/theory/gaussian-sums.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.mechanisms.noise import with_noise
from dpmcmc.sources import Records, SourceError, block_rows, like

PyTree = Any


class Program:
    """A function of a block of records, how many of them count, and public arguments, that gives whole numbers.

        Program(lambda block, count, arguments: whole_total(block, vectors, *arguments, count=count))

    Compiled once for all blocks of records of one type.
    """

    def __init__(self, function: Callable[[PyTree, Array, Any], Array]) -> None:
        self.function = function
        self._run = jax.jit(self._flat)

    def _flat(self, block: PyTree, count: Array, arguments: Any) -> Array:
        whole = self.function(block, count, arguments)
        if whole.dtype != jnp.int64:
            raise TypeError(f"totals are of 64-bit whole numbers, got {whole.dtype}")
        return whole.reshape(-1)

    def __call__(self, block: PyTree, count: int, arguments: Any) -> np.ndarray:
        """The whole numbers of one block. Private."""
        with jax.enable_x64(True):  # of this thread
            return np.asarray(self._run(block, np.int64(count), arguments))

    def check(self, types: PyTree, arguments: Any) -> None:
        """Refuse mistakes of types and shapes, which no value of a record enters."""
        with jax.enable_x64(True):
            jax.eval_shape(self._flat, like(types, block_rows(types)), jnp.int64(0), arguments)

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["function"])  # type: ignore[misc]


class RecordsFailed(RuntimeError):
    """A function of the records raised, which must not happen; what it said is not passed on."""


def total(records: Records, program: Program, arguments: Any, every: int = 1) -> np.ndarray:
    """Σ program over all records, or those of every so manieth block: private. If a program raises, because a function
    of the model did so on some record, it is not said why: the reason may hold a record's values.

    Mistakes of types and shapes are raised as they are, and so is what a source says about itself.
    """
    try:
        return records.total(program, arguments) if every == 1 else records.total(program, arguments, every)
    except SourceError:
        raise
    except Exception:
        pass
    program.check(records.types, arguments)
    raise RecordsFailed(
        "a function of the model raised an error on the records, which reveals something about them and is not covered "
        "by the guarantee; make it return a number for every record (see docs/sharp-edges.md)"
    )


def noisy_total(
    records: Records, program: Program, arguments: Any, key: np.ndarray, unit: float, every: int = 1
) -> np.ndarray:
    """``unit`` times (Σ program + discrete Gaussian noise): one release, paid for by the caller. Reads all records, or
    those of every so manieth block: which these are is public, so that replacing a record changes the sum by no more.

    Guarantee: that of :func:`~dpmcmc.mechanisms.noise.with_noise` for what the program gives. Noise is added here, in
    one process and after the sum, wherever the records are.
    """
    return with_noise(key, total(records, program, arguments, every), unit)
