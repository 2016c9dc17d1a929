"""Peers on the same records and posterior, without privacy: NUTS of BlackJAX and of NumPyro, logistic regression.

Each peer runs ``CHAINS`` vectorised chains in single precision with its own warm-up, and says the seconds for ``DRAWS``
effective draws: warm-up, and sampling times the draws that were wanted over those that the slowest parameter's were
worth. With many records they are measured on fewer draws.
"""

from __future__ import annotations

import time
from typing import Any

import arviz
import jax
import jax.numpy as jnp
import numpy as np

CHAINS, DRAWS = 2, 2048
FEWER = 10**5  # records from which peers are given less warm-up and fewer draws to be measured on
PRIOR = 2.5  # standard deviation of coefficients


def lengths(n: int) -> tuple[int, int]:
    """Warm-up and draws of each chain."""
    return (150, 100) if n > FEWER else (500, DRAWS // CHAINS)


def log_posterior(data: dict[str, Any]) -> Any:
    x = jnp.asarray(np.c_[np.ones(len(data["x"])), data["x"]], jnp.float32)
    y = jnp.asarray(data["y"], jnp.float32)

    def value(theta: Any, x: Any, y: Any) -> Any:
        logit = x @ theta
        return jnp.sum(y * logit - jnp.logaddexp(0.0, logit)) - 0.5 * jnp.sum((theta / PRIOR) ** 2)

    return value, x, y


def effective(draws: Any) -> float:
    """Of the parameter with the fewest; ``draws`` (chain, draw, parameter)."""
    return float(min(arviz.ess(np.asarray(draws)[:, :, j]) for j in range(draws.shape[2])))


class BlackJAX:
    """Window adaptation, then NUTS; programs are compiled at the first call."""

    def __init__(self, data: dict[str, Any]) -> None:
        import blackjax

        value, self.x, self.y = log_posterior(data)
        size = self.x.shape[1]
        warmup_steps, draws = lengths(len(self.x))

        def adapt(key: Any, x: Any, y: Any) -> Any:
            warmup = blackjax.window_adaptation(blackjax.nuts, lambda theta: value(theta, x, y))
            (state, settings), _ = warmup.run(key, jnp.zeros(size), num_steps=warmup_steps)
            return state, settings

        def sample(key: Any, state: Any, settings: Any, x: Any, y: Any) -> Any:
            kernel = blackjax.nuts(lambda theta: value(theta, x, y), **settings)

            def step(state: Any, key: Any) -> Any:
                state, _ = kernel.step(key, state)
                return state, state.position

            return jax.lax.scan(step, state, jax.random.split(key, draws))[1]

        self.adapt = jax.jit(jax.vmap(adapt, (0, None, None)))
        self.sample = jax.jit(jax.vmap(sample, (0, 0, 0, None, None)))

    def __call__(self, seed: int = 0) -> float:
        keys = jax.random.split(jax.random.key(seed), (2, CHAINS))
        begin = time.perf_counter()
        state, settings = jax.block_until_ready(self.adapt(keys[0], self.x, self.y))
        middle = time.perf_counter()
        draws = jax.block_until_ready(self.sample(keys[1], state, settings, self.x, self.y))
        end = time.perf_counter()
        return middle - begin + (end - middle) * DRAWS / effective(draws)


class NumPyro:
    """One MCMC object, whose programs are compiled at the first call."""

    def __init__(self, data: dict[str, Any]) -> None:
        import numpyro
        import numpyro.distributions as dist

        _, self.x, self.y = log_posterior(data)
        size = self.x.shape[1]
        warmup_steps, draws = lengths(len(self.x))

        def model(x: Any, y: Any) -> None:
            theta = numpyro.sample("theta", dist.Normal(0.0, PRIOR).expand([size]).to_event(1))
            numpyro.sample("y", dist.Bernoulli(logits=x @ theta), obs=y)

        self.mcmc = numpyro.infer.MCMC(
            numpyro.infer.NUTS(model),
            num_warmup=warmup_steps,
            num_samples=draws,
            num_chains=CHAINS,
            chain_method="vectorized",
            progress_bar=False,
            jit_model_args=True,
        )

    def __call__(self, seed: int = 0) -> float:
        begin = time.perf_counter()
        self.mcmc.post_warmup_state = None
        self.mcmc.warmup(jax.random.key(seed), self.x, self.y)
        jax.block_until_ready(self.mcmc.post_warmup_state)
        middle = time.perf_counter()
        self.mcmc.run(self.mcmc.post_warmup_state.rng_key, self.x, self.y)
        draws = jax.block_until_ready(self.mcmc.get_samples(group_by_chain=True)["theta"])
        end = time.perf_counter()
        return middle - begin + (end - middle) * DRAWS / effective(draws)
