"""Draws of a density that is much bent: Hamiltonian trajectories of many walkers, in the units of all of them.

A hierarchy's density is a bent ridge, wide where it is short and narrow where it is long, so that no one length of
steps fits: steps are of random length (Neal 2011, §5.4.2.2), with as many of them as go the same way. Units are those
of the walkers' own covariance, from one stretch of moves to the next; in the stretches that are kept nothing adapts.

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
from dpmcmc.scores.curve import SCORED_AT_ONCE, Density, log_density, unfolded
from dpmcmc.scores.mixing import Walked

WALKERS, MOVES = 64, 12  # of a stretch
ADAPTED, KEPT = 5, 4  # stretches; more are kept for many draws
TRAVEL = 3.0  # length of the longest trajectories, in the walkers' standard deviations
SHORTER = 5.0  # the longest steps over the shortest
MOST_STEPS = 48  # of a trajectory
FIRST_STEP, LONGEST, SHORTEST = 0.5, 1.0, 0.1  # step, the longest of a move; below the last the walkers get nowhere
WANTED, RATE = 0.8, 0.6  # acceptance, and how fast the logarithm of the step follows it
NARROWEST = 1e-9  # variance of walkers along one direction over that along another, in the units before


class Stretch(NamedTuple):
    """What comes of a stretch of moves: draws (move, walker, parameter), probabilities of moves, logs of steps."""

    theta: Array
    accepted: Array
    log_step: Array


class Walkers(NamedTuple):
    """Places (walker, parameter), with their log densities and the gradients of these."""

    theta: Array
    value: Array
    slope: Array


class Moves:
    """Trajectories for one model and density, in units ``root``; traced once (:func:`_compiled`)."""

    def __init__(self, model: RaveledModel, density: Density, root: Array) -> None:
        self.model, self.density, self.root = model, density, root

    def at(self, theta: Array) -> Walkers:
        value, slope = jax.vmap(jax.value_and_grad(lambda at: log_density(self.model, self.density, at)))(theta)
        return Walkers(theta, value, jnp.nan_to_num(slope))

    def whole(self, theta: Array) -> Array:
        return jax.lax.map(lambda at: unfolded(self.model, self.density.places, at), theta, batch_size=SCORED_AT_ONCE)

    def move(self, walkers: Walkers, longest: Array, key: Array) -> tuple[Walkers, Array]:
        """One trajectory of each walker, all of as many steps, and the probabilities that they were taken with."""
        speed_key, step_key, travel_key, coin_key = jax.random.split(key, 4)
        step = longest * SHORTER ** -jax.random.uniform(step_key)
        steps = TRAVEL * jax.random.uniform(travel_key, minval=0.5) / step
        steps = jnp.clip(jnp.round(steps), 1, MOST_STEPS).astype(int)
        speed = jax.random.normal(speed_key, walkers.theta.shape)

        def leap(_: int, state: tuple[Walkers, Array]) -> tuple[Walkers, Array]:
            here, speed = state
            speed = speed + step / 2 * here.slope @ self.root
            there = self.at(here.theta + step * speed @ self.root.T)
            return there, speed + step / 2 * there.slope @ self.root

        there, last = jax.lax.fori_loop(0, steps, leap, (walkers, speed))
        ratio = there.value - walkers.value + jnp.sum(speed**2 - last**2, axis=1) / 2
        accepted = jnp.exp(jnp.minimum(jnp.nan_to_num(ratio, nan=-jnp.inf), 0.0)) * self.whole(there.theta)
        taken = jax.random.uniform(coin_key, accepted.shape) < accepted
        rows = Walkers(taken[:, None], taken, taken[:, None])
        return jax.tree.map(jnp.where, rows, there, walkers), accepted

    def stretch(self, theta: Array, log_step: Array, rate: Array, key: Array) -> Stretch:
        """Moves, with a step that follows their acceptance at that rate."""

        def step(state: tuple[Walkers, Array], key: Array) -> tuple[tuple[Walkers, Array], Stretch]:
            walkers, log_step = state
            walkers, accepted = self.move(walkers, jnp.exp(log_step), key)
            after = jnp.minimum(log_step + rate * (jnp.mean(accepted) - WANTED), jnp.log(LONGEST))
            return (walkers, after), Stretch(walkers.theta, accepted, after)

        return jax.lax.scan(step, (self.at(theta), log_step), jax.random.split(key, MOVES))[1]


@lru_cache(maxsize=16)
def _compiled(model: RaveledModel) -> Any:
    def run(density: Density, root: Array, theta: Array, log_step: Array, rate: Array, key: Array) -> Stretch:
        return Moves(model, density, root).stretch(theta, log_step, rate, key)

    return jax.jit(run)


def sample(
    model: RaveledModel, density: Density, begin: np.ndarray, root: np.ndarray, count: int, seed: int
) -> Walked | None:
    """At least so many draws, by walkers that begin there and in those units; None if steps become too short."""
    run, kept = _compiled(model), max(KEPT, -(-count // (WALKERS * MOVES)))
    keys = jax.random.split(jax.random.key(seed), ADAPTED + kept)
    theta, log_step, rate = jnp.asarray(np.resize(begin, (WALKERS, len(root)))), np.log(FIRST_STEP), RATE
    found: list[Stretch] = []
    for stretch, key in enumerate(keys):
        rate = RATE if stretch < ADAPTED else 0.0
        made = jax.device_get(run(density, jnp.asarray(root), theta, jnp.asarray(log_step), jnp.asarray(rate), key))
        theta = jnp.asarray(made.theta[-1])
        if stretch < ADAPTED:
            log_step = float(np.mean(made.log_step[MOVES // 2 :]))
            root = _units(root, made.theta[MOVES // 2 :].reshape(-1, len(root)))
            if stretch > 0 and np.exp(log_step) < SHORTEST:
                return None
        else:
            found.append(made)
    thetas = np.concatenate([np.asarray(made.theta) for made in found])
    accepted = np.concatenate([np.asarray(made.accepted) for made in found])
    return Walked(np.swapaxes(thetas, 0, 1), accepted.mean(axis=0))


def _units(root: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """A root of the covariance of draws, that of a few along no direction being nothing."""
    white = np.linalg.solve(root, (theta - theta.mean(axis=0)).T)
    covariance = white @ white.T / len(theta)
    covariance = matrices.positive(covariance, max(NARROWEST * float(np.linalg.norm(covariance, 2)), 1e-300))
    return root @ np.linalg.cholesky(covariance)
