"""Where a posterior may lie: public distributions over raveled parameters, to begin from and to keep to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpmcmc.geometry import geometry
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.raveled import RaveledModel

REACH = 3.0  # of a region without a prior to draw from, in standard deviations of one record's posterior


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


def first_region(model: ModelLike, raveled: RaveledModel, public_data: PyTree | None) -> Region:
    """Where ``init`` draws, if it does; else the prior, if the model can draw from it; else around ``init``."""
    sample_prior, init = getattr(model, "sample_prior", None), model.init
    if callable(init) or sample_prior is not None:
        one: Callable[[Any], PyTree] = init if callable(init) else sample_prior  # type: ignore[assignment]

        def draw(key: Any, count: int) -> np.ndarray:
            return np.stack([np.asarray(raveled.ravel(one(k))) for k in jax.random.split(key, count)])

        def draw_at_once(key: Any, count: int) -> np.ndarray:
            try:
                return np.asarray(jax.vmap(lambda k: raveled.ravel(one(k)))(jax.random.split(key, count)))
            except (TypeError, ValueError, jax.errors.JAXTypeError):  # a function of keys that JAX cannot trace
                return draw(key, count)

        return Region(draw_at_once, not callable(init))
    shape = geometry(model, public_data)
    values, axes = np.linalg.eigh(shape.fisher + shape.prior_precision)
    known = values[values > 1e-12 * values[-1]]
    if not len(known):
        raise ValueError("at init no parameter has an effect on the records, and none a prior; give another init=")
    # a direction that init knows nothing about is as wide as the widest that it knows of
    centre, root = np.asarray(raveled.ravel(shape.theta)), REACH * axes / np.sqrt(np.maximum(values, known[0]))
    return Region(lambda key, count: centre + np.asarray(jax.random.normal(key, (count, len(centre)))) @ root.T, False)


def root_of(covariance: np.ndarray) -> np.ndarray:
    """A triangular root of a covariance that may be singular to rounding."""
    diagonal = np.sqrt(np.maximum(np.diag(covariance), 1e-280))
    correlation = covariance / np.outer(diagonal, diagonal)
    return diagonal[:, None] * np.linalg.cholesky(correlation + 1e-10 * np.eye(len(diagonal)))
