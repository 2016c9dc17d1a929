"""Z23: Zhang & Zhang, "DP-Fast MH: Private, Fast, and Accurate Metropolis–Hastings", ICML 2023. NOT PRIVATE.

Both of its theorems bound Pr[accept | x] / Pr[accept | x'] and forget the other outcome. Without noise the reject
probability of min(1, e^t) can be 0 on one data set and 1 − e^{−Δ} on its neighbour, so a rejection tells them apart:
no (ε, δ) with δ < 1 − e^{−Δ} holds (:func:`necessary_delta`). Everything here returns the claim as made, in a
:class:`Claim` with ``sound=False``; no guarantee can be issued from it. The index probabilities c_i/C and the rate
λ + CM depend on the records as well, which the paper does not charge for.

The repaired algorithm is Barker's test on Poisson minibatches, :class:`dpmcmc.privacy.PoissonBarkerBit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dpmcmc.privacy.published.result import non_negative, one_of, positive, valid_delta

VARIANTS = ("text", "as_coded")


@dataclass(frozen=True)
class Claim:
    """What Z23 claims, and the smallest δ that could possibly be true. ``sound`` is always ``False``."""

    epsilon: float
    delta: float
    noise_std: float
    """Standard deviation of the noise on the log ratio; 0 in the "privacy for free" branch."""
    necessary_delta: float
    """No (ε', δ')-DP with a smaller δ' holds for one such step, whatever ε'; 0 where noise is added."""
    source: str
    sound: bool = field(default=False, init=False)


def necessary_delta(sensitivity: float) -> float:
    """1 − e^{−Δ}: the least δ of a noise-free Metropolis test whose log ratio may move by Δ."""
    non_negative(sensitivity=sensitivity)
    return -math.expm1(-sensitivity)


def theorem1(epsilon: float, delta: float, sensitivity: float) -> Claim:
    """One iteration on all records, claimed (ε, δ)-DP (Z23 Thm 1; full-data branch of Alg. 2). Unsound.

    No noise where Δ ≤ ε, else N(0, σ²Δ²) with σ = √(2 log(1.25/δ))/ε; Δ = ``sensitivity`` = 2 max_i c_i · M(θ, θ').
    """
    positive(epsilon=epsilon)
    valid_delta(delta)
    non_negative(sensitivity=sensitivity)
    return _claim(epsilon, delta, sensitivity, epsilon, delta, "Z23 Thm 1")


def minibatch_sensitivity(total: float, distance: float, rate: float, *, variant: str = "text") -> float:
    """Δ of the minibatch log ratio: 2 log(1 + CM/λ) for one draw (Z23 Lemma 1).

    ``total`` is C = Σ c_i, ``distance`` M(θ, θ'), ``rate`` λ. ``variant="as_coded"`` is 2 log(1 + 1/(λCM)), what the
    authors' logistic-regression code computes: it *shrinks* as the proposal moves away.
    """
    positive(total=total, distance=distance, rate=rate)
    one_of("variant", variant, VARIANTS)
    odds = total * distance / rate if variant == "text" else 1 / (rate * total * distance)
    return 2 * math.log1p(odds)


def theorem2(
    epsilon: float,
    delta: float,
    sensitivity: float,
    *,
    largest_batch: float,
    total: float,
    largest_constant: float,
) -> Claim:
    """One iteration on a Poisson minibatch of at most K records, claimed (ε, δ)-DP (Z23 Thm 2). Unsound.

    The batch is allowed ε' = εC/(6K max c) and δ' = δC/(2K max c): no noise where Δ ≤ ε', else as in :func:`theorem1`.
    """
    positive(epsilon=epsilon, largest_batch=largest_batch, total=total, largest_constant=largest_constant)
    valid_delta(delta)
    non_negative(sensitivity=sensitivity)
    spread = total / (largest_batch * largest_constant)  # 1 / (the largest chance that one record is drawn)
    return _claim(epsilon, delta, sensitivity, epsilon * spread / 6, delta * spread / 2, "Z23 Thm 2")


def composition(claim: Claim, steps: int, slack: float) -> Claim:
    """T iterations by advanced composition: (ε√(2T log(1/δ'')) + Tε(e^ε − 1), Tδ + δ''). Unsound, as its parts are.

    ``slack`` is δ''. (Dwork, Rothblum & Vadhan 2010.) The necessary δ grows as 1 − (1 − δ_1)^T.
    """
    non_negative(steps=steps)
    valid_delta(slack)
    epsilon = claim.epsilon * math.sqrt(-2 * steps * math.log(slack)) + steps * claim.epsilon * math.expm1(
        claim.epsilon
    )
    necessary = -math.expm1(steps * math.log1p(-claim.necessary_delta)) if claim.necessary_delta < 1 else 1.0
    return Claim(epsilon, steps * claim.delta + slack, claim.noise_std, necessary, claim.source + ", composed")


def _claim(
    epsilon: float, delta: float, sensitivity: float, batch_epsilon: float, batch_delta: float, source: str
) -> Claim:
    if sensitivity <= batch_epsilon:
        return Claim(epsilon, delta, 0.0, necessary_delta(sensitivity), source)
    if not batch_delta < 1.25:
        raise ValueError(f"δ' = {batch_delta!r} leaves no Gaussian noise to calibrate; enlarge largest_batch")
    std = math.sqrt(2 * math.log(1.25 / batch_delta)) / batch_epsilon
    return Claim(epsilon, delta, std * sensitivity, 0.0, source)
