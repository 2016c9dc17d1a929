"""The exact minibatch test: Poisson counts as auxiliary variables, then Barker. Its Rényi curve.

With a = rate/n, m the bound and φ ∈ [0, m] the record's place in its range, the count is s ~ Poisson(a + φ), it adds
s·w(φ), w(φ) = log((a + m − φ)/(a + φ)), to the log ratio, and, given the other records, the bit is accepted with
probability p(φ, t) = E logistic(t + s w(φ)). The cost is the supremum over φ, φ* and t. Two facts enclose it:

1. logit p(φ, t) − t falls in t (a variance is not negative), so over a cell [t₁, t₂] it lies between its end values;
2. −∂p/∂φ = E[ρ σ'(t + s w)] with ρ between 2 and z² + 2z − 1, z = e^(−w): for rate ≥ n·bound/√2 it is positive, and
   φ = 0 against φ = m is the worst pair. Below that rate φ is cut into cells and |∂ logit p/∂φ| ≤ sup|ρ|.

The number of records drawn, B ~ Poisson(rate + n·bound), does not depend on the data; but if it is observable (by
running time, say) it is a release: given B the shift is proportional to B, so the leading cost grows by E B²/(E B)² =
1 + 1/(rate + n·bound) on average, which is NOT counted here. The kept count depends on the data and must never show.

Reference: docs/theory/poisson.md; Zhang & Zhang 2023 (the published test, repaired).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import expit, gammaln

from dpmcmc.privacy.enclosure import enclose, front_renyi
from dpmcmc.privacy.events import PoissonBarkerBit
from dpmcmc.privacy.pair_recursion import Pairs, from_front, pairs_of
from dpmcmc.privacy.renyi import renyi_of

_SLACK = 1e-9  # relative rounding of the sums over counts, for the events that are summed (see _summable)
_END = 64.0  # |t| beyond this is treated as a tail, by hand
_PHI_CELLS = 128


@renyi_of.register
def poisson_barker_renyi(event: PoissonBarkerBit, orders: np.ndarray) -> np.ndarray:
    """R_α of the exact minibatch test under substitution, energies of any possible record within ``bound``.

    Guarantee: upper bound at every order. From rate ≥ 3·n·bound on it is within 2 % of the full-data α(2·bound)²/8,
    and always at most α/8 times the square of :func:`log_odds_range`. B itself must not be observable (see above).
    """
    widest = log_odds_range(event)
    zcdp = np.minimum(orders * widest**2 / 8, widest) * (1 + 1e-12)
    return np.minimum(zcdp, front_renyi(_front(event), orders)) if _summable(event) else zcdp


def _summable(event: PoissonBarkerBit) -> bool:
    """Whether sums over counts keep their digits. Elsewhere the proven range m(2 + 1/r) stands alone.

    For r above 100 that range is within half a per cent of the full-data 2m, so little is lost there.
    """
    r = event.rate / event.n / event.bound
    return 1e-6 <= event.bound <= 4 and 0.01 <= r <= 100 and event.bound * (1 + 1 / r) <= 100


def log_odds_range(event: PoissonBarkerBit) -> float:
    """An upper bound on the change of the bit's log odds, i.e. its pure cost; it tends to m(1 + 1/r + r/(1+r)).

    Here r = rate/(n·bound); the limit is the supremum for r ≥ 1/√2, up to what the tail cells add.
    """
    a, m = event.rate / event.n, event.bound
    always = m * (2 + m / a) * (1 + 1e-12)  # −m(1 + m/a) ≤ logit p − t ≤ m
    return min(always, float(np.max(_ranges(event))) * (1 + _SLACK)) if _summable(event) else always


def _places(a: float, m: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of φ that stand for all of [0, m], and how far log odds may go beyond theirs."""
    if a >= m / np.sqrt(2):
        return np.array([0.0, m]), np.zeros(2)
    z = np.exp(np.linspace(np.log(a / (a + m)), np.log((a + m) / a), _PHI_CELLS + 1))  # sup|ρ| varies with log z
    edges = np.clip((z * (a + m) - a) / (1 + z), 0.0, m)
    edges[0], edges[-1] = 0.0, m
    steepest = np.maximum(_steepest(z[1:]), _steepest(z[:-1]))  # it is largest at an end of a cell
    return (edges[1:] + edges[:-1]) / 2, steepest * np.diff(edges) / 2 * (1 + 1e-9)


def _extremes(event: PoissonBarkerBit, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An upper bound on max and a lower bound on min over φ of u(φ, t) = logit p(φ, t) − t."""
    a, m = event.rate / event.n, event.bound
    top, bottom = np.full_like(t, -np.inf), np.full_like(t, np.inf)
    for place, beyond in zip(*_places(a, m), strict=True):
        upper, lower = _log_odds_gain(a, m, place, t)
        top, bottom = np.maximum(top, upper + beyond), np.minimum(bottom, lower - beyond)
    return top, bottom


def _steepest(z: np.ndarray) -> np.ndarray:
    """An upper bound on sup|ρ|, ρ(E) = (1+E)(2z² + (z²+2z−1)E)/(z+E)² over E ≥ 0; falls for z < ½, then rises."""
    small = np.minimum(z, 0.5)
    slope: np.ndarray = np.maximum(np.maximum(2.0, z**2 + 2 * z - 1), 1 / (4 * small * (1 - small)))
    return slope


def _log_odds_gain(a: float, m: float, phi: float, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(upper, lower) bounds on logit p(φ, t) − t.

    E σ(t + sw)/σ(t) − 1 = E σ(−t − sw)(e^(sw) − 1), and the same with signs changed for 1 − p; both without
    cancellation. The counts left out weigh below e^−70 under the tilted laws too.
    """
    mean, other = a + phi, a + m - phi
    w = np.log1p((m - 2 * phi) / mean)
    s = np.arange(1, _last_count(max(mean, other, mean**2 / other)) + 1)
    pmf = np.exp(s * np.log(mean) - mean - gammaln(s + 1))
    value, size = np.empty_like(t), np.empty_like(t)
    for rows in np.array_split(np.arange(len(t)), max(1, len(t) * len(s) // 1_000_000)):
        x = t[rows, None] + s * w
        accept = np.sum(expit(-x) * (pmf * np.expm1(s * w)), axis=1)
        reject = np.sum(expit(x) * (pmf * np.expm1(-s * w)), axis=1)
        value[rows] = np.log1p(accept) - np.log1p(reject)
        size[rows] = np.abs(accept) + np.abs(reject)
    slack = _SLACK * (size + np.abs(value)) + 1e-28
    return value + slack, value - slack


def _last_count(mean: float) -> int:
    """S with P(Poisson(mean) > S) ≤ e^−70, by Chernoff: S log(S/mean) − S + mean ≥ 70."""
    last = int(mean) + 4
    while last * np.log(last / mean) - last + mean < 70:
        last += 1 + last // 20
    return last


def _cell(event: PoissonBarkerBit, t_low: np.ndarray, t_high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gain and loss when the log odds of both bits lie in [t₁ + min u(t₁), t₂ + max u(t₂)] and differ by ≤ span."""
    ends, place = np.unique(np.concatenate([t_low, t_high]), return_inverse=True)
    top, bottom = _extremes(event, ends)
    low, high = np.split(place, 2)
    span = top[low] - bottom[high]
    gain = -np.log1p(expit(-(t_low + bottom[low])) * np.expm1(-span))  # log σ(θ+span)/σ(θ) falls in θ
    loss = -np.log1p(expit(t_high + top[high]) * np.expm1(-span))
    return gain[:, None] * (1 + _SLACK), loss[:, None] * (1 + _SLACK)


@lru_cache(maxsize=256)
def _ranges(event: PoissonBarkerBit) -> np.ndarray:
    """Upper bounds on the range of the log odds for t ≤ −END, t ≥ END, and the cells between.

    u(φ, t) is at most m (φ = 0, t = −∞) and at least −m(1 + m/a) (φ = m, t = +∞).
    """
    a, m = event.rate / event.n, event.bound
    top, bottom = _extremes(event, np.linspace(-_END, _END, 513))
    tails = [m * (1 + _SLACK) - bottom[0], top[-1] + m * (1 + m / a) * (1 + _SLACK)]
    return np.concatenate([tails, top[:-1] - bottom[1:]])


@lru_cache(maxsize=256)
def _front(event: PoissonBarkerBit) -> np.ndarray:
    edges = np.linspace(-_END, _END, 65)[:, None]
    front = enclose(lambda l, h: _cell(event, l[:, 0], h[:, 0]), edges[:-1], edges[1:], tolerance=0.005)
    left, right = _ranges(event)[:2]
    top, bottom = _extremes(event, np.array([-_END, _END]))
    tails = [
        (left, -np.log1p(expit(-_END + top[0]) * np.expm1(-left))),  # t ≤ −END: gain ≤ range
        (-np.log1p(expit(-(_END + bottom[1])) * np.expm1(-right)), right),  # t ≥ END: loss ≤ range
    ]
    return np.concatenate([front, np.array(tails) * (1 + _SLACK)])


@pairs_of.register
def _(event: PoissonBarkerBit, order: float) -> Pairs | None:
    return from_front(_front(event), order) if _summable(event) else None
