"""Every private algorithm, tuned to a posterior that is known: steps from its covariance, clips from its records.

NOT PRIVATE: tuning reads the records, and is for comparisons on public data only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import dpmcmc as dp
from dpmcmc import algorithms
from dpmcmc.chain.proposals import GuidedWalk, HiddenCentre, OneComponent, RandomWalk
from dpmcmc_experiments.figures import rng_of
from dpmcmc_experiments.raisa2021 import algorithms as published
from dpmcmc_experiments.raisa2021.problems import SETTINGS
from dpmcmc_experiments.utility.posteriors import Target

CANDIDATES = 16
LONG = 30  # times that a step of DP HMC reads the records


def typical_term(t: Target, pairs: Callable[[Any, Any], tuple[Any, Any]], count: int = 64) -> float:
    """Root mean square, over records and moves, of one record's log ratio. ``pairs``: (key, θ) → two points."""
    rng = rng_of("terms", t.name)
    with jax.enable_x64(True):
        some = rng.choice(t.n, min(t.n, 2000), replace=False)
        records = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[some], float), t.data)
        here = jnp.asarray(t.draws[rng.choice(len(t.draws), count)])
        a, b = jax.vmap(pairs)(jax.random.split(jax.random.key(0), count), here)
        terms = jax.vmap(lambda theta: jax.vmap(lambda x: t.model.log_likelihood(t.unravel(theta), x))(records))
        return float(jnp.sqrt(jnp.mean((terms(a) - terms(b)) ** 2)))


def gradient_norm(t: Target) -> float:
    """Root mean square, over records, of the norm of one record's gradient at draws of the posterior."""
    rng = rng_of("gradients", t.name)
    with jax.enable_x64(True):
        some = rng.choice(t.n, min(t.n, 2000), replace=False)
        records = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[some], float), t.data)
        score = jax.grad(lambda theta, x: t.model.log_likelihood(t.unravel(theta), x))
        here = jnp.asarray(t.draws[rng.choice(len(t.draws), 16)])
        scores = jax.vmap(lambda theta: jax.vmap(lambda x: score(theta, x))(records))(here)
        return float(jnp.sqrt(jnp.mean(jnp.sum(scores**2, axis=-1))))


def moved(t: Target, proposal: Any) -> float:
    """The typical term of a walk's moves."""

    def pair(key: Any, here: Any) -> tuple[Any, Any]:
        position = t.unravel(here)
        return here, ravel_pytree(proposal.propose(key, position, proposal.init(position)).position)[0]

    return typical_term(t, pair)


def walk(t: Target) -> RandomWalk:
    return RandomWalk(t.root / np.sqrt(t.dimension))


def conditional_sd(t: Target) -> np.ndarray:
    return 1 / np.sqrt(np.diag(np.linalg.inv(t.covariance)))


def barker(t: Target) -> Any:
    return algorithms.dp_barker(walk(t), t.clip * moved(t, walk(t)))


def subsampled(t: Target) -> Any | None:
    batch = round(16 * t.temperature * t.n)
    return None if 4 * batch > t.n else algorithms.dp_barker_subsampled(walk(t), batch)


def minibatch(t: Target) -> Any | None:
    bound = t.temperature * t.clip * moved(t, walk(t))
    return algorithms.dp_barker_minibatch(walk(t), bound) if bound < 1 / 8 else None


def penalty(t: Target) -> Any:
    return algorithms.dp_penalty(walk(t), t.clip * moved(t, walk(t)))


def one_component(t: Target) -> Any:
    sd = 1.5 * conditional_sd(t)
    return algorithms.dp_penalty_one_component(sd, t.clip * moved(t, OneComponent(sd)))


def guided(t: Target) -> Any:
    sd = 1.5 * conditional_sd(t)
    return algorithms.dp_penalty_guided(sd, t.clip * moved(t, GuidedWalk(sd)))


def penalty_minibatch(t: Target) -> Any:
    batch = round(min(4 * t.temperature * t.n, t.n / 2))
    return algorithms.dp_penalty_minibatch(walk(t), batch, t.clip * moved(t, walk(t)))


def hmc(t: Target) -> Any:
    """With the study's hyperparameters on its posteriors; else noise as large as the gradient, in posterior units."""
    if t.name in SETTINGS:
        return published.kernel(t.name, "hmc", SETTINGS[t.name])
    clip = t.clip * gradient_norm(t)
    widest = np.sqrt(np.linalg.eigvalsh(t.covariance)[-1])
    multiplier = 1 / (2 * t.temperature * clip * widest)
    precision = np.linalg.inv(t.covariance)
    scaled = algorithms.dp_hmc(0.5, 3, clip, multiplier, 1.0, mass=(precision + precision.T) / 2)
    across = RandomWalk(1.5 * t.root / np.sqrt(t.dimension))  # about as far as a path goes
    return dp.Kernel(scaled.proposal, dp.Penalty(t.clip * moved(t, across), 1.0))


def sgld(t: Target) -> Any:
    return algorithms.dp_sgld(0.2 * float(np.linalg.eigvalsh(t.covariance)[0]), t.clip * gradient_norm(t))


def orbit(t: Target) -> Any:
    wide = 1.6 * t.root
    mean = jnp.asarray(t.mean)
    term = typical_term(t, lambda key, here: (here, mean))
    return algorithms.dp_orbit(t.mean, wide, CANDIDATES, t.clip * term)


def hidden_centre(t: Target) -> Any:
    centre = RandomWalk(0.7 * t.root / np.sqrt(t.dimension))

    def pair(key: Any, here: Any) -> tuple[Any, Any]:
        candidates = HiddenCentre(centre, CANDIDATES).draw(key, t.unravel(here)).positions
        return here, jax.vmap(lambda c: ravel_pytree(c)[0])(candidates)[1]

    return algorithms.dp_hidden_centre(centre, CANDIDATES, t.clip * typical_term(t, pair))


RECIPES: dict[str, tuple[Callable[[Target], Any], float]] = {
    "dp_barker": (barker, 1),
    "dp_barker_subsampled": (subsampled, 1),
    "dp_barker_minibatch": (minibatch, 1),
    "dp_penalty": (penalty, 1),
    "dp_penalty_one_component": (one_component, 1),
    "dp_penalty_guided": (guided, 1),
    "dp_penalty_minibatch": (penalty_minibatch, 1),
    "dp_hmc": (hmc, LONG),
    "dp_sgld": (sgld, 2),
    "dp_orbit": (orbit, CANDIDATES),
    "dp_hidden_centre": (hidden_centre, CANDIDATES),
}
"""Each algorithm of :mod:`dpmcmc.algorithms` with a guarantee, and how often a step reads a record."""
