"""From a wide public region to the posterior in a few releases, each over the region that the last one left.

A stage draws anchors from the region, builds a basis from records that the model simulates there, releases the feature
sums and samples the posterior they give. Early stages are crude and cheap: their posterior, raised to a quarter so that
it is twice as wide, is the next region. The last has most of the budget and gives the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.geometry import geometry
from dpmcmc.likelihood import smc
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.records import Flat
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import start

ANCHORS, SIMULATED = 256, 16_384
GROUPS, LEAST_PARTICLES = 32, 64
PILOT_GROUPS, PILOT_PARTICLES = 8, 192  # few and large, so that none is lost on the way from a wide region
WIDER = 1.5  # the normal that a stage's particles begin from, over the last stage's region
REACH = 3.0  # of a region without a prior to draw from, in standard deviations of one record's posterior
PILOT_POWER = 0.25  # of the posterior that is the next stage's region

Sums = Callable[[int, Basis], np.ndarray]
"""(stage, basis) → noisy sums of the records' features over the clip."""


@dataclass(frozen=True)
class Region:
    """A public distribution over raveled parameters to begin from."""

    draw: Callable[[Any, int], np.ndarray]
    is_prior: bool


def first_region(model: ModelLike, flat: Flat, example: PyTree | None) -> Region:
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
    shape = geometry(model, example)
    centre, root = np.asarray(flat.ravel(shape.theta)), REACH * shape.posterior_root(1.0)
    return Region(lambda key, count: centre + np.asarray(jax.random.normal(key, (count, len(centre)))) @ root.T, False)


def flat_model(model: ModelLike) -> Flat:
    """The model over raveled parameters."""
    with jax.enable_x64(True):
        return Flat(model, start(model, jax.random.key(0), np.dtype(np.float64)))


def run_stages(
    model: Flat,
    region: Region,
    sums: Sums,
    noise: tuple[float, ...],  # standard deviations over the clip
    n: int,
    temperature: float,
    particles: int,
    example: PyTree | None,
    key: Any,
) -> np.ndarray:
    """Draws (group, particle, parameter) of the posterior that knows its noise. Groups come in pairs with noise ±e."""
    key, first = jax.random.split(key)
    points = region.draw(first, PILOT_GROUPS * PILOT_PARTICLES)
    for stage, std in enumerate(noise):
        last = stage == len(noise) - 1
        keys = jax.random.split(jax.random.fold_in(key, stage), 6)
        points = points[np.isfinite(np.asarray(jax.vmap(model.log_prior)(jnp.asarray(points))))]
        if len(points) < ANCHORS:
            raise ValueError("the region to begin from lies mostly outside the prior's support; give another init=")
        anchors = points[np.asarray(jax.random.choice(keys[0], len(points), (ANCHORS,), replace=False))]
        records = simulate(model, points, example, keys[1:3])
        basis = Basis.build(_values(model), anchors, records, temperature * n, std / 2)
        noisy = sums(stage, basis)
        groups, count = (GROUPS, max(particles, LEAST_PARTICLES)) if last else (PILOT_GROUPS, PILOT_PARTICLES)
        half = np.asarray(jax.random.normal(keys[3], (groups // 2, basis.size)))
        imputed = noisy - std * np.stack([half, -half], axis=1).reshape(groups, -1)
        centre, root = points.mean(axis=0), _root(np.cov(points, rowvar=False).reshape(points.shape[1], -1))
        from_prior = region.is_prior and stage == 0
        if from_prior:
            begin = region.draw(keys[4], groups * count)
        else:
            begin = centre + np.asarray(jax.random.normal(keys[4], (groups * count, len(centre)))) @ (WIDER * root).T
        problem = smc.Problem(
            basis.simulated,
            jnp.asarray(basis.weights(n, imputed)),
            jnp.asarray(temperature * (1.0 if last else PILOT_POWER)),
            jnp.asarray(centre),
            jnp.asarray(WIDER * root),
            jnp.asarray(from_prior),
        )
        cloud = smc.sample(model, problem, begin.reshape(groups, count, -1), keys[5])
        points = cloud.reshape(-1, cloud.shape[-1])
    return cloud


@lru_cache(maxsize=16)
def _values(model: Flat) -> Any:
    return jax.jit(model.values)


def simulate(model: Flat, points: np.ndarray, example: PyTree | None, keys: Any) -> PyTree:
    """Public records like those to come: one at each of many points of the region, or drawn from ``example``."""
    if example is not None:
        available = jax.tree.leaves(example)[0].shape[0]
        chosen = np.asarray(jax.random.choice(keys[0], available, (SIMULATED,), replace=available < SIMULATED))
        return jax.tree.map(lambda leaf: np.asarray(leaf)[chosen], example)
    at = points[np.asarray(jax.random.choice(keys[0], len(points), (SIMULATED,)))]

    def one(k: Any, theta: Any) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[0], model.model.simulate(k, model.unravel(theta), 1))

    return jax.vmap(one)(jax.random.split(keys[1], SIMULATED), jnp.asarray(at))


def _root(covariance: np.ndarray) -> np.ndarray:
    """A triangular root of a covariance that may be singular to rounding."""
    diagonal = np.sqrt(np.maximum(np.diag(covariance), 1e-280))
    correlation = covariance / np.outer(diagonal, diagonal)
    return diagonal[:, None] * np.linalg.cholesky(correlation + 1e-10 * np.eye(len(diagonal)))
