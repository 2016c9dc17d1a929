"""Chains: a private step against one bare, compiled pass over the same records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.harness import Comparison, interleaved
from dpmcmc.algorithms import dp_barker
from dpmcmc.chain.scan import compile_chunk, run_chunk, start_chains
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource


def logistic_regression(n: int, d: int) -> tuple[Model, dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d)).astype(np.float32)
    y = (rng.random(n) < 0.5).astype(np.float32)

    def log_likelihood(theta, record):
        logit = record["x"] @ theta
        return record["y"] * logit - jnp.logaddexp(0.0, logit)

    return Model(lambda theta: -0.5 * jnp.sum(theta**2), log_likelihood, np.zeros(d, np.float32)), {"x": x, "y": y}


def bare_passes(model: Model, data: dict[str, np.ndarray], steps: int) -> Callable[[], None]:
    """Σ log p(xᵢ|θ) for ``steps`` values of θ in one compiled loop, in single precision and nothing else."""
    records = jax.tree.map(jnp.asarray, data)
    thetas = jnp.asarray(np.random.default_rng(1).normal(scale=0.01, size=(steps, len(model.init))), jnp.float32)

    @jax.jit
    def run(records, thetas):
        return jax.lax.map(lambda theta: jax.vmap(model.log_likelihood, (None, 0))(theta, records).sum(), thetas)

    return lambda: run(records, thetas).block_until_ready()


def private_steps(model: Model, data: dict[str, np.ndarray], chains: int, steps: int) -> Callable[[], None]:
    kernel = dp_barker(step=0.01, clip=0.05)
    source, posterior = RandomSource(0), Posterior.check(model, data).on_device()
    state = start_chains(kernel, posterior, chains, source)
    chunk = compile_chunk(kernel, None)
    return lambda: run_chunk(chunk, kernel, posterior, state, source, steps, steps)


def step_over_pass(n: int = 10**6, d: int = 20, steps: int = 50) -> Comparison:
    model, data = logistic_regression(n, d)
    runs = {"step": private_steps(model, data, 1, steps), "pass": bare_passes(model, data, steps)}
    return Comparison(f"{steps} full-data steps, n = {n}, d = {d}", "step", interleaved(runs), "pass", 1.25)


def many_over_singles(n: int = 10**5, d: int = 20, chains: int = 20, steps: int = 50) -> Comparison:
    model, data = logistic_regression(n, d)
    one = private_steps(model, data, 1, steps)

    def singles() -> None:
        for _ in range(chains):
            one()

    runs = {"vectorised": private_steps(model, data, chains, steps), "one by one": singles}
    return Comparison(f"{steps} steps of {chains} chains, n = {n}", "vectorised", interleaved(runs), "one by one", 1.0)


def comparisons() -> Iterator[Comparison]:
    yield step_over_pass()
    yield many_over_singles()
