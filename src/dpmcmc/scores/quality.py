"""Whether a score release can be used: from its sums and public settings alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpmcmc.quality import NOT_USABLE, USABLE, WIDE, Quality
from dpmcmc.scores.curvature import UNDESCRIBED
from dpmcmc.scores.stages import Found

CONTRADICTION = 1e-3  # probability of a last surprise as large, below which the stages contradict each other
NO_CURVATURE = 0.25  # relative error of the information beyond which steps and intervals cannot be relied on
NO_DIRECTION = 0.55  # the same where it is worst
HOPELESS = 1.0  # errors of means, in posterior standard deviations, that the noise has at best
BLIND = 2.5  # so many times that where nothing is foreseen of records
TELLING = 25.0  # records that carry the information, over the standard deviation of a count's noise with all of μ
NOT_NORMAL = 0.5  # change of the logarithm of the curvature within the draws beyond which they cannot be relied on
LIKE_PRIOR = 0.9  # standard deviations over the prior's, of most parameters: the sums say hardly anything
MANY_UNSEEN = 5  # covariates with a value that may be no record's, beyond which others' effects stand in for theirs
NOISY = 1.0  # errors of means, in posterior standard deviations, beyond which intervals are mostly noise
MOSTLY_NOISE = math.sqrt(2)  # how much wider intervals are then


@dataclass(frozen=True)
class ScoreQuality(Quality):
    """What the privacy noise and the clip do, against the posterior without privacy.

    - ``mean_error``: of posterior means, root mean square over parameters, in posterior standard deviations, as it
      mostly is; intervals include it, and twice what it has for records whose clipped parts are not as foreseen;
    - ``surprise``: the probability of sums that disagree as much as the last one did with those before it;
    - ``information_error``: relative, of the information that steps and intervals rest on; ``worst_information``: the
      same along the direction where it is worst;
    - ``bend``: how much the logarithm of the likelihood's curvature changes within draws that do not follow it:
      0 if it is normal, or if they do;
    - ``like_prior``: the median of the draws' standard deviations over the prior's, 0 where the prior has none;
    - ``least_error``: the error that one sum would have if everything else were known, from public numbers;
    - ``telling``: about how many records carry the information, over what noise hides of a count (1/μ);
    - ``clipped``: estimated share of the real records that the last clip shortens;
    - ``widening``: how much wider intervals are, root mean square over parameters;
    - ``unseen``: covariates with a value that may be no record's: what only such records would tell is the prior's;
    - ``stages``: sums of scores that were released; ``failed``: whether arithmetic ended the search early.
    """

    mean_error: float
    surprise: float
    information_error: float
    worst_information: float
    bend: float
    like_prior: float
    least_error: float
    telling: float
    clipped: float
    stages: int
    failed: bool
    n: int
    temperature: float
    widening: float
    unseen: int = 0

    @property
    def effective_draws(self) -> float:
        """Independent draws of the posterior without privacy whose mean would be off by as much."""
        return 1 / max(self.mean_error, 1e-9) ** 2

    @property
    def verdict(self) -> str:
        if self.failed or self.surprise < CONTRADICTION or self.hides_information:
            return NOT_USABLE
        if (
            self.least_error > HOPELESS
            or self.telling < TELLING
            or self.bend > NOT_NORMAL
            or self.like_prior > LIKE_PRIOR
            or self.unseen > MANY_UNSEEN
            or not math.isfinite(self.mean_error)
        ):
            return NOT_USABLE
        noisy = self.mean_error > NOISY or self.widening > MOSTLY_NOISE
        return WIDE if noisy or self.unseen else USABLE

    @property
    def hides_information(self) -> bool:
        return self.information_error > NO_CURVATURE or self.worst_information > NO_DIRECTION

    @property
    def reason(self) -> str:
        more = "a larger epsilon, more records, fewer covariates or a temperature below 1"
        if self.failed:
            return f"The search ended early for numerical reasons; what was released is kept. Remedy: {more}."
        if self.surprise < CONTRADICTION:
            return (
                f"The last released sum contradicts the ones before it (probability {self.surprise:.1g}): the search "
                "has not settled, or the records are unlike the model. The means are a rough location at best, and a "
                f"place to begin from (init=) with a new budget. Remedy: narrower bounds, another model, or {more}."
            )
        if self.hides_information:
            return f"The noise hides how much the records tell about the parameters. Remedy: {more}."
        if self.least_error > HOPELESS:
            return (
                f"So few records cannot tell so many parameters apart under this noise: at best means would be off by "
                f"{self.least_error:.1f} posterior standard deviations. Remedy: {more}."
            )
        if self.telling < TELLING:
            return (
                "All that tells of the parameters is in a few records, and the noise hides so few: an outcome that "
                f"hardly ever happens, or a covariate that hardly varies. Remedy: {more}."
            )
        if self.unseen and self.verdict != USABLE:
            return (
                f"{'One covariate has' if self.unseen == 1 else f'{self.unseen} covariates have'} values so rare that "
                "the noise hides whether any record has them; what "
                f"only such records tell is left to the prior, {self._of_unseen}. Remedy: merge rare levels, or leave "
                f"such covariates out; otherwise {more}."
            )
        if self.bend > NOT_NORMAL:
            return (
                "What the sums leave open is so wide that the likelihood is far from normal within it (its curvature "
                f"changes by a factor of {min(math.exp(self.bend), 1e6):.2g}), and the draws suppose that it is. "
                f"Remedy: {more}, or a narrower prior."
            )
        if self.verdict == NOT_USABLE:
            return f"The draws say hardly more than the prior: the noise drowns the records. Remedy: {more}."
        if self.verdict == WIDE:
            return (
                f"Intervals are about {self.widening:.1f} times as wide as without privacy: its noise moves means by "
                f"about {self.mean_error:.1f} posterior standard deviations. To narrow them: {more}."
            )
        return (
            f"The privacy noise moves means by about {self.mean_error:.2f} posterior standard deviations, and "
            "intervals include it."
        )

    @property
    def _of_unseen(self) -> str:
        if self.unseen > MANY_UNSEEN:
            return "and of so many, other effects take over a part that intervals do not allow for"
        if self.bend > NOT_NORMAL:
            return "and intervals are so wide that draws, which suppose a normal likelihood there, cannot be relied on"
        return "and intervals are as wide"

    def describe(self) -> str:
        counted = f"n = {self.n}"
        if self.temperature != 1:
            counted += f", tempered to count as {self.n * self.temperature:.0f}"
        agrees = "contradicts" if self.surprise < CONTRADICTION else "agrees with"
        return (
            f"Quality: {counted}; the privacy noise moves posterior means by about {self.mean_error:.2f} posterior "
            f"standard deviations, which the intervals include. {self.stages} sums of scores; about {self.clipped:.1%} "
            f"of the records are clipped; the last sum {agrees} the others (p = {self.surprise:.2g}); the "
            f"information is known to about {self.information_error:.0%}."
        )


def least_error(noise: float, n: int, size: int) -> float:
    """Error of a mean, in posterior standard deviations, if all but 60 % of μ² went into one sum that clips hardly any.

    Whitened scores have a mean square length of the number of parameters; ``noise`` is that of a sum with all of μ², in
    clips.
    """
    return noise * math.sqrt(size) / (math.sqrt(0.6) * math.sqrt(n))


def telling(features: np.ndarray, noise: float, n: int) -> float:
    """About how many of ``n`` records carry the information, by the kurtosis of their ``features``, over half the noise
    of a sum with all of μ², in clips: under substitution, times μ."""
    squares = np.sum(features**2, axis=1)
    return float(2 / noise * n * np.mean(squares) ** 2 / max(np.mean(squares**2), 1e-300))


class Variances(NamedTuple):
    """Of the parameters, in the draws and in the posterior without privacy."""

    private: np.ndarray
    exact: np.ndarray
    typical: np.ndarray | float = 1.0  # factor of the private ones: as they would be without caution about clips

    @property
    def error(self) -> float:
        """Of means, in standard deviations of the posterior without privacy: what variances have beyond it."""
        return float(np.sqrt(np.mean(np.maximum(self.private * self.typical - self.exact, 0.0) / self.exact)))


def of_found(
    found: Found, variances: Variances, bend: float, temperature: float, noise: float, failed: bool, unseen: int = 0
) -> ScoreQuality:
    """From the end of a search: the variance that draws have beyond the posterior without privacy.

    ``bend`` is what draws leave out of the likelihood's shape, ``noise`` that of a sum with all of μ².
    """
    state, here, private = found.state, found.picture, variances.private
    prior = np.diag(here.prior_precision)
    known = prior > 0
    like_prior = np.median(np.sqrt(private[known] * prior[known])) if known.any() else 0.0
    return ScoreQuality(
        mean_error=variances.error,
        surprise=state.surprises[-1] if state.surprises else 0.0,
        information_error=state.information_error,
        worst_information=UNDESCRIBED if state.doubt is None else state.doubt.in_worst_direction,
        bend=bend,
        like_prior=float(like_prior),
        least_error=(BLIND if found.blind else 1.0) * least_error(noise, found.n, len(private)),
        telling=telling(here.features, noise, found.n),
        clipped=state.sums[-1].found.beyond if state.sums else 0.0,
        stages=len(state.surprises),
        failed=failed,
        n=found.n,
        temperature=temperature,
        widening=float(np.sqrt(np.mean(variances.private / variances.exact))),
        unseen=unseen,
    )
