"""What all sources of records have in common: blocks of one size, in one order, and sums of whole numbers over them.

Block j holds records j·B to (j + 1)·B − 1 wherever they are stored, and B follows from the types of one record. The
last block is filled up with copies of its first record, and programs are told how many count. So the same program sees
the same block in every layout, and as whole numbers are added exactly, the total is the same to the last bit.

Reference: docs/theory/isolation.md, "Blocks".
"""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax
import numpy as np

PyTree = Any
T = TypeVar("T")

MOST_RECORDS = 10**11
"""Totals of so many whole numbers below 2^25.01 are below 2^62: with public terms of 2^62, 64 bits hold them."""

LARGEST_BLOCK, SMALLEST_BLOCK = 2**16, 2**9  # records
BLOCK_BYTES = 2**23

MARK_BYTES = 16

Program = Callable[[PyTree, int, PyTree], np.ndarray]
"""(a block of B records, how many of them count, public arguments) → a vector of 64-bit whole numbers."""


class SourceError(RuntimeError):
    """Records that cannot be read, or are no longer what they were. The message holds no value of a record."""


@runtime_checkable
class Records(Protocol):
    """Private records, wherever they are. Nothing but totals over all of them, and keyed hashes, leaves a source."""

    @property
    def n(self) -> int:
        """How many there are: public."""

    @property
    def types(self) -> PyTree:
        """Shapes and types of one record, as ``jax.ShapeDtypeStruct``: public."""

    def total(self, program: Program, arguments: PyTree = (), every: int = 1) -> np.ndarray:
        """Σ ``program``(block, count, arguments) over all blocks, exactly: the same for every layout. Private.

        With ``every``, over blocks 0, every, 2·every, … alone: :func:`counted_of` them.
        """

    def marks(self, key: str) -> tuple[str, ...]:
        """A keyed hash of every array, in order: the same for every layout."""


def is_records(data: Any) -> bool:
    """Whether data are a source, and not arrays (a data frame has neither of these)."""
    return hasattr(data, "total") and hasattr(data, "marks")


def like(types: PyTree, rows: int) -> PyTree:
    """Types of ``rows`` records."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((rows, *leaf.shape), leaf.dtype), types)


def block_rows(types: PyTree) -> int:
    """B: a power of two, as many records as have about 8 MB together."""
    size = sum(int(np.prod(leaf.shape, dtype=np.int64)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(types))
    most = max(BLOCK_BYTES // max(size, 1), 1)
    return int(min(max(2 ** (most.bit_length() - 1), SMALLEST_BLOCK), LARGEST_BLOCK))


def counted_of(n: int, types: PyTree, every: int = 1) -> int:
    """How many of n records are in every so manieth block."""
    rows = block_rows(types)
    chosen = range(0, n, rows * every)  # where they begin
    return len(chosen) * rows - max(chosen[-1] + rows - n, 0) if chosen else 0


class Block(NamedTuple):
    """B records, the first ``counted`` of which are the source's."""

    records: PyTree
    counted: int


def filled(records: PyTree, rows: int) -> PyTree:
    """Up to ``rows`` records with copies of the first: a value that the program sees anyway."""
    return jax.tree.map(
        lambda leaf: leaf if len(leaf) == rows else np.concatenate([leaf, np.repeat(leaf[:1], rows - len(leaf), 0)]),
        records,
    )


class Local(ABC):
    """A source whose blocks come to this process one after the other."""

    @property
    @abstractmethod
    def n(self) -> int: ...

    @property
    @abstractmethod
    def types(self) -> PyTree: ...

    @abstractmethod
    def makers(self, every: int = 1) -> Iterator[Maker]:
        """Every so manieth block in order, each made when it is called for, on any thread. Private."""

    def blocks(self) -> Iterator[Block]:
        """All blocks in order. Private."""
        for make in self.makers():
            yield make()

    def total(self, program: Program, arguments: PyTree = (), every: int = 1) -> np.ndarray:
        """Σ ``program``(block, count, arguments) over every so manieth block, exactly. Private."""
        return total_of(self.makers(every), program, arguments)

    def marks(self, key: str) -> tuple[str, ...]:
        found = each_of(self.makers(), lambda block: marks_of(block, key))
        return joined(self.types, self.n, list(found), key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, records not shown)"

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} holds private records and cannot be pickled; save the Release instead")


Maker = Callable[[], Block]

THREADS = min(2, os.cpu_count() or 1)
"""That make blocks and run programs on them; another reads ahead."""


def total_of(makers: Iterable[Maker], program: Program, arguments: PyTree, threads: int = THREADS) -> np.ndarray:
    """Σ program(block), each block made where the program runs."""
    total: np.ndarray | None = None
    for one in each_of(makers, lambda block: program(block.records, block.counted, arguments), threads):
        total = one if total is None else total + one
    if total is None:
        raise SourceError("there are no records to add up")
    return total


def each_of(makers: Iterable[Maker], function: Callable[[Block], T], threads: int = THREADS) -> Iterator[T]:
    """``function(block)`` in order, on a few threads; while they are at work, what the next block is made of is read,
    and not more."""
    makers = iter(makers)
    first, second = next(makers, None), next(makers, None)
    if first is None:
        return
    if second is None:
        yield function(first())
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[T]] = deque()
        try:
            for make in chain((first, second), makers):
                waiting.append(pool.submit(lambda make=make: function(make())))  # type: ignore[misc]
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for left in waiting:
                left.cancel()


def marks_of(block: Block, key: str) -> list[bytes]:
    """A keyed hash of each array of a block, without what fills it up."""
    leaves = jax.tree.leaves(block.records)
    return [
        hashlib.blake2b(
            np.ascontiguousarray(leaf[: block.counted]).data, key=bytes.fromhex(key), digest_size=MARK_BYTES
        ).digest()
        for leaf in leaves
    ]


def joined(types: PyTree, n: int, marks: list[list[bytes]], key: str) -> tuple[str, ...]:
    """One hash for every array, of its name, type and shape and of the hashes of all its blocks."""
    named, _ = jax.tree_util.tree_flatten_with_path(types)
    found = []
    for at, (path, leaf) in enumerate(named):
        digest = hashlib.blake2b(key=bytes.fromhex(key), digest_size=32, person=b"dpmcmc ledger")
        # by name: two equal columns look unlike
        about = [jax.tree_util.keystr(path), np.dtype(leaf.dtype).str, [n, *leaf.shape], block_rows(types)]
        digest.update(json.dumps(about).encode())
        digest.update(b"".join(block[at] for block in marks))
        found.append(digest.hexdigest())
    return tuple(found)
