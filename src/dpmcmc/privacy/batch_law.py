"""Sums over batches drawn without replacement, with Gaussian noise: the law of the privacy loss of one release.

With unit the largest norm of one record's term, δ(ε) of one release is at most that of qN₂ + (1−q)N₀ against N₀ for
ε ≥ 0 and, for ε < 0, that of the same pair reversed (docs/theory/subsampling.md, "Gaussian sums"):

    H(γ) = q H_s(N₂‖N₀), s = 1 + (γ − 1)/q, for γ ≥ 1;      H(γ) = 1 − γ + γ H(1/γ) for γ < 1.

The curve holds for every release after any past, is convex, and is attained on each side of γ = 1, though not on both
at once; releases compose through its law (loss_law.py), in any order and together with other events' laws.

Reference: docs/theory/blocks.md, "Batches without replacement".
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpmcmc.privacy.accept_bit import penalty_log_reject
from dpmcmc.privacy.events import SubsampledGaussian
from dpmcmc.privacy.loss_law import Curve, LossLaw, loss_law
from dpmcmc.privacy.two_point import EPS

_MOST = 30_000  # lattice points on either side
_FINE = 12  # points in a standard deviation of one release's loss, where there is room


def _log_upper(event: SubsampledGaussian, epsilon: np.ndarray) -> np.ndarray:
    """log H at ε ≥ 0, rounded up: log q plus that of a Gaussian with sensitivity 2/σ at log s."""
    q, mu = event.batch / event.n, 2 / event.noise_multiplier
    point = np.log1p(np.expm1(epsilon) / q)
    size = 1 + point / mu + mu
    bound: np.ndarray = math.log(q) + np.minimum(0.0, penalty_log_reject(point, mu) + 32 * EPS * size * (size + 1 / mu))
    return bound


def release_curve(event: SubsampledGaussian, h: float, points: int) -> Curve:
    """H at i·h, i = −points..points, rounded up."""
    epsilon = h * np.arange(points + 1)
    upper = np.exp(_log_upper(event, epsilon)) * (1 + 1e-14)
    lower = -np.expm1(-epsilon[:0:-1]) + np.exp(-epsilon[:0:-1]) * upper[:0:-1]
    return Curve(np.minimum(np.concatenate([lower * (1 + 1e-14), upper]), 1.0), -points, h)


@lru_cache(maxsize=64)
def release_law(event: SubsampledGaussian, leak: float) -> LossLaw | None:
    """One release's law on a lattice fine enough for its spread, with at most about ``leak`` beyond it; or None."""
    q, std = event.batch / event.n, event.noise_multiplier
    if not 0.2 <= std <= 1e4 or q == 1:
        return None
    spread = q * math.sqrt(math.expm1(4 / std**2))  # standard deviation of the likelihood ratio
    ends = np.geomspace(min(spread, 1.0), 200.0, 400)
    inside = _log_upper(event, ends) <= math.log(leak)
    if not inside.any():
        return None
    end = float(ends[np.argmax(inside)])
    h = max(min(spread, q, 1.0) / _FINE, end / _MOST)
    return loss_law(release_curve(event, h, math.ceil(end / h)))
