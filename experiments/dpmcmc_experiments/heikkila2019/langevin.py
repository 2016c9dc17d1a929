"""The chains of DP-SGLD behind Figure 3: with the drift of the published code, and with the right one.

*Published.* θ ← θ + (η/N)·∇ log π(θ) + N(0, η/N), η = 70, gradients over 100 records drawn with replacement: twice the
drift that its noise asks for, so the chain samples the squared posterior. The clip never acts (100 in units of one
record's gradient, the largest of which is about 5) and all of the noise is the chain's own, so the same chain is
non-private SGLD of the squared posterior, which takes a fraction of the time: what runs here, all 6 million steps of
it, every hundredth recorded.

*Right.* :func:`dpmcmc.dp_sgld` with steps ten times as long and a tenth as many of them, the same length of time and
the same privacy; batches without replacement, gradients clipped at 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import dpmcmc as dp
from dpmcmc.chain.acceptance import Always
from dpmcmc.chain.proposals import Move, PlainLangevin
from dpmcmc.privacy import Event
from dpmcmc_experiments.figures import Settings, seed_of
from dpmcmc_experiments.heikkila2019.study import COUNTS_AS, MODEL, STUDY_DELTA, records, temperature

BATCH = 100
STEP = 70.0 / 1_000_000  # η/N
STEPS, BURN_IN = 6_000_000, 100_000
EVERY = 100  # steps between two recorded positions: 0.007 in time, where the chain forgets within about 1
COARSE = 10  # the right chain's step over the published one's
CLIP = 6.0  # no record's gradient is longer


@dataclass(frozen=True)
class Every:
    """``times`` moves of a non-private gradient proposal as one."""

    proposal: PlainLangevin
    times: int

    def __str__(self) -> str:
        return f"{self.times} times {self.proposal}"

    def init(self, position: Any) -> Any:
        return self.proposal.init(position)

    def event(self, n: int, temperature: float) -> Event:
        return self.proposal.event(n, temperature)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {}

    def inexact_draws(self, n: int) -> int:
        return 0

    def propose_privately(self, key: Any, bits: Any, posterior: Any, position: Any, memory: Any) -> Move:
        def move(here: Any, key: Any) -> Any:
            return self.proposal.propose_privately(key, bits, posterior, here, memory).position, None

        return Move(jax.lax.scan(move, position, jax.random.split(key, self.times))[0])


def published_drift(settings: Settings, chains: int, part: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions (chain, time, parameter) of the published DP-SGLD after ``iterations`` steps of it."""
    data, coarse = records(settings), COARSE if settings.quick else 1  # a quick run takes longer steps
    squared = dp.models.TiedMixture(MODEL.variance, tuple(v / 2 for v in MODEL.prior_variances))  # prior squared
    positions = _draws(
        data,
        squared,
        dp.Kernel(Every(PlainLangevin(coarse * STEP, BATCH), EVERY // coarse), Always()),
        steps=(500_000 if settings.quick else STEPS) // EVERY,
        counts_as=2 * COUNTS_AS,  # likelihood squared
        chains=chains,
        seed=seed_of("heikkila2019", "published SGLD", part),
    )
    return positions, EVERY * np.arange(1, positions.shape[1] + 1)


def right_drift(settings: Settings, chains: int, part: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of dpmcmc's DP-SGLD, its iterations counted as ``COARSE`` published ones each."""
    data = records(settings)
    positions = _draws(
        data,
        MODEL,
        right_kernel(len(data)),
        steps=(200_000 if settings.quick else STEPS) // COARSE,
        counts_as=COUNTS_AS,
        chains=chains,
        seed=seed_of("heikkila2019", "right SGLD", part),
    )
    keep = EVERY // COARSE
    return positions[:, keep - 1 :: keep], EVERY * np.arange(1, positions.shape[1] // keep + 1)


def right_kernel(n: int) -> dp.Kernel:
    return dp.dp_sgld(COARSE * STEP, CLIP, BATCH)


def _draws(
    data: np.ndarray, model: Any, kernel: dp.Kernel, *, steps: int, counts_as: float, chains: int, seed: int
) -> np.ndarray:
    release = dp.sample(
        model,
        data,
        1e12,
        STUDY_DELTA,
        method=dp.Chain(kernel, warmup=0),
        draws=steps,
        chains=chains,
        temperature=temperature(data, counts_as),
        init=lambda key: jax.random.normal(key, (2,)),  # N(0, I), as published
        seed=seed,
        progress=False,
    )
    return release.draws["theta"]
