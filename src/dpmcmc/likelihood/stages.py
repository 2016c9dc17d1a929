"""From a wide public region to the posterior in a few releases, each over the region that the last one left.

A stage draws anchors from the region, builds a basis from records that the model simulates there, releases the feature
sums and samples the posterior they give. Early stages are crude and cheap: their posterior, raised to a quarter so that
it is twice as wide, is the next region. The last has most of the budget and gives the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.geometry import geometry
from dpmcmc.likelihood import smc
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.records import Flat
from dpmcmc.models.base import ModelLike, PyTree, Started
from dpmcmc.posterior import start

ANCHORS, SIMULATED = 256, 16_384
GROUPS, LEAST_PARTICLES = 32, 64
PILOT_GROUPS, PILOT_PARTICLES = 8, 192  # few and large, so that none is lost on the way from a wide region
WIDER = 1.5  # the normal that a stage's particles begin from, over the last stage's region
REACH = 3.0  # of a region without a prior to draw from, in standard deviations of one record's posterior
PILOT_POWER = 0.25  # of the posterior that is the next stage's region
MOST_NATS = 1e4  # a pilot's likelihood spans over its region: about a hundred times narrower, no more at a time
TRUSTED = 0.95  # share of the region within which an incomplete basis is used at all
NOISE_SPREAD = 1.5  # how much of the noise, in standard deviations, a normal region allows for
TRIALS, TRIAL_RECORDS = 8, 2048  # simulated data sets that tell what an incomplete basis misses
MARGIN = 2.0  # real records may be less well caught than simulated ones

Simulator = Callable[[Any, PyTree, int], PyTree]
"""(key, θ, n) → n public records at θ."""


class RecordsLike(NamedTuple):
    """Public stand-ins for the records: how to simulate them, and how far to trust that.

    ``headroom``: real records stand out more, so clip so much later. ``confined``: keep to the regions from the start.
    """

    simulate: Simulator
    headroom: float = 1.0
    confined: bool = False


Sums = Callable[[int, Basis], np.ndarray]
"""(stage, basis) → noisy sums of the records' features over the clip."""


@dataclass(frozen=True)
class Region:
    """A public distribution over raveled parameters to begin from."""

    draw: Callable[[Any, int], np.ndarray]
    is_prior: bool


@dataclass(frozen=True)
class Normal:
    """A normal distribution, and the ellipsoids about it."""

    centre: np.ndarray
    root: np.ndarray

    def draw(self, key: Any, count: int) -> np.ndarray:
        return self.centre + np.asarray(jax.random.normal(key, (count, len(self.centre)))) @ self.root.T

    def distances(self, points: np.ndarray) -> np.ndarray:
        """From the centre, in standard deviations."""
        return np.linalg.norm(np.linalg.solve(self.root, (points - self.centre).T), axis=0)

    def evenly(self, key: Any, count: int, reach: float) -> np.ndarray:
        """Points drawn evenly within a distance."""
        away, out = jax.random.split(key)
        z = np.asarray(jax.random.normal(away, (count, len(self.centre))))
        radius = reach * np.asarray(jax.random.uniform(out, (count, 1))) ** (1 / len(self.centre))
        return self.centre + (radius * z / np.linalg.norm(z, axis=1, keepdims=True)) @ self.root.T


class Draws(NamedTuple):
    """Draws of the posterior by group, and what one standard deviation of each noise does to their log likelihood."""

    theta: np.ndarray  # (group, particle, parameter)
    effects: np.ndarray  # (group, particle, component)
    strayed: int = 0  # stages whose particles did not get to their posterior step by step

    def normal(self) -> Normal:
        """Where the posterior is, ``NOISE_SPREAD`` times the noise included, as a normal.

        The groups' means would tell too, but they are few: of their covariance the narrowest directions are far too
        narrow, and a region must not be. The linear response to the noise (``plan.predicted``) uses all particles.
        """
        theta, effects = (
            (x - x.mean(axis=1, keepdims=True)).reshape(-1, x.shape[-1]) for x in (self.theta, self.effects)
        )
        within, response = theta.T @ theta / len(theta), theta.T @ effects / len(theta)
        return Normal(self.theta.mean(axis=(0, 1)), _root(within + NOISE_SPREAD**2 * response @ response.T))


def first_region(model: ModelLike, flat: Flat, public_data: PyTree | None) -> Region:
    """Where ``init`` draws, if it does; else the prior, if the model can draw from it; else around ``init``."""
    sample_prior, init = getattr(model, "sample_prior", None), model.init
    if callable(init) or sample_prior is not None:
        one: Callable[[Any], PyTree] = init if callable(init) else sample_prior  # type: ignore[assignment]

        def draw(key: Any, count: int) -> np.ndarray:
            return np.stack([np.asarray(flat.ravel(one(k))) for k in jax.random.split(key, count)])

        def draw_at_once(key: Any, count: int) -> np.ndarray:
            try:
                return np.asarray(jax.vmap(lambda k: flat.ravel(one(k)))(jax.random.split(key, count)))
            except (TypeError, ValueError, jax.errors.JAXTypeError):  # a function of keys that JAX cannot trace
                return draw(key, count)

        return Region(draw_at_once, not callable(init))
    shape = geometry(model, public_data)
    values, axes = np.linalg.eigh(shape.fisher + shape.prior_precision)
    known = values[values > 1e-12 * values[-1]]
    if not len(known):
        raise ValueError("at init no parameter has an effect on the records, and none a prior; give another init=")
    # a direction that init knows nothing about is as wide as the widest that it knows of
    centre, root = np.asarray(flat.ravel(shape.theta)), REACH * axes / np.sqrt(np.maximum(values, known[0]))
    return Region(lambda key, count: centre + np.asarray(jax.random.normal(key, (count, len(centre)))) @ root.T, False)


def flat_model(model: ModelLike) -> Flat:
    """The model over raveled parameters."""
    inner = model.model if isinstance(model, Started) else model  # programs are compiled once, whatever the start
    with jax.enable_x64(True):
        return Flat(inner, start(model, jax.random.key(0), np.dtype(np.float64)))


def run_stages(
    model: Flat,
    region: Region,
    sums: Sums,
    noise: tuple[float, ...],  # standard deviations over the clip
    n: int,
    temperature: float,
    particles: int,
    records_like: RecordsLike,
    key: Any,
) -> Draws:
    """Draws of the posterior that knows its noise. Groups come in pairs with noise ±e."""
    key, first = jax.random.split(key)
    points, confined = region.draw(first, PILOT_GROUPS * PILOT_PARTICLES), records_like.confined
    strayed = 0
    for stage, std in enumerate(noise):
        last = stage == len(noise) - 1
        keys = jax.random.split(jax.random.fold_in(key, stage), 6)
        points = points[np.isfinite(np.asarray(jax.vmap(model.log_prior)(jnp.asarray(points))))]
        if len(points) < ANCHORS:
            paid = "" if stage == 0 else f"; the budget of {stage} of {len(noise)} stages is spent"
            raise ValueError(f"the region to begin from is mostly outside the prior's support; give another init{paid}")
        anchors = points[np.asarray(jax.random.choice(keys[0], len(points), (ANCHORS,), replace=False))]
        records = simulate(model, points, records_like.simulate, keys[1:3])
        basis = Basis.build(_values(model), anchors, records, temperature * n, std / 2)
        basis = replace(basis, clip=records_like.headroom * basis.clip)
        noisy = sums(stage, basis)
        confined |= not basis.whole
        groups, count = (GROUPS, LEAST_PARTICLES) if confined else (PILOT_GROUPS, PILOT_PARTICLES)
        if last:
            groups, count = GROUPS, max(particles, LEAST_PARTICLES)
        half = np.asarray(jax.random.normal(keys[3], (groups // 2, basis.size)))
        imputed = noisy - std * np.stack([half, -half], axis=1).reshape(groups, -1)
        centre, root = points.mean(axis=0), _root(np.cov(points, rowvar=False).reshape(points.shape[1], -1))
        normal = Normal(centre, WIDER * root)
        reach, missed = np.inf, 0.0
        if confined:
            reach = float(np.quantile(normal.distances(points), TRUSTED))
            missed = missed_nats(
                model, basis, points, n * temperature, records_like.simulate, jax.random.fold_in(keys[4], 1)
            )
        from_prior = region.is_prior and stage == 0
        if reach < np.inf:
            begin = normal.evenly(keys[4], groups * count, reach)
        elif from_prior:
            begin = region.draw(keys[4], groups * count)
        else:
            begin = normal.draw(keys[4], groups * count)
        steepest = n * temperature * basis.scales[0]
        power = 1.0 if last else min(PILOT_POWER, 1 / max(MARGIN * missed, 1e-300), MOST_NATS / steepest)
        problem = smc.Problem(
            basis.simulated,
            jnp.asarray(basis.weights(n, imputed)),
            jnp.asarray(temperature * power),
            jnp.asarray(normal.centre),
            jnp.asarray(normal.root),
            jnp.asarray(reach),
            jnp.asarray(from_prior),
        )
        cloud, arrived = smc.sample(model, problem, begin.reshape(groups, count, -1), keys[5])
        points = cloud.reshape(-1, cloud.shape[-1])
        strayed += not arrived
        if last or records_like.confined:
            values = np.asarray(_values(model)(points, basis.simulated))
            effects = temperature * power * values.T @ basis.weights(0, std * np.eye(basis.size)).T
            draws = Draws(cloud, effects.reshape(*cloud.shape[:2], -1), strayed)
        if records_like.confined and not last:
            points = draws.normal().draw(keys[5], len(points))
    return draws


@lru_cache(maxsize=16)
def _values(model: Flat) -> Any:
    return jax.jit(model.values)


def from_public(public_data: PyTree) -> Simulator:
    """Records drawn from public ones, whatever the parameters."""
    available = jax.tree.leaves(public_data)[0].shape[0]

    def draw(key: Any, theta: PyTree, n: int) -> PyTree:
        chosen = jax.random.randint(key, (n,), 0, available)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], public_data)

    return draw


def simulate(model: Flat, points: np.ndarray, simulator: Simulator, keys: Any) -> PyTree:
    """Public records like those to come: one at each of many points of the region."""
    at = points[np.asarray(jax.random.choice(keys[0], len(points), (SIMULATED,)))]

    def one(k: Any, theta: Any) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[0], simulator(k, model.unravel(theta), 1))

    return jax.vmap(one)(jax.random.split(keys[1], SIMULATED), jnp.asarray(at))


def missed_nats(model: Flat, basis: Basis, points: np.ndarray, records: float, simulator: Simulator, key: Any) -> float:
    """How far off (root mean square, in nats) the basis is for the log likelihood of so many ``records``.

    Data sets simulated at points of the region, between anchors as at them: what components left out would have told.
    """
    where, seeds = jax.random.split(key)
    chosen = points[np.asarray(jax.random.choice(where, len(points), (TRIALS,), replace=False))]
    off = []
    for theta, seed in zip(chosen, jax.random.split(seeds, TRIALS), strict=True):
        data = simulator(seed, model.unravel(jnp.asarray(theta)), TRIAL_RECORDS)
        at_anchors, between = (
            np.asarray(_values(model)(at, data)) for at in (basis.anchors, points[: len(points) // 2])
        )
        features = (at_anchors - at_anchors.mean(axis=1, keepdims=True) - basis.mean) @ basis.projection
        scale = records / TRIAL_RECORDS
        weights = basis.weights(1, features.sum(axis=0) / TRIAL_RECORDS) * records
        released = np.asarray(_values(model)(points[: len(points) // 2], basis.simulated)).T @ weights
        off.append(np.std(released - scale * between.sum(axis=0)))
    return float(np.sqrt(np.mean(np.square(off))))


def _root(covariance: np.ndarray) -> np.ndarray:
    """A triangular root of a covariance that may be singular to rounding."""
    diagonal = np.sqrt(np.maximum(np.diag(covariance), 1e-280))
    correlation = covariance / np.outer(diagonal, diagonal)
    return diagonal[:, None] * np.linalg.cholesky(correlation + 1e-10 * np.eye(len(diagonal)))
