"""Sums over random batches released with Gaussian noise: Rényi curves of ``SubsampledGaussian``.

In units of the largest norm of one record's term, with N_μ = N(μ, σ²) and q = batch/n, the worst pairs are
- Poisson, substitution:           qN₁ + (1−q)N₀  against  qN₋₁ + (1−q)N₀ (one pair, both directions alike);
- Poisson, add/remove:             qN₁ + (1−q)N₀  against  N₀, either way round (Mironov, Talwar & Zhang 2019);
- without replacement, substitution: for likelihood ratios above 1  qN₂ + (1−q)N₀ against N₀, and for those below 1 the
  same pair reversed (Zhu, Dong & Wang 2022, Thm 11). One record moves the sum by 2.
Rényi divergences are e^((α−1)D) = 1 + ∫ Q g(L), g(L) = e^(αL) − 1 − α(e^L − 1) ≥ 0, L = log P/Q, by Gauss–Legendre
quadrature on panels narrow against the distance to the nearest complex singularity, with both tails bounded by hand.

Reference: docs/theory/subsampling.md, "Gaussian sums".
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, logsumexp

from dpmcmc.privacy.events import SubsampledGaussian
from dpmcmc.privacy.relations import ADD_REMOVE
from dpmcmc.privacy.renyi import renyi_of
from dpmcmc.privacy.two_point import log_excess

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
_MARGIN = 1e-9  # relative: quadrature (below 1e-12) and rounding
_MAX_PANELS = 20_000
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


@renyi_of.register
def subsampled_gaussian_renyi(event: SubsampledGaussian, orders: np.ndarray) -> np.ndarray:
    """R_α of a sum over a batch with Gaussian noise.

    Guarantee: upper bound at every order for the sampling and the relation the event names; never above the cost of
    the sum over a batch that surely holds the record. Exact to the margin for Poisson batches, except where the
    quadrature would be too long and joint convexity takes its place.
    """
    if event.sampling == "without_replacement" and event.relation == ADD_REMOVE:
        raise ValueError(
            "SubsampledGaussian: batches of fixed size have no add/remove guarantee (n and the batch would change "
            f'together); use relation "substitution" or sampling "poisson", got {event.relation!r}'
        )
    q, std = event.batch / event.n, event.noise_multiplier
    reach = 1.0 if event.relation == ADD_REMOVE else 2.0  # how far one record moves the sum
    whole = orders * (reach / std) ** 2 / 2
    if q == 1:
        return whole * (1 + 1e-12)
    moment = (orders - 1) * whole
    small = np.log1p(q * np.expm1(np.minimum(moment, 30.0)))  # nothing cancels
    large = np.logaddexp(np.log1p(-q), np.log(q) + moment)
    mixed = np.where(moment < 30, small, large) / (orders - 1)  # joint convexity of e^((α−1)D)
    moments = np.array([_log_excess_moment(event, q, std, order) for order in orders])
    exact = np.logaddexp(0.0, moments) / (orders - 1)
    curve: np.ndarray = np.minimum(np.minimum(whole, mixed), exact) * (1 + _MARGIN)
    return curve


def _log_excess_moment(event: SubsampledGaussian, q: float, std: float, order: float) -> float:
    """log of ∫ Q g(L) for the worst pair, tails included; ``inf`` where the quadrature would be too long."""
    if event.sampling == "without_replacement":
        return _right_half(order, q, std, means=(2.0, None), start=1.0)
    if event.relation != ADD_REMOVE:
        return _right_half(order, q, std, means=(1.0, -1.0), start=0.0)
    forward = np.logaddexp(_right_half(order, q, std, (1.0, None), 0.5, "up"), _left_half(order, q, std, "up"))
    backward = np.logaddexp(_right_half(order, q, std, (1.0, None), 0.5, "down"), _left_half(order, q, std, "down"))
    return float(max(forward, backward))


def _lift(x: np.ndarray, mean: float | None, q: float, std: float) -> np.ndarray:
    """log of (q N_mean + (1−q) N₀)/N₀; 0 for None."""
    if mean is None:
        return np.zeros_like(x)
    y = (mean * x - mean**2 / 2) / std**2
    small = np.log1p(q * np.expm1(np.minimum(y, 1.0)))
    return np.where(y < 1.0, small, np.logaddexp(np.log1p(-q), np.log(q) + y))


def _right_half(
    order: float, q: float, std: float, means: tuple[float, float | None], start: float, part: str = "both"
) -> float:
    """log ∫_{x ≥ start} of Q g(L) ("up"), of P g(−L) ("down") or their sum, where L ≥ 0.

    P and Q are the mixtures with ``means``. Tails: L rises at most at slope s, so ∫_X^∞ Q e^(αL) ≤
    exp(αL(X) − αsX + (αsσ)²/2) Φ(−(X − αsσ²)/σ); and P g(−L) ≤ α P.
    """
    slope = (means[0] - (means[1] or 0.0)) / std**2

    def loss(x: np.ndarray) -> np.ndarray:
        loss: np.ndarray = _lift(x, means[0], q, std) - _lift(x, means[1], q, std)
        return loss

    def tail(x: np.ndarray) -> np.ndarray:
        up = order * (loss(x) - slope * x) + (order * slope * std) ** 2 / 2 + log_ndtr(order * slope * std - x / std)
        bound: np.ndarray = np.logaddexp(up, np.log(order) + log_ndtr((2.0 - x) / std))
        return bound

    ends = start + np.geomspace(std, 8 * order * slope * std**2 + 100 * std, 600)
    enough = tail(ends) <= _log_size(order, q, std) - 25
    end = ends[np.argmax(enough)] if enough.any() else ends[-1]
    x, log_weight = _panels(start, end, order, std)
    if x.size == 0:
        return np.inf
    ratio = loss(x)
    base = log_weight - (x / std) ** 2 / 2 - _LOG_SQRT_2PI - np.log(std) + _lift(x, means[1], q, std)
    up, down = base + log_excess(np.asarray(order), ratio), base + ratio + log_excess(np.asarray(order), -ratio)
    terms = {"up": [up], "down": [down], "both": [up, down]}[part]
    return float(logsumexp(np.concatenate([*terms, tail(np.array([end]))])))


def _left_half(order: float, q: float, std: float, part: str) -> float:
    """log ∫_{x ≤ 1/2} for qN₁ + (1−q)N₀ against N₀, where log(1−q) ≤ L ≤ 0, so g ≤ max(α, (1−q)^(−α))."""
    most = max(np.log(order), -order * np.log1p(-q))
    end = -std * np.sqrt(2 * (30 + most - _log_size(order, q, std)))
    x, log_weight = _panels(end, 0.5, order, std)
    if x.size == 0:
        return np.inf
    ratio = np.minimum(_lift(x, 1.0, q, std), 0.0)
    base = log_weight - (x / std) ** 2 / 2 - _LOG_SQRT_2PI - np.log(std)
    terms = (
        base + log_excess(np.asarray(order), ratio)
        if part == "up"
        else base + ratio + log_excess(np.asarray(order), -ratio)
    )
    return float(logsumexp(np.append(terms, most + log_ndtr(end / std))))


def _log_size(order: float, q: float, std: float) -> float:
    """About log of the result, to place the tails; no guarantee rests on it."""
    return float(np.log(order * (order - 1)) + 2 * np.log(q) + min(0.0, -2 * np.log(std)) - 2)


def _panels(start: float, end: float, order: float, std: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and log weights. P/N₀ has its zeros at height ≥ πσ²/2; panels are d = σ²/(2√α) wide, less for α > 400."""
    width = min(std**2 / (2 * np.sqrt(order)), 10 * std**2 / order, std)
    count = int(np.ceil((end - start) / width))
    if count > _MAX_PANELS:
        return np.zeros(0), np.zeros(0)
    edges = np.linspace(start, end, count + 1)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half) + half * _NODES
    return nodes.ravel(), (np.log(half) + np.log(_WEIGHTS)).ravel()
