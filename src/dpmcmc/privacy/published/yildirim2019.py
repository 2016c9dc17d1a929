"""YE19: Yıldırım & Ermiş, "Exact MCMC with differentially private moves", Statistics and Computing 29 (2019).

The penalty algorithm of Ceperley & Dewing (1999) as a private one: each iteration is charged as a release of the log
ratio with Gaussian noise, in zCDP. As restated in R21 Thm 3.1, with noise σ = τ n^a c(θ, θ'), c the sensitivity.
"""

from __future__ import annotations

from dpmcmc.privacy.published import classical
from dpmcmc.privacy.published.result import Published, non_negative, positive


def zcdp(tau: float, n: int, exponent: float = 0.5) -> float:
    """ρ of one iteration: 1/(2τ²n^{2a}) (YE19; R21 Thm 3.1)."""
    positive(tau=tau, n=n, exponent=exponent)
    cost: float = 1 / (2 * tau**2 * n ** (2 * exponent))
    return cost


def epsilon(steps: int, delta: float, tau: float, n: int, exponent: float = 0.5) -> Published:
    """ε of k iterations: ρ + 2√(ρ log(1/δ)) with ρ the sum (YE19; R21 Thm 3.1)."""
    non_negative(steps=steps)
    return Published(classical.zcdp_to_dp(steps * zcdp(tau, n, exponent), delta), "YE19 / R21 Thm 3.1")


def steps(epsilon: float, delta: float, tau: float, n: int, exponent: float = 0.5) -> int:
    """k = ⌊2τ²n^{2a} ρ⌋ with ρ = (√(ε + log(1/δ)) − √log(1/δ))² (YE19; R21 Thm 3.1)."""
    return int(classical.dp_to_zcdp(epsilon, delta) / zcdp(tau, n, exponent))
