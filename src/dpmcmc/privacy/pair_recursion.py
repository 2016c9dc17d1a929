"""The adaptive recursion for bits that are enclosed by finitely many pairs of likelihood ratios.

As in recursion.py, D_k(ε) = sup of w D_{k−1}(ε − hi) + (1 − w) D_{k−1}(ε − lo) over all bits that a step may be, where
lo and hi are the two log-likelihood ratios and w is the chance of hi. The bits' parameters are covered by cells; over
each the pair is enclosed by a wider one, which by the spreading lemma shows at least as much. Bits in no cell are a
:class:`Tail`; what they leak is added to δ at every step.

Reference: docs/theory/recursion.md, "Penalty bits"; docs/theory/blocks.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, singledispatch
from itertools import islice
from typing import NamedTuple

import numpy as np

from dpmcmc.privacy.accept_bit import penalty_log_reject, penalty_losses
from dpmcmc.privacy.enclosure import maximal
from dpmcmc.privacy.events import Event, PenaltyBit
from dpmcmc.privacy.recursion import GROWTH, SECONDS, window
from dpmcmc.privacy.two_point import renyi_two_point

_TOLERANCE = 0.004  # how much a cell may cost above the dearest point, at the orders that steer the splitting
_MAX_CELLS = 600
_LATTICES = (32, 24, 16, 12, 8)
_CHEAP, _NEAR, _RARE = 0.9, 1.002, 1e-25  # where pairs are merged


class Pairs(NamedTuple):
    """A cover of all bits: wider pairs (lo, hi), what outcomes in none of them leak, and the scale of one step.

    ``scale`` is that of the dearest pair, as the shift of a Barker bit: twice the standard deviation of its loss.
    """

    lo: np.ndarray
    hi: np.ndarray
    leak: float
    scale: float


class Tail(NamedTuple):
    """Bits in no cell: they accept with a ratio of at most e^gain and reject with probability at most ``leak``."""

    gain: float
    leak: float


@singledispatch
def pairs_of(event: Event, order: float) -> Pairs | None:
    """Pairs that enclose every bit that ``event`` may be, fine where Rényi orders about ``order`` decide; or None."""
    return None


@pairs_of.register
def _(event: PenaltyBit, order: float) -> Pairs | None:
    if not _coverable(event):
        return None
    front, tail, _ = _penalty_front(event, order)
    return from_front(front, order, tail)


def _coverable(event: PenaltyBit) -> bool:
    return 1e-3 <= event.std <= 30 and 0 < event.shift <= 5


@lru_cache(maxsize=64)
def _penalty_front(event: PenaltyBit, order: float) -> tuple[np.ndarray, Tail, float]:
    """Cells of t, split where they matter for orders about ``order``: (gain, loss) of each; the tail; the scale."""
    shift, std = event.shift, event.std
    edges = np.linspace(-(shift + 60.0), 12 * std + std**2 / 2 + shift + 1.0, 129)
    orders = np.array([1.5, order, 3 * order])
    for _ in range(30):
        gain, loss = penalty_losses(edges, shift, std)
        dear, cheap = _cost(orders, gain[:-1], loss[1:]), _cost(orders, gain, loss)
        split = np.any(dear > cheap.max(axis=1, keepdims=True) * (1 + _TOLERANCE), axis=0)
        if not split.any() or edges.size + split.sum() > _MAX_CELLS:
            break
        middle = (edges[:-1] + edges[1:])[split] / 2
        edges = np.sort(np.concatenate([edges, middle]))
    gain, loss = penalty_losses(edges, shift, std)
    up, down = np.append(shift, gain[:-1]), loss  # left tail and cells
    tail = Tail(float(gain[-1]), float(np.exp(penalty_log_reject(edges[-1:], std)[0])) * 1.01 + 1e-300)
    return maximal(up, down), tail, 2 * math.sqrt(float(np.max(gain * loss)))


def from_front(front: np.ndarray, order: float, tail: Tail | None = None) -> Pairs:
    """Both directions of the pairs (gain, loss), merged outward where that costs little at orders about ``order``."""
    front = _merged(maximal(*front.T), order)
    return _both(front, tail, 2 * math.sqrt(float(np.max(np.prod(front, axis=1)))))


def _both(front: np.ndarray, tail: Tail | None, scale: float) -> Pairs:
    gain, loss = front.T
    lo, hi = np.concatenate([-loss, -gain]), np.concatenate([gain, loss])
    if tail is None:
        return Pairs(lo, hi, 0.0, scale)
    return Pairs(np.append(lo, -np.inf), np.append(hi, tail.gain), tail.leak, scale)


def _merged(front: np.ndarray, order: float) -> np.ndarray:
    """Neighbours in the front (gain falls, loss rises) joined to their larger gain and loss, where that costs little.

    That is: they are near each other, or rarely both outcomes occur, or the joined pair is still cheap. This affects
    tightness only: a joined pair encloses those it replaces.
    """
    gain, loss = front[:, 0], front[:, 1]
    scale = 2 * math.sqrt(float(np.max(gain * loss)))
    orders = np.append(
        [1.5, order], 1 + np.array([0.3, 1.0]) / max(scale, 1e-7)
    )  # the last two matter at the ends of a block
    usual = np.maximum(gain, loss) * orders[:, None] <= 4
    limit = _CHEAP * np.max(_cost(orders, gain, loss), axis=1, where=usual, initial=0.0)
    merged, first = [], 0
    while first < len(front):
        size = np.arange(first, min(first + 256, len(front)))
        cheap = np.all(_cost(orders, gain[first], loss[size]) <= limit[:, None], axis=0)
        near = (gain[first] <= _NEAR * gain[size]) & (loss[size] <= _NEAR * loss[first])
        rare = np.minimum(gain[first], loss[size]) <= _RARE
        last = int(size[np.flatnonzero(cheap | near | rare).max(initial=0)])
        merged.append([gain[first], loss[last]])
        first = last + 1
    return np.array(merged)


def _cost(orders: np.ndarray, gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Rényi divergences of both directions; they steer and are never reported."""
    cost: np.ndarray = np.maximum(*(renyi_two_point(orders[:, None], -l, g) for l, g in ((loss, gain), (gain, loss))))
    return cost


class Curves(NamedTuple):
    """Upper bounds on D_0, D_1, … at the points (low + i)·h."""

    low: int
    h: float
    values: tuple[np.ndarray, ...]


def curves(pairs: Pairs, h: float, low: int, high: int) -> Iterator[np.ndarray]:
    """Upper bounds on D_0, D_1, … at the lattice points i·h, i = low..high."""
    n = high - low + 1
    grid = h * np.arange(low, high + 1)
    reach = 3 * n
    steps = [_weights(lo, hi, h, n, reach) for lo, hi in zip(pairs.lo, pairs.hi, strict=True)]
    below = -np.expm1(h * np.arange(-reach - 1, 0))
    curve = -np.expm1(np.minimum(grid, 0.0)) * GROWTH
    while True:
        yield curve
        wide = np.concatenate([curve[0] + (1 - curve[0]) * below, curve, np.full(n + 1, curve[-1])])
        best = curve.copy()
        for j, a, b, k, c, d in steps:
            value = c * wide[k : k + n]
            value += d * wide[k + 1 : k + 1 + n]
            if j < 0:
                value += a  # hi beyond the table: D ≤ 1
            else:
                value += a * wide[j : j + n]
                value += b * wide[j + 1 : j + 1 + n]
            np.maximum(best, value, out=best)
        curve = np.minimum(best * GROWTH + pairs.leak, 1.0)


def _weights(lo: float, hi: float, h: float, n: int, reach: int) -> tuple[int, float, float, int, float, float]:
    """Where ε − hi and ε − lo fall in the widened table, and the weights of the two chords in γ = e^ε."""
    spread = -math.expm1(lo - hi)
    w_hi, w_lo = -math.expm1(lo) / spread, math.exp(lo) * -math.expm1(-hi) / spread
    down = hi / h * (1 + 1e-12)
    j = math.ceil(down)
    theta = math.expm1((j - down) * h) / math.expm1(h)
    up = min(-lo / h * (1 - 1e-12), float(n))  # D falls: reading it a little to the left is safe
    k = math.floor(up)
    phi = math.expm1((up - k) * h) / math.expm1(h)
    start = reach + 1
    first = start - j if j <= reach else -1
    a, b = (w_hi * (1 - theta), w_hi * theta) if first >= 0 else (w_hi, 0.0)
    return first, a, b, start + k, w_lo * (1 - phi), w_lo * phi


@lru_cache(maxsize=64)
def penalty_curves(event: PenaltyBit, count: int, epsilon: float, order: float) -> Curves | None:
    """D_0 … D_count of penalty bits with all cells kept, on the finest lattice that is affordable; or None."""
    if count > 20_000 or not _coverable(event):
        return None
    pairs = _both(*_penalty_front(event, order))
    if not pairs.scale < 10:  # nearly a certainty: the losses of its cells are beyond floating point
        return None
    for m in _LATTICES:
        low, high = window(pairs.scale, count, epsilon, m)
        if count * pairs.lo.size * (10e-6 + 8e-9 * (high - low)) <= SECONDS:
            h = pairs.scale / m
            return Curves(low, h, tuple(islice(curves(pairs, h, low, high), count + 1)))
    return None
