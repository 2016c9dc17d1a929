"""The default for models without covariates: the log likelihood released as a function, then draws for free.

See :mod:`dpmcmc.likelihood.basis` for the idea and docs/theory/likelihood-release.md for the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import jax

from dpmcmc.charge import Purse, of_releases
from dpmcmc.geometry import check_simulates
from dpmcmc.likelihood.basis import MOST
from dpmcmc.likelihood.plan import PlannedRelease
from dpmcmc.likelihood.quality import USELESS, LikelihoodQuality
from dpmcmc.likelihood.regions import first_region
from dpmcmc.likelihood.rehearsal import advice, rehearse
from dpmcmc.likelihood.run import run
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.method import check_budget
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.models.units import unit_of
from dpmcmc.posterior import Posterior, check_data
from dpmcmc.privacy import Budget, Compose
from dpmcmc.privacy.filter import LEAST_MULTIPLIER
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Receipt
from dpmcmc.release import Release
from dpmcmc.running import RunsOnRecords
from dpmcmc.sources import like

SHARES = (0.03, 0.04, 0.06, 0.87)
"""Of the budget (in squared noise multipliers), for each stage: three to find the posterior, one to draw it."""

DRAWS = 2048  # of all chains together


@dataclass(frozen=True, eq=False)
class LikelihoodRelease:
    """Release the log likelihood as a function of the parameters by a few noisy sums, then draw from it.

        dp.sample(model, data, 1.0, 1e-6)                               # the default without covariates
        dp.sample(model, data, 1.0, 1e-6, method=dp.LikelihoodRelease(public_data=like_mine))

    - ``public_data``: public records similar to the private ones, some of which are kept in the release. Needed where
      the model cannot simulate records; where it can, they take the place of simulated ones.

    Guarantee: a composition of Gaussian sums, charged before the first is released.
    Reference: docs/theory/likelihood-release.md.
    """

    public_data: PyTree | None = None

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
    ) -> LikelihoodPlan:
        """Divide the budget over the stages. No record is read."""
        budget = check_budget(n, budget)
        public = None if self.public_data is None else check_data(self.public_data)
        check_simulates(model, public)
        purse = Purse(budget, of_releases(len(SHARES)), spent, unit_of(model))
        mu = purse.mu
        totals = tuple(
            GaussianSum.of_multiplier(1.0, max(1 / (mu * math.sqrt(share)), LEAST_MULTIPLIER), budget.relation)
            for share in SHARES
        )
        guarantee, receipt = purse.charge("log likelihood", Compose(tuple(total.event(n) for total in totals)))
        assert guarantee is not None  # Gaussian sums over all records are proven at every ε
        for total in totals:
            total.check_dimension(MOST)
        raveled = RaveledModel.of(model, public)
        with jax.enable_x64(True):
            region = first_region(model, raveled, public)
        return LikelihoodPlan(
            model=model,
            raveled=raveled,
            region=region,
            n=n,
            chains=chains,
            draws=DRAWS // chains if draws is None else draws,
            temperature=1.0 if temperature is None else temperature,
            budget=budget,
            guarantee=guarantee,
            receipts=(*spent, receipt),
            totals=totals,
            public_data=public,
        )


class LikelihoodPlan(PlannedRelease, RunsOnRecords):
    """A likelihood release whose cost fits the budget, ready to run. Printing it rehearses it and says the result."""

    def run(self, posterior: Posterior, source: RandomSource, progress: bool) -> Release:
        """Release the sums and draw. Interrupted, it returns nothing and has spent its budget."""
        as_it_is_now = RaveledModel.of(self.model, like(posterior.types, 1))
        return run(replace(self, raveled=as_it_is_now), posterior, source, progress)

    @cached_property
    def expected(self) -> LikelihoodQuality:
        """What to expect, by a run on simulated (or public) records; made when first asked for."""
        return rehearse(self)

    def __str__(self) -> str:
        expected, method = self.expected, self.describe()
        lines = [
            "Plan: no record is read and nothing is spent yet.",
            f"The release will be {self.guarantee}.",
            f"{method[0].upper()}{method[1:]}; {self.chains} × {self.draws} draws.",
            _expectation(expected),
        ]
        return "\n".join([*lines, *filter(None, [advice(self, expected)])])


def _expectation(expected: LikelihoodQuality) -> str:
    if expected.mean_error > USELESS:
        return "Expected: this budget is too small for this model; the draws would say little about the records."
    return (
        f"Expected error of the posterior means, from a rehearsal on simulated records: {expected.mean_error:.2f} "
        f"posterior standard deviations, that of {expected.effective_draws:.3g} independent draws; of the variances: "
        f"{expected.variance_error:.0%}. Intervals are {expected.widening - 1:.0%} wider, to include it. Real records "
        "unlike simulated ones can do worse."
    )
