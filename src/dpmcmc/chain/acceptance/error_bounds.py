"""How far the corrected minibatch test is from Barker's, and its chain from the posterior.

Three steps, those of Heikkilä et al. (2019), Theorems 3–5, with assumptions and constants stated:

1. the batch's noise is nearly normal               :func:`sampling_error`
2. so the accept probability is nearly logistic     :func:`acceptance_error` = sampling error + correction's error
3. so the chain's law is nearly the posterior       :func:`stationary_error` = acceptance error / (1 − contraction)

They are functions of the records' moments, for study on public or simulated data: their values are not private.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpmcmc.privacy.correction import Correction

_BERRY_ESSEEN = 0.4748  # Shevtsova 2011, independent and equally distributed terms
_SLOPE = 1 / math.sqrt(2 * math.pi * math.e)  # max |φ'| = 0.2420
_BEND = 1 / math.sqrt(2 * math.pi)  # max |φ''| = 0.3989


class Moments(NamedTuple):
    """Central moments of the scaled terms y over all records: variance, E|y − ȳ|³, E(y − ȳ)⁴."""

    variance: float
    third: float
    fourth: float

    @classmethod
    def of(cls, y: np.ndarray) -> Moments:
        away = np.abs(np.asarray(y, np.float64) - np.mean(y))
        return cls(float(np.mean(away**2)), float(np.mean(away**3)), float(np.mean(away**4)))


def sampling_error(moments: Moments, batch: int, noise_variance: float, n: int | None = None) -> float:
    """Bound on |P(accept) − F_C(Δ)|, F_C the cdf of N(0, C) + V_cor: what the batch's noise not being normal costs.

    Let ξ = Δ* − Δ, σ² the variance of the terms and S² that of the batch, and a(x, v) the cdf of N(0, v) + V_cor. With
    G ~ N(0, σ²), E a(Δ + G, C − σ²) = F_C(Δ), so the error is at most the sum of

    - E|a(Δ + ξ, C − S²) − a(Δ + ξ, C − σ²)| ≤ ½ max|φ'|/(C − 1) · E|S² − σ²|, because ∂a/∂v = ½ ∂²a/∂x², and
      E|S² − σ²| ≤ √((μ₄ − σ⁴)/b) + σ²/b;
    - |E a(Δ + ξ, C − σ²) − E a(Δ + G, C − σ²)|, at most the Kolmogorov distance of ξ and G since a is a cdf in x
      (Berry–Esseen: 0.4748 E|y − ȳ|³/(σ³√b)), and at most max|φ''|/(6 v^{3/2}) (E|ξ|³ + E|G|³), v = C − σ², since two
      moments agree (the better one for σ ≪ 1).

    Assumes terms in [−1, 1] that nothing clips, drawn with replacement. Give ``n`` for batches without replacement:
    their law is within b(b−1)/2n of the other in total variation. The bound is derived here, in the place of Heikkilä
    et al. (2019), Theorem 3. Reference: Shevtsova (2011) for the constant of Berry and Esseen.
    """
    variance, third, fourth = moments
    if not (noise_variance > 1 and 0 <= variance <= 1):
        raise ValueError(f"noise_variance must exceed 1 and terms lie in [−1, 1], got {noise_variance!r}, {moments}")
    if variance == 0:
        return 0.0
    estimate = math.sqrt(max(fourth - variance**2, 0) / batch) + variance / batch
    by_variance = _SLOPE / (2 * (noise_variance - 1)) * estimate
    kolmogorov = _BERRY_ESSEEN * third / (variance**1.5 * math.sqrt(batch))
    of_xi = (3 * variance**2 + fourth / batch) ** 0.75  # E|ξ|³ ≤ (Eξ⁴)^{3/4}
    of_normal = 2 * math.sqrt(2 / math.pi) * variance**1.5
    taylor = _BEND / (6 * (noise_variance - variance) ** 1.5) * (of_xi + of_normal)
    replacement = 0.0 if n is None else batch * (batch - 1) / (2 * n)
    return min(1.0, by_variance + min(kolmogorov, taylor) + replacement)


def published_sampling_error(ratios: np.ndarray, counts_as: float, batch: int, *, standardised: bool = False) -> float:
    """The bound that stands in the literature: (6.4 E|Z|³ + 2 E|Z|)/√b, Z = N₀ (r − E r) (Heikkilä et al. 2019, Thm 3).

    ``ratios`` are the records' log ratios r, ``counts_as`` is N₀ (N without tempering). For comparison only. As printed
    it cannot hold: the distance to a normal law does not change with the scale of r, and the bound goes to 0 with it.
    Its source (Seita et al. 2017, Corollary 1) has a Z of variance 1: ``standardised=True``. :func:`sampling_error` is
    what this library uses.
    """
    ratios = np.asarray(ratios, np.float64)
    z = np.abs(ratios - ratios.mean()) * (1 / ratios.std() if standardised else counts_as)
    return float((6.4 * np.mean(z**3) + 2 * np.mean(z)) / math.sqrt(batch))


def acceptance_error(correction: Correction, moments: Moments, batch: int, n: int | None = None) -> float:
    """Bound on |P(accept) − logistic(Δ)|: sampling error plus correction's error (Heikkilä et al. 2019, Theorem 4)."""
    return min(1.0, sampling_error(moments, batch, correction.variance, n) + correction.error)


def stationary_error(acceptance: float, contraction: float) -> float:
    """Bound on the total variation between the chain's stationary law π' and Barker's, π.

    If Barker's kernel K contracts total variation by ``contraction`` < 1 and every accept probability is off by at most
    ``acceptance``, then π' − π = (π' − π)K + π'(K' − K) gives |π' − π| ≤ contraction·|π' − π| + acceptance.
    Reference: Heikkilä et al. (2019), Theorem 5; Korattikara et al. (2014), Theorem 1.
    """
    if not 0 <= contraction < 1:
        raise ValueError(f"contraction must lie in [0, 1), got {contraction!r}")
    return min(1.0, acceptance / (1 - contraction))
