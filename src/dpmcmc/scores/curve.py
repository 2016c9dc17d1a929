"""A likelihood that is not normal over the draws, and draws from it: hierarchies, and noise as wide as the model bends.

A release says where the estimate without privacy is, as a displacement from its last centre c, with a normal error.
Written in the parameters that likelihood is normal only as far as the model is linear. So θ − c is replaced by

    D(θ) = G⁺ E_c[(w^a − 1) s]/a,      w = p(x|θ)/p(x|c),      G = E_c[ssᵀ],

which is θ − c nearby, and does not change where the law of a record does not. With a = 1 it is the mean score at c of
records from θ, in which noise is normal; with a = ⅓ it has the third order of the log likelihood. a is in between, as
the noise is to what records leave open.

Draws are made in coordinates x of which some are D, and the others directions that do not change the law of a record:
there the posterior of a hierarchy is no thin bent ridge, and autoregressive moves about the walkers' own normal
(Neal 1999) go far. A move is carried back to θ by Newton's method, and its change of volume is part of the density.

Reference: docs/theory/score-release.md, "Likelihoods that are not normal".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.base import PyTree
from dpmcmc.plain import Plain
from dpmcmc.plain_trees import PlainArray, PlainTree, packed, unpacked
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors

RECORDS = 1024
WALKERS, ADAPTED, KEPT, APART = 64, 48, 48, 2  # chains, steps before draws, draws of each, steps between them
NEWTON, CLOSE = 4, 1e-6  # iterations, and how close they must come
RETURNED = 1e-4  # how close to its start the way back of a move must come
WIDEST = 25.0  # variance of the first walkers, over that of the posterior
WIDER = 1.1  # the walkers' normal, in proposals
BEGIN = 0.5  # spread of the first walkers, over that of a normal likelihood
FORGETS = 0.1  # of what is known of the walkers' normal, in a step before draws
SHORTEST = 0.4  # of a move, where 1 is one that forgets where it came from
LEAST_ACCEPTED = 0.1
APART_AT_MOST = 0.5  # variance of the walkers' means over that within them: draws count as at least 128
UNTOLD = 0.1  # precision along a direction that simulated records do not show, beyond which they are too few
SAME = 1e-7  # information over all precision, along directions that do not change the law of a record


@dataclass(frozen=True)
class Curve(Plain):
    """Simulated records at the centre of a release, in units in which its precision is standard."""

    records: PlainArray | PlainTree
    unit: PlainArray  # symmetric
    power: float

    @classmethod
    def of(cls, records: PyTree, precision: np.ndarray, power: float) -> Curve | None:
        """Of records from the centre, where the posterior has that precision; None if they cannot be kept."""
        try:
            kept = packed(jax.device_get(jax.tree.map(lambda leaf: leaf[:RECORDS], records)))
        except TypeError:
            return None
        return cls(kept, PlainArray.of(matrices.power(precision, -0.5)), power)

    def places(self, model: RaveledModel, centre: np.ndarray) -> Places:
        """What D needs of them."""
        records, unit = jax.tree.map(jnp.asarray, unpacked(self.records)), self.unit.array()
        scores = np.asarray(vectors.on_public(model, vectors.scores)((jnp.asarray(centre), jnp.asarray(unit)), records))
        values, axes = np.linalg.eigh(scores.T @ scores / len(scores))
        told = values > SAME * max(values[-1], 1e-300)
        to_told = np.where(told, axes / np.where(told, values, 1.0), 0.0)
        to_rest = np.where(told, 0.0, np.linalg.inv(unit) @ axes)
        return Places(
            jnp.asarray(centre),
            records,
            jnp.asarray(scores @ to_told),
            jnp.asarray(to_rest.T),
            jnp.asarray(np.where(told, unit @ axes, 0.0)),
            jnp.asarray(np.linalg.inv(unit) @ axes).T,
            jnp.asarray(self.power),
        )


class Places(NamedTuple):
    """Records at a centre, and coordinates: x = mean of (w^a − 1)/a·``scores`` + ``rest``·(θ − c), D = ``back``·x."""

    centre: Array
    records: PyTree
    scores: Array  # of the records; 0 in coordinates that are not D
    rest: Array
    back: Array
    linear: Array  # x is about this times θ − c
    power: Array

    def show(self, precision: np.ndarray) -> bool:
        """Whether the records show every direction along which something is known to that precision."""
        rest = np.linalg.inv(np.asarray(self.linear))[:, np.any(np.asarray(self.rest) != 0, axis=1)]
        return bool(np.all(np.sum(rest * (precision @ rest), axis=0) < UNTOLD))


class Likelihood(NamedTuple):
    """−½ DᵀAD + aᵀD, of D = back·x."""

    precision: Array
    weighted: Array


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
    """Walkers in coordinates x, for one model, place and likelihood; traced once (:func:`_compiled`)."""

    def __init__(self, model: RaveledModel, places: Places, likelihood: Likelihood) -> None:
        self.model, self.places, self.likelihood = model, places, likelihood

    def coordinates(self, theta: Array) -> tuple[Array, Array]:
        """x and its derivative, which takes no more than the scores at θ."""
        ratios = vectors.log_ratios(self.model, theta, self.places.centre, self.places.records)
        scores = jnp.nan_to_num(vectors.scores(self.model, (theta, jnp.eye(len(theta))), self.places.records))
        count, powers = len(ratios), self.places.power * ratios
        x = jnp.expm1(powers) @ self.places.scores / (self.places.power * count) + self.places.rest @ (
            theta - self.places.centre
        )
        slopes = jnp.where(jnp.abs(ratios) < vectors.LARGEST, jnp.exp(powers), 0.0)
        return x, self.places.scores.T @ (slopes[:, None] * scores) / count + self.places.rest

    def solved(self, guess: Array, wanted: Array) -> Array:
        """θ at coordinates ``wanted``, by Newton's method."""

        def newton(_: int, theta: Array) -> Array:
            x, slope = self.coordinates(theta)
            return theta + jnp.linalg.solve(slope, wanted - x)

        return jax.lax.fori_loop(0, NEWTON, newton, guess)

    def placed(self, guess: Array, wanted: Array) -> Walker:
        """At coordinates ``wanted``; of density 0 if Newton's method does not get there."""
        theta = self.solved(guess, wanted)
        x, slope = self.coordinates(theta)
        move = self.places.back @ x
        side, volume = jnp.linalg.slogdet(slope)
        side *= jnp.linalg.slogdet(self.places.linear)[0]  # beyond a fold other parameters have the same coordinates
        value = self.likelihood.weighted @ move - move @ self.likelihood.precision @ move / 2
        log_density = self.model.log_prior(theta) + value - volume
        arrived = jnp.all(jnp.abs(x - wanted) <= CLOSE * (1 + jnp.abs(wanted))) & jnp.isfinite(log_density) & (side > 0)
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
            walkers, accepted = jax.vmap(lambda walker, key: self.moved(cloud, walker, key))(cloud.walkers, keys)
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
    def run(places: Places, likelihood: Likelihood, covariance: Array, key: Array) -> tuple[Array, Array]:
        return Walk(model, places, likelihood).run(covariance, key)

    return jax.jit(run)


def power_between(share: np.ndarray) -> float:
    """The power a: ⅓ if all of what is open is left open by the records, 1 if all is noise; by the mean ``share``.

    ``share`` is (Λ⁻¹ + V)⁻¹V, with noise Λ⁻¹ and V what records leave open.
    """
    return float(np.clip(1 - 2 / 3 * np.trace(share) / len(share), 1 / 3, 1))


class Drawn(NamedTuple):
    """Draws (walker, draw, parameter), and the share of each walker's moves that was accepted."""

    theta: np.ndarray
    accepted: np.ndarray

    @property
    def mixed(self) -> bool:
        """Whether the walkers got about: enough moves taken, none that never moved, none apart from the others."""
        within, between = self.theta.var(axis=1).mean(axis=0), self.theta.mean(axis=1).var(axis=0)
        moved = np.mean(self.accepted) > LEAST_ACCEPTED and np.all(self.accepted > 0)
        return bool(moved and np.all(np.isfinite(self.theta)) and np.all(between < APART_AT_MOST * within))


def sample(
    model: RaveledModel, places: Places, precision: np.ndarray, weighted: np.ndarray, prior: np.ndarray, seed: int
) -> Drawn:
    """Draws of prior·exp(−½ DᵀAD + aᵀD); ``prior`` is a precision, to begin with."""
    linear = np.asarray(places.linear)
    covariance = linear @ matrices.power(precision + prior, -1, 1e-14) @ linear.T
    begin = jnp.asarray(matrices.positive(covariance, 1e-12, WIDEST))
    likelihood = Likelihood(jnp.asarray(precision), jnp.asarray(weighted))
    thetas, accepted = _compiled(model)(places, likelihood, begin, jax.random.key(seed))
    return Drawn(np.swapaxes(np.asarray(thetas), 0, 1), np.mean(np.asarray(accepted), axis=0))
