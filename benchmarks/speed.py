"""Speed, as ratios within one run: a private step against one bare pass over the same records.

    python benchmarks/speed.py            # what `make bench` runs

1. One full-data step (n = 10⁶, d = 20) over one compiled log-likelihood pass over the same data. Limit 1.25.
2. Twenty vectorised chains on n = 10⁵ over twenty times one chain. Limit 1.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

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


def interleaved(runs: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each run, taken in turns so that a noisy machine hits all alike."""
    for run in runs.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def ratio(seconds: dict[str, list[float]], top: str, bottom: str) -> float:
    """Median over rounds of the ratio within a round."""
    return statistics.median(a / b for a, b in zip(seconds[top], seconds[bottom], strict=True))


def step_over_pass(n: int = 10**6, d: int = 20, steps: int = 50, rounds: int = 9) -> float:
    model, data = logistic_regression(n, d)
    seconds = interleaved(
        {"pass": bare_passes(model, data, steps), "step": private_steps(model, data, 1, steps)}, rounds
    )
    for name, values in seconds.items():
        print(f"  {name}: {1e3 * statistics.median(values) / steps:.2f} ms")
    return ratio(seconds, "step", "pass")


def many_over_singles(n: int = 10**5, d: int = 20, chains: int = 20, steps: int = 50, rounds: int = 7) -> float:
    model, data = logistic_regression(n, d)
    seconds = interleaved(
        {"one": private_steps(model, data, 1, steps), "many": private_steps(model, data, chains, steps)}, rounds
    )
    for name, values in seconds.items():
        print(f"  {name}: {1e3 * statistics.median(values) / steps:.2f} ms a step")
    return ratio(seconds, "many", "one") / chains


def main() -> int:
    step = step_over_pass()
    print(f"full-data step / bare likelihood pass (n = 10⁶, d = 20): {step:.2f}   (limit 1.25)")
    many = many_over_singles()
    print(f"20 vectorised chains / 20 single ones (n = 10⁵):          {many:.2f}   (limit 1)")
    return int(step > 1.25 or many >= 1)


if __name__ == "__main__":
    sys.exit(main())
