"""The accept bit: accurate probabilities, and its Rényi cost.

One Metropolis-type iteration releases one Bernoulli bit with success probability p(t), where t moves by at most η
between neighbours. Its cost at order α is R_α(η) = sup_t max{D_α(p(t+η)‖p(t)), D_α(p(t)‖p(t+η))}.

Barker: p(t) = 1/(1 + e^−t), closed form. Penalty: p(t) = Φ(t/σ − σ/2) + e^t Φ(−t/σ − σ/2), by branch and bound:
log p and log(1 − p) are concave, so over a cell [a, b] of t the two log-likelihood ratios are enclosed by their
values at the ends, and by the spreading lemma (two_point.py) the wider pair costs at least as much. What is returned
is the enclosing bound itself, never a value on a grid.

Reference: docs/theory/accept-bit.md; Ceperley & Dewing 1999; Dong, Durfee & Rogers 2020.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from dpmcmc.privacy.two_point import EPS, log_excess, renyi_two_point

_TOLERANCE = 1e-4  # branch and bound stops when the bound is within this fraction of a value attained
_MAX_CELLS = 200_000
STDS = (1e-3, 1e3)  # where the formulas were checked to many digits; outside, the Gaussian's own bound is given
_TINY, _HUGE = 1e-300, 1e290  # log-likelihood ratios are kept in this range, so that their products stay finite
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


def barker_log_accept(t: np.ndarray) -> np.ndarray:
    """log p(t), p the logistic function."""
    return -np.logaddexp(0.0, -np.asarray(t, dtype=np.float64))


def barker_log_reject(t: np.ndarray) -> np.ndarray:
    """log(1 − p(t)) = log p(−t)."""
    return -np.logaddexp(0.0, np.asarray(t, dtype=np.float64))


def mills(z: np.ndarray) -> np.ndarray:
    """Mills ratio M(z) = (1 − Φ(z))/φ(z) = √(π/2) erfcx(z/√2)."""
    ratio: np.ndarray = np.sqrt(np.pi / 2) * erfcx(np.asarray(z) / np.sqrt(2))
    return ratio


def _penalty_logs(t: np.ndarray, std: float) -> tuple[np.ndarray, np.ndarray]:
    """(log p, log(1 − p)): the smaller of p and 1 − p from a formula without cancellation, the other from it."""
    t = np.asarray(t, dtype=np.float64)
    below, above = t / std - std / 2, t / std + std / 2
    log_p = np.logaddexp(log_ndtr(below), t + log_ndtr(-above))  # a sum of positive terms
    with np.errstate(divide="ignore"):
        # right of t = 0: φ(z)[M(z) − M(z + σ)], because e^t φ(z + σ) = φ(z)
        z = np.maximum(below, -1.0 - std / 2)
        right = np.log(np.maximum(mills(z) - mills(z + std), 0.0)) - z**2 / 2 - _LOG_SQRT_2PI
        # left of it: 1 − e^t + φ(z)[M(−z − σ) − M(−z)], two positive terms; used where p ≥ 1/2, and there z + σ < 1
        z = np.minimum(below, 1.0 - std)
        left = -np.expm1(np.minimum(t, 0.0)) + np.exp(-(z**2) / 2 - _LOG_SQRT_2PI) * (mills(-z - std) - mills(-z))
        log_q = np.where(t > -std, right, np.log(np.maximum(left, 0.0)))
        small_p = log_p < -0.6
        return (
            np.where(small_p, log_p, np.log1p(-np.exp(np.minimum(log_q, -EPS)))),
            np.where(small_p, np.log1p(-np.exp(np.minimum(log_p, -EPS))), log_q),
        )


def penalty_log_accept(t: np.ndarray, std: float) -> np.ndarray:
    """log p(t) = log[Φ(a − σ/2) + e^t Φ(−a − σ/2)], a = t/σ."""
    return _penalty_logs(t, std)[0]


def penalty_log_reject(t: np.ndarray, std: float) -> np.ndarray:
    """log(1 − p(t)) = log φ(a − σ/2) + log[M(a − σ/2) − M(a + σ/2)], a = t/σ, M the Mills ratio."""
    return _penalty_logs(t, std)[1]


def barker_renyi(shift: float, orders: np.ndarray) -> np.ndarray:
    """R_α of Barker's bit, and of any choice whose log-likelihood ratio has range ``shift``.

    Guarantee: upper bound, the least of α η²/8 (Lemma 2), η (the pure cost) and the exact supremum
    (1/(α−1)) [log((A−B)/((α−1)B)) − α log(α(A−B)/((α−1)A))], A = e^{αη} − 1, B = e^η − 1, rounding added.
    """
    bound = np.minimum(orders * shift**2 / 8, shift) * (1 + 8 * EPS)
    if shift == 0:
        return np.zeros_like(orders)
    # A = e^{αη}(1 − e^{−αη}) and A − B = e^{αη}(1 − e^{−(α−1)η}): the large exponents cancel by hand
    log_gap = np.log(-np.expm1(-(orders - 1) * shift)) - np.log(orders - 1)
    first = orders * shift + log_gap - _log_expm1(np.asarray(shift))
    second = np.log(orders) + log_gap - np.log(-np.expm1(-orders * shift))
    size = 1 + orders * (shift + np.abs(np.log(shift)) + np.abs(np.log(orders - 1)) + np.log(orders))
    exact = (first - orders * second + 64 * EPS * size) / (orders - 1)
    curve: np.ndarray = np.minimum(bound, exact)
    return curve


def _log_expm1(x: np.ndarray) -> np.ndarray:
    value: np.ndarray = x + np.log(-np.expm1(-x))
    return value


def penalty_renyi(shift: float, std: float, orders: np.ndarray) -> np.ndarray:
    """R_α of the penalty bit.

    Guarantee: upper bound, at most 1e-4 (relative) above the supremum unless the search was cut short, and never
    above the Gaussian's α η²/(2σ²), of which the bit is a post-processing.
    """
    gaussian = orders * (shift / std) ** 2 / 2 * (1 + 8 * EPS)
    if shift == 0:
        return np.zeros_like(orders)
    if not STDS[0] <= std <= STDS[1]:
        return gaussian
    curve: np.ndarray = np.minimum(gaussian, _branch_and_bound(shift, std, orders))
    return curve


def penalty_losses(t: np.ndarray, shift: float, std: float) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds on L₁ = log(p(t+η)/p(t)) and −L₀ = log((1−p(t))/(1−p(t+η))), close in relative terms too.

    The rarer outcome's ratio comes from the logarithms, rounding added, or from the tangent (log p and log(1 − p) are
    concave), whichever is less; the other's from the mean-one identity p (e^L₁ − 1) = (1 − p)(1 − e^L₀).
    """
    p_here, q_here = _penalty_logs(t, std)
    p_there, q_there = _penalty_logs(t + shift, std)
    slack = _slack(np.abs(t) + shift, std)
    factor = np.exp(np.minimum(4 * slack, 300.0))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        gain = np.minimum(p_there - p_here + slack, shift * _penalty_slopes(t, std)[0] * factor)
        loss = np.minimum(q_here - q_there + slack, shift * _penalty_slopes(t + shift, std)[1] * factor)
        gain_from_loss = np.log1p(-np.expm1(-loss) * np.exp(q_here - p_here)) * factor
        loss_from_gain = -np.log1p(-np.expm1(gain) * np.exp(p_here - q_here)) * factor
    gain, loss = np.where(p_here < q_here, gain, gain_from_loss), np.where(p_here < q_here, loss_from_gain, loss)
    gain, loss = np.nan_to_num(gain, nan=np.inf), np.nan_to_num(loss, nan=np.inf)
    return np.clip(gain, _TINY, shift), np.clip(loss, _TINY, _HUGE)  # (log p)' ≤ 1


def _slack(size: np.ndarray, std: float) -> np.ndarray:
    """Bound on the error of log p and log(1 − p) at |t| ≤ size: rounding of z, of z², and of M(z) − M(z + σ)."""
    scale = 1 + size / std + std
    return 16 * EPS * scale * (scale + 1 / std)


def _penalty_slopes(t: np.ndarray, std: float) -> tuple[np.ndarray, np.ndarray]:
    """((log p)', −(log(1−p))'), with p'(t) = e^t Φ(−t/σ − σ/2)."""
    log_p, log_q = _penalty_logs(t, std)
    log_slope = t + log_ndtr(-(t / std + std / 2))
    with np.errstate(over="ignore", invalid="ignore"):
        return np.exp(np.minimum(log_slope - log_p, 0.0)), np.exp(log_slope - log_q)


def _cell_bound(order: np.ndarray, at_a: np.ndarray, at_b: np.ndarray) -> np.ndarray:
    """Both divergences over the cell [a, b]: L₁ is largest at a, −L₀ at b; columns hold (L₁, −L₀)."""
    gain, loss = at_a[:, 0], at_b[:, 1]
    cost: np.ndarray = np.maximum(renyi_two_point(order, -loss, gain), renyi_two_point(order, -gain, loss))
    return cost


def _branch_and_bound(shift: float, std: float, orders: np.ndarray) -> np.ndarray:
    """sup over all t, enclosed: split cells until the greatest bound is near a value attained."""
    left = -(orders * shift + 45.0)
    right = (orders - 1) * shift + 14 * std + std**2 + 20.0
    bound: np.ndarray = np.maximum(_left_tail(shift, std, orders, left), _right_tail(shift, std, orders, right))
    attained = np.zeros_like(orders)

    fraction = np.linspace(0, 1, 65)
    edges = left[:, None] + (right - left)[:, None] * fraction
    edges[:, -1] = right
    a, b = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    which = np.repeat(np.arange(orders.size), 64)
    for _ in range(60):
        at_a, at_b = (np.stack(penalty_losses(t, shift, std), axis=1) for t in (a, b))
        upper = np.nan_to_num(_cell_bound(orders[which], at_a, at_b), nan=np.inf, posinf=np.inf)
        np.fmax.at(attained, which, _cell_bound(orders[which], at_a, at_a))
        done = upper <= attained[which] * (1 + _TOLERANCE)
        if done.all() or (~done).sum() * 4 > _MAX_CELLS or np.all((b - a)[~done] < 1e-9 * (1 + np.abs(a[~done]))):
            np.maximum.at(bound, which, upper)
            return bound
        np.maximum.at(bound, which[done], upper[done])
        a, b, which = a[~done], b[~done], np.repeat(which[~done], 4)
        edges = a[:, None] + (b - a)[:, None] * np.linspace(0, 1, 5)
        edges[:, 4] = b
        a, b = edges[:, :-1].ravel(), edges[:, 1:].ravel()
    np.maximum.at(bound, which, np.inf)
    return bound


def _left_tail(shift: float, std: float, orders: np.ndarray, t: np.ndarray) -> np.ndarray:
    """All t' ≤ t: there L₁ ≤ η, because (log p)' ≤ 1, and −L₀ is at most its value at t."""
    gain, loss = np.full_like(t, shift), penalty_losses(t, shift, std)[1]
    cost: np.ndarray = np.maximum(renyi_two_point(orders, -loss, gain), renyi_two_point(orders, -gain, loss))
    return cost


def _right_tail(shift: float, std: float, orders: np.ndarray, t: np.ndarray) -> np.ndarray:
    """All t' ≥ t: L₁ is at most its value at t and −L₀ has no bound.

    D_α(p(t'+η)‖p(t')): send lo to −∞. D_α(p(t')‖p(t'+η)): the reject term is at most e^ψ, ψ = α ℓ(t') − (α−1) ℓ(t'+η)
    with ℓ = log(1−p), and ψ' ≤ ℓ' + (α−1)η/σ² because ℓ'' ≥ −1/σ²; ℓ' falls, so once that is negative ψ falls too.
    """
    gain = penalty_losses(t, shift, std)[0]
    forward = renyi_two_point(orders, np.full_like(gain, -800.0), gain)
    here, there = penalty_log_reject(t, std), penalty_log_reject(t + shift, std)
    psi = orders * here - (orders - 1) * there + 2 * orders * _slack(np.abs(t) + shift, std)
    backward = np.logaddexp(0.0, np.logaddexp(psi, log_excess(orders, -gain))) / (orders - 1)
    certain = np.exp(-np.minimum(4 * _slack(np.abs(t), std), 300.0))
    falling = _penalty_slopes(t, std)[1] * certain >= (orders - 1) * shift / std**2 * (1 + 8 * EPS)
    return np.where(falling, np.maximum(forward, backward), np.inf)
