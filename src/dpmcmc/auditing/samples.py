"""Whole runs of :func:`dpmcmc.sample` under audit: what a user calls, from the check of the data to the release."""

from __future__ import annotations

import numpy as np

from dpmcmc.algorithms import dp_barker
from dpmcmc.auditing import worst
from dpmcmc.auditing.algorithms import RARE
from dpmcmc.auditing.chains import STEPS, Released, moves
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.auditing.worst import FLIP
from dpmcmc.chain.method import Chain
from dpmcmc.models import Model
from dpmcmc.posterior_draws.method import PosteriorDraws
from dpmcmc.privacy import Budget, Gaussian, Repeat
from dpmcmc.randomness import RandomSource
from dpmcmc.release import Release
from dpmcmc.sampling import plan, sample
from dpmcmc.scores.plan import PlannedScores

CHAIN_RUNS = (100_000, 20_000)
_CHAINS = 20_000
_AMPLE = Budget(1e16, 1e-6)

DEFAULT_RUNS = (24, 0)
"""A run of the default takes seconds: too long for a quick audit."""

DEFAULT_BUDGET = Budget(10.0, 1e-6)


def samples() -> list[Experiment]:
    """``dp.sample`` with a chain, every chain of which is a run, with posterior draws, each of which is one, and with
    the default for models with derivatives."""
    return [chain_sample(), posterior_draws(), default_sample()]


def chain_sample() -> Experiment:
    """Each chain is a run; the claim is what the receipt charges for one chain."""
    neighbours, method = worst.two_states(RARE), Chain(dp_barker(FLIP, 1.0), warmup=0)
    planned = plan(neighbours.models[0], len(neighbours.data[0]), _AMPLE, method=method, draws=STEPS, chains=_CHAINS)
    charged = planned.receipts[-1].event
    assert isinstance(charged, Repeat)
    assert charged.count == STEPS * _CHAINS  # all chains are paid for

    def run(side: int, runs: int, source: RandomSource) -> Released:
        parts = []
        for at in range(0, runs, _CHAINS):
            seed = int(source.random_words("seed", (1,))[0] >> 1)
            source.advance()
            chains = min(_CHAINS, runs - at)
            release = sample(
                neighbours.models[side], neighbours.data[side], _AMPLE.epsilon, _AMPLE.delta,
                method=method, draws=STEPS, chains=chains, seed=seed, progress=False,
            )  # fmt: skip
            nothing = np.zeros((chains, STEPS, 2))
            parts.append(Released(np.zeros(chains), release.draws["theta"], release.sample_stats["accepted"], nothing))
        return Released(*(np.concatenate(one) for one in zip(*parts, strict=True)))

    view = View(f"{STEPS} steps", Claim(Repeat(charged.event, STEPS)), moves)
    return Experiment("dp.sample, dp_barker", run, (view,), CHAIN_RUNS, "a rare move, one record for or against it")


def posterior_draws() -> Experiment:
    """Each draw is a run; the claim is what the receipt charges for one draw."""
    neighbours, method = worst.two_states(RARE), PosteriorDraws(1.0, np.array([0, 1]))

    def drawn(side: int, runs: int, seed: int) -> Release:
        planned = plan(
            neighbours.models[side], len(neighbours.data[side]), _AMPLE, method=method, draws=runs, chains=1,
            temperature=1.0,
        )  # fmt: skip
        return planned.sample(neighbours.data[side], seed=seed, progress=False)

    charged = drawn(0, 1, 0).receipts[-1].event
    assert isinstance(charged, Repeat)

    def run(side: int, runs: int, source: RandomSource) -> np.ndarray:
        return np.asarray(drawn(side, runs, int(source.random_words("seed", (1,))[0] >> 1)).draws["theta"][0])

    view = View("1 draw", Claim(charged.event), lambda released: released)
    about = "two candidates, one record for or against the rarer one"
    return Experiment("dp.sample, posterior draws", run, (view,), CHAIN_RUNS, about)


def default_sample(budget: Budget = DEFAULT_BUDGET) -> Experiment:
    """The mean of the draws of a score release; the claim is that of the filter which all its sums pass."""
    neighbours = outlier()
    planned = plan(neighbours.models[0], len(neighbours.data[0]), budget)
    assert isinstance(planned, PlannedScores)

    def run(side: int, runs: int, source: RandomSource) -> np.ndarray:
        means = []
        for _ in range(runs):
            seed = int(source.random_words("seed", (1,))[0] >> 1)
            source.advance()
            release = planned.sample(neighbours.data[side], seed=seed, progress=False)
            means.append(float(np.mean(release.draws["theta"])))
        return np.array(means)

    claim = Claim(Gaussian(1 / planned.rule.mu))
    about = "one outlier above or below; every sum has a part of the claim, and the draws show the last ones"
    return Experiment(
        "dp.sample, default",
        run,
        (View("mean of draws", claim, lambda released: released, normal=True),),
        DEFAULT_RUNS,
        about,
    )


def outlier(records: int = 50) -> Neighbours:
    """A normal mean; the first record is far above or far below."""
    model = Model(lambda theta: -0.5 * (theta / 10) ** 2, lambda theta, x: -0.5 * (x - theta) ** 2, init=0.0)
    rest = np.random.default_rng(0).normal(size=records - 1)
    return Neighbours.of(model, *(np.r_[first, rest] for first in (-100.0, 100.0)))
