"""The variational fit under audit: many fits at once, the steps and sums of each compiled into one program."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.fit_path import FitPath
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum, record_gradients
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Repeat
from dpmcmc.randomness import RandomSource
from dpmcmc.variational import coordinates

RUNS = (200_000, 20_000)
MU = 1.0
RECORDS = 8
FAR = 1e6
_AT_ONCE = 20_000


def fits() -> list[Experiment]:
    """The fitted mean after one step, which is the sign of one noisy sum, and after a few."""
    return [fit_of(steps) for steps in (1, 4)]


def fit_of(steps: int, mu: float = MU) -> Experiment:
    """Fits of ``steps`` steps whose releases are μ-GDP together."""
    neighbours = opposite_scores()
    model = neighbours.models[0]
    origin, scale, unravel, typical = coordinates(model, RECORDS)
    total = GaussianSum.of_multiplier(2.0 * typical, math.sqrt(steps) / mu)
    nothing = Posterior(model, np.zeros(RECORDS))  # the path is the same for both sides: it reads none
    run = compiled_fits(total, FitPath.of(nothing, scale, origin, unravel, steps, True), unravel)

    def fitted(side: int, runs: int, source: RandomSource) -> np.ndarray:
        means = []
        with jax.enable_x64(True):
            posterior = Posterior.check(model, neighbours.data[side]).on_device()
            for at in range(0, runs, _AT_ONCE):
                size = min(_AT_ONCE, runs - at)
                keys = source.random_words("noise", (size, steps, *stream.KEY_SHAPE))
                path = jax.random.key(int(source.random_words("path", (1,))[0] >> 1))
                z = jax.random.normal(path, (size, steps, len(origin)), jnp.float64)
                means.append(np.asarray(run(posterior, jnp.asarray(keys), z)[0])[:, 0])
                source.advance()
        return np.concatenate(means)

    claim = Claim(Repeat(total.event(RECORDS), steps))
    about = "one record with opposite gradients; the fit keeps little more than their noisy signs"
    view = View(f"{steps} step{'s' if steps > 1 else ''}", claim, lambda released: released)
    return Experiment("dpvi", fitted, (view,), RUNS, about)


def compiled_fits(total: GaussianSum, path: FitPath, unravel: Any) -> Any:
    """(posterior, keys of each fit and step, z) → mean and root of each fit: what dpvi does with the same, all at
    once."""

    def run(posterior: Posterior, keys: Array, z: Array) -> Any:
        def step(state: Any, now: tuple[Array, Array]) -> Any:
            key, here = now
            theta = path.place(state, here)
            gradients = record_gradients(posterior, theta, unravel).astype(jnp.float64) @ path.scale
            words = stream.words(key, gradients.shape[1] * int(np.prod(WORDS))).reshape(-1, *WORDS)
            state = path.step(state, here, total(words, gradients))
            return state, state[:2]

        _, (means, frees) = jax.lax.scan(step, path.begin(), (keys, z))
        last = -(-len(z) // 4)
        return jnp.mean(means[-last:], 0), path.root(jnp.mean(frees[-last:], 0))

    return jax.jit(jax.vmap(run, (None, 0, 0)))


def opposite_scores() -> Neighbours:
    """log p(x|θ) = x θ: the first record's gradient is far beyond the clip, up or down; the others have none."""
    model = Model(
        lambda theta: -0.5 * (theta / 1000) ** 2,
        lambda theta, x: x * theta,
        init=0.0,
        simulate=lambda key, theta, n: jax.random.normal(key, (n,)),
    )
    return Neighbours.of(model, *(np.r_[first, np.zeros(RECORDS - 1)] for first in (-FAR, FAR)))
