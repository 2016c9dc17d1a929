"""Subsampled Barker on the mixture of Heikkilä et al. (2019): N = 10⁶ records, batches of 1000.

Beside the loop in NumPy and SciPy that the paper's experiments are of the kind of: `random.sample` for the batch,
`scipy.stats.norm.logpdf` and `scipy.special.logsumexp` for the likelihood, noise and correction drawn; and beside the
same loop with NumPy's generator and `logaddexp`. The floor is a compiled gather at indices that are given, and the log
likelihood at two positions. Ratios are seconds of ours over theirs: 1/60 is sixty times as fast.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from benchmarks.harness import Comparison, Run, interleaved
from dpmcmc.algorithms import dp_barker_subsampled
from dpmcmc.chain.scan import compile_chunk, run_chunk, start_chains
from dpmcmc.mechanisms.needs import Ahead
from dpmcmc.models import TiedMixture
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.correction import optimal_correction
from dpmcmc.randomness import RandomSource

N, BATCH, COUNTS_AS, STEP = 10**6, 1000, 100, 0.1
STEPS, LOOP_STEPS, CHUNKS = 2000, 500, 10
ONE, TWENTY = 1, 20


def mixture(n: int) -> np.ndarray:
    rng = np.random.default_rng(123)
    return rng.normal(rng.random(n) < 0.5, np.sqrt(2))


def loop(data: np.ndarray, steps: int, published: bool) -> Run:
    """The chain as a researcher writes it: one step after the other, whole batches at a time."""
    rng, correction = np.random.default_rng(0), optimal_correction(2.0)
    atoms, weights = np.array(correction.atoms), np.array(correction.weights) / sum(correction.weights)
    bound = np.sqrt(BATCH) / COUNTS_AS

    def log_prior(theta):
        return norm.logpdf(theta[0], 0, np.sqrt(10)) + norm.logpdf(theta[1], 0, 1)

    def log_likelihood(x, theta):
        near, far = norm.logpdf(x, theta[0], np.sqrt(2)), norm.logpdf(x, theta[0] + theta[1], np.sqrt(2))
        return logsumexp(np.stack([near, far]), axis=0) if published else np.logaddexp(near, far)

    def run() -> None:
        theta, chain = np.zeros(2), np.empty((steps, 2))
        for i in range(steps):
            sample = random.sample(range(len(data)), BATCH) if published else rng.choice(len(data), BATCH, False)
            x, proposed = data[sample], theta + STEP * rng.normal(size=2)
            ratios = np.clip(log_likelihood(x, proposed) - log_likelihood(x, theta), -bound, bound)
            ratio = COUNTS_AS * ratios.mean() + log_prior(proposed) - log_prior(theta)
            noise = np.sqrt(2 - COUNTS_AS**2 / BATCH * ratios.var()) * rng.normal()
            if ratio + noise + rng.choice(atoms, p=weights) > 0:
                theta = proposed
            chain[i] = theta

    return run


def chains(data: np.ndarray, count: int, steps: int) -> Run:
    """Chunks as a run makes them, each with fresh draws, those of the next made meanwhile."""
    kernel = dp_barker_subsampled(STEP, BATCH)
    with jax.enable_x64(True):
        posterior = Posterior.check(TiedMixture(), data, COUNTS_AS / len(data)).on_device()
    source, chunk, length = RandomSource(0), compile_chunk(kernel, None), steps // CHUNKS
    state = start_chains(kernel, posterior, count, source)

    def run() -> None:
        ahead = Ahead()
        for part in range(CHUNKS):
            run_chunk(chunk, kernel, posterior, state, source, length, length, ahead if part < CHUNKS - 1 else None)
            source.advance()

    return run


def floor(data: np.ndarray, steps: int) -> Run:
    """A gather and two likelihoods a step, with indices and positions that are given."""
    model, rng = TiedMixture(), np.random.default_rng(0)
    records, index = jnp.asarray(data), jnp.asarray(rng.integers(0, len(data), (steps, BATCH)), jnp.int32)
    theta = jnp.asarray(rng.normal(size=(steps, 2)), records.dtype)

    def step(_, given):
        x = records.at[given[0]].get(mode="promise_in_bounds")
        here, there = (jax.vmap(model.log_likelihood, (None, 0))(at, x) for at in (given[1], given[1] + STEP))
        return (), (there - here).sum()

    options = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}
    run = jax.jit(lambda index, theta: jax.lax.scan(step, (), (index, theta))[1], compiler_options=options)
    return lambda: run(index, theta).block_until_ready()


def per_step(seconds: dict[str, list[float]], steps: dict[str, int]) -> dict[str, list[float]]:
    return {name: [value / steps[name] for value in values] for name, values in seconds.items()}


def comparisons() -> Iterator[Comparison]:
    data = mixture(N)
    single = data.astype(np.float32)
    runs = {
        "the paper's kind of loop": (loop(data, LOOP_STEPS, True), LOOP_STEPS),
        "NumPy's generator": (loop(data, LOOP_STEPS, False), LOOP_STEPS),
        "one chain, float32": (chains(single, ONE, CHUNKS * STEPS), ONE * CHUNKS * STEPS),
        "one chain, float64": (chains(data, ONE, CHUNKS * STEPS), ONE * CHUNKS * STEPS),
        "20 chains, float32": (chains(single, TWENTY, 2000), TWENTY * 2000),
        "floor, float32": (floor(single, STEPS), STEPS),
    }
    steps = {name: count for name, (_, count) in runs.items()}
    seconds = per_step(interleaved({name: run for name, (run, _) in runs.items()}), steps)
    theirs = "the paper's kind of loop"
    yield Comparison("a step of one chain", "one chain, float32", seconds, theirs, 1 / 60)
    yield Comparison("a step of 20 chains, in all", "20 chains, float32", seconds, theirs, 1 / 200)
    yield Comparison("a step of one chain, double precision", "one chain, float64", seconds, theirs)
    yield Comparison("a step of one chain, other loop", "one chain, float32", seconds, "NumPy's generator")
    yield Comparison("a step of one chain, over the floor", "one chain, float32", seconds, "floor, float32")

    few, many = (chains(mixture(n).astype(np.float32), ONE, CHUNKS * STEPS) for n in (10**5, 10**7))
    seconds = interleaved({"n = 10⁷": many, "n = 10⁵": few})
    yield Comparison(f"{CHUNKS * STEPS} steps", "n = 10⁷", seconds, "n = 10⁵", 1.5)
