"""Z23: Zhang & Zhang, "DP-Fast MH: Private, Fast, and Accurate Metropolis–Hastings", ICML 2023. NOT PRIVATE.

Its Theorem 1 is the classical Gaussian mechanism, which is true. Theorem 2 claims (ε, δ)-DP for one iteration of
Algorithm 2 and fails where no noise is added: it rests on Pr[accept | x] / Pr[accept | x'] and forgets the other
outcome. The reject probability of min(1, e^t) can be 0 on one data set and 1 − e^{−Δ} on its neighbour, so a rejection
tells them apart: no (ε, δ) with δ < 1 − e^{−Δ} holds (:func:`necessary_delta`). Everything that rests on it returns the
claim as made, in a :class:`Claim` with ``sound=False``; no guarantee can be issued from it. The index probabilities
c_i/C and the rate λ + CM depend on the records as well, which the paper does not charge for.

The repaired algorithm is Barker's test on Poisson minibatches, :class:`dpmcmc.privacy.PoissonBarkerBit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from scipy.special import ndtr

from dpmcmc.privacy.published import classical
from dpmcmc.privacy.published.result import non_negative, one_of, positive, valid_delta

VARIANTS = ("text", "as_coded")

#: The Gaussian mechanism with σ = √(2 log(1.25/δ)) Δ/ε (Z23 Thm 1): classical, and true.
theorem1_std = classical.gaussian_mechanism_std


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


def minibatch_sensitivity(total: float, distance: float, rate: float, *, variant: str = "text") -> float:
    """Δ(ℓ₁) of the minibatch log ratio: 2 log(1 + CM/λ), for one draw (Z23 Lemma 1, eq. 1).

    ``total`` is C = Σ c_i, ``distance`` M(θ, θ'), ``rate`` λ. ``variant="as_coded"`` is 2 log(1 + 1/(λCM)), what the
    authors' logistic-regression code computes: it *shrinks* as the proposal moves away.
    """
    positive(total=total, distance=distance, rate=rate)
    one_of("variant", variant, VARIANTS)
    odds = total * distance / rate if variant == "text" else 1 / (rate * total * distance)
    return 2 * math.log1p(odds)


def full_sensitivity(largest_constant: float, distance: float) -> float:
    """Δ(ℓ₂) of the log ratio on all records: 2 max_i c_i · M(θ, θ') (Z23 Lemma 1, eq. 2)."""
    positive(largest_constant=largest_constant, distance=distance)
    return 2 * largest_constant * distance


def theorem2_full(epsilon: float, delta: float, sensitivity: float) -> Claim:
    """One iteration of Algorithm 2 on all records, claimed (ε, δ)-DP (Z23 Thm 2, branch B ≥ K). Unsound.

    No noise where Δ ≤ ε, else N(0, σ²Δ²) with σ = √(2 log(1.25/δ))/ε; Δ = ``sensitivity`` (:func:`full_sensitivity`).
    """
    positive(epsilon=epsilon)
    valid_delta(delta)
    non_negative(sensitivity=sensitivity)
    return _claim(epsilon, delta, sensitivity, epsilon, delta, "Z23 Thm 2, all records")


def theorem2(
    epsilon: float,
    delta: float,
    sensitivity: float,
    *,
    largest_batch: float,
    total: float,
    largest_constant: float,
) -> Claim:
    """One iteration of Algorithm 2 on a Poisson minibatch, claimed (ε, δ)-DP (Z23 Thm 2, branch B < K). Unsound.

    The batch is allowed ε' = εC/(6K max c) and δ' = δC/(2K max c): no noise where Δ ≤ ε', else as on all records.
    """
    positive(epsilon=epsilon, largest_batch=largest_batch, total=total, largest_constant=largest_constant)
    valid_delta(delta)
    non_negative(sensitivity=sensitivity)
    spread = total / (largest_batch * largest_constant)  # 1 / (the largest chance that one record is drawn)
    return _claim(epsilon, delta, sensitivity, epsilon * spread / 6, delta * spread / 2, "Z23 Thm 2")


def recommended_batch(epsilon: float, total: float, largest_constant: float, *, section: str = "6.2") -> float:
    """The batch bound K that the paper recommends: εC/(6 max c) in section 6.2, εC/max c in appendix E."""
    positive(epsilon=epsilon, total=total, largest_constant=largest_constant)
    one_of("section", section, ("6.2", "E"))
    return epsilon * total / largest_constant / (6 if section == "6.2" else 1)


def composition(claim: Claim, steps: int, slack: float) -> Claim:
    """T iterations by advanced composition, as Z23 App. B: (ε√(2T log(1/δ'')) + Tε(e^ε − 1), Tδ + δ''). Unsound.

    ``slack`` is δ''. (Dwork, Rothblum & Vadhan 2010.) The necessary δ grows as 1 − (1 − δ_1)^T.
    """
    epsilon = classical.advanced_composition(claim.epsilon, steps, slack)
    return Claim(
        epsilon, steps * claim.delta + slack, claim.noise_std, _necessary(claim, steps), f"{claim.source}, composed"
    )


def best_composition(claim: Claim, steps: int, delta: float) -> Claim:
    """T iterations by the optimal composition theorem, the claim's best case: unsound, as its parts are.

    Every step counts as pure ε-DP, so that all of ``delta`` is left for composing (Kairouz, Oh & Viswanath 2015): from
    "ε-DP a step" nobody could conclude less. Where noise is added the claim has a δ as well, which this leaves out.
    """
    epsilon = classical.optimal_pure_composition(claim.epsilon, steps, delta)
    return Claim(epsilon, delta, claim.noise_std, _necessary(claim, steps), f"{claim.source}, composed optimally")


def theorem4(
    epsilon: float,
    delta: float,
    *,
    largest_batch: float,
    total: float,
    largest_constant: float,
    rate: float,
    reach: float,
) -> float:
    """The least share of Metropolis–Hastings' spectral gap that DP-Fast MH keeps, as printed (Z23 Thm 4).

    (1 − Φ(216 K² max c² log(2.5K max c/(δC)) log²(1 + CA/λ) / (ε²C²))) · exp(−C²A²/λ − 2√(C²A² log 2/λ)), with K =
    ``largest_batch``, λ = ``rate`` and A = ``reach`` ≥ M(θ, θ'). It falls with K and rises with λ, ε and δ: the paper's
    three-way trade-off. Its proof carries a second branch, B ≥ K, which the statement leaves out (:func:`gap_kept`).
    """
    positive(epsilon=epsilon, largest_batch=largest_batch, total=total, largest_constant=largest_constant)
    positive(rate=rate, reach=reach)
    valid_delta(delta)
    chance = largest_batch * largest_constant / total  # that one record is among the draws, at most
    log_delta = _log_noise(2.5 * chance / delta)
    noise = 216 * (chance / epsilon * math.log1p(total * reach / rate)) ** 2 * log_delta
    return float(ndtr(-noise)) * _tuna_gap(total * reach, rate)


def gap_kept(
    epsilon: float,
    delta: float,
    *,
    largest_batch: float,
    total: float,
    largest_constant: float,
    rate: float,
    reach: float,
) -> float:
    """What the proof of Theorem 4 gives once both branches are kept and the noise is bounded exactly: min of

    2Φ(−σ₁Δ(ℓ₁)/2) · exp(−C²A²/λ − 2√(C²A² log 2/λ)) on minibatches and 2Φ(−σ₂Δ(ℓ₂)/2) on all records, at M = A. Without
    noise the factor 2Φ is 1. A test with N(0, s²) − s²/2 on its log ratio accepts at least 2Φ(−s/2) times as often.
    It holds for the branch on the rate, λ + CM < K, with a penalty only where noise is added (docs/theory/fast-mh.md).
    """
    sizes = {"largest_batch": largest_batch, "total": total, "largest_constant": largest_constant}
    small = theorem2(epsilon, delta, minibatch_sensitivity(total, reach, rate), **sizes).noise_std
    full = theorem2_full(epsilon, delta, full_sensitivity(largest_constant, reach)).noise_std
    return min(float(2 * ndtr(-small / 2)) * _tuna_gap(total * reach, rate), float(2 * ndtr(-full / 2)))


def _tuna_gap(energy: float, rate: float) -> float:
    """exp(−1/χ − 2√(log 2/χ)), χ = λ/(CA)²: what TunaMH keeps of the gap (Zhang, Cooper & De Sa 2020, Thm 2)."""
    return math.exp(-(energy**2) / rate - 2 * energy * math.sqrt(math.log(2) / rate))


def _log_noise(ratio: float) -> float:
    if not ratio > 1:
        raise ValueError(f"2.5K max c/(δC) = {ratio!r} leaves no Gaussian noise to calibrate; enlarge largest_batch")
    return math.log(ratio)


def _necessary(claim: Claim, steps: int) -> float:
    return -math.expm1(steps * math.log1p(-claim.necessary_delta)) if claim.necessary_delta < 1 else 1.0


def _claim(
    epsilon: float, delta: float, sensitivity: float, batch_epsilon: float, batch_delta: float, source: str
) -> Claim:
    if sensitivity <= batch_epsilon:
        return Claim(epsilon, delta, 0.0, necessary_delta(sensitivity), source)
    std = math.sqrt(2 * _log_noise(1.25 / batch_delta)) / batch_epsilon
    return Claim(epsilon, delta, std * sensitivity, 0.0, source)
