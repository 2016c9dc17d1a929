"""Mean-one two-point laws: the family to which every accept bit and every bounded-range choice reduces.

Let X = dP/dQ take the values e^lo ≤ 1 ≤ e^hi under Q. E_Q X = 1 fixes the law: Q(X = e^hi) = (1 − e^lo)/(e^hi − e^lo).
*Spreading lemma.* For convex f, E_Q f(X) is the chord of f over [e^lo, e^hi] read at 1, so it grows when lo falls
or hi rises; and any X with mean one inside [e^lo, e^hi] has E f(X) below that chord.

Reference: docs/theory/accept-bit.md.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)
_SERIES = 24


def log_weights(lo: np.ndarray, hi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(log Q(X = e^lo), log Q(X = e^hi)) for lo < 0 < hi, without cancellation."""
    log_spread = np.log(-np.expm1(lo - hi))
    return np.log(-np.expm1(-hi)) - log_spread, np.log(-np.expm1(lo)) - hi - log_spread


def log_excess(order: np.ndarray | float, loss: np.ndarray) -> np.ndarray:
    """Upper bound on log g, g(L) = e^{αL} − 1 − α(e^L − 1) ≥ 0, so that E_Q e^{αL} = 1 + E_Q g(L) when E_Q e^L = 1.

    Every term being positive, small divergences keep all their digits. Small αL by the series
    Σ_{n≥2} α(α^{n−1} − 1) Lⁿ/n!, the rest directly with the rounding error added, very large αL by g ≤ e^{αL}.
    """
    order, loss = np.broadcast_arrays(np.asarray(order), loss)
    x = order * loss
    out: np.ndarray = np.empty_like(x)

    small = np.abs(x) <= 2
    alpha, step, total, term = order[small], loss[small], 0.0, np.ones(np.count_nonzero(small))
    for n in range(1, _SERIES):
        term = term * step / n
        if n >= 2:
            total = total + term * alpha * np.expm1((n - 1) * np.log(alpha))
    rest = 1e-14 * alpha * np.expm1(np.log(alpha)) * step**2  # truncation and rounding, relative to the first term
    with np.errstate(divide="ignore"):
        out[small] = np.log(np.maximum(total, 0.0) + rest)

    large = x > 300
    out[large] = x[large]

    middle = ~(small | large)
    alpha, step, y = order[middle], loss[middle], x[middle]
    value = np.expm1(y) - alpha * np.expm1(step)
    out[middle] = np.log(np.maximum(value, 0.0) + 8 * EPS * (np.exp(y) + alpha * np.exp(step) + alpha))
    return out


def renyi_two_point(order: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Upper bound on D_α(P‖Q) for the mean-one law on {e^lo, e^hi}: log(1 + E_Q g(L))/(α − 1)."""
    log_lo, log_hi = log_weights(lo, hi)
    excess = np.logaddexp(log_lo + log_excess(order, lo), log_hi + log_excess(order, hi))
    curve: np.ndarray = np.logaddexp(0.0, excess) / (order - 1) * (1 + 1e-12)
    return curve
