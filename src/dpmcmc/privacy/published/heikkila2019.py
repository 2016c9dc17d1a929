"""H19: Heikkilä, Jälkö, Dikmen & Honkela, "Differentially Private Markov Chain Monte Carlo", NeurIPS 2019.

All bounds pay for releasing the noisy log ratio, though only the accept bit leaves the iteration
(docs/theory/published.md). Neighbours differ in the value of one record.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpmcmc.privacy.published import classical
from dpmcmc.privacy.published.result import (
    Published,
    largest,
    non_negative,
    one_of,
    positive,
    valid_batch,
    valid_delta,
    valid_order,
)

#: The propositions H19 takes over (Props. 2 and 3): Rényi DP to (ε, δ), and amplification by a fixed-size batch.
rdp_to_dp = classical.rdp_to_dp
amplified_rdp = classical.amplified_rdp

VARIANTS = ("text", "as_coded")
COSTS = ("plain", "monotone", "exact")
SUFFIX = {"plain": "", "monotone": ", made monotone", "exact": ", exact divergence"}


def theorem1_rdp(order: float, bound: float, noise_variance: float = 2.0) -> float:
    """One full-data iteration: ε(α) = 2αB²/C (H19 Thm 1).

    ``bound`` is B, the largest |log p(x|θ') − log p(x|θ)| of one record, so the log ratio moves by up to 2B;
    ``noise_variance`` is C < π²/3, the variance of the normal part of the logistic noise.
    """
    valid_order(order)
    non_negative(bound=bound)
    _valid_noise_variance(noise_variance)
    return 2 * order * bound**2 / noise_variance


def corollary1_epsilon(steps: int, bound: float, delta: float, noise_variance: float = 2.0) -> Published:
    """ε of T full-data iterations: min over α of T·ε(α) + log(1/δ)/(α − 1) = ρ + 2√(ρ log(1/δ)) (H19 Cor. 1)."""
    non_negative(steps=steps)
    valid_delta(delta)
    rho = steps * theorem1_rdp(2.0, bound, noise_variance) / 2
    order = 1 + math.sqrt(-math.log(delta) / rho) if rho > 0 else None
    return Published(classical.zcdp_to_dp(rho, delta), "H19 Cor. 1", order=order)


def corollary1_steps(epsilon: float, delta: float, bound: float, noise_variance: float = 2.0) -> int:
    """The largest T whose :func:`corollary1_epsilon` is at most ε."""
    positive(epsilon=epsilon, bound=bound)
    return largest(lambda steps: corollary1_epsilon(steps, bound, delta, noise_variance) <= epsilon)


def theorem2_rdp(order: ArrayLike, batch: int) -> NDArray[np.float64]:
    """One iteration on a batch of b records, before amplification, C = 2 (H19 Thm 2).

    ε(α) = 5/(2b) + 1/(2(α−1)) · log(2b/(b − 5α)) + 2α/(b − 5α), for 1 < α < b/5 and log ratios clipped at √b/N.
    It is not increasing in α: the middle term does not vanish as b grows, so small orders are charged too much.
    """
    alpha = np.asarray(order, dtype=float)
    if np.any(alpha <= 1) or np.any(alpha >= batch / 5):
        raise ValueError(f"order must lie strictly between 1 and batch/5 = {batch / 5:g}, got {order!r}")
    rest = batch - 5 * alpha
    rdp: NDArray[np.float64] = 5 / (2 * batch) + np.log(2 * batch / rest) / (2 * (alpha - 1)) + 2 * alpha / rest
    return rdp


def exact_batch_rdp(order: ArrayLike, batch: int) -> NDArray[np.float64]:
    """The divergence that Thm 2 bounds, exactly: N(Δ*, 2 − Var y) on two batches that differ in one of b records.

    Terms y in [−1, 1] move the mean by at most 2/√b and the variance by at most 4(b−1)/b² (5/b in H19); variances are
    at least 1. Not a published bound: it shows what the looseness of Thm 2 costs.
    """
    alpha, shift, gap = np.asarray(order, dtype=float), 2 / math.sqrt(batch), 4 * (batch - 1) / batch**2
    if np.any(alpha <= 1) or np.any((alpha - 1) * gap >= 1):
        raise ValueError(f"order must lie strictly between 1 and {1 + 1 / gap:.4g} for batch = {batch}, got {order!r}")
    costs = []
    for here, there in ((1.0, 1.0), (1.0, 1.0 + gap), (1.0 + gap, 1.0)):
        mixed = alpha * there + (1 - alpha) * here
        costs.append(
            alpha * shift**2 / (2 * mixed) + np.log(there / mixed) / (2 * (alpha - 1)) + math.log(there / here) / 2
        )  # Gil, Alajaji & Linder 2013
    rdp: NDArray[np.float64] = np.max(costs, axis=0)
    return rdp


def theorem2_amplified_rdp(
    order: ArrayLike, n: int, batch: int, *, rate: float | None = None, cost: str = "plain"
) -> NDArray[np.float64]:
    """One iteration with a fresh batch of b of N records: Thm 2 amplified (H19 eq. 21; R21 Thm 3.3).

    ``cost`` is "plain" (as published), "monotone" (Rényi divergence grows with its order, so ε(j) ← min over whole
    β ≥ j of ε(β)) or "exact" (:func:`exact_batch_rdp` in place of Thm 2).
    """
    valid_batch(n, batch)
    one_of("cost", cost, COSTS)

    def on_batch(j: NDArray[np.float64]) -> NDArray[np.float64]:
        if cost == "plain":
            return theorem2_rdp(j, batch)
        if cost == "exact":
            return exact_batch_rdp(j, batch)
        all_orders = theorem2_rdp(np.arange(2, _largest_order(batch) + 1), batch)
        return np.minimum.accumulate(all_orders[::-1])[::-1][: len(j)]

    return classical.amplified_rdp(on_batch, order, batch / n if rate is None else rate)


def corollary2_epsilon(
    steps: float,
    n: int,
    batch: int,
    delta: float,
    *,
    largest_order: int | None = None,
    cost: str = "plain",
    variant: str = "text",
    rate: float | None = None,
) -> Published:
    """ε of T iterations on batches of b of N records, C = 2: min over α of T·ε(α) + log(1/δ)/(α−1) (H19 Cor. 2).

    Whole orders 3 ≤ α < b/5, and not above ``largest_order``. ``variant="as_coded"`` stops as the authors' code does,
    one order short of ⌊b/5⌋ (the same when 5 divides b) and where e^{(α−1)ε(α)} overflows a double: at b = 1000 that
    leaves α ≤ 181 of 199, which shows for short chains. ``cost`` as in :func:`theorem2_amplified_rdp`.
    """
    non_negative(steps=steps)
    valid_delta(delta)
    one_of("variant", variant, VARIANTS)
    orders = _orders(batch, variant, largest_order)
    total = steps * theorem2_amplified_rdp(orders, n, batch, rate=rate, cost=cost) - math.log(delta) / (orders - 1)
    best = int(np.argmin(total))
    source = "H19 Cor. 2" + SUFFIX[cost] + (", as coded" if variant == "as_coded" else "")
    return Published(float(total[best]), source, order=int(orders[best]))


def corollary2_steps(
    epsilon: float, delta: float, n: int, batch: int, *, cost: str = "plain", variant: str = "text"
) -> int:
    """The largest T whose :func:`corollary2_epsilon` is at most ε."""
    positive(epsilon=epsilon)
    valid_delta(delta)
    one_of("variant", variant, VARIANTS)
    orders = _orders(batch, variant)
    left = epsilon + math.log(delta) / (orders - 1)
    return max(0, int(np.max(left / theorem2_amplified_rdp(orders, n, batch, cost=cost))))


def dpvi_epsilon(
    steps: int, noise_multiplier: float, n: int, batch: int, delta: float, largest_moment: int = 64
) -> Published:
    """ε of the private variational start, by moments λ ≤ ``largest_moment``: (T·α(λ) + log(1/δ))/λ (H19, experiments).

    64 is the cap in the authors' code, and the reason for ε ≈ log(1/δ)/64. The batch is accounted as a Poisson sample
    under add/remove, though it is of fixed size and the paper's neighbours are by substitution.
    """
    valid_delta(delta)
    rate = batch / n
    moments = np.arange(1, min(largest_moment, int(-(noise_multiplier**2) * math.log(rate * noise_multiplier))) + 1)
    log_moments = classical.poisson_gaussian_rdp(moments + 1, noise_multiplier, rate) * moments
    epsilons = (steps * log_moments - math.log(delta)) / moments
    best = int(np.argmin(epsilons))
    return Published(float(epsilons[best]), "H19 DPVI", sound=False, order=int(moments[best]) + 1)


def sgld_noise_multiplier(batch: int, learning_rate: float, n: int, clip: float) -> float:
    """Noise over clip bound of H19's DP-SGLD: b/(L√(ηN))."""
    positive(batch=batch, learning_rate=learning_rate, n=n, clip=clip)
    return batch / (math.sqrt(learning_rate * n) * clip)


def sgld_epsilon(steps: int, noise_multiplier: float, n: int, batch: int, delta: float) -> Published:
    """ε of H19's DP-SGLD baseline, Rényi orders 2 to 499: accounted as Poisson samples under add/remove.

    The batches were drawn with replacement, so the figure is a claim (``sound=False``).
    """
    valid_delta(delta)
    orders = np.arange(2, 500)
    rdp = classical.poisson_gaussian_rdp(orders, noise_multiplier, batch / n)
    epsilons = steps * rdp - math.log(delta) / (orders - 1)
    best = int(np.argmin(epsilons))
    return Published(float(epsilons[best]), "H19 DP-SGLD", sound=False, order=int(orders[best]))


def _largest_order(batch: int) -> int:
    return math.ceil(batch / 5) - 1


def _orders(batch: int, variant: str, largest_order: int | None = None) -> NDArray[np.int64]:
    last = _largest_order(batch) if variant == "text" else batch // 5 - 1
    last = last if largest_order is None else min(last, largest_order)
    if last < 3:
        raise ValueError(
            f"no whole order 3 <= order < batch/5 is left: batch = {batch}, largest_order = {largest_order}"
        )
    orders = np.arange(3, last + 1)
    if variant == "text":
        return orders
    overflows = (orders - 1) * theorem2_rdp(orders, batch) > math.log(sys.float_info.max)
    return orders[: int(np.argmax(overflows))] if overflows.any() else orders


def _valid_noise_variance(noise_variance: float) -> None:
    if not 0 < noise_variance < math.pi**2 / 3:
        raise ValueError(
            f"noise_variance must lie strictly between 0 and pi^2/3 = {math.pi**2 / 3:.4f}, the variance of the "
            f"logistic distribution, got {noise_variance!r}"
        )
