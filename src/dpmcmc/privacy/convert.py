"""From Rényi to (ε, δ) and back, at real orders.

    δ = exp((α − 1)(R_α − ε)) (1 − 1/α)^α / (α − 1)        Canonne, Kamath & Steinke 2020, Prop. 12

Every order gives a valid answer, so searching for the best one can cost tightness but never soundness.
Reference: docs/theory/conversion.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpmcmc.arguments import not_negative, numbers, within
from dpmcmc.privacy.two_point import EPS

_LEAST_LOG = -708.0  # a δ that underflows is not 0
_LEAST, _GREATEST = 1e-5, 1e7  # of α − 1
_COARSE, _ZOOM, _ROUNDS = 49, 11, 3


def check_epsilon(epsilon: float) -> None:
    not_negative("epsilon", epsilon)


def check_delta(delta: float, *, zero: bool = False) -> None:
    within("delta", delta, 0, 1, "[)" if zero else "()")


def _check_orders(orders: np.ndarray) -> None:
    if not np.all((orders > 1) & np.isfinite(orders)):
        raise ValueError(f"Rényi orders must be finite and exceed 1, got {orders!r}")


def _log_factor(orders: np.ndarray) -> np.ndarray:
    """log[(1 − 1/α)^α / (α − 1)], in the form that does not cancel: one for α near 1, one for large α."""
    near = (orders - 1) * np.log(orders - 1) - orders * np.log(orders)
    factor: np.ndarray = np.where(orders < 2, near, orders * np.log1p(-1 / orders) - np.log(orders - 1))
    return factor


def epsilon_at(orders: np.ndarray, curve: np.ndarray, delta: float) -> np.ndarray:
    """The ε that each order gives at δ (never below 0), rounded up."""
    orders, curve = np.asarray(orders, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    _check_orders(orders)
    check_delta(delta)
    log_factor = _log_factor(orders)
    value = curve + (log_factor - math.log(delta)) / (orders - 1)
    slack = 8 * EPS * (1 + curve + (np.abs(log_factor) + orders + abs(math.log(delta))) / (orders - 1))
    epsilon: np.ndarray = np.maximum(0.0, value + slack)
    return epsilon


def delta_at(orders: np.ndarray, curve: np.ndarray, epsilon: float) -> np.ndarray:
    """The δ that each order gives at ε (never above 1), rounded up."""
    orders, curve = np.asarray(orders, dtype=np.float64), np.asarray(curve, dtype=np.float64)
    _check_orders(orders)
    check_epsilon(epsilon)
    log_factor = _log_factor(orders)
    log_delta = (orders - 1) * (curve - epsilon) + log_factor
    slack = 8 * EPS * (1 + (orders - 1) * (curve + epsilon) + np.abs(log_factor) + orders)
    with np.errstate(invalid="ignore"):
        delta: np.ndarray = np.exp(np.clip(np.where(np.isinf(curve), 0.0, log_delta + slack), _LEAST_LOG, 0.0))
        return delta


def renyi_limit(epsilon: float, delta: float, order: float | np.ndarray) -> np.ndarray:
    """The largest R such that a Rényi divergence of R at ``order`` implies (ε, δ)-DP, rounded down; at least 0.

    A limit of 0 at an order means that this order cannot prove the budget for anything that costs.
    """
    orders = numbers("order", order, "be finite and exceed 1")
    return np.maximum(0.0, epsilon - _charge(orders, delta, epsilon))


def _charge(orders: np.ndarray, delta: float, epsilon: float) -> np.ndarray:
    """ε − R of the conversion, without the floor at ε = 0, rounded up."""
    check_epsilon(epsilon)
    check_delta(delta)
    _check_orders(orders)
    log_factor = _log_factor(orders)
    charge = (log_factor - math.log(delta)) / (orders - 1)
    total: np.ndarray = charge + 8 * EPS * (
        1 + epsilon + (np.abs(log_factor) + orders + abs(math.log(delta))) / (orders - 1)
    )
    return total


def least_over_orders(objective: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float]:
    """(least value, order): a coarse scan of log(α − 1), then zooming about the best order seen."""
    grid = np.geomspace(_LEAST, _GREATEST, _COARSE)
    best_value, best_order = math.inf, 2.0
    for count in [_COARSE] + [_ZOOM] * _ROUNDS:
        values = np.asarray(objective(1 + grid), dtype=np.float64)
        i = int(np.argmin(values))
        if values[i] < best_value:
            best_value, best_order = float(values[i]), float(1 + grid[i])
        low, high = grid[max(i - 1, 0)], grid[min(i + 1, count - 1)]
        grid = np.geomspace(low, high, _ZOOM + 2)[1:-1]
    return best_value, best_order


def epsilon_from_renyi(curve: Callable[[np.ndarray], np.ndarray], delta: float) -> tuple[float, float]:
    """(ε, order): the least ε over real orders; ``curve`` maps an array of orders to upper bounds on R_α."""
    return least_over_orders(lambda orders: epsilon_at(orders, curve(orders), delta))


def delta_from_renyi(curve: Callable[[np.ndarray], np.ndarray], epsilon: float) -> tuple[float, float]:
    """(δ, order): the least δ over real orders. Compared by logarithms through ε, so tiny δ keep their order."""

    def objective(orders: np.ndarray) -> np.ndarray:
        bounds = curve(orders)
        log_delta = (orders - 1) * (np.minimum(bounds, 1e300) - epsilon) + _log_factor(orders)
        return np.where(np.isinf(bounds), np.inf, log_delta)

    _, order = least_over_orders(objective)
    at = np.array([order])
    return float(delta_at(at, curve(at), epsilon)[0]), order


def zcdp_limit(epsilon: float, delta: float) -> float:
    """The largest ρ such that ρ-zCDP (R_α ≤ ρα at every order) implies (ε, δ)-DP, rounded down."""
    value, _ = least_over_orders(lambda orders: -renyi_limit(epsilon, delta, orders) / orders)
    return max(0.0, -value * (1 - 4 * EPS))
