"""Posterior draws as a mechanism: the exponential mechanism on a public finite set, priced by the draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.arguments import positive
from dpmcmc.charge import OverBudget, Purse, of_draws
from dpmcmc.mechanisms import choice
from dpmcmc.mechanisms.fixed_point import LEVELS, SMALLEST_BOUND
from dpmcmc.mechanisms.totals import Program, total
from dpmcmc.mechanisms.utilities import whole_utilities
from dpmcmc.method import check_budget
from dpmcmc.models.base import ModelLike, PyTree, model_name
from dpmcmc.models.units import unit_of
from dpmcmc.posterior import Posterior
from dpmcmc.posterior_draws.candidates import candidate_set, check_candidates, size_of
from dpmcmc.posterior_draws.quality import PosteriorDrawsQuality
from dpmcmc.privacy import Budget, Repeat, Selection, calibrate, fits, reach
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee, Receipt
from dpmcmc.release import Release, issued, named_draws
from dpmcmc.running import RunsOnRecords

CANDIDATES = 1024
_ROUND_UP = 1 + 2**-40  # the unit of the whole numbers is rounded


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draw from the posterior, tempered as the budget demands, on a public finite set: each draw is paid for.

        dp.sample(model, data, 1.0, 1e-6, method=dp.PosteriorDraws(bound=2.0), draws=1, chains=1)

    - ``bound``: B, how far below its largest the log likelihood of a record may fall, over all candidates. A public
      choice: what lies lower is clipped to it.
    - ``candidates``: how many to draw from the prior (needs ``sample_prior``), or the set itself: parameters like
      ``model.init`` with a leading axis, such as a grid. Up to 4096, public.

    A draw is θ_k with probability ∝ weight_k·exp(τ Σᵢ max(ℓᵢ(θ_k) − maxⱼ ℓᵢ(θⱼ), −B)); the weights are the prior's on a
    given set and equal on draws from the prior. ``temperature`` τ is the largest up to 1 that the budget pays for, or
    the one that is asked for, which is refused if it costs more. ``draws`` (per chain) is 1 unless said otherwise.

    Guarantee: one :class:`~dpmcmc.privacy.Selection` of range 2Bτ a draw (Bτ under zero-out), by exact choices in whole
    numbers. It needs no Markov chain to have converged: there is none.

    Choose it for one draw of a model with a bounded log likelihood, or for discrete parameters. For a posterior with
    intervals the default costs far less (docs/theory/one-sample.md).

    Reference: Wang, Fienberg & Smola (2015), "Privacy for Free"; Dimitrakakis et al. (2014); McSherry & Talwar (2007).
    """

    bound: float
    candidates: int | PyTree = CANDIDATES

    def __post_init__(self) -> None:
        positive("PosteriorDraws: bound", self.bound)

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
    ) -> PosteriorDrawsPlan:
        """Choose the temperature that the budget pays for. No record is read."""
        budget = check_budget(n, budget)
        candidates, draws = check_candidates(model, self.candidates), 1 if draws is None else draws
        count = draws * chains
        purse = Purse(budget, of_draws(count * choice.comparisons(size_of(candidates))), spent, unit_of(model))
        apart = reach(budget.relation) * float(self.bound) * _ROUND_UP  # range of a draw at temperature 1

        def event(power: float) -> Repeat:
            return Repeat(Selection(power * apart, budget.relation), count)

        power = _affordable(event, purse, apart, count) if temperature is None else temperature
        if power * self.bound / 2 < SMALLEST_BOUND:
            raise ValueError(
                f"the budget pays for {count} draws at temperature {power:.3g}, at which records say nothing: ask for "
                "fewer draws (draws=, chains=), or take another method"
            )
        try:
            guarantee, receipt = purse.charge("posterior draws", event(power))
        except OverBudget as error:
            raise OverBudget(
                f"{count} draws at temperature {power:g} cost more than the budget has ({error}); leave out "
                "temperature=, and it is what the budget pays for, or ask for fewer draws",
                error.cost,
            ) from None
        return PosteriorDrawsPlan(
            model=model,
            n=n,
            chains=chains,
            draws=draws,
            temperature=power,
            asked=1.0 if temperature is None else temperature,
            bound=float(self.bound),
            candidates=candidates,
            guarantee=guarantee,
            receipts=(*spent, receipt),
        )


def _affordable(event: Any, purse: Purse, apart: float, count: int) -> float:
    """The largest temperature up to 1 at which all draws together fit the budget."""
    if purse.earlier:  # what was spent before leaves a limit in zCDP, and a choice of range η costs η²/8
        return min(1.0, math.sqrt(8 * purse.zcdp / count) / apart * (1 - 1e-9))
    ideal = purse.ideal
    if fits(event(1.0), ideal):
        return 1.0
    least = min(ideal.epsilon / count, math.log(2)) / apart / 2  # pure privacy alone pays for it
    return calibrate(event, ideal, (min(least, 0.5), 1.0), 2e-3)


@dataclass(frozen=True, eq=False)
class PosteriorDrawsPlan(RunsOnRecords):
    """Draws whose cost fits the budget, complete with model, candidates and temperature. ``draws`` are per chain."""

    model: ModelLike
    n: int
    chains: int
    draws: int
    temperature: float
    asked: float
    bound: float
    candidates: int | PyTree
    guarantee: Guarantee | None
    receipts: tuple[Receipt, ...]

    @property
    def expected(self) -> PosteriorDrawsQuality:
        """What to expect: all of it is public."""
        return self._quality(None)

    def describe(self) -> str:
        """The method in a few words."""
        where = "drawn from the prior" if isinstance(self.candidates, int) else "given"
        return (
            f"{self.chains} × {self.draws} draws of the posterior at temperature {self.temperature:.3g}, chosen from "
            f"{size_of(self.candidates)} candidates {where}; the log likelihood of a record is clipped at "
            f"{self.bound:g} below its largest"
        )

    def __str__(self) -> str:
        lines = ["Plan: no record is read and nothing is spent yet.", f"The release will be {self.guarantee}."]
        return "\n".join([*lines, f"{self.describe()}.", f"Expected: {self.expected.reason}"])

    def check(self, posterior: Posterior) -> None:
        with jax.enable_x64(True):
            asked, _ = candidate_set(self.model, self.candidates, jax.random.key(0))
        self._program().check(posterior.types, (asked, self.bound / 2))

    def run(self, posterior: Posterior, source: RandomSource, progress: bool) -> Release:
        """One pass over the records, then every draw from the same whole numbers."""
        count = self.chains * self.draws
        bits = source.random_words("choice", (count, *choice.BITS_SHAPE))
        public = jax.random.key(int(source.random_words("public", (1,))[0] >> 1))
        source.advance()  # no coin is ever tossed twice
        with jax.enable_x64(True):
            made, weights = candidate_set(self.model, self.candidates, public)
            chosen = np.asarray(_choose(bits, self.probabilities(posterior, made, weights)))
        shape = (self.chains, self.draws)
        picked = jax.tree.map(lambda leaf: np.asarray(leaf)[chosen].reshape(*shape, *np.shape(leaf)[1:]), made)
        return Release(
            draws=named_draws(picked),
            quality=self._quality(len(np.unique(chosen))),
            method=self.describe(),
            settings={
                "n": self.n,
                "chains": self.chains,
                "draws": self.draws,
                "temperature": self.temperature,
                "candidates": size_of(self.candidates),
                "bound": self.bound,
                "model": model_name(self.model),
            },
            **issued(self, source.reproducible),
        )

    def probabilities(self, posterior: Posterior, candidates: PyTree, weights: Any) -> Any:
        """The probability of every candidate, by which a draw is made. Private."""
        whole = total(posterior.records, self._program(), (jax.device_get(candidates), self.bound / 2))
        return _probabilities(whole, weights, self.temperature * self.bound / 2 / LEVELS)

    def _program(self) -> Program:
        return Program(partial(whole_utilities, self.model))

    def _quality(self, distinct: int | None) -> PosteriorDrawsQuality:
        return PosteriorDrawsQuality(
            temperature=self.temperature,
            asked=self.asked,
            draws=self.chains * self.draws,
            candidates=size_of(self.candidates),
            n=self.n,
            distinct=distinct,
        )


@jax.jit
def _probabilities(whole: Any, weights: Any, unit: Any) -> Any:
    units = jnp.asarray(whole, jnp.int64) + choice.whole_units(weights, unit)
    return choice.probabilities(units, unit, weights > -jnp.inf)


@jax.jit
def _choose(bits: Any, probabilities: Any) -> Any:
    """The index of every draw."""
    return jax.vmap(choice.choose, (0, None))(bits, probabilities)
