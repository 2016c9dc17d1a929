"""The classical results that the published bounds are made of: conversions, composition, amplification.

Dwork & Roth (2014); Dwork, Rothblum & Vadhan (2010); Kairouz, Oh & Viswanath, "The composition theorem for differential
privacy" (2015);
Mironov, "Rényi differential privacy" (2017); Bun & Steinke, "Concentrated differential privacy" (2016); Sommer,
Meiser & Mohammadi, "Privacy loss classes" (2019); Wang, Balle & Kasiviswanathan, "Subsampled Rényi DP" (2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln, log_ndtr, logsumexp

from dpmcmc.privacy.published.result import non_negative, positive, valid_delta, valid_order

Array = NDArray[np.float64]


def rdp_to_dp(rdp: float, order: float, delta: float) -> float:
    """ε = ε_α + log(1/δ)/(α − 1) (Mironov 2017, Prop. 3; H19 takes it over as a proposition; R21 Thm 2.5)."""
    valid_order(order)
    valid_delta(delta)
    return rdp - math.log(delta) / (order - 1)


def zcdp_to_dp(rho: float, delta: float) -> float:
    """ε = ρ + 2√(ρ log(1/δ)) (Bun & Steinke 2016, Prop. 1.3)."""
    non_negative(rho=rho)
    valid_delta(delta)
    return rho + 2 * math.sqrt(-rho * math.log(delta))


def dp_to_zcdp(epsilon: float, delta: float) -> float:
    """The ρ whose :func:`zcdp_to_dp` is ε: (√(ε + log(1/δ)) − √log(1/δ))²."""
    positive(epsilon=epsilon)
    valid_delta(delta)
    return (math.sqrt(epsilon - math.log(delta)) - math.sqrt(-math.log(delta))) ** 2


def gaussian_delta(epsilon: float, rho: float) -> float:
    """δ(ε) of Gaussian releases of total cost ρ = Σ Δ²/(2σ²), tight (Sommer et al. 2019, Lemma 12).

    δ = ½ erfc((ε − ρ)/(2√ρ)) − ½ e^ε erfc((ε + ρ)/(2√ρ)), written with normal log-cdfs so that e^ε cannot overflow.
    """
    non_negative(epsilon=epsilon, rho=rho)
    if rho == 0:
        return 0.0
    scale = math.sqrt(2 * rho)
    return math.exp(log_ndtr((rho - epsilon) / scale)) - math.exp(epsilon + log_ndtr(-(rho + epsilon) / scale))


def gaussian_mechanism_std(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """σ = √(2 log(1.25/δ)) Δ/ε, (ε, δ)-DP for ε < 1 (Dwork & Roth 2014, Thm A.1; Z23 Thm 1 is this statement)."""
    if not 0 < epsilon < 1:
        raise ValueError(f"the classical Gaussian mechanism is proven for 0 < epsilon < 1, got {epsilon!r}")
    valid_delta(delta)
    non_negative(sensitivity=sensitivity)
    return math.sqrt(2 * math.log(1.25 / delta)) * sensitivity / epsilon


def advanced_composition(epsilon: float, steps: int, slack: float) -> float:
    """ε of T steps of ε-DP at δ = ``slack``: ε√(2T log(1/δ)) + Tε(e^ε − 1) (Dwork, Rothblum & Vadhan 2010)."""
    positive(epsilon=epsilon)
    non_negative(steps=steps)
    valid_delta(slack)
    return epsilon * math.sqrt(-2 * steps * math.log(slack)) + steps * epsilon * math.expm1(epsilon)


def pure_composition_delta(total: float, epsilon: float, steps: int) -> float:
    """The least δ for which T steps of ε-DP are (``total``, δ)-DP together (Kairouz, Oh & Viswanath 2015, Thm 3.3).

    δ = Σ_l C(T, l) [e^{(T−l)ε} − e^{total + lε}]₊ / (1 + e^ε)^T: randomised response is the worst of ε-DP steps, and l
    counts its answers against the truth.
    """
    non_negative(total=total, steps=steps)
    positive(epsilon=epsilon)
    against = np.arange(steps + 1, dtype=float)
    loss = (steps - 2 * against) * epsilon
    binomial = gammaln(steps + 1) - gammaln(against + 1) - gammaln(steps - against + 1)
    log_chance = binomial + (steps - against) * epsilon - steps * np.logaddexp(0.0, epsilon)
    above = loss > total
    return float(np.sum(np.exp(log_chance[above]) * -np.expm1(total - loss[above])))


def optimal_pure_composition(epsilon: float, steps: int, delta: float) -> float:
    """The least ε' for which T steps of ε-DP are (ε', δ)-DP together: :func:`pure_composition_delta` solved for it.

    No accountant can claim less from pure ε alone: Tε bounds it, and :func:`advanced_composition` is never below it.
    """
    valid_delta(delta)
    if pure_composition_delta(0.0, epsilon, steps) <= delta:
        return 0.0
    return float(brentq(lambda total: pure_composition_delta(total, epsilon, steps) - delta, 0.0, steps * epsilon))


def amplified_rdp(
    rdp: Callable[[Array], ArrayLike], orders: ArrayLike, rate: float, *, last_term: bool = True
) -> Array:
    """Rényi DP of a mechanism on a batch drawn without replacement (Wang, Balle & Kasiviswanathan 2019, Thm 9).

    ε(α) = 1/(α−1) · log(1 + q² C(α,2) min{4(e^{ε'(2)} − 1), 2e^{ε'(2)}} + 2 Σ_{j=3}^{α} q^j C(α,j) e^{(j−1)ε'(j)})

    for whole α ≥ 2 and q = ``rate``; ``rdp`` is ε', the cost on the batch alone, at an array of whole orders.
    ``last_term=False`` leaves out j = α: not a valid bound, but what R21's code computes.
    """
    alphas = np.atleast_1d(np.asarray(orders, dtype=float))
    if np.any(alphas < 2) or np.any(alphas != np.round(alphas)):
        raise ValueError(f"orders must be whole numbers of at least 2, got {orders!r}")
    if not 0 < rate <= 1:
        raise ValueError(f"rate must lie in (0, 1], got {rate!r}; it is batch / n")
    j = np.arange(2, int(alphas.max()) + 1, dtype=float)
    cost = np.asarray(rdp(j), dtype=float)
    second = math.log(min(4 * math.expm1(cost[0]), 2 * math.exp(cost[0]))) if cost[0] < 700 else math.inf
    log_terms = np.where(j == 2, second, math.log(2) + (j - 1) * cost)
    above = alphas[:, None] - j
    log_binomial = gammaln(alphas[:, None] + 1) - gammaln(j + 1) - gammaln(np.maximum(above, 0) + 1)
    kept = (above >= 0) if last_term else (above > 0) | (j == 2)
    log_sum = logsumexp(np.where(kept, j * math.log(rate) + log_binomial + log_terms, -np.inf), axis=1)
    rdp_: Array = np.logaddexp(0, log_sum) / (alphas - 1)
    return rdp_


def poisson_gaussian_rdp(orders: ArrayLike, noise_multiplier: float, rate: float) -> Array:
    """Rényi DP of the Gaussian mechanism on a Poisson sample, add/remove, at whole orders (Mironov et al. 2019, eq. 6).

    ε(α) = 1/(α−1) · log Σ_k C(α,k) (1−q)^{α−k} q^k e^{k(k−1)/(2σ²)}; (α−1) ε(α) is the log moment of Abadi et al. 2016.
    """
    positive(noise_multiplier=noise_multiplier)
    if not 0 < rate < 1:
        raise ValueError(f"rate must lie strictly between 0 and 1, got {rate!r}; it is batch / n")
    alphas = np.atleast_1d(np.asarray(orders, dtype=float))
    if np.any(alphas < 2) or np.any(alphas != np.round(alphas)):
        raise ValueError(f"orders must be whole numbers of at least 2, got {orders!r}")
    # The terms k = 0 and k = 1 with the binomial weights sum to 1 with the rest, so Σ − 1 has only k ≥ 2 in it.
    k = np.arange(2, int(alphas.max()) + 1, dtype=float)
    above = alphas[:, None] - k
    log_weight = (
        gammaln(alphas[:, None] + 1) - gammaln(k + 1) - gammaln(np.maximum(above, 0) + 1)
        + above * math.log1p(-rate) + k * math.log(rate)
    )  # fmt: skip
    exponent = k * (k - 1) / (2 * noise_multiplier**2)
    log_excess = exponent + np.log1p(-np.exp(-exponent))
    log_sum = logsumexp(np.where(above >= 0, log_weight + log_excess, -np.inf), axis=1)
    rdp: Array = np.logaddexp(0, log_sum) / (alphas - 1)
    return rdp
