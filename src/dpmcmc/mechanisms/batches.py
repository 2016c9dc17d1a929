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

    def draw(self, bits: np.ndarray) -> np.ndarray:
        """Batches, one a row, from rows of :attr:`words` uniform 32-bit words."""
        few = min(self.size, self.n - self.size)
        if few == 0:
            return np.broadcast_to(np.arange(self.n, dtype=np.uint32), (len(bits), self.n))
        chosen = _first_different(bits, self.n, few)
        if few == self.size:
            return chosen
        others = np.empty((len(bits), self.size), np.uint32)
        for row, left_out in zip(others, chosen, strict=True):
            within = np.ones(self.n, bool)
            within[left_out] = False
            row[:] = np.flatnonzero(within)
        return others


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


def _first_different(bits: np.ndarray, n: int, few: int) -> np.ndarray:
    """The first ``few`` different indices of every row of words, in any order; 0, 1, 2, … if there are not enough."""
    void = np.uint32(n)  # no index
    product = bits * np.uint64(n)
    index = (product >> np.uint64(32)).astype(np.uint32)  # ⌊word·n / 2³²⌋
    if _RANGE % n:
        index[product.astype(np.uint32) < _RANGE % n] = void
    chosen = np.sort(index[:, :few], axis=1)
    incomplete = chosen[:, -1] == void
    row, place = np.nonzero(chosen[:, 1:] == chosen[:, :-1])
    chosen[row, place + 1] = void
    incomplete[row] = True
    open_rows = np.flatnonzero(incomplete)
    missing = np.sum(chosen[open_rows] == void, axis=1)
    for many in open_rows[missing > _FEW]:
        chosen[many] = _by_itself(index[many], n, few)
    open_rows, missing = open_rows[missing <= _FEW], missing[missing <= _FEW]
    for spare in index[:, few:].T:
        if not len(open_rows):
            break
        found, now = spare[open_rows], chosen[open_rows]
        new = (found < n) & ~np.any(now == found[:, None], axis=1)
        chosen[open_rows[new], np.argmax(now[new] == void, axis=1)] = found[new]
        missing = missing - new
        open_rows, missing = open_rows[missing > 0], missing[missing > 0]
    chosen[open_rows] = np.arange(few, dtype=np.uint32)
    return chosen


def _by_itself(index: np.ndarray, n: int, few: int) -> np.ndarray:
    values, first = np.unique(index, return_index=True)
    first = np.sort(first[values < n])
    return index[first[:few]] if len(first) >= few else np.arange(few, dtype=np.uint32)
