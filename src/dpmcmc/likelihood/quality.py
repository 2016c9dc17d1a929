"""What the noise and the clip of a likelihood release did to its draws, from released and simulated quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihood.stages import Draws
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE, Quality

LARGE, USELESS = 0.5, 2.0  # errors of means, in posterior standard deviations, that call for advice and for a warning


@dataclass(frozen=True)
class LikelihoodQuality(Quality):
    """What the privacy noise does, against the posterior without privacy; root mean squares over parameters.

    - ``mean_error``: of posterior means, in posterior standard deviations: by the noise and by finitely many draws;
    - ``variance_error``: of posterior variances, relative. The released posterior is wider, as it knows of its noise;
    - ``clipped``: share of *simulated* records that the clip shortens (of the real ones nothing is released);
    - ``unconverged_stages``, of ``stages``: where the sampler did not reach the released posterior.
    """

    mean_error: float
    variance_error: float
    clipped: float
    unconverged_stages: int
    stages: int
    n: int
    temperature: float

    @property
    def effective_draws(self) -> float:
        """Independent draws of the posterior without privacy whose mean would be off by as much."""
        return 1 / self.mean_error**2

    @property
    def widening(self) -> float:
        """How much wider intervals are."""
        return math.sqrt(1 + self.mean_error**2)

    @property
    def verdict(self) -> str:
        if self.unconverged_stages or not self.mean_error <= USELESS:
            return NOT_USABLE
        return WIDE if self.mean_error > LARGE else USABLE

    @property
    def reason(self) -> str:
        if self.unconverged_stages:
            return "The sampler did not reach the released posterior, so the draws may be far off."
        if self.verdict == NOT_USABLE:
            return "The noise drowns the posterior; take more records, a larger epsilon, or a temperature below 1."
        if self.verdict == WIDE:
            return "The noise is as large as what the records leave open, and the intervals include it."
        return "The noise is smaller than what the records leave open."

    def describe(self) -> str:
        counted = f"n = {self.n}"
        if self.temperature != 1:
            counted += f", tempered to count as {self.n * self.temperature:.0f}"
        lines = [
            f"Quality: {counted}; the privacy noise moves posterior means by about {self.mean_error:.2f} posterior "
            f"standard deviations, which the intervals include; clipping, which limits each record's influence, "
            f"affects {self.clipped:.2%} of simulated records."
        ]
        if self.mean_error > USELESS:
            lines.append("Use the draws as a rough location at best; take more records, a larger epsilon, or temper.")
        elif self.mean_error > LARGE:
            lines.append("A larger epsilon, more records or tempering would bring that down.")
        if self.unconverged_stages:
            lines.append(
                f"In {self.unconverged_stages} of {self.stages} stages the sampler did not reach the released "
                "posterior, so the draws may be far off: compare with a run from another init= on public records."
            )
        lines.append(
            "Not included: what clipping does to records unlike those that the model simulates, and a posterior "
            "outside the region that the prior or init= covers. Either can move the draws by much more."
        )
        return " ".join(lines)


def of_draws(found: Draws, stages: int, n: int, temperature: float) -> LikelihoodQuality:
    """From draws by group (group, particle, parameter), groups 2k and 2k + 1 with noise e and −e."""
    away = found.theta - np.mean(found.theta, axis=1, keepdims=True)
    variances = np.var(found.theta, axis=1, ddof=1)
    within = np.maximum(np.mean(variances, axis=0), 1e-300)
    moved, sampled = _noise_and_sampling(np.mean(found.theta, axis=1), away, found.effects, within)
    scaled, sampled_too = _noise_and_sampling(variances, away**2, found.effects, within**2)
    mean, variance = np.mean(moved + sampled), np.mean(moved**2 + scaled + sampled_too)
    return LikelihoodQuality(
        mean_error=float(np.sqrt(mean)),
        variance_error=float(np.sqrt(variance)),
        clipped=found.clipped,
        unconverged_stages=found.unconverged_stages,
        stages=stages,
        n=n,
        temperature=temperature,
    )


def _noise_and_sampling(
    of_groups: np.ndarray, of_particles: np.ndarray, effects: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors, over ``unit``, of a mean of particles: by the privacy noise, and by finitely many particles.

    Over a pair of groups with noise ±e, half the difference has the noise's effect and half of a group's sampling
    variance, half the sum only the latter; the average over all pairs has that over their number. Where sampling
    would drown the noise, its effect is the linear response: ∂E[f]/∂e_k = Cov(f, effect of e_k on the log likelihood).
    """
    difference, half_sum = (of_groups[::2] - of_groups[1::2]) / 2, (of_groups[::2] + of_groups[1::2]) / 2
    sampling = np.var(half_sum, axis=0, ddof=1)
    seen = np.mean(difference**2, axis=0) - sampling
    centred, moves = (x - np.mean(x, axis=1, keepdims=True) for x in (of_particles, effects))
    count = centred.shape[0] * (centred.shape[1] - 1)
    response = np.einsum("gpj,gpk->jk", centred, moves) / count
    by_chance = np.mean(centred**2, axis=(0, 1)) * np.sum(np.mean(moves**2, axis=(0, 1))) / count
    linear = np.maximum(np.sum(response**2, axis=1) - by_chance, 0.0)
    return np.where(seen > 4 * sampling, seen, linear) / unit, sampling / len(half_sum) / unit
