"""Chains on simulated or public records: what to expect of a plan, before a private record is read.

The plan's own kernel runs the plan's steps from the plan's start, on records that the model simulates. It has no way
to private records and is charged nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.laplace import Laplace, nearest
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.quality import OFF, WIDER, ChainQuality, RehearsedQuality
from dpmcmc.chain.scan import Trace, chunk_length, compile_chunk, run_chunk, start_chains
from dpmcmc.chain.thinning import fewest_records, records_a_step, thinned
from dpmcmc.models.base import PyTree, has, model_name
from dpmcmc.posterior import Posterior, start
from dpmcmc.randomness import RandomSource
from dpmcmc.release import named_draws

TRIALS = 5
DECISIONS = 20_000  # rehearsed at most, all chains of a trial together; quality beyond them is extrapolated
WORK = 5e7  # log likelihoods of one record that a trial evaluates at most, about
RECORDS = (2_000, 50_000)  # simulated at least (if there are so many) and at most, where few can stand for many
MOST_RECORDS = 1_000_000  # simulated where they cannot
FEWEST_REHEARSED = 50  # steps of each chain, below which nothing can be extrapolated
SIGNAL = 0.2  # how far from the start, over draws of the prior, records are simulated


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """How a plan is rehearsed: a kernel on ``records`` records at ``temperature`` that behaves as the plan's on n."""

    plan: PlannedChains
    kernel: KernelLike
    records: int
    temperature: float
    steps: int

    @property
    def factor(self) -> float:
        return self.plan.n / self.records


class Path(NamedTuple):
    """What the chains of a trial did: positions and their steps, the filter's sum, and the records."""

    trace: Trace
    spent: float
    alive: bool
    records: PyTree
    truth: np.ndarray


def why_not(plan: PlannedChains) -> str:
    """Why a plan cannot be rehearsed, or nothing where it can."""
    if plan.public_data is None and not has(plan.model, "simulate"):
        return (
            f"{model_name(plan.model)} cannot simulate records (dp.Model(..., simulate=f) with f(key, theta, n)), and "
            "no public ones are given (dp.Chain(kernel, public_data=...))"
        )
    if rehearsal_of(plan, plan.steps) is None:
        return f"{plan.n:,} records are too many to rehearse this kernel on, and fewer do not stand for them"
    return ""


def rehearsal_of(plan: PlannedChains, steps: int) -> Rehearsal | None:
    """Records and steps that can be rehearsed in seconds; None where too few could be."""
    n, chains, kernel = plan.n, plan.chains, plan.kernel
    steps = min(steps, max(DECISIONS // chains, FEWEST_REHEARSED))
    affordable = WORK / (steps * chains * records_a_step(kernel, 1))
    records = min(n, max(int(np.clip(affordable, *RECORDS)), fewest_records(kernel)))
    few = _thinned(kernel, n / records)
    if few is not None:
        return Rehearsal(plan, few, records, plan.temperature * n / records, steps)
    affordable = WORK / (chains * records_a_step(kernel, n))
    if n > MOST_RECORDS or affordable < min(FEWEST_REHEARSED, steps):
        return None
    return Rehearsal(plan, kernel, n, plan.temperature, min(steps, int(affordable)))


def _thinned(kernel: KernelLike, factor: float) -> KernelLike | None:
    if factor == 1:
        return kernel
    try:
        found: KernelLike | None = thinned(kernel, factor)
    except ValueError:  # less noise than the mechanism can have
        return None
    return found


def rehearse(plan: PlannedChains, seed: int = 0) -> tuple[RehearsedQuality, ...]:
    """Trials of the planned chains, each with records of its own (unless they are public)."""
    rehearsal = rehearsal_of(plan, plan.steps)
    assert rehearsal is not None  # why_not says so before
    rule = plan.filter
    prices = None if rule is None else _for_fewer(PriceTable.of(plan.kernel, rule), rehearsal.factor)
    chunk, laplace = compile_chunk(rehearsal.kernel, prices), laplace_of(rehearsal)
    return tuple(_quality(rehearsal, run_trial(rehearsal, chunk, seed + trial), laplace) for trial in range(TRIALS))


def _for_fewer(prices: PriceTable, factor: float) -> PriceTable:
    """Prices by the shifts that a rehearsal sees, which are ``factor`` times those of the plan."""
    return replace(prices, shifts=prices.shifts * factor)


def laplace_of(rehearsal: Rehearsal) -> Laplace:
    with jax.enable_x64(True):
        theta = start(rehearsal.plan.model, jax.random.key(0))
        return Laplace(rehearsal.plan.model, rehearsal.temperature, theta)


def run_trial(rehearsal: Rehearsal, chunk: Any, seed: int) -> Path:
    """Chains of the rehearsal's steps on records of their own."""
    with jax.enable_x64(True):
        truth, records = _records(rehearsal, jax.random.key(seed))
        flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(truth)]).astype(np.float64)
        posterior = Posterior(rehearsal.plan.model, records, rehearsal.temperature)
    source = RandomSource(seed)
    state = start_chains(rehearsal.kernel, posterior, rehearsal.plan.chains, source)
    length, traces = chunk_length(rehearsal.steps), []
    for done in range(0, rehearsal.steps, length):
        todo = min(length, rehearsal.steps - done)
        state, trace = run_chunk(chunk, rehearsal.kernel, posterior, state, source, length, todo)
        source.advance()
        traces.append(trace)
        if not state.alive:
            break
    positions = jax.tree.map(lambda *parts: np.concatenate(parts), *[trace.positions for trace in traces])
    whole = Trace(positions, np.concatenate([trace.accepted for trace in traces]))
    return Path(whole, float(state.spent), bool(state.alive), records, flat)


def _records(rehearsal: Rehearsal, key: Any) -> tuple[PyTree, PyTree]:
    """Where records are simulated, and the records; public ones are drawn from, where there are too many or too few."""
    model, public = rehearsal.plan.model, rehearsal.plan.public_data
    place_key, away_key, record_key = jax.random.split(key, 3)
    theta = start(model, place_key)
    if public is not None:
        count = jax.tree.leaves(public)[0].shape[0]
        chosen = jax.random.choice(record_key, count, (rehearsal.records,), replace=rehearsal.records > count)
        return theta, jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], public)
    simulator: Any = model
    if has(model, "sample_prior"):
        away = simulator.sample_prior(away_key)
        theta = jax.tree.map(_towards, theta, jax.tree.map(jnp.asarray, away))
    return theta, simulator.simulate(record_key, theta, rehearsal.records)


def _towards(here: Any, there: Any) -> Any:
    return here + SIGNAL * (there - here) if jnp.issubdtype(here.dtype, jnp.floating) else there


def _quality(rehearsal: Rehearsal, path: Path, laplace: Laplace) -> RehearsedQuality:
    """What the trial says of all the plan's steps: effective draws grow with them, the rest stays."""
    plan, rule, ran = rehearsal.plan, rehearsal.plan.filter, len(path.trace.accepted)
    steps = plan.steps if path.alive else ran
    if path.alive and rule is not None and path.spent > 0:
        steps = int(min(plan.steps, max(ran, ran * rule.limit / path.spent)))
    found = quality_of(rehearsal, path, laplace, ran)
    return replace(found, steps=steps, effective_draws=found.effective_draws * max(steps / max(ran, 1), 1.0))


def quality_of(rehearsal: Rehearsal, path: Path, laplace: Laplace, steps: int) -> RehearsedQuality:
    """The quality of the first ``steps`` of a trial, against the posterior of its records."""
    plan = rehearsal.plan
    warmup = int(steps * plan.warmup / plan.steps)
    positions = jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf[:steps]), 0, 1), path.trace.positions)
    base = ChainQuality.of(named_draws(positions), warmup, plan.n, plan.temperature)
    kept = [np.asarray(leaf[:, warmup:], np.float64) for leaf in jax.tree.leaves(positions)]
    flat = np.concatenate([leaf.reshape(leaf.shape[0] * leaf.shape[1], -1) for leaf in kept], axis=1)
    error, widening = _distance(path, laplace, flat) if len(flat) else (math.nan, math.nan)
    draws = base.effective_draws if math.isfinite(base.r_hat) else math.nan  # chains that never moved have none
    return RehearsedQuality(draws, base.r_hat, plan.n, plan.temperature, steps, error, widening)


def _distance(path: Path, laplace: Laplace, draws: np.ndarray) -> tuple[float, float]:
    """Error of the draws' means and their width against the posterior; NaN where that is not known.

    Draws elsewhere than the fit, yet as probable as a posterior's draws are, say that there is more than one mode.
    """
    mean = draws.mean(0)
    fit = nearest([laplace.fit(path.records, place) for place in (path.truth, mean)], mean)
    if fit is None:
        return math.nan, math.nan
    error = float(np.sqrt(np.mean(((mean - fit.mean) / fit.std) ** 2)))
    widening = float(np.median(draws.std(0) / fit.std))
    apart = error > OFF or widening > WIDER
    if apart and laplace.drop(path.records, draws, fit) < 1 + draws.shape[1] / 2:
        return math.nan, math.nan
    return error, widening


def middle(trials: tuple[RehearsedQuality, ...]) -> RehearsedQuality:
    """The middle of every figure; what a trial could not tell counts as the worst."""

    def median(name: str, worst: float) -> float:
        values = [getattr(trial, name) for trial in trials]
        return sorted(values, key=lambda value: worst if math.isnan(value) else value)[len(values) // 2]

    first = trials[0]
    return RehearsedQuality(
        effective_draws=median("effective_draws", -math.inf),
        r_hat=median("r_hat", math.inf),
        n=first.n,
        temperature=first.temperature,
        steps=int(median("steps", -math.inf)),
        posterior_error=median("posterior_error", math.inf),
        widening=median("widening", math.inf),
    )
