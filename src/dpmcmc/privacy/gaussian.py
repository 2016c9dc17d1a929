"""The exact (ε, δ) curve of composed Gaussian releases.

k Gaussians with noise multipliers m_i are one with μ = √(Σ 1/m_i²) (Dong, Roth & Su 2022, Cor. 3.3), adaptively, and
δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle & Wang 2018, Thm 8), which is the reject probability of the penalty
test with σ = μ at t = ε and is computed by the same formula without cancellation.
"""

from __future__ import annotations

import math

import numpy as np

from dpmcmc.arguments import not_negative, within
from dpmcmc.privacy.accept_bit import penalty_log_reject
from dpmcmc.privacy.two_point import EPS


def gaussian_log_delta(mu: float, epsilon: float) -> float:
    """log δ(ε) of a Gaussian with sensitivity μ standard deviations, rounded up."""
    if mu == 0:
        return -math.inf
    mu = max(mu, 1e-9)  # δ grows with μ; below this the difference of Mills ratios has no digits left
    value = float(penalty_log_reject(np.array([epsilon]), mu)[0])
    size = 1 + epsilon / mu + mu
    return min(0.0, value + 32 * EPS * size * (size + 1 / mu))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least ε with δ(ε) ≤ δ, rounded up: bisection that returns the end that fits."""
    target = math.log(delta)
    low, high = 0.0, 1.0
    if gaussian_log_delta(mu, low) <= target:
        return 0.0
    while gaussian_log_delta(mu, high) > target:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-13 * high:
            break
        low, high = (low, middle) if gaussian_log_delta(mu, middle) <= target else (middle, high)
    return high


def gaussian_mu_limit(epsilon: float, delta: float) -> float:
    """The largest μ whose δ(ε) is at most δ, rounded down."""
    not_negative("epsilon", epsilon)
    within("delta", delta, 0, 1, "()")
    target = math.log(delta)
    low, high = 0.0, 1.0
    while gaussian_log_delta(high, epsilon) <= target:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-13 * high:
            break
        low, high = (middle, high) if gaussian_log_delta(middle, epsilon) <= target else (low, middle)
    return low
