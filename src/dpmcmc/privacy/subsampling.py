"""Accept bits on a batch drawn without replacement: their Rényi curves.

Lemma 5. With q = batch/n the bit's law is a mixture over (R, j) of q·Ber(a) + (1−q)·Ber(g) on one data set and
q·Ber(a') + (1−q)·Ber(g) on its neighbour, where a, a', g are the accept probabilities of the batch R with one more
record at three values in its range. By quasi-convexity the cost is the supremum over R and the three values of the
divergence between P = qa + (1−q)g and Q = qa' + (1−q)g. For given a ≥ a' it is convex in g, so g sits at an end of its
range. The rest is enclosed cell by cell (enclosure.py): what is returned is the enclosing bound, never a grid value.

Reference: docs/theory/subsampling.md; Heikkilä et al. 2019, Alg. 1; Räisä 2021, Alg. 3 (the tests).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpmcmc.privacy.accept_bit import STDS, mills, penalty_log_reject, penalty_losses
from dpmcmc.privacy.correction import optimal_correction
from dpmcmc.privacy.enclosure import enclose, front_renyi
from dpmcmc.privacy.events import SubsampledBarkerBit, SubsampledPenaltyBit
from dpmcmc.privacy.pair_recursion import Pairs, Tail, from_front, pairs_of
from dpmcmc.privacy.renyi import renyi_of

_SLACK = 1e-9  # relative, on every probability: rounding of log Φ and of the sums
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@renyi_of.register
def subsampled_barker_renyi(event: SubsampledBarkerBit, orders: np.ndarray) -> np.ndarray:
    """R_α of the corrected Barker test on a batch.

    Guarantee: upper bound at every order, under substitution, for batches drawn afresh at every step and the
    population variance (divided by batch). At b = 1000 it is within about 5 % of the supremum for the orders that
    matter. It grows without use at orders where the tail at ±clamp takes over; a smaller clamp moves that point up.
    """
    return front_renyi(_barker_front(event), orders)


@renyi_of.register
def subsampled_penalty_renyi(event: SubsampledPenaltyBit, orders: np.ndarray) -> np.ndarray:
    """R_α of the minibatch penalty test.

    The test sees the batch only through λ = k Σr − (k²/2) Σ(r − r̄)², k = n·temperature/batch. One record moves λ by at
    most η = 2kc + 2k²c²(b−1)/b, so a, a', g are p at points of an interval of length η, p the penalty bit's.
    Guarantee: upper bound at every order, under substitution, never above the Gaussian's α η²/(2 std²).
    """
    shift = penalty_shift(event)
    gaussian = orders * (shift / event.std) ** 2 / 2 * (1 + 1e-12)
    if not STDS[0] <= event.std <= STDS[1]:
        return gaussian
    front = front_renyi(_penalty_front(event, shift), orders)
    curve: np.ndarray = np.minimum(gaussian, np.maximum(front, _penalty_tail(event, shift, orders)))
    return curve


def penalty_shift(event: SubsampledPenaltyBit) -> float:
    """Sensitivity of k Σr − (k²/2) Σ(r − r̄)² to one record: 2kc + 2k²c²(b−1)/b (Räisä 2021, Lemma 3.4, sharpened)."""
    step = event.n * event.temperature / event.batch * event.bound  # k c
    return (2 * step + 2 * step**2 * (event.batch - 1) / event.batch) * (1 + 1e-15)


# --- corrected Barker ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _barker_front(event: SubsampledBarkerBit) -> np.ndarray:
    pairs = event.correction if event.correction is not None else optimal_correction(event.noise_variance).pairs
    atoms, weights = np.array(pairs, dtype=np.float64).T
    if not (np.all(np.isfinite(atoms)) and np.all(weights > 0) and abs(weights.sum() - 1) < 1e-12):
        raise ValueError(
            "SubsampledBarkerBit: correction must hold finite values with positive probabilities that sum to 1, "
            f"got {event.correction!r}"
        )
    edges = np.linspace(-event.clamp, 0.0, 33)
    spreads = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    low = np.array([(t, w) for t in edges[:-1] for w in spreads[:-1]])
    high = np.array([(t, w) for t in edges[1:] for w in spreads[1:]])
    front = enclose(lambda l, h: _barker_cell(event, atoms, weights, l, h), low, high)
    if _symmetric(atoms, weights):  # then t > 0 is t < 0 with accept and reject exchanged
        return front
    return np.concatenate([front, enclose(lambda l, h: _barker_cell(event, -atoms, weights, l, h), low, high)])


def _symmetric(atoms: np.ndarray, weights: np.ndarray) -> bool:
    up, down = np.argsort(atoms), np.argsort(-atoms)
    return np.array_equal(atoms[up], -atoms[down]) and np.array_equal(weights[up], weights[down])


def _barker_cell(
    event: SubsampledBarkerBit, atoms: np.ndarray, weights: np.ndarray, low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Upper bounds on gain and loss over t (statistic with the one record at 0) and w (variance of the others).

    With m the mean of the others, |m| ≤ μ = √(1−w), a record at y gives the accept probability F_v(x), F_v the cdf of
    N(0, v) + V_cor, x = clamp(t + y/√b), v = C − w(b−1)/b − (y−m)²(b−1)/b².
    """
    b, q, variance = event.batch, event.batch / event.n, event.noise_variance
    reach, rest, one = 1 / np.sqrt(b), (b - 1) / b, (b - 1) / b**2
    t_low, w_low, t_high, w_high = low[:, 0], low[:, 1], high[:, 0], high[:, 1]
    mean = np.sqrt(1 - w_low)
    v_high = variance - rest * w_low
    v_base = variance - rest * w_high  # v at y = m, the least over the cell
    v_low = np.maximum(v_base - one * (1 + mean) ** 2, variance - 1)
    v_base = np.maximum(v_base, v_low)

    def clamped(x: np.ndarray) -> np.ndarray:
        clamped: np.ndarray = np.clip(x, -event.clamp, event.clamp)
        return clamped

    def log_cdf(x: np.ndarray, v1: np.ndarray, v2: np.ndarray, pick: np.ufunc, sign: float = 1.0) -> np.ndarray:
        z = sign * (clamped(x)[:, None] - atoms)  # Φ(z/√v) is monotone in v for either sign of z
        log_phi = pick(log_ndtr(z / np.sqrt(v1)[:, None]), log_ndtr(z / np.sqrt(v2)[:, None]))
        slack = _SLACK if pick is np.maximum else -_SLACK
        value: np.ndarray = logsumexp(log_phi, axis=1, b=weights) + slack
        return value

    left, right = t_low - reach, t_high + reach
    lo, hi = log_cdf(left, v_low, v_high, np.minimum), log_cdf(right, v_low, v_high, np.maximum)
    not_hi = log_cdf(right, v_low, v_high, np.minimum, -1.0)
    cells, width = _Cells(clamped(left), clamped(right), v_low, v_high), 2 * reach
    difference = _log_difference(cells, atoms, weights, width, one, mean)
    difference = np.minimum(difference, hi + np.log(-np.expm1(np.minimum(lo - hi, -1e-300))))
    log_delta = np.log(q) + difference  # P − Q = q (a − a')

    # g at the lower end of its range: Q ≥ lo, 1 − P ≥ q (1 − hi) + (1−q) (1 − g)
    not_g = log_cdf(t_high - reach, v_base, v_high, np.minimum, -1.0)
    not_p = _log_mix(q, not_hi, not_g)
    # g at the upper end: Q ≥ q lo + (1−q) g, 1 − P ≥ 1 − hi
    g = log_cdf(t_low + reach, v_base, v_high, np.minimum)
    q_low = _log_mix(q, lo, g)
    tail = _tail_gain(q, cells, atoms, weights, width, one * (1 + mean) ** 2)
    gain = np.stack([np.logaddexp(0, log_delta - lo), np.logaddexp(0, log_delta - q_low)], axis=1)
    gain = np.minimum(gain, tail[:, None])
    loss = np.stack([np.logaddexp(0, log_delta - not_p), np.logaddexp(0, log_delta - not_hi)], axis=1)
    return gain, loss


def _log_mix(q: float, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.logaddexp(np.log(q) + first, np.log1p(-q) + second) if q < 1 else first


class _Cells(NamedTuple):
    """Where x and v lie, cell by cell."""

    left: np.ndarray
    right: np.ndarray
    v_low: np.ndarray
    v_high: np.ndarray


def _log_difference(
    cells: _Cells, atoms: np.ndarray, weights: np.ndarray, width: float, one: float, mean: np.ndarray
) -> np.ndarray:
    """log of width·sup f + one·(1 + μ²)·sup|f'| ≥ |a − a'|, f = F_v' the density, suprema taken atom by atom.

    Along y from −1 to 1, da = f dx + ½ f' dv (heat equation), |dx| ≤ dy/√b, dv = −2(y−m)(b−1)/b² dy and
    ∫|y−m| dy = 1 + m².
    """
    left, right, v_low, v_high = cells
    near = np.maximum(np.maximum(left[:, None] - atoms, atoms - right[:, None]), 0.0)
    far = np.maximum(np.abs(left[:, None] - atoms), np.abs(right[:, None] - atoms))
    v1, v2 = v_low[:, None], v_high[:, None]
    v = np.clip(near**2, v1, v2)  # where v^(−1/2) exp(−e²/2v) is largest
    log_f = logsumexp(-(near**2) / (2 * v) - np.log(v) / 2 - _LOG_SQRT_2PI, axis=1, b=weights)
    u = np.clip(1.0, near / np.sqrt(v2), far / np.sqrt(v1))  # where u exp(−u²/2) is largest
    log_slope = logsumexp(np.log(u) - u**2 / 2 - np.log(v1) - _LOG_SQRT_2PI, axis=1, b=weights)
    with np.errstate(divide="ignore"):
        difference: np.ndarray = np.logaddexp(np.log(width) + log_f, np.log(one * (1 + mean**2)) + log_slope) + _SLACK
        return difference


def _tail_gain(
    q: float, cells: _Cells, atoms: np.ndarray, weights: np.ndarray, width: float, spread: np.ndarray
) -> np.ndarray:
    """log P/Q for cells left of every atom, where two probabilities of one configuration are close and tiny.

    Atom by atom log Φ is concave with slope λ, so moving x by ``width`` and v by ``spread`` moves log Φ by at most
    ρ = λ(u)(width/√v + |x−z| spread/2v^(3/2)); hi/lo − 1 ≤ Σ π (e^ρ − 1), π the share of the atom in F at the lower
    point, which grows with x and v for every atom but the leftmost. Then P/Q ≤ 1 + q (hi/lo − 1).
    """
    left, right, v_low, v_high = cells
    first = np.argmin(atoms)
    u = (left[:, None] - atoms) / np.sqrt(v_low)[:, None]
    hazard = 1 / mills(-u)
    std = np.sqrt(v_low)[:, None]
    moved = hazard * (width / std + np.abs(left[:, None] - atoms) * spread[:, None] / (2 * std**3)) * (1 + _SLACK)
    log_part = np.log(weights) + log_ndtr((right[:, None] - atoms) / np.sqrt(v_high)[:, None])
    share = np.minimum(log_part - log_part[:, [first]] + _SLACK, 0.0)
    log_ratio = logsumexp(share + moved + np.log(-np.expm1(-np.maximum(moved, 1e-300))), axis=1)
    return np.where(right < atoms[first], np.logaddexp(0.0, np.log(q) + log_ratio), np.inf)


# --- minibatch penalty -----------------------------------------------------------------------------------------------


def _penalty_deep(event: SubsampledPenaltyBit) -> float:
    """Where rejection has become so rare (e^−450) that its likelihood ratio is bounded by other means."""
    return 30 * event.std + event.std**2 / 2


@lru_cache(maxsize=256)
def _penalty_front(event: SubsampledPenaltyBit, shift: float) -> np.ndarray:
    """All t up to :func:`_penalty_deep`. Left of it gain ≤ η, because (log p)' ≤ 1, and loss grows with t."""
    edges = np.linspace(-60.0 - shift, _penalty_deep(event), 129)[:, None]
    front = enclose(lambda l, h: _penalty_cell(event, shift, l[:, 0], h[:, 0]), edges[:-1], edges[1:])
    gain, loss = _mixed(event.batch / event.n, np.array([shift]), penalty_losses(edges[0], shift, event.std)[1])
    return np.concatenate([front, np.stack([gain.ravel(), loss.ravel()], axis=1)])


def _penalty_cell(
    event: SubsampledPenaltyBit, shift: float, t_low: np.ndarray, t_high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log p and log(1−p) are concave: log p(t+η)/p(t) is largest on the left, log (1−p(t))/(1−p(t+η)) on the right."""
    gain = penalty_losses(t_low, shift, event.std)[0]
    loss = penalty_losses(t_high, shift, event.std)[1]
    return _mixed(event.batch / event.n, gain, loss)


def _mixed(q: float, gain: np.ndarray, loss: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gains and losses of P, Q from those of a, a', for g = a' (first column) and g = a (second)."""

    def up(x: np.ndarray) -> np.ndarray:  # log(1 − q + q e^x)
        up: np.ndarray = np.where(x < 30, np.log1p(q * np.expm1(np.minimum(x, 30))), np.logaddexp(np.log(q) + x, 0.0))
        return up

    def down(x: np.ndarray) -> np.ndarray:  # −log(1 − q + q e^−x)
        return -np.log1p(q * np.expm1(-x)) if q < 1 else x

    return (1 + _SLACK) * np.stack([up(gain), down(gain)], 1), (1 + _SLACK) * np.stack([down(loss), up(loss)], 1)


def _penalty_tail(event: SubsampledPenaltyBit, shift: float, orders: np.ndarray) -> np.ndarray:
    """All t beyond :func:`_penalty_deep`, where rejection is rare and its likelihood ratio has no bound.

    Σ of the two terms P^α Q^(1−α) is at most 1 plus the reject term. Over a cell [t₁, t₂] that is at most
    ρ(t₁)(1 − q + q e^Λ(t₂))^(α−1), ρ the reject probability and Λ(t) = log ρ(t)/ρ(t+η). Beyond the last cell, by joint
    convexity, it is at most q A^α A'^(1−α) + (1−q) ρ, and A^α A'^(1−α) ≤ exp(α(α−1)η²/2σ²) ρ(t − (α−1)η): tilt the
    Gaussian inside it. Where acceptance rises instead, its ratio bounds the divergence.
    """
    q, std, start = event.batch / event.n, event.std, _penalty_deep(event)
    edges = np.linspace(start, start + min(6e4 * shift + 30 * std, 1e3 * std), 4001)
    log_reject = penalty_log_reject(edges, std) + 1e-6
    ratio = _mixed(q, np.zeros(4000), penalty_losses(edges[1:], shift, std)[1])[1][:, 1]
    cells = np.max(log_reject[:-1] + (orders[:, None] - 1) * ratio, axis=1)
    moved = penalty_log_reject(edges[-1] - (orders - 1) * shift, std) + 1e-6
    beyond = np.logaddexp(np.log(q) + orders * (orders - 1) * (shift / std) ** 2 / 2 + moved, log_reject[-1])
    backward = np.logaddexp(0.0, np.maximum(cells, beyond)) / (orders - 1)
    forward = penalty_losses(edges[:1], shift, std)[0][0]
    cost: np.ndarray = np.maximum(backward * (1 + _SLACK), forward)
    return cost


@pairs_of.register
def _(event: SubsampledBarkerBit, order: float) -> Pairs | None:
    front = _barker_front(event)
    return from_front(front, order) if np.max(front) < 700 else None


@pairs_of.register
def _(event: SubsampledPenaltyBit, order: float) -> Pairs | None:
    """Beyond :func:`_penalty_deep` rejection leaks at most its probability there, and gains are at most that there."""
    shift = penalty_shift(event)
    if not (STDS[0] <= event.std <= STDS[1] and shift <= 100):
        return None
    deep = np.array([_penalty_deep(event)])
    gain = float(penalty_losses(deep, shift, event.std)[0][0])
    leak = float(np.exp(penalty_log_reject(deep, event.std)[0])) * 1.01 + 1e-300
    front = _penalty_front(event, shift)
    return from_front(front, order, Tail(gain, leak)) if np.max(front) < 1e6 else None
