"""Draws of a density that is a thin bent ridge: walkers in coordinates in which it is neither.

Coordinates x are D in the directions that records show, and θ − c in those that do not change the law of a record:
there the posterior of a hierarchy with much data is about as wide as long, and autoregressive moves about the walkers'
own normal (Neal 1999) go far. A move is carried back to θ by Newton's method, and its change of volume is part of the
density. That takes the scores of all simulated records many times; trajectories in θ take less where they can be had.

Reference: docs/theory/score-release.md, "Likelihoods that are not normal".
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices
from dpmcmc.scores.curve import SCORED_AT_ONCE, WIDEST, Density, coordinates, side
from dpmcmc.scores.mixing import Walked

WALKERS, ADAPTED, KEPT, APART = 64, 48, 48, 3  # chains, steps before draws, draws of each, steps between them
NEWTON, CLOSE = 4, 1e-6  # iterations, and how close they must come
RETURNED = 1e-4  # how close to its start the way back of a move must come
WIDER = 1.1  # the walkers' normal, in proposals
BEGIN = 0.5  # spread of the first walkers, over that of a normal likelihood
FORGETS = 0.1  # of what is known of the walkers' normal, in a step before draws
SHORTEST = 0.4  # of a move, where 1 is one that forgets where it came from


class Walker(NamedTuple):
    """A place, as parameters and as coordinates, with the derivative of the second and the log density of them."""

    theta: Array
    x: Array
    slope: Array
    log_density: Array


class Cloud(NamedTuple):
    """The walkers, and the normal that they are taken to have come from."""

    walkers: Walker
    mean: Array
    covariance: Array


def choose(first: Array, one: Walker, other: Walker) -> Walker:
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)


class Walk:
    """Walkers in coordinates x, for one model and density; traced once (:func:`_compiled`)."""

    def __init__(self, model: RaveledModel, density: Density) -> None:
        self.model, self.density, self.places = model, density, density.places

    def solved(self, guess: Array, wanted: Array) -> Array:
        """θ at coordinates ``wanted``, by Newton's method."""

        def newton(_: int, theta: Array) -> Array:
            x, slope = coordinates(self.model, self.places, theta)
            return theta + jnp.linalg.solve(slope, wanted - x)

        return jax.lax.fori_loop(0, NEWTON, newton, guess)

    def placed(self, guess: Array, wanted: Array) -> Walker:
        """At coordinates ``wanted``; of density 0 if Newton's method does not get there."""
        theta = self.solved(guess, wanted)
        x, slope = coordinates(self.model, self.places, theta)
        move = self.places.back @ x
        volume = jnp.linalg.slogdet(slope)[1]
        value = self.density.weighted @ move - move @ self.density.precision @ move / 2
        log_density = self.model.log_prior(theta) + value - volume
        arrived = (
            (side(self.places, slope) > 0)
            & jnp.all(jnp.abs(x - wanted) <= CLOSE * (1 + jnp.abs(wanted)))
            & jnp.isfinite(log_density)
        )
        return Walker(theta, x, slope, jnp.where(arrived, log_density, -jnp.inf))

    def moved(self, cloud: Cloud, walker: Walker, key: Array) -> tuple[Walker, Array]:
        """One autoregressive move about the cloud's normal, and the probability that it was taken with."""
        noise_key, length_key, coin_key = jax.random.split(key, 3)
        root = jnp.linalg.cholesky(WIDER**2 * cloud.covariance)
        length = jax.random.uniform(length_key, minval=SHORTEST)
        noise = root @ jax.random.normal(noise_key, walker.x.shape)
        wanted = cloud.mean + jnp.sqrt(1 - length**2) * (walker.x - cloud.mean) + length * noise
        guess = walker.theta + jnp.linalg.solve(walker.slope, wanted - walker.x)
        there = self.placed(guess, wanted)
        # a move that could not be made back would not leave the density as it is
        back = self.solved(there.theta + jnp.linalg.solve(there.slope, walker.x - there.x), walker.x)
        off = jnp.max(jnp.abs(self.places.linear @ (back - walker.theta)))
        returns = off <= RETURNED * (1 + jnp.max(jnp.abs(walker.x)))

        def log_normal(x: Array) -> Array:
            white = jax.scipy.linalg.solve_triangular(root, x - cloud.mean, lower=True)
            return -0.5 * white @ white

        ratio = there.log_density - walker.log_density + log_normal(walker.x) - log_normal(there.x)
        accepted = jnp.minimum(jnp.exp(jnp.nan_to_num(ratio, nan=-jnp.inf)), 1.0)
        accepted = jnp.where(returns, accepted, 0.0)
        taken = jax.random.uniform(coin_key) < accepted
        return choose(taken, there, walker), accepted

    def run(self, covariance: Array, key: Array) -> tuple[Array, Array]:
        """Draws (draw, walker, parameter), and the probabilities of all moves once the cloud's normal is fixed."""
        size = len(covariance)

        def step(cloud: Cloud, now: tuple[Array, Array]) -> tuple[Cloud, tuple[Array, Array]]:
            forgets, key = now
            keys = jax.random.split(key, WALKERS)
            walkers, accepted = jax.lax.map(
                lambda each: self.moved(cloud, *each), (cloud.walkers, keys), batch_size=SCORED_AT_ONCE
            )
            away = walkers.x - cloud.mean
            mean = cloud.mean + forgets * away.mean(axis=0)
            new = cloud.covariance + forgets * (away.T @ away / WALKERS - cloud.covariance)
            return Cloud(walkers, mean, new), (walkers.theta, jnp.isfinite(walkers.log_density) * accepted)

        start_key, key = jax.random.split(key)
        begin = BEGIN * jax.random.normal(start_key, (WALKERS, size)) @ jnp.linalg.cholesky(covariance).T
        guesses = self.places.centre + jnp.linalg.solve(self.places.linear, begin.T).T
        walkers = jax.vmap(lambda guess, wanted: self.placed(guess, wanted))(guesses, begin)
        home = self.placed(self.places.centre, jnp.zeros(size))
        walkers = jax.vmap(lambda walker: choose(jnp.isfinite(walker.log_density), walker, home))(walkers)
        cloud = Cloud(walkers, jnp.zeros(size), covariance)
        forgets = jnp.where(jnp.arange(ADAPTED + KEPT * APART) < ADAPTED, FORGETS, 0.0)
        _, (thetas, accepted) = jax.lax.scan(step, cloud, (forgets, jax.random.split(key, len(forgets))))
        return thetas[ADAPTED::APART], accepted[ADAPTED:]


@lru_cache(maxsize=16)
def _compiled(model: RaveledModel) -> Any:
    def run(density: Density, covariance: Array, key: Array) -> tuple[Array, Array]:
        return Walk(model, density).run(covariance, key)

    return jax.jit(run)


def sample(model: RaveledModel, density: Density, prior: np.ndarray, seed: int) -> Walked:
    """WALKERS × KEPT draws; ``prior`` is a precision, to begin with."""
    linear = np.asarray(density.places.linear)
    covariance = linear @ matrices.power(np.asarray(density.precision) + prior, -1, 1e-14) @ linear.T
    begin = jnp.asarray(matrices.positive(covariance, 1e-12, WIDEST))
    thetas, accepted = _compiled(model)(density, begin, jax.random.key(seed))
    return Walked(np.swapaxes(np.asarray(thetas), 0, 1), np.mean(np.asarray(accepted), axis=0))
