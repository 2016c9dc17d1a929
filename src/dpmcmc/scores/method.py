"""The default for models with covariates: sums of scores at a moving centre, then any number of draws for free.

See docs/theory/score-release.md for what is released and why it is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from dpmcmc.arguments import truth
from dpmcmc.charge import OverBudget, Purse, of_releases
from dpmcmc.geometry import check_real
from dpmcmc.method import check_budget
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.models.units import unit_of
from dpmcmc.posterior import Posterior, check_data
from dpmcmc.privacy import Budget, GaussianFilter
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Receipt
from dpmcmc.release import Release
from dpmcmc.running import RunsOnRecords
from dpmcmc.scores.plan import MOST_RELEASES, PlannedScores
from dpmcmc.scores.quality import ScoreQuality, least_error
from dpmcmc.scores.reader import check_smooth
from dpmcmc.scores.rehearsal import ON_OTHERS, advice, rehearse
from dpmcmc.scores.run import check_size, run
from dpmcmc.sources import like

DRAWS = 2048  # of all chains together
LEAST_MU = 1e-3  # multipliers stay below 1/(√0.004 μ), 16 000: vectors of any size are released with up to 32 000
CANNOT_REHEARSE = "This cannot be rehearsed: the model does not simulate, and no public_data are given"


@dataclass(frozen=True, eq=False)
class ScoreRelease:
    """Release sums of scores where the posterior is, and draw from the likelihood that they give.

        dp.sample(regression, data, 1.0, 1e-6)                                    # the default for regressions
        dp.sample(model, data, 1.0, 1e-6)                                         # and for models that do not simulate
        dp.sample(model, data, 1.0, 1e-6, method=dp.ScoreRelease())               # for any smooth model

    For posteriors that are near normal at the number of records there is. First the distribution of the covariates is
    learnt, if the model has any; then the posterior is found and measured, with clips that follow the records. The
    number of releases depends on what they show; the budget does not. For a model that does not simulate, what is to be
    expected of records is learnt from the records alone: that costs accuracy, and ``init`` matters more.

    - ``public_data``: public records whose covariates are like the private ones', which then need not be learnt; for a
      model that does not simulate, records to begin and to rehearse with.
    - ``shuffled``: the order of the records has nothing to do with what they hold, as if by a random number. Then, of
      more than four million, the search begins with a part. In a table that is sorted by its values, one other value
      moves many records to other places: do not say so of it, nor of one whose order you do not know.

    Guarantee: Gaussian releases under one filter, charged before the first is made. With ``shuffled`` it is for the
    list as it is given, in which a record keeps its place.
    Reference: docs/theory/score-release.md, docs/theory/filter.md.
    """

    public_data: PyTree | None = None
    shuffled: bool = False

    def __post_init__(self) -> None:
        truth("ScoreRelease: shuffled", self.shuffled)

    def plan(
        self,
        model: ModelLike,
        n: int,
        budget: Budget | None,
        *,
        draws: int | None = None,
        chains: int = 2,
        temperature: float | None = None,
        spent: tuple[Receipt, ...] = (),
    ) -> ScorePlan:
        """Fix the filter and charge it. No record is read."""
        budget = check_budget(n, budget)
        public = None if self.public_data is None else check_data(self.public_data)
        check_real(model)
        raveled = RaveledModel.of(model, public)
        check_size(raveled, model)
        purse = Purse(budget, of_releases(MOST_RELEASES), spent, unit_of(model))
        if purse.mu < LEAST_MU:
            raise OverBudget(
                f"the budget (epsilon = {budget.epsilon:g}, delta = {budget.delta:g}) leaves a μ of {purse.mu:.2g}; "
                f"below {LEAST_MU} noise is too large for the arithmetic, and for any use: raise epsilon or delta"
            )
        rule = GaussianFilter.of_mu(purse.mu, MOST_RELEASES, budget.relation)
        guarantee, receipt = purse.charge("scores", rule=rule)
        assert guarantee is not None  # Gaussian sums over all records are proven at every ε
        return ScorePlan(
            model=model,
            raveled=raveled,
            n=n,
            chains=chains,
            draws=DRAWS // chains if draws is None else draws,
            temperature=1.0 if temperature is None else temperature,
            budget=budget,
            guarantee=guarantee,
            receipts=(*spent, receipt),
            rule=rule,
            public_data=public,
            shuffled=self.shuffled,
        )


class ScorePlan(PlannedScores, RunsOnRecords):
    """A score release whose cost fits the budget, ready to run. Printing it rehearses it and says the result."""

    def check(self, posterior: Posterior) -> None:
        """Refuse models without derivatives."""
        check_smooth(RaveledModel.of(self.model, like(posterior.types, 1)), posterior)

    def run(self, posterior: Posterior, source: RandomSource, progress: bool) -> Release:
        """Release the sums and draw. Interrupted, it returns nothing and has spent its budget."""
        as_it_is_now = RaveledModel.of(self.model, like(posterior.types, 1))
        return run(replace(self, raveled=as_it_is_now), posterior, source, progress)

    @cached_property
    def rehearsals(self) -> tuple[ScoreQuality, ...]:
        """Runs on simulated (or public) records, the best first; made when first asked for."""
        return rehearse(self)

    @property
    def expected(self) -> ScoreQuality:
        """What to expect: the middle of the rehearsals."""
        if not self.rehearsals:
            raise ValueError(f"{CANNOT_REHEARSE}; at best, means are off by {self.least_error:.2g} of them")
        return self.rehearsals[len(self.rehearsals) // 2]

    @property
    def likely(self) -> tuple[float, float]:
        """A range for errors of means with real records, in posterior standard deviations, from public knowledge."""
        low, high = ON_OTHERS
        return low * self.rehearsals[0].mean_error, high * self.rehearsals[-1].mean_error

    @property
    def least_error(self) -> float:
        """Error of means, in posterior standard deviations, that the noise has at best: from public numbers."""
        return least_error(self.rule.noise, self.n, self.raveled.dimension)

    def __str__(self) -> str:
        method = self.describe()
        lines = [
            "Plan: no record is read and nothing is spent yet.",
            f"The release will be {self.guarantee}.",
            f"{method[0].upper()}{method[1:]}; {self.chains} × {self.draws} draws.",
        ]
        if not self.rehearsals:
            lines.append(
                f"{CANNOT_REHEARSE}. At best, posterior means are off by {self.least_error:.2g} posterior standard "
                "deviations, which intervals include; expect several times as much. The release will say."
            )
            return "\n".join(lines)
        least, most = self.rehearsals[0].mean_error, self.rehearsals[-1].mean_error
        lines.append(
            f"Expected, from rehearsals on simulated records: {self.expected.verdict}; posterior means off by "
            f"{least:.2f} to {most:.2f} posterior standard deviations, which intervals include. For real records, "
            "often rarer or longer-tailed than simulated ones, allow for {:.2g} to {:.2g}; the release will "
            "say.".format(*self.likely)
        )
        return "\n".join([*lines, *filter(None, [advice(self, self.expected)])])
