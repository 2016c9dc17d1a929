"""Free draws: a sequential Monte Carlo sampler for posteriors whose likelihood is already released.

Nothing here reads a record, so computing is the only cost. Particles come in groups, each group with a likelihood of
its own: the released sums less one draw of the noise that was added to them. Pooled, the groups are a posterior that
knows about the noise (docs/theory/likelihood-release.md, Proposition 3).

Reference: Del Moral, Doucet & Jasra (2006), tempering with adaptive steps; Neal (1999) for the autoregressive moves.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.base import PyTree
from dpmcmc.raveled import RaveledModel

LEAST_ESS = 0.5  # of a group's particles, after a step in temperature
MOST_TEMPERATURES = 400
MOVES, LAST_MOVES = 16, 64


class Cloud(NamedTuple):
    """Particles (group, particle, parameter) with the logs of what they started from and of what they go to."""

    theta: Array
    start: Array
    goal: Array


class Problem(NamedTuple):
    """exp(``power``·Σ ``weights``·log p(``records``|θ))·prior(θ), one row of weights a group, begun from a normal.

    Nothing lies beyond ``reach``; particles may begin evenly within it.
    """

    records: PyTree
    weights: Array  # (group, record)
    power: Array
    centre: Array
    root: Array
    reach: Array  # distance from the centre, in units of the normal, beyond which the likelihood is not trusted
    from_prior: Array  # whether particles begin at draws of the prior instead of the normal
    evenly: Array  # whether they begin evenly within reach


def sample(model: RaveledModel, problem: Problem, theta: np.ndarray, key: Array) -> tuple[np.ndarray, bool]:
    """Particles of the goal, from ``theta`` (group, particle, parameter) at the start, and whether they got there.

    After ``MOST_TEMPERATURES`` the rest of the way is taken at once, and the particles need not be draws of the goal.
    """
    begin, next_temperature, moved = _compiled(model)
    cloud = begin(problem, jnp.asarray(theta))
    reached, temperatures, arrived = 0.0, 0, True
    while reached < 1.0:
        key, shrink_key, move_key = jax.random.split(key, 3)
        step, cloud = next_temperature(cloud, 1.0 - reached, shrink_key)
        reached = min(1.0, reached + max(float(step), 1e-9))
        temperatures += 1
        if temperatures == MOST_TEMPERATURES and reached < 1.0:
            reached, arrived = 1.0, False
        for part in range(LAST_MOVES // MOVES if reached == 1.0 else 1):
            cloud = moved(problem, cloud, reached, jax.random.fold_in(move_key, part))
    return np.asarray(cloud.theta), arrived


@lru_cache(maxsize=16)
def _compiled(model: RaveledModel) -> Any:
    """:func:`evaluate`, :func:`shrink` and :func:`move`, compiled once for equal models."""
    return jax.jit(partial(evaluate, model)), jax.jit(shrink), jax.jit(partial(move, model))


def evaluate(model: RaveledModel, problem: Problem, theta: Array) -> Cloud:
    """Particles with what they start from and what they go to."""
    groups, particles, dimension = theta.shape
    flat = theta.reshape(-1, dimension)
    values = model.values(flat, problem.records).reshape(-1, groups, particles)
    log_likelihood = jnp.einsum("mgp,gm->gp", values, problem.weights)
    prior = jax.vmap(model.log_prior)(flat).reshape(groups, particles)
    white = jax.scipy.linalg.solve_triangular(problem.root, (flat - problem.centre).T, lower=True)
    squares = jnp.sum(white**2, axis=0).reshape(groups, particles)
    goal = prior + problem.power * log_likelihood
    within = squares <= problem.reach**2
    even = jnp.where(within, 0.0, -jnp.inf)
    start = jnp.where(problem.evenly, even, jnp.where(problem.from_prior, prior, -0.5 * squares))
    return Cloud(theta, _log(start), _log(jnp.where(within, goal, -jnp.inf)))


def shrink(cloud: Cloud, left: Array, key: Array) -> tuple[Array, Cloud]:
    """The next step in temperature, and the particles chosen again by their weights for it."""
    rise = cloud.goal - cloud.start
    rise = rise - jnp.max(rise, axis=1, keepdims=True)

    def enough(step: Array) -> Array:
        weights = jnp.exp(step * rise)
        ess = jnp.sum(weights, axis=1) ** 2 / jnp.sum(weights**2, axis=1)
        return jnp.quantile(ess, 0.1) >= LEAST_ESS * rise.shape[1]

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        fits = enough(middle)
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle)

    low, high = jax.lax.fori_loop(0, 50, halve, (jnp.zeros(()), jnp.asarray(left, jnp.float64)))
    step = jnp.where(enough(jnp.asarray(left)), left, jnp.where(low > 0, low, high))
    weights = jnp.exp(step * rise)
    ends = jnp.cumsum(weights, axis=1)
    # systematic resampling, group by group
    count = rise.shape[1]
    ticks = (jnp.arange(count) + jax.random.uniform(key, (rise.shape[0], 1))) / count * ends[:, -1:]
    chosen = jnp.minimum(jax.vmap(jnp.searchsorted)(ends, ticks), count - 1)
    return step, jax.tree.map(
        lambda leaf: jnp.take_along_axis(leaf, chosen.reshape(chosen.shape + (1,) * (leaf.ndim - 2)), axis=1), cloud
    )


def move(model: RaveledModel, problem: Problem, cloud: Cloud, reached: Array, key: Array) -> Cloud:
    """Metropolis moves that leave start^(1 − reached)·goal^reached as it is, made from where the particles are."""
    groups, particles, dimension = cloud.theta.shape
    centres = jnp.mean(cloud.theta, axis=1, keepdims=True)
    away = (cloud.theta - centres).reshape(-1, dimension)
    covariance = away.T @ away / len(away)
    diagonal = jnp.diag(covariance) + 1e-280
    values, axes = jnp.linalg.eigh(covariance / jnp.sqrt(jnp.outer(diagonal, diagonal)))
    axes = jnp.sqrt(diagonal)[:, None] * axes * jnp.sqrt(jnp.maximum(values, 1e-14))  # axes axesᵀ = covariance
    inverse = jnp.linalg.inv(axes)

    def step(cloud: Cloud, now: tuple[Array, Array]) -> tuple[Cloud, None]:
        kind, key = now
        z_key, scale_key, axis_key, coin_key = jax.random.split(key, 4)
        z = jax.random.normal(z_key, cloud.theta.shape)
        scale = jax.random.uniform(scale_key, (groups, particles, 1))
        x = (cloud.theta - centres) @ inverse.T / 1.1
        # 0: autoregressive about the particles' own normal; walks of all sizes, 1: in all directions,
        # 2: along one axis of the particles, 3: in one parameter
        keep = jnp.sqrt(1 - jnp.maximum(scale, 0.1) ** 2) * (scale < 0.6)
        fresh = centres + 1.1 * (keep * x + jnp.sqrt(1 - keep**2) * z) @ axes.T
        one = jax.nn.one_hot(jax.random.randint(axis_key, (groups, particles), 0, dimension), dimension)
        spread = jnp.where(kind == 1, 2.38 / np.sqrt(dimension), 2.38 * one)
        jump = jnp.where(kind == 3, 2.38 * one * z * jnp.sqrt(diagonal), (spread * z) @ axes.T)
        walk = cloud.theta + 10 ** (-3 * scale) * jump
        new = evaluate(model, problem, jnp.where(kind == 0, fresh, walk))
        there = (new.theta - centres) @ inverse.T / 1.1
        back = jnp.where(kind == 0, 0.5 * (jnp.sum(there**2, axis=2) - jnp.sum(x**2, axis=2)), 0.0)
        ratio = (1 - reached) * (new.start - cloud.start) + reached * (new.goal - cloud.goal) + back
        taken = jnp.log(jax.random.uniform(coin_key, ratio.shape)) < ratio
        keep_new = jax.tree.map(
            lambda a, b: jnp.where(taken.reshape(taken.shape + (1,) * (a.ndim - 2)), a, b), new, cloud
        )
        return keep_new, None

    kinds = jnp.arange(MOVES) % 4
    cloud, _ = jax.lax.scan(step, cloud, (kinds, jax.random.split(key, MOVES)))
    return cloud


def _log(density: Array) -> Array:
    """−1e300 for densities that are zero or NaN, so that differences of logs are numbers."""
    return jnp.where(jnp.isfinite(density), density, -1e300)
