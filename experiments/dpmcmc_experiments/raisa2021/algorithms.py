"""The six algorithms of the study as recipes, with its hyperparameters and its chain lengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

import dpmcmc as dp
from dpmcmc.chain.acceptance import ProportionalMinibatchPenalty, ProportionalPenalty, correction
from dpmcmc.chain.proposals import GuidedWalk, Leapfrog, Proposal, RandomWalk
from dpmcmc.privacy.published import raisa2021 as published
from dpmcmc_experiments.figures import reference
from dpmcmc_experiments.raisa2021.problems import Setting

NAMES = {
    "hmc": "DP HMC",
    "dpps": "DP penalty",
    "dppa": "DP penalty, OCU + GWMH",
    "mdpps": "minibatch DP penalty",
    "mdppa": "minibatch DP penalty, OCU + GWMH",
    "barker": "DP Barker",
}
FULL_DATA = ("hmc", "dpps", "dppa")
ALL = tuple(NAMES)
EPSILONS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
CIRCLE_EPSILONS = (0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Tuning:
    """Hyperparameters of one algorithm on one posterior; those that an algorithm lacks are not numbers."""

    tau: float
    proposal_sd: float
    clip: float
    batch: float
    tau_gradient: float
    leapfrog_steps: float
    leapfrog_step: float
    gradient_clip: float


@lru_cache(maxsize=1)
def _tunings() -> dict[tuple[str, str], Tuning]:
    table = pd.read_csv(reference("thesis_settings.csv")).set_index(["experiment", "algo"])
    return {key: Tuning(**row) for key, row in table.astype(float).to_dict("index").items()}


def tuning(experiment: str, algo: str) -> Tuning:
    return _tunings()[experiment, algo]


def epsilons(experiment: str) -> tuple[float, ...]:
    return CIRCLE_EPSILONS if experiment == "circle" else EPSILONS


def kernel(experiment: str, algo: str, setting: Setting, quick: bool = False) -> Any:
    """The algorithm as published. Noise is τ√n times (minibatches: √τ times) what one record can do.

    DP Barker clips at √b/n0; the study's code at 0.99 of it. ``quick`` fits its correction for 2000 steps, not 20 000.
    """
    h, root = tuning(experiment, algo), setting.n**0.5
    if algo == "hmc":
        paths = Leapfrog(h.leapfrog_step, int(h.leapfrog_steps), h.gradient_clip, h.tau_gradient * root)
        return dp.Kernel(paths, ProportionalPenalty(dp.DistanceClip(h.clip), h.tau * root))
    if algo == "barker":
        fitted = correction.gmm_correction(2.0, 2000) if quick else "gmm"
        return dp.dp_barker_subsampled(h.proposal_sd, int(h.batch), fitted)
    clip = dp.DistanceClip(h.clip)
    if algo in ("mdpps", "mdppa"):
        noisy = ProportionalMinibatchPenalty(int(h.batch), clip, h.tau**0.5, published_noise=True)
        return dp.Kernel(_walk(algo, h), noisy)
    return dp.Kernel(_walk(algo, h), ProportionalPenalty(clip, h.tau * root))


def _walk(algo: str, h: Tuning) -> Proposal:
    return GuidedWalk(h.proposal_sd) if algo in ("dppa", "mdppa") else RandomWalk(h.proposal_sd)


def length(experiment: str, algo: str, setting: Setting, epsilon: float) -> int:
    """Iterations that the study's accountants allow at ε and δ = 0.1/n."""
    h, n, delta = tuning(experiment, algo), setting.n, setting.delta
    if algo == "hmc":
        return published.theorem43_steps(epsilon, delta, h.tau, h.tau_gradient, int(h.leapfrog_steps), n)
    if algo == "barker":
        return published.theorem33_steps(epsilon, delta, n, int(h.batch))
    if algo in ("mdpps", "mdppa"):
        return published.theorem35_fourier_steps(epsilon, delta, h.tau, n, int(h.batch))
    return published.theorem32_steps(epsilon, delta, h.tau, n)
