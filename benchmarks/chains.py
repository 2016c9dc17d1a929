"""Chains on all records: a private step against a bare, compiled pass over the same records and against BlackJAX.

Logistic regression, records in single precision. A pass is Σ log p(xᵢ|θ) and nothing else; a step of a selection scores
16 candidates and its present position. The Poisson minibatch reads λ·4/3 records; beside it, the least that any step on
as many records from all over memory takes: a compiled gather at indices that are given, and one log likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Comparison, Run, interleaved
from dpmcmc.algorithms import dp_barker, dp_barker_minibatch
from dpmcmc.chain.proposals import HiddenCentre
from dpmcmc.chain.scan import compile_chunk, run_chunk, start_chains
from dpmcmc.chain.selection import Select
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource

CANDIDATES = 16
SHARES = (20, 50, 100, 200)
"""λ is a little under n over these; 4/3 as many records are drawn from all over memory."""


def logistic_regression(n: int, d: int) -> tuple[Model, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y = (rng.random(n) < 0.5).astype(np.float32)

    def log_likelihood(theta, record):
        logit = record["x"] @ theta
        return record["y"] * logit - jnp.logaddexp(0.0, logit)

    return Model(lambda theta: -0.5 * jnp.sum(theta**2), log_likelihood, np.zeros(d, np.float32)), {"x": x, "y": y}


def bare_passes(model: Model, data: dict[str, np.ndarray], passes: int) -> Run:
    """Σ log p(xᵢ|θ) for as many values of θ in one compiled loop, in single precision."""
    records = jax.tree.map(jnp.asarray, data)
    thetas = jnp.asarray(np.random.default_rng(1).normal(scale=0.01, size=(passes, len(model.init))), jnp.float32)

    @jax.jit
    def run(records, thetas):
        return jax.lax.map(lambda theta: jax.vmap(model.log_likelihood, (None, 0))(theta, records).sum(), thetas)

    return lambda: run(records, thetas).block_until_ready()


def blackjax_steps(model: Model, data: dict[str, np.ndarray], steps: int) -> Run:
    """BlackJAX's random walk on the same posterior, as its documentation runs it: a compiled scan."""
    records = jax.tree.map(jnp.asarray, data)

    @jax.jit
    def run(records, key):
        def log_density(theta):
            return model.log_prior(theta) + jax.vmap(model.log_likelihood, (None, 0))(theta, records).sum()

        walk = blackjax.additive_step_random_walk(
            log_density, blackjax.mcmc.random_walk.normal(jnp.full(len(model.init), 0.01, jnp.float32))
        )

        def step(state, key):
            state, info = walk.step(key, state)
            return state, (state.position, info.is_accepted)

        return jax.lax.scan(step, walk.init(jnp.asarray(model.init)), jax.random.split(key, steps))[1]

    return lambda: jax.block_until_ready(run(records, jax.random.key(0)))


def gathers(model: Model, data: dict[str, np.ndarray], records: int, steps: int) -> Run:
    """As many records at random places, and Σ log p(xᵢ|θ) over them, in one compiled loop."""
    held, rng = jax.tree.map(jnp.asarray, data), np.random.default_rng(2)
    index = jnp.asarray(rng.integers(0, len(data["y"]), (steps, records)), jnp.int32)
    theta = jnp.zeros(len(model.init), jnp.float32)

    @jax.jit
    def run(held, index):
        def step(at):
            rows = jax.tree.map(lambda leaf: leaf.at[at].get(mode="promise_in_bounds"), held)
            rows = jax.lax.optimization_barrier(rows)
            return jax.vmap(model.log_likelihood, (None, 0))(theta, rows).sum()

        return jax.lax.map(step, index)

    return lambda: run(held, index).block_until_ready()


def private_steps(kernel: Any, model: Any, data: Any, chains: int, steps: int, temperature: float = 1.0) -> Run:
    """A chunk of steps, with the random numbers that go into it."""
    with jax.enable_x64(True):
        source, posterior = RandomSource(0), Posterior.check(model, data, temperature).on_device()
    state = start_chains(kernel, posterior, chains, source)
    chunk = compile_chunk(kernel, None)
    return lambda: run_chunk(chunk, kernel, posterior, state, source, steps, steps)


def comparisons() -> Iterator[Comparison]:
    n, d, steps = 10**6, 20, 50
    model, data = logistic_regression(n, d)
    walk = dp_barker(step=0.01, clip=0.05)
    seconds = interleaved(
        {
            "step": private_steps(walk, model, data, 1, steps),
            "pass": bare_passes(model, data, steps),
            "BlackJAX": blackjax_steps(model, data, steps),
        }
    )
    setting = f"n = {n}, d = {d}"
    yield Comparison(f"{steps} full-data steps, {setting}, over passes", "step", seconds, "pass", 1.1)
    yield Comparison(f"{steps} full-data steps, {setting}, over random-walk steps", "step", seconds, "BlackJAX", 1.0)

    select = Select(HiddenCentre(0.01, CANDIDATES), clip=0.05)
    few = 5
    seconds = interleaved(
        {
            "selection": private_steps(select, model, data, 1, few),
            "passes": bare_passes(model, data, few * CANDIDATES),
        }
    )
    yield Comparison(f"{few} selections among {CANDIDATES}, {setting}", "selection", seconds, "passes", 0.7)

    runs = {"full data": private_steps(walk, model, data, 1, steps)}
    for share in SHARES:
        rate = 0.99 * n / share
        runs[f"λ = 0.99 n/{share}"] = private_steps(
            dp_barker_minibatch(0.01, rate / (3 * n), rate), model, data, 1, steps
        )
    names = [name for name in runs if name != "full data"]
    runs["gather"] = gathers(model, data, int(0.99 * n / SHARES[0] * 4 / 3), steps)
    seconds = interleaved(runs)
    yield Comparison(f"{steps} gathers of 4/3·0.99 n/{SHARES[0]} records, {setting}", "gather", seconds, "full data")
    for name in names:
        yield Comparison(f"{steps} exact Poisson minibatch steps, {name}, {setting}", name, seconds, "full data", 1 / 5)

    model, data = logistic_regression(10**5, d)
    one = private_steps(walk, model, data, 1, steps)

    def singles() -> None:
        for _ in range(20):
            one()

    seconds = interleaved({"together": private_steps(walk, model, data, 20, steps), "one by one": singles})
    yield Comparison(f"{steps} steps of 20 chains, n = {10**5}, d = {d}", "together", seconds, "one by one", 1.0)
