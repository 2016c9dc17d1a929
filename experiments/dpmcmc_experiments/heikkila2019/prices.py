"""ε of the runs of Heikkilä et al. (2019): as published, and of the same chains by dpmcmc's accounting.

All for the paper's 10⁶ records, under substitution of one of them; δ = 10⁻⁶ for a chain, 2·10⁻⁶ with its start.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.privacy.published import heikkila2019 as published
from dpmcmc_experiments.heikkila2019 import langevin
from dpmcmc_experiments.heikkila2019.study import BATCH, DELTA, NUMBERS, PROPOSAL_VARIANCE

N = 1_000_000
TAU = 100 / N
_START = NUMBERS["dpvi"]


def chain_event(correction: Any = "optimal", n: int = N, batch: int = BATCH) -> privacy.Event:
    """One step of DP MCMC on batches."""
    return dp.dp_barker_subsampled(PROPOSAL_VARIANCE**0.5, batch, correction).event(n, 100 / n)


@lru_cache(maxsize=1)
def start_event() -> privacy.Event:
    """The private variational start: noise of 10 clips on a batch's sum, so 5 times what substitution can move it."""
    each = privacy.SubsampledGaussian(_START["sigma"] / 2, N, _START["batch"], "without_replacement")
    return privacy.Repeat(each, _START["T"])


def mcmc_published(steps: int, correction: Any = "optimal", batch: int = BATCH) -> float:
    """ε of start and chain as on the axis of Figure 3 (Corollary 2, plus the start's by moments up to 64)."""
    chain = published.corollary2_epsilon(steps, N, batch, DELTA, largest_order=99, variant="as_coded")
    start = published.dpvi_epsilon(_START["T"], _START["sigma"], N, _START["batch"], _START["delta"])
    return float(chain + start)


def mcmc_tight(steps: int, correction: Any = "optimal", batch: int = BATCH) -> float:
    """ε of start and chain by dpmcmc: together at 2δ, or one after the other at δ each where that is less."""
    chain = _repeat(chain_event(correction, batch=batch), steps)
    together = float(privacy.epsilon(privacy.Compose((start_event(), chain)), 2 * DELTA))
    return min(together, _start_alone() + float(privacy.epsilon(chain, DELTA)))


@lru_cache(maxsize=1)
def _start_alone() -> float:
    return float(privacy.epsilon(start_event(), DELTA))


def sgld_published(steps: int, drift: str = "published") -> float:
    """ε of DP-SGLD as on the axis of Figure 3."""
    run = NUMBERS["dp_sgld"]
    multiplier = published.sgld_noise_multiplier(run["batch"], run["eta"], N, run["clip_L"])
    return float(published.sgld_epsilon(steps, multiplier, N, run["batch"], run["delta"]))


def sgld_tight(steps: int, drift: str) -> float:
    """ε of the chain after ``steps`` published steps, gradients clipped at 6 (which no record reaches)."""
    if drift == "right":
        return float(privacy.epsilon(_repeat(langevin.right_kernel(N).event(N, TAU), steps // langevin.COARSE), 2e-6))
    kernel = dp.dp_sgld(langevin.STEP, langevin.CLIP, langevin.BATCH, variant="heikkila2019")
    return float(privacy.epsilon(_repeat(kernel.event(N, TAU), steps), 2e-6))


def _repeat(event: privacy.Event | None, steps: int) -> privacy.Event:
    assert event is not None
    return privacy.Repeat(event, steps)
