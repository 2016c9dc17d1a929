"""Suprema over families of bits, enclosed by branch and bound.

A family of pairs of bits (P, Q), P ≥ Q, is described by its parameters in a box. Over a cell of the box one needs
only upper bounds on gain = log(P/Q) and loss = log((1−Q)/(1−P)): by the spreading lemma (two_point.py) the pair with
the larger two ratios costs at least as much at every order and in both directions. What is kept of a whole cover of
the box is therefore a set of (gain, loss) pairs, of which only the maximal ones matter; it serves every order.

Reference: docs/theory/subsampling.md, "From cells to a bound".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from dpmcmc.privacy.two_point import renyi_two_point

_TINY = 1e-300  # ratios below this are raised to it
_HUGE = 1e6  # a loss beyond this is reported as no finite cost
_STEER = np.append(1 + np.geomspace(0.02, 1, 5), np.geomspace(3, 30_000, 12))  # cells are refined for these orders

Bound = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def enclose(
    bound: Bound,
    low: np.ndarray,
    high: np.ndarray,
    tolerance: float = 0.01,
    max_cells: int = 60_000,
    rounds: int = 14,
) -> np.ndarray:
    """Maximal (gain, loss) pairs, shape (k, 2), that enclose the family over the boxes [low, high].

    ``bound(low, high)`` takes corners of shape (cells, dimensions) and returns upper bounds on gain and loss over
    each cell, shape (cells, candidates). Cells are halved in every dimension until the cost is within ``tolerance``
    of that of a single point of the box, or ``max_cells`` are reached: that ends the refining, never the covering.
    """
    front, points = np.zeros((0, 2)), np.zeros((0, 2))
    spent = 0
    for round_ in range(rounds):
        middle = (low + high) / 2
        gain, loss = bound(low, high)
        at_gain, at_loss = bound(middle, middle)
        points = maximal(np.append(points[:, 0], at_gain), np.append(points[:, 1], at_loss))
        split = np.any(~_below(points, gain / (1 + tolerance / 4), loss / (1 + tolerance / 4)), axis=1)
        cost = np.zeros((np.count_nonzero(split), gain.shape[1]))
        for order in _STEER:
            attained = np.max(_rough(order, points[:, 0], points[:, 1]))
            cost = np.maximum(cost, _rough(order, gain[split], loss[split]) / max(attained, _TINY))
        split[split] = np.max(cost, axis=1, initial=0.0) > 1 + tolerance
        spent += len(low)
        if round_ == rounds - 1 or spent + split.sum() * 2 ** low.shape[1] > max_cells:
            split[:] = False
        front = np.concatenate([front, maximal(gain[~split], loss[~split])])
        if not split.any():
            break
        low, high = _halves(low[split], high[split])
    return _thinned(maximal(front[:, 0], front[:, 1]))


def front_renyi(front: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """The largest Rényi divergence, both ways round, of the bits enclosed by (gain, loss) pairs."""
    if front.size and np.max(front) > _HUGE:
        return np.full_like(orders, np.inf)
    gain, loss = np.maximum(front, _TINY).T
    curve = np.zeros_like(orders)
    for i, order in enumerate(orders):
        both = renyi_two_point(order, np.append(-loss, -gain), np.append(gain, loss))
        curve[i] = np.max(both, initial=0.0)
    return curve


def _rough(order: float, gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """The cost to 1 %, with no claim to be a bound: it steers, it is never reported."""

    def log_excess(x: np.ndarray) -> np.ndarray:  # log of e^(αx) − 1 − α(e^x − 1)
        y = np.clip(order * np.abs(x), 1e-2, 30.0) * np.sign(x)
        direct = np.log(np.expm1(y) - order * np.expm1(y / order)) + np.maximum(order * x - 30.0, 0.0)
        value: np.ndarray = direct + 2 * np.minimum(np.log(order * np.abs(x) / 1e-2), 0.0)  # a square below αx = 1e-2
        return value

    def cost(lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        log_spread = np.log(-np.expm1(-lo - hi))
        low = np.log(-np.expm1(-hi)) - log_spread + log_excess(-lo)
        high = np.log(-np.expm1(-lo)) - log_spread - hi + log_excess(hi)
        cost: np.ndarray = np.logaddexp(0.0, np.logaddexp(low, high)) / (order - 1)
        return cost

    gain, loss = np.maximum(gain, _TINY), np.maximum(loss, _TINY)
    most: np.ndarray = np.maximum(cost(loss, gain), cost(gain, loss))
    return most


def maximal(gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """The pairs that no other pair exceeds in both coordinates."""
    gain, loss = (np.nan_to_num(side.ravel(), nan=np.inf, posinf=np.inf) for side in (gain, loss))
    order = np.lexsort((-loss, -gain))
    gain, loss = gain[order], loss[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(loss)[:-1]])
    keep = loss > before
    return np.stack([gain[keep], loss[keep]], axis=1)


def _below(front: np.ndarray, gain: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Whether some pair of the front (gain falling, loss rising) is at least as large in both coordinates."""
    last = np.searchsorted(-front[:, 0], -gain, side="right") - 1  # the last pair with a gain as large
    below: np.ndarray = (last >= 0) & (loss <= front[np.maximum(last, 0), 1])
    return below


def _thinned(front: np.ndarray) -> np.ndarray:
    """Neighbouring pairs merged outward (larger gain, larger loss): finely where the cost is decided, else coarsely."""
    costs = np.array([_rough(order, front[:, 0], front[:, 1]) for order in _STEER])
    weight = np.max(costs / np.maximum(costs.max(axis=1, keepdims=True), 1e-300), axis=0)
    steps = np.select([weight > 0.9, weight > 0.5], [1.002, 1.05], 1.3)
    merged: list[np.ndarray] = []
    first = 0  # the first pair of the present group
    for i, (gain, loss) in enumerate(front):  # gain falls, loss rises
        near = min(steps[first : i + 1])
        if merged and front[first, 0] <= near * gain and loss <= near * front[first, 1]:
            merged[-1] = np.array([front[first, 0], loss])
        else:
            merged.append(front[i])
            first = i
    return np.array(merged).reshape(-1, 2)


def _halves(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    middle = (low + high) / 2
    lows, highs = [], []
    for side in product((False, True), repeat=low.shape[1]):
        lows.append(np.where(side, middle, low))
        highs.append(np.where(side, high, middle))
    return np.concatenate(lows), np.concatenate(highs)
