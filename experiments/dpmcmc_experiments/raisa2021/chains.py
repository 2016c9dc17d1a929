"""Chains of an algorithm on a posterior, one cell each: run to the largest ε, cut at the length of every smaller one.

A chain cut at the length of a smaller ε is a run at that ε; so each ε has 20 valid runs, but those of different ε share
their beginnings and are not independent of each other, as they were in the study.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc.metrics import mean_error, mmd_raisa
from dpmcmc_experiments.figures import Cell, seed_of
from dpmcmc_experiments.raisa2021 import algorithms
from dpmcmc_experiments.raisa2021.problems import Problem, problem
from dpmcmc_experiments.raisa2021.recorded import MOVES, Recorded, Recording, Shares, pair


class Starts:
    """Hands out the starting points in turn: any twenty calls in a row give all of them, one to a chain."""

    def __init__(self, points: np.ndarray) -> None:
        self.points, self.given = points, []

    def __call__(self, key: Any) -> np.ndarray:
        point = self.points[len(self.given) % len(self.points)]
        self.given.append(point)
        return point


def run(
    posterior: Problem, kernel: Any, steps: int, chains: int, seed: int, recording: bool = False
) -> tuple[np.ndarray, ...]:
    """States (chain, state, parameter), starts included, and accept bits. Each chain is a run of the study.

    With ``recording`` also where each step would have gone.
    """
    starts, setting = Starts(posterior.starts[:chains]), posterior.setting
    plan = dp.plan(
        Recorded(posterior.model) if recording else posterior.model,
        setting.n,
        dp.Budget(1e12, setting.delta),
        method=dp.Chain(
            Recording(kernel.proposal, kernel.acceptance, posterior.model) if recording else kernel, warmup=0
        ),
        draws=steps,
        chains=chains,
        temperature=setting.temperature,
        init=(lambda key: pair(starts(key))) if recording else starts,
    )
    release = plan.sample(posterior.records, seed=seed, progress=False)
    first = np.stack(starts.given[-chains:])[:, None]
    states = np.concatenate([first, release.draws["theta"]], axis=1)
    also = (release.draws["proposed"],) if recording else ()
    return states, release.sample_stats["accepted"], *also


def kept(states: np.ndarray, steps: int) -> np.ndarray:
    """The second half of a chain cut at ``steps``, as the study has it."""
    return states[int((steps - 1) / 2) + 1 : steps + 1]


def score(posterior: Problem, states: np.ndarray, accepted: np.ndarray, steps: int, seed: int = 0) -> dict[str, float]:
    """What the study reports of one chain; chains of one step or none have no score."""
    if steps <= 1:
        return {"mmd": np.nan, "acceptance": np.nan, "mean_error": np.nan}
    half = kept(states, steps)
    far = np.nan if posterior.reference is None else mmd_raisa(half, posterior.reference, seed)
    return {"mmd": far, "acceptance": accepted[:steps].mean(), "mean_error": mean_error(half, posterior.mean)}


def row(
    experiment: str, algo: str, epsilon: float, steps: int, chain: int, found: dict[str, float], program: str
) -> dict[str, Any]:
    """A line of a table: one chain cut at the length of one ε, and which program ran it."""
    named = {"experiment": experiment, "algo": algo, "epsilon": epsilon, "steps": steps, "chain": chain}
    return named | {"program": program} | {name: _short(value) for name, value in found.items()}


def cell(
    experiment: str, algo: str, epsilons: Sequence[float], chains: int = 20, n: int | None = None, cap: int = 10**9
) -> Cell:
    """One row for each ε and chain. What is clipped is counted along it; of DP HMC, in the plain program's chains."""

    def rows() -> list[dict[str, Any]]:
        posterior = problem(experiment, n)
        kernel = algorithms.kernel(experiment, algo, posterior.setting, quick=n is not None)
        lengths = [min(algorithms.length(experiment, algo, posterior.setting, e), cap) for e in epsilons]
        counted = algo != "hmc"
        states, accepted, *proposed = run(
            posterior, kernel, max(lengths), chains, seed_of(experiment, algo), recording=counted
        )
        shares = Shares(posterior, kernel, states, *proposed) if counted else None
        found = []
        for epsilon, steps in zip(epsilons, lengths, strict=True):
            clipped = np.full(chains, np.nan) if shares is None else shares.at(steps)
            for chain in range(chains):
                scores = score(posterior, states[chain], accepted[chain], steps, seed_of(experiment, algo, chain))
                scores |= {"llr_clip": clipped[chain], "gradient_clip": np.nan, "moves": min(steps, MOVES) * counted}
                found.append(row(experiment, algo, epsilon, steps, chain, scores, "dpmcmc"))
        return found

    return Cell(f"chains-{experiment}-{algo}", rows)


def fresh_moves(posterior: Problem, kernel: Any, here: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One proposal from each position."""
    words = {
        name: rng.integers(0, 2**64, (len(here), *shape), np.uint64)
        for name, shape in kernel.random_words(posterior.setting.n).items()
        if isinstance(shape, tuple)  # batches are the test's, and no proposal here takes one
    }
    with jax.enable_x64(True):
        data = dp.Posterior(posterior.model, jnp.asarray(posterior.records), posterior.setting.temperature)
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), len(here))

        def propose(one: Any) -> Any:
            key, position, bits = one
            state = kernel.init(data, position, kernel.start(position))
            return kernel.propose(key, bits, data, state).position

        return np.asarray(jax.jit(lambda all: jax.lax.map(propose, all))((keys, jnp.asarray(here), words)))


def _short(value: float) -> float:
    """Five digits: enough for every figure, small in a file."""
    return float(f"{value:.5g}")
