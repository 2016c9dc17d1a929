"""The adaptive recursion for penalty bits of constant shift and std.

As in recursion.py, D_k(ε) = sup of w D_{k−1}(ε − hi) + (1 − w) D_{k−1}(ε − lo) over t and both directions, where lo and
hi are the two log-likelihood ratios and w is the chance of hi. The line of t is covered by cells; over each the pair
is enclosed by a wider one, which by the spreading lemma shows at least as much. Beyond the last cell the reject bit
has probability at most ``leak``, which is added to δ at every step.

Reference: docs/theory/recursion.md, "Penalty bits".
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpmcmc.privacy.accept_bit import penalty_log_reject, penalty_losses
from dpmcmc.privacy.recursion import GROWTH, SECONDS, read_curve, read_epsilon, window
from dpmcmc.privacy.two_point import renyi_two_point

_TOLERANCE = 0.004  # how much a cell may cost above the dearest point, at the orders that steer the splitting
_MAX_CELLS = 600
_LATTICES = (32, 24, 16, 12, 8)


class Pairs(NamedTuple):
    """A cover of all t: wider pairs (lo, hi), what the far tail leaks, and the shift of a Barker bit as spread out."""

    lo: np.ndarray
    hi: np.ndarray
    leak: float
    scale: float


@lru_cache(maxsize=64)
def cover(shift: float, std: float, order: float) -> Pairs:
    """Cells of t, split where they matter for orders about ``order``."""
    left, right = -(shift + 60.0), 12 * std + std**2 / 2 + shift + 1.0
    edges = np.linspace(left, right, 129)
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
    up = np.concatenate([[shift], gain[:-1], [gain[-1]]])  # left tail, cells, right tail
    down = np.concatenate([[loss[0]], loss[1:], [np.inf]])
    up, down = _merge(up, down)
    leak = float(np.exp(penalty_log_reject(edges[-1:], std)[0])) * 1.01 + 1e-300
    inside = np.isfinite(down)
    lo, hi = np.concatenate([-down, -up[inside]]), np.concatenate([up, down[inside]])
    return Pairs(lo, hi, leak, 2 * math.sqrt(float(np.max(gain * loss))))


def _cost(orders: np.ndarray, gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    both = [renyi_two_point(orders[:, None], l[None, :], h[None, :]) for l, h in ((-loss, gain), (-gain, loss))]
    return np.maximum(*both)


def _merge(up: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Drop pairs inside another one: along t, ``up`` falls and ``down`` rises."""
    keep = [
        i for i in range(up.size) if not np.any((up >= up[i]) & (down >= down[i]) & ((up > up[i]) | (down > down[i])))
    ]
    return up[keep], down[keep]


def _curves(pairs: Pairs, h: float, low: int, high: int) -> Iterator[np.ndarray]:
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


def _plan(shift: float, std: float, count: int, epsilon: float, order: float) -> tuple[Pairs, float, int, int] | None:
    if count < 1 or count > 20_000 or not 1e-3 <= std <= 30 or shift > 5:
        return None
    pairs = cover(shift, std, order)
    for m in _LATTICES:
        low, high = window(pairs.scale, count, epsilon, m)
        if count * pairs.lo.size * (10e-6 + 8e-9 * (high - low)) <= SECONDS:
            return pairs, pairs.scale / m, low, high
    return None


@lru_cache(maxsize=256)
def max_count(shift: float, std: float, epsilon: float, delta: float, limit: int, order: float) -> int | None:
    """The largest k ≤ ``limit`` proven (ε, δ)-DP, or None when not affordable."""
    plan = _plan(shift, std, limit, epsilon, order)
    if plan is None:
        return None
    pairs, h, low, high = plan
    for k, curve in enumerate(_curves(pairs, h, low, high)):
        if read_curve(curve, low, h, epsilon) > delta:
            return k - 1
        if k == limit:
            break
    return limit


@lru_cache(maxsize=64)
def _curve(shift: float, std: float, count: int, epsilon: float, order: float) -> tuple[np.ndarray, int, float] | None:
    plan = _plan(shift, std, count, epsilon, order)
    if plan is None:
        return None
    pairs, h, low, high = plan
    for k, curve in enumerate(_curves(pairs, h, low, high)):
        if k == count:
            return curve, low, h
    return None


def delta(shift: float, std: float, count: int, epsilon: float, order: float) -> float | None:
    """Upper bound on δ(ε) of ``count`` adaptive penalty bits; None when not affordable."""
    answer = _curve(shift, std, count, epsilon, order)
    return None if answer is None else read_curve(*answer, epsilon)


def epsilon(shift: float, std: float, count: int, delta: float, at_most: float, order: float) -> float | None:
    """Upper bound on ε(δ), known to be at most ``at_most``; None when not affordable."""
    answer = _curve(shift, std, count, at_most, order)
    return None if answer is None else read_epsilon(*answer, delta)
