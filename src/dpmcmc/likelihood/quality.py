"""What the noise and the clip of a likelihood release did to its draws, from released and simulated quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.likelihood.checks import LikelihoodChecks
from dpmcmc.likelihood.stages import Draws
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE, Quality

LARGE, USELESS = 0.5, 2.0  # errors of means, in posterior standard deviations, that call for advice and for a warning
CONTRADICTION = 1e-3  # probability of sums as far from those before them, below which they contradict each other
AT_CLIP = 0.5  # mean of the clipped features over the clip, beyond which most records are clipped alike


REMEDY = "more records, a larger epsilon, or a temperature below 1"


@dataclass(frozen=True)
class LikelihoodQuality(Quality):
    """What the privacy noise does, against the posterior without privacy; root mean squares over parameters.

    - ``mean_error``: of posterior means, in posterior standard deviations: by the noise and by finitely many draws;
    - ``variance_error``: of posterior variances, relative. The released posterior is wider, as it knows of its noise;
    - ``clipped``: share of *simulated* records that the clip shortens (of the real ones nothing is released);
    - ``unconverged_stages``, of ``stages``: where the sampler did not reach the released posterior;
    - ``failed``: whether arithmetic ended the run early; the draws are then those of the last region;
    - ``checks``: whether the released sums agree with each other and with the region they were released for
      (:class:`~dpmcmc.likelihood.checks.LikelihoodChecks`); None for a release saved before there were any.
    """

    mean_error: float
    variance_error: float
    clipped: float
    unconverged_stages: int
    stages: int
    n: int
    temperature: float
    failed: bool = False
    checks: LikelihoodChecks | None = None

    @property
    def effective_draws(self) -> float:
        """Independent draws of the posterior without privacy whose mean would be off by as much."""
        return 1 / self.mean_error**2

    @property
    def widening(self) -> float:
        """How much wider intervals are."""
        return math.sqrt(1 + self.mean_error**2)

    @property
    def problem(self) -> str:
        """What a check found, and the remedy; empty if nothing."""
        checks = self.checks
        if self.failed:
            return (
                "The run ended early for numerical reasons, and the draws are only those of the region that it had "
                f"come to; what was released is kept (release.redraw(model) draws from it). Remedy: {REMEDY}."
            )
        if self.unconverged_stages:
            return (
                "The sampler did not reach the released posterior, so the draws may be far off. Remedy: a narrower "
                f"prior, another init=, or {REMEDY}."
            )
        if checks is None:
            return ""
        if checks.at_clip > AT_CLIP:
            return (
                "The records are unlike those that the model simulates: most of them are clipped, all on one side, and "
                "the draws are biased towards the model. Remedy: a prior or init= that covers the records, another "
                "model, or public_data= like them."
            )
        if checks.edge_share > checks.edge_limit:
            return (
                f"{checks.edge_share:.0%} of the draws lie at the edge of the region that the last sums were released "
                f"for, where at most {checks.edge_limit:.1%} were to be expected: the posterior lies outside, or the "
                "noise hides where it is. The draws say at best in which direction. Remedy: a wider prior or an init= "
                f"nearer to the posterior, or {REMEDY}."
            )
        if checks.agreement < CONTRADICTION:
            return (
                f"The last released sums contradict those before them (probability {checks.agreement:.1g}): the "
                "records are unlike those that the model simulates, or their log likelihood is too rough for the "
                f"method. Remedy: another model, public_data= like the records, a narrower prior, or {REMEDY}."
            )
        return ""

    @property
    def verdict(self) -> str:
        if self.problem or not self.mean_error <= USELESS:
            return NOT_USABLE
        return WIDE if self.mean_error > LARGE else USABLE

    @property
    def reason(self) -> str:
        if self.problem:
            return self.problem
        if self.verdict == NOT_USABLE:
            return f"The noise drowns the posterior. Remedy: {REMEDY}."
        if self.verdict == WIDE:
            return f"The noise is as large as what the records leave open, and intervals include it. Remedy: {REMEDY}."
        return "The noise is smaller than what the records leave open, and intervals include it."

    def describe(self) -> str:
        counted = f"n = {self.n}"
        if self.temperature != 1:
            counted += f", tempered to count as {self.n * self.temperature:.0f}"
        if self.failed:
            return f"Quality: {counted}; the run ended early, and nothing can be said of the posterior."
        lines = [
            f"Quality: {counted}; the privacy noise moves posterior means by about {self.mean_error:.2f} posterior "
            f"standard deviations, which the intervals include; clipping, which limits each record's influence, "
            f"affects {self.clipped:.2%} of simulated records."
        ]
        if self.unconverged_stages:
            lines.append(
                f"In {self.unconverged_stages} of {self.stages} stages the sampler did not reach the released "
                "posterior."
            )
        lines.append(_described(self.checks))
        lines.append(
            "Not seen: what clipping does to records unlike those that the model simulates, if it does the same in all "
            "stages, and modes outside the region that the prior or init= covers. Either can move the draws by much "
            "more."
        )
        return " ".join(lines)


def _described(checks: LikelihoodChecks | None) -> str:
    if checks is None:
        return "The released sums have not been checked against each other."
    edge, agree = checks.edge_share <= checks.edge_limit, checks.agreement >= CONTRADICTION
    return (
        f"The draws lie {'within' if edge else 'at the edge of'} the region that was searched last "
        f"({checks.edge_share:.1%} at its edge, at most {checks.edge_limit:.1%} expected); the last sums "
        f"{'agree with' if agree else 'contradict'} those before them (p = {checks.agreement:.2g})."
    )


def of_draws(found: Draws, stages: int, n: int, temperature: float) -> LikelihoodQuality:
    """From draws by group (group, particle, parameter), groups 2k and 2k + 1 with noise e and −e."""
    mean, variance = (math.inf, math.inf) if found.failed else _errors(found)
    return LikelihoodQuality(
        mean_error=mean,
        variance_error=variance,
        clipped=found.last.basis.clipped,
        unconverged_stages=found.unconverged_stages,
        stages=stages,
        n=n,
        temperature=temperature,
        failed=found.failed,
        checks=found.checks,
    )


def _errors(found: Draws) -> tuple[float, float]:
    """Of means, and of variances."""
    away = found.theta - np.mean(found.theta, axis=1, keepdims=True)
    variances = np.var(found.theta, axis=1, ddof=1)
    within = np.maximum(np.mean(variances, axis=0), 1e-300)
    moved, sampled = _noise_and_sampling(np.mean(found.theta, axis=1), away, found.effects, within)
    scaled, sampled_too = _noise_and_sampling(variances, away**2, found.effects, within**2)
    mean, variance = np.mean(moved + sampled), np.mean(moved**2 + scaled + sampled_too)
    return float(np.sqrt(mean)), float(np.sqrt(variance))


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
