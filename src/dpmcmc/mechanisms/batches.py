"""Batches of a fixed size without replacement, drawn on the host from secret random words, many at a time.

Records are drawn with replacement, in order, until enough different ones have been seen: no permutation of all n. The
number of words is fixed beforehand:

1. Each 32-bit word becomes an index by multiply-high; words in the last, incomplete stretch of 2³² are void (Lemire
   2019), so that given a word counts, its index is exactly uniform.
2. As many words as the batch has records are sorted; what is void or repeated there is replaced, in draw order, by the
   next words that bring a new record.

The law of "the first b different of a sequence of uniform draws" is exactly uniform over subsets. What is left is the
event that too few different ones come up: its probability is below ``FAILURE``, and then the batch is the first b
records, whatever they are. A decision's coin has probabilities of at least 2⁻⁶⁰ on every batch, so this changes either
outcome's probability by a relative 2⁻⁴⁴ at most, inside the margin that is charged for arithmetic. How long a draw
takes depends on which words are void or repeat others, which says nothing about the records that they stand for.

Reference: Lemire, "Fast random integer generation in an interval" (2019); docs/theory/subsampling.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

FAILURE = 2.0**-104
"""Bound on the probability that the words do not yield enough different records."""

_RANGE = 2**32
_FEW = 16  # words of a batch that are replaced one by one; a batch with more is drawn by itself


@dataclass(frozen=True)
class Batches:
    """``size`` different indices below ``n``, a uniform subset, as what a step needs of secret randomness.

    Guarantee: independent of the records, and within ``FAILURE`` of uniform in total variation. In no particular order.
    Work O(size log size) for batches of up to half the records; for larger ones those left out are drawn, and the work
    is O(n).
    """

    n: int
    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.n:
            raise ValueError(f"batch must be between 1 and the number of records, {self.n}, got {self.size!r}")
        if self.n >= _RANGE:
            raise ValueError(f"batches are drawn from fewer than 2**32 records, got {self.n}")

    @property
    def words(self) -> int:
        """How many 32-bit words :meth:`draw` needs."""
        return words(self.n, min(self.size, self.n - self.size))

    def draw(self, bits: np.ndarray, room: Room | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Batches, one a row, from rows of :attr:`words` uniform 32-bit words.

        ``out`` and ``room`` are memory to use again: where many batches are drawn, fresh pages cost more than the work.
        """
        few = min(self.size, self.n - self.size)
        out = np.empty((len(bits), self.size), np.uint32) if out is None else out
        if few == 0:
            out[:] = np.arange(self.n, dtype=np.uint32)
        elif few == self.size:
            _first_different(bits, self.n, room or Room(len(bits), self.words, few), out)
        else:
            left_out = np.empty((len(bits), few), np.uint32)
            _first_different(bits, self.n, room or Room(len(bits), self.words, few), left_out)
            within = np.empty(self.n, bool)
            for row, others in zip(out, left_out, strict=True):
                within[:] = True
                within[others] = False
                row[:] = np.flatnonzero(within)
        return out

    def room(self, rows: int) -> Room:
        """Memory that :meth:`draw` needs for as many batches at a time."""
        return Room(rows, self.words, min(self.size, self.n - self.size))


class Room:
    """Where words become indices and are compared, ``rows`` batches at a time."""

    def __init__(self, rows: int, words: int, few: int) -> None:
        self.product = np.empty((rows, words), np.uint64)
        self.index = np.empty((rows, words), np.uint32)
        self.true = np.empty((rows, words), bool)
        self.same = np.empty((rows, max(few - 1, 0)), bool)


@lru_cache(maxsize=256)
def words(n: int, few: int) -> int:
    """How many words yield ``few`` different records but for a probability of ``FAILURE``.

    While fewer than k different records have been seen, a draw is wasted (seen before, or void) with probability at
    most β = (k−1)/n + (2³² mod n)/2³². So m draws fail with probability at most P(Binomial(m, β) ≥ m−k+1), and
    Chernoff's bound on that is exp(−m·KL((m−k+1)/m ‖ β)), which falls in m. β < 1: k ≤ n/2, and 2³² mod n < 2³¹.
    """
    if few == 0:
        return 0
    waste = (few - 1) / n + (_RANGE % n) / _RANGE

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


def _kl(a: float, b: float) -> float:
    """KL divergence of Bernoulli(a) from Bernoulli(b), in nats."""
    if b == 0:
        return math.inf if a > 0 else 0.0
    return a * math.log(a / b) + (0.0 if a == 1 else (1 - a) * math.log((1 - a) / (1 - b)))


def _first_different(bits: np.ndarray, n: int, room: Room, chosen: np.ndarray) -> None:
    """The first different indices of every row of words, in any order, as many as fit; 0, 1, 2, … if too few."""
    (rows, few), void = chosen.shape, np.uint32(n)  # no index, and larger than any
    index = _indices(bits, n, room)
    chosen[:] = index[:, :few]
    chosen.sort(axis=1)
    repeated = np.flatnonzero(np.equal(chosen[:, 1:], chosen[:, :-1], out=room.same[:rows]))
    row, place = np.divmod(repeated, max(few - 1, 1))
    missing = np.bincount(row, minlength=rows) + (chosen[:, -1] == void)  # of k void ones, k − 1 are repeated
    chosen[row, place + 1] = void
    for many in np.flatnonzero(missing > _FEW):
        chosen[many] = _by_itself(index[many], n, few)
        missing[many] = 0
    spare = few
    while np.any(missing) and spare < index.shape[1]:
        open_rows = np.flatnonzero(missing)
        found, now = index[open_rows, spare], chosen[open_rows]
        new = (found < n) & ~np.any(now == found[:, None], axis=1)
        chosen[open_rows[new], np.argmax(now[new] == void, axis=1)] = found[new]
        missing[open_rows] -= new
        spare += 1
    chosen[missing > 0] = np.arange(few, dtype=np.uint32)


def _indices(bits: np.ndarray, n: int, room: Room) -> np.ndarray:
    """⌊word·n / 2³²⌋ for every word, or n where the rest of the product is below 2³² mod n."""
    product, index = room.product[: len(bits)], room.index[: len(bits)]
    np.multiply(bits, np.uint64(n), out=product)
    np.right_shift(product, np.uint64(32), out=index, casting="unsafe")
    if _RANGE % n:
        rest = np.bitwise_and(product, np.uint64(_RANGE - 1), out=product)
        index.reshape(-1)[np.flatnonzero(np.less(rest, _RANGE % n, out=room.true[: len(bits)]))] = n
    return index


def _by_itself(index: np.ndarray, n: int, few: int) -> np.ndarray:
    values, first = np.unique(index, return_index=True)
    first = np.sort(first[values < n])
    return index[first[:few]] if len(first) >= few else np.arange(few, dtype=np.uint32)
