"""The variational fit under audit: many fits at once through its compiled program."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Repeat
from dpmcmc.randomness import RandomSource
from dpmcmc.variational import compiled_fit, coordinates

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
    run = jax.jit(jax.vmap(compiled_fit(total, scale, origin, unravel, True), (None, 0, 0)))

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


def opposite_scores() -> Neighbours:
    """log p(x|θ) = x θ: the first record's gradient is far beyond the clip, up or down; the others have none."""
    model = Model(
        lambda theta: -0.5 * (theta / 1000) ** 2,
        lambda theta, x: x * theta,
        init=0.0,
        simulate=lambda key, theta, n: jax.random.normal(key, (n,)),
    )
    return Neighbours.of(model, *(np.r_[first, np.zeros(RECORDS - 1)] for first in (-FAR, FAR)))
