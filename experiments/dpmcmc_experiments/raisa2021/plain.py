"""DP HMC as a plain program: the chains of a posterior at once, as products of matrices, counting what is clipped.

Independent of dpmcmc's kernels, with ordinary floating-point noise and no guarantee. It gives the boxes at the largest
ε, which the kernels would take hours for, and the shares of clipped terms along whole chains. With the study's own
random numbers, the same algorithm gives the study's chains (:mod:`.seeds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc_experiments.figures import Cell, seed_of
from dpmcmc_experiments.raisa2021 import algorithms
from dpmcmc_experiments.raisa2021.chains import row, score
from dpmcmc_experiments.raisa2021.likelihoods import blocks_of, clipped_gradients, clipped_ratios, likelihood
from dpmcmc_experiments.raisa2021.problems import Problem, problem


@partial(jax.jit, static_argnums=(0, 1, 2))
def _run(target: Any, h: algorithms.Tuning, steps: int, temperature: Any, blocks: Any, starts: Any, key: Any) -> Any:
    """The states after each step, accept bits, and the shares of clipped log ratios and gradients: (step, chain)."""
    root_n = (blocks.shape[0] * blocks.shape[1]) ** 0.5
    log_prior = jax.vmap(target.model.log_prior)
    prior_gradients = jax.vmap(jax.grad(target.model.log_prior))

    def gradient(theta: Any, key: Any) -> tuple[Any, Any]:
        total, share = clipped_gradients(target, theta, blocks, h.gradient_clip)
        noise = 2 * h.tau_gradient * root_n * h.gradient_clip * jax.random.normal(key, theta.shape)
        return temperature * (total + noise) + prior_gradients(theta), share

    def step(here: Any, key: Any) -> Any:
        momentum_key, first_key, path_key, noise_key, coin_key = jax.random.split(key, 5)
        start = jax.random.normal(momentum_key, here.shape)
        slope, first_share = gradient(here, first_key)

        def leap(now: Any, key: Any) -> Any:
            q, p, slope = now
            p = p + h.leapfrog_step / 2 * slope
            q = q + h.leapfrog_step * p
            slope, share = gradient(q, key)
            return (q, p + h.leapfrog_step / 2 * slope, slope), share

        keys = jax.random.split(path_key, int(h.leapfrog_steps))
        (there, end, _), shares = jax.lax.scan(leap, (here, start, slope), keys)
        bound = h.clip * jnp.linalg.norm(there - here, axis=1)
        total, clipped = clipped_ratios(target, here, there, bound, blocks)
        t = temperature * total + log_prior(there) - log_prior(here) + 0.5 * (start**2 - end**2).sum(axis=1)
        std = temperature * h.tau * root_n * 2 * bound
        noisy = t + std * jax.random.normal(noise_key, t.shape)
        accepted = jnp.log(jax.random.uniform(coin_key, t.shape)) < noisy - std**2 / 2
        now = jnp.where(accepted[:, None], there, here)
        along = (first_share + shares.sum(axis=0)) / (1 + len(keys))
        return now, (now, accepted, clipped, along)

    return jax.lax.scan(step, starts, jax.random.split(key, steps))[1]


def run(posterior: Problem, steps: int, chains: int, seed: int) -> tuple[np.ndarray, ...]:
    """States (chain, state, parameter), starts included; accept bits and clip shares (chain, step)."""
    target, h = likelihood(posterior.model), algorithms.tuning(posterior.name, "hmc")
    with jax.enable_x64(True):
        blocks, starts = jnp.asarray(blocks_of(target, posterior.records)), jnp.asarray(posterior.starts[:chains])
        found = _run(target, h, steps, posterior.setting.temperature, blocks, starts, jax.random.key(seed % 2**31))
        states, *others = (np.moveaxis(np.asarray(part), 0, 1) for part in found)
    return np.concatenate([posterior.starts[:chains, None], states], axis=1), *others


def cell(experiment: str, epsilons: Sequence[float], chains: int = 20, n: int | None = None, cap: int = 10**9) -> Cell:
    """One row for each ε and chain: scores, and shares counted at every step of the chain."""

    def rows() -> list[dict[str, Any]]:
        posterior = problem(experiment, n)
        lengths = [min(algorithms.length(experiment, "hmc", posterior.setting, e), cap) for e in epsilons]
        states, accepted, ratios, gradients = run(posterior, max(lengths), chains, seed_of("plain", experiment))
        found = []
        for epsilon, steps in zip(epsilons, lengths, strict=True):
            for chain in range(chains):
                scores = score(posterior, states[chain], accepted[chain], steps, seed_of("plain", experiment, chain))
                scores |= {"llr_clip": ratios[chain, :steps].mean(), "gradient_clip": gradients[chain, :steps].mean()}
                found.append(row(experiment, "hmc", epsilon, steps, chain, scores | {"moves": steps}, "plain"))
        return found

    return Cell(f"plain-{experiment}-hmc", rows)
