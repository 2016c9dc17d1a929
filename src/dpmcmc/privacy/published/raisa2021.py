"""R21: Räisä, "Differentially Private Metropolis–Hastings Algorithms", Master's thesis, University of Helsinki, 2021.

All bounds pay for releasing the noisy log ratio (Thm 3.2 is tight "if the values of the log-likelihood ratio are
released"; they are not), see docs/theory/published.md. Neighbours differ in the value of one record.

``tau`` is the thesis's noise scale: the noise of the full-data test has standard deviation τ√n times the sensitivity,
that of the minibatch test √τ times. ``tau**2 * n`` is thus the squared noise multiplier.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmcmc.privacy.published import classical, fourier, heikkila2019, yildirim2019
from dpmcmc.privacy.published.result import Published, largest, non_negative, one_of, positive, valid_batch, valid_delta

MINIBATCH_VARIANTS = ("text", "as_coded")
FOURIER_VARIANTS = ("text", "as_coded", "one_sided")

#: R21 Thm 3.1 is YE19's bound in the thesis's notation.
theorem31_steps = yildirim2019.steps


def theorem211_rdp(order: float, sensitivity: float, std: float) -> float:
    """The Gaussian mechanism: ε(α) = αΔ²/(2σ²) (R21 Thm 2.11 (1))."""
    return order * theorem211_zcdp(sensitivity, std)


def theorem211_zcdp(sensitivity: float, std: float) -> float:
    """The Gaussian mechanism: ρ = Δ²/(2σ²) (R21 Thm 2.11 (2))."""
    non_negative(sensitivity=sensitivity)
    positive(std=std)
    return sensitivity**2 / (2 * std**2)


def theorem211_delta(epsilon: float, steps: float, sensitivity: float, std: float) -> float:
    """δ(ε) of k Gaussian releases, tight (R21 Thm 2.11 (3))."""
    non_negative(steps=steps)
    return classical.gaussian_delta(epsilon, steps * theorem211_zcdp(sensitivity, std))


def theorem32_delta(epsilon: float, steps: float, tau: float, n: int) -> float:
    """δ(ε) of k iterations of DP penalty, μ = 1/(2τ²n) each (R21 Thm 3.2)."""
    positive(tau=tau, n=n)
    return theorem211_delta(epsilon, steps, 1.0, tau * math.sqrt(n))


def theorem32_steps(epsilon: float, delta: float, tau: float, n: int) -> int:
    """The largest k with δ(ε) ≤ δ by Thm 3.2 (R21 Algorithm 2, started at the k of Thm 3.1)."""
    start = theorem31_steps(epsilon, delta, tau, n)
    return largest(lambda steps: theorem32_delta(epsilon, steps, tau, n) <= delta, start)


def theorem33_steps(epsilon: float, delta: float, n: int, batch: int) -> int:
    """The largest k of DP Barker: H19 Cor. 2 with orders 3 ≤ α ≤ ⌊b/5⌋ − 1 as the thesis searches it (R21 Thm 3.3)."""
    return heikkila2019.corollary2_steps(epsilon, delta, n, batch, variant="as_coded")


def theorem35_sensitivity(bound: float, n: int, batch: int, temperature: float = 1.0, constant: float = 3.0) -> float:
    """c(θ, θ') of minibatch DP penalty, the sensitivity of λ − σ_b²/2 (R21 Lemma 3.4, Thm 3.5).

    2kc + 3(b−1)/b · k²c² with k = nT/b and per-record log ratios in [−c, c], c = ``bound``. A ``constant`` of 2 in
    place of 3 is enough: the two terms share the record that changes, so their suprema are not taken at the same point.
    """
    positive(bound=bound, temperature=temperature, constant=constant)
    valid_batch(n, batch)
    scaled = n * temperature / batch * bound
    return 2 * scaled + constant * (batch - 1) / batch * scaled**2


def theorem35_rdp(orders: ArrayLike, tau: float, n: int, batch: int, *, variant: str = "text") -> NDArray[np.float64]:
    """One iteration of minibatch DP penalty: α/(2τ) amplified by the batch (R21 Thm 3.5).

    ``variant="as_coded"`` leaves out the term j = α of the sum as the thesis's code does: optimistic, not a bound.
    """
    positive(tau=tau)
    valid_batch(n, batch)
    one_of("variant", variant, MINIBATCH_VARIANTS)
    return classical.amplified_rdp(lambda j: j / (2 * tau), orders, batch / n, last_term=variant == "text")


def theorem35_rdp_steps(
    epsilon: float, delta: float, tau: float, n: int, batch: int, *, variant: str = "text", largest_order: int = 199
) -> int:
    """The largest k of minibatch DP penalty by Rényi DP, whole orders 2 to ``largest_order`` (R21 Thm 3.5)."""
    positive(epsilon=epsilon)
    valid_delta(delta)
    orders = np.arange(2, largest_order + 1)
    left = epsilon + math.log(delta) / (orders - 1)
    return max(0, int(np.max(left / theorem35_rdp(orders, tau, n, batch, variant=variant))))


def theorem35_rdp_epsilon(
    steps: int, delta: float, tau: float, n: int, batch: int, *, variant: str = "text", largest_order: int = 199
) -> Published:
    """ε of k iterations of minibatch DP penalty by Rényi DP (R21 Thm 3.5)."""
    non_negative(steps=steps)
    valid_delta(delta)
    orders = np.arange(2, largest_order + 1)
    total = steps * theorem35_rdp(orders, tau, n, batch, variant=variant) - math.log(delta) / (orders - 1)
    best = int(np.argmin(total))
    sound = variant == "text"
    return Published(float(total[best]), f"R21 Thm 3.5, {variant}", sound=sound, order=int(orders[best]))


def theorem35_fourier_delta(
    epsilon: float, steps: int, tau: float, n: int, batch: int, *, variant: str = "as_coded"
) -> float:
    """δ(ε) of k iterations of minibatch DP penalty by the Fourier accountant (R21 Sec. 3.4).

    The released value is scaled to sensitivity 1 with noise √τ. Three readings of what the accountant is asked:

    - "as_coded": its substitution relation with σ = √τ. That relation puts the two values of the record at +1 and −1,
      a distance of 2: pessimistic by a factor of two in the noise. All of the thesis's chains were run with it.
    - "text": the same relation at distance 1, i.e. σ = 2√τ. Optimistic: with the other records' terms at one end of
      the range instead of in the middle the divergence is larger.
    - "one_sided": the record moves from 0, where the others are, to 1. Neighbours realise this pair wherever the
      sensitivity is attained, and then no sound accountant of the *released* value may allow more steps.
    """
    positive(tau=tau)
    valid_batch(n, batch)
    one_of("variant", variant, FOURIER_VARIANTS)
    std = math.sqrt(tau) * (2 if variant == "text" else 1)
    return fourier.delta(epsilon, steps, std, batch / n, pair="one_side" if variant == "one_sided" else "both_sides")


def theorem35_fourier_steps(
    epsilon: float, delta: float, tau: float, n: int, batch: int, *, variant: str = "as_coded"
) -> int:
    """The largest k with δ(ε) ≤ δ by :func:`theorem35_fourier_delta` (R21 Algorithm 2 from 0)."""
    valid_delta(delta)
    return largest(lambda k: theorem35_fourier_delta(epsilon, k, tau, n, batch, variant=variant) <= delta)


def theorem42_zcdp(tau: float, tau_gradient: float, leapfrog_steps: int, n: int) -> float:
    """ρ of one DP-HMC iteration: a log ratio and L + 1 gradients, ρ_l + (L+1)ρ_g (R21 Thm 4.2)."""
    positive(tau=tau, tau_gradient=tau_gradient, leapfrog_steps=leapfrog_steps, n=n)
    return (1 / tau**2 + (leapfrog_steps + 1) / tau_gradient**2) / (2 * n)


def theorem42_epsilon(
    steps: int, delta: float, tau: float, tau_gradient: float, leapfrog_steps: int, n: int
) -> Published:
    """ε of k DP-HMC iterations by zCDP (R21 Thm 4.2)."""
    non_negative(steps=steps)
    rho = steps * theorem42_zcdp(tau, tau_gradient, leapfrog_steps, n)
    return Published(classical.zcdp_to_dp(rho, delta), "R21 Thm 4.2")


def theorem42_steps(epsilon: float, delta: float, tau: float, tau_gradient: float, leapfrog_steps: int, n: int) -> int:
    """The largest k of DP HMC by zCDP (R21 Thm 4.2)."""
    return int(classical.dp_to_zcdp(epsilon, delta) / theorem42_zcdp(tau, tau_gradient, leapfrog_steps, n))


def theorem43_delta(
    epsilon: float, steps: float, tau: float, tau_gradient: float, leapfrog_steps: int, n: int
) -> float:
    """δ(ε) of k DP-HMC iterations, tight for the released values (R21 Thm 4.3).

    The theorem prints noise variances linear in the clip bound; the standard deviations of Thm 4.2 are meant.
    """
    non_negative(steps=steps)
    return classical.gaussian_delta(epsilon, steps * theorem42_zcdp(tau, tau_gradient, leapfrog_steps, n))


def theorem43_steps(epsilon: float, delta: float, tau: float, tau_gradient: float, leapfrog_steps: int, n: int) -> int:
    """The largest k with δ(ε) ≤ δ by Thm 4.3 (R21 Algorithm 2, started at the k of Thm 4.2)."""
    arguments = (tau, tau_gradient, leapfrog_steps, n)
    start = theorem42_steps(epsilon, delta, *arguments)
    return largest(lambda steps: theorem43_delta(epsilon, steps, *arguments) <= delta, start)
