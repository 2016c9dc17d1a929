"""Barker's test on a batch, corrected for the noise that the batch brings."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jax.scipy.special import erfc

from dpmcmc.arguments import one_of, within
from dpmcmc.chain.acceptance.correction import CORRECTIONS
from dpmcmc.chain.acceptance.minibatch import MinibatchTest
from dpmcmc.mechanisms.batches import Batches
from dpmcmc.mechanisms.fixed_point import statistic
from dpmcmc.mechanisms.moments import levels_for, sum_and_spread, whole_terms
from dpmcmc.privacy.correction import Correction
from dpmcmc.privacy.events import SubsampledBarkerBit

SMALLEST_VARIANCE = 1.1
"""Below, the noise left at the largest batch variance is too small for the stated relative error of probabilities."""


@dataclass(frozen=True)
class CorrectedBarker(MinibatchTest):
    """Accept if Δ* + N(0, C − Var(y)) + V_cor > 0, Δ* the log ratio estimated from ``batch`` of n records.

    With N₀ = temperature·n, terms are y = r/c clipped to [−1, 1], c = √b/N₀, so that Δ* = Σy/√b + public = N₀·mean(r) +
    public and its sampling variance is Var(y) ≤ 1: normal noise up to C = ``noise_variance`` in all, and a draw of the
    ``correction`` distribution, make it logistic to within the correction's error. The variance condition of the test
    holds by the clip; no value of the records stops it. Noise and correction are never released, so both are integrated
    out: the bit is drawn from Σ_k w_k Φ((Δ* + a_k)/√(C − Var(y))), both tails to a relative error.

    ``correction`` is "optimal" (least uniform error), "gmm" or "ridge" (as published, for comparison), or a
    :class:`~dpmcmc.privacy.correction.Correction` for ``noise_variance``.

    Guarantee: one :class:`~dpmcmc.privacy.SubsampledBarkerBit` a decision, whatever the temperature, under substitution
    of one record. Approximate: see :mod:`dpmcmc.chain.acceptance.error_bounds`; terms beyond c are clipped, so choose
    N₀ such that few are: a log ratio of typical size s needs b ≥ (several·s·N₀)².
    When to choose: many records, a tempered posterior, and a step that must not read them all.

    Reference: Heikkilä et al. (2019), Algorithm 1, eq. 23; Seita et al. (2017); docs/theory/subsampling.md.
    """

    noise_variance: float = 2.0
    correction: str | Correction = "optimal"
    clamp: float = 20.0

    def __post_init__(self) -> None:
        super().__post_init__()
        reach = "a batch's own variance reaches 1"
        within("CorrectedBarker: noise_variance", self.noise_variance, SMALLEST_VARIANCE, math.inf, "[)", reach)
        within("CorrectedBarker: clamp", self.clamp, 0, 40, "(]")
        if not isinstance(self.correction, Correction):
            one_of("CorrectedBarker: correction", self.correction, CORRECTIONS, "or a Correction")
        elif self.correction.variance != self.noise_variance:
            raise ValueError(
                f"the correction is for noise of variance {self.correction.variance:g}, not {self.noise_variance:g}"
            )

    def resolved(self) -> Correction:
        """The correction distribution in use, and its error."""
        if isinstance(self.correction, Correction):
            return self.correction
        return CORRECTIONS[self.correction](self.noise_variance)

    def event(self, n: int, temperature: float) -> SubsampledBarkerBit:
        Batches(n, self.batch)  # refuses sizes that cannot be drawn
        return SubsampledBarkerBit(n, self.batch, self.noise_variance, self.clamp, self.resolved().pairs)

    def clip(self, n: int, temperature: float) -> float:
        """c = √b/N₀: log ratios beyond ± this are clipped."""
        return math.sqrt(self.batch) / (temperature * n)  # Heikkilä et al. 2019, eq. 23

    def probabilities(self, ratios: Array, n: int, temperature: float, public: Array) -> tuple[Array, Array]:
        levels = levels_for(self.batch)
        whole = whole_terms(ratios, self.clip(n, temperature), levels)  # y = whole/levels
        total, spread = sum_and_spread(whole)
        unit = jnp.float64(1 / (math.sqrt(self.batch) * levels))
        delta = jnp.clip(statistic(total, unit, public, self.clamp), -self.clamp, self.clamp)  # Σy/√b + public
        variance = jnp.clip(spread / (self.batch * float(levels) ** 2), 0.0, 1.0)
        return mixture_probabilities(delta, self.noise_variance - variance, self.resolved())


def mixture_probabilities(delta: Array, variance: Array, correction: Correction) -> tuple[Array, Array]:
    """P and 1 − P of Δ + N(0, variance) + V_cor > 0: sums of positive terms, so that neither tail cancels."""
    atoms, weights = jnp.asarray(correction.atoms, jnp.float64), jnp.asarray(correction.weights, jnp.float64)
    z = (delta + atoms) / jnp.sqrt(2 * variance)
    return jnp.sum(weights * erfc(-z)) / 2, jnp.sum(weights * erfc(z)) / 2
