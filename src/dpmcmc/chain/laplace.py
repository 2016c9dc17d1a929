"""Where the posterior of simulated or public records is, and how wide: what a rehearsed chain is measured against."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.models.base import ModelLike, PyTree

_STEPS, _HALVINGS = 60, 20
_ARRIVED = 1e-4  # squared length of the next step, in posterior standard deviations
_POINTS, _FEWEST_POINTS = 256, 64  # of a normal about the mode, with their mirror images; and effective ones of them
_APART = 4.0  # how many times the curvature may differ from the mean square of scores before it is not believed


class Fit(NamedTuple):
    """Means and standard deviations of the posterior about a mode, and the log density there; parameters raveled."""

    mean: np.ndarray
    std: np.ndarray
    log_density: float


class Laplace:
    """Fits of one model's posterior by scoring, compiled once for records of one shape.

    Steps are taken in the metric of the scores' mean square, which simulated records know even where a log likelihood
    has kinks; a normal about the mode has the curvature where the two agree. Its points, weighted, give the moments.
    """

    def __init__(self, model: ModelLike, temperature: float, theta: PyTree) -> None:
        self.real = all(jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating) for leaf in jax.tree.leaves(theta))
        self.temperature = temperature
        _, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), theta))

        def prior(flat: Any) -> Any:
            return jnp.asarray(model.log_prior(unravel(flat)), jnp.float64)

        def whole(flat: Any, records: PyTree) -> Any:
            one = jax.vmap(lambda record: model.log_likelihood(unravel(flat), record))
            return prior(flat) + temperature * jnp.sum(one(records), dtype=jnp.float64)

        def scores(flat: Any, records: PyTree) -> Any:
            score = jax.grad(lambda at, record: model.log_likelihood(unravel(at), record))
            return jax.vmap(score, in_axes=(None, 0))(flat, records)

        def slopes(flat: Any, records: PyTree) -> Any:
            each = scores(flat, records)
            outer = temperature * each.T @ each - jax.hessian(prior)(flat)
            return temperature * jnp.sum(each, axis=0) + jax.grad(prior)(flat), outer

        self._value, self._slopes, self._curvature = jax.jit(whole), jax.jit(slopes), jax.jit(jax.hessian(whole))
        self._values = jax.jit(lambda points, records: jax.lax.map(lambda flat: whole(flat, records), points))

    def fit(self, records: PyTree, theta: np.ndarray) -> Fit | None:
        """The posterior about the mode uphill of ``theta``; None where none was found, or it is far from normal."""
        if not self.real:
            return None
        with jax.enable_x64(True):
            here = np.asarray(theta, np.float64)
            value = float(self._value(here, records))
            for _ in range(_STEPS):
                gradient, metric = (np.asarray(part) for part in self._slopes(here, records))
                step = _solved(metric, gradient)
                if step is None or not np.isfinite(value):
                    return None
                if gradient @ step < _ARRIVED:
                    return self._at(here, records, value, metric)
                for halved in range(_HALVINGS):
                    there = here + step / 2**halved
                    higher = float(self._value(there, records))
                    if higher > value:
                        break
                else:
                    return None
                here, value = there, higher
        return None

    def _at(self, mode: np.ndarray, records: PyTree, value: float, metric: np.ndarray) -> Fit | None:
        curvature = -np.asarray(self._curvature(mode, records))
        root = _root(metric)
        if root is None:
            return None
        seen = np.linalg.eigvalsh(root.T @ curvature @ root) if np.all(np.isfinite(curvature)) else np.zeros(1)
        around = _root(curvature) if seen[0] > 1 / _APART and seen[-1] < _APART else root
        return None if around is None else self._moments(mode, around, records, value)

    def _moments(self, mode: np.ndarray, root: np.ndarray, records: PyTree, value: float) -> Fit | None:
        """Importance sampling from the normal: without it, a skew posterior's mean would be taken for its mode."""
        z = np.random.default_rng(0).standard_normal((_POINTS, len(mode)))
        z = np.concatenate([z, -z])
        points = mode + z @ root.T
        log_weights = self._log_densities(points, records) - value + np.sum(z**2, axis=1) / 2
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        if not 1 / np.sum(weights**2) > _FEWEST_POINTS:  # NaN included
            return None
        mean = weights @ points
        return Fit(mean, np.sqrt(weights @ (points - mean) ** 2), value)

    def _log_densities(self, points: np.ndarray, records: PyTree) -> np.ndarray:
        with jax.enable_x64(True):
            found = np.asarray(self._values(points, records), np.float64)
        return np.where(np.isnan(found), -np.inf, found)

    def drop(self, records: PyTree, draws: np.ndarray, fit: Fit) -> float:
        """How far below the fit's mode draws are in log density, on average: d/2 where they are the posterior's."""
        some = draws[:: -(-len(draws) // _FEWEST_POINTS)]
        return fit.log_density - float(np.mean(self._log_densities(some, records)))


def _root(matrix: np.ndarray) -> np.ndarray | None:
    """A with A Aᵀ the inverse of a positive definite matrix."""
    if not np.all(np.isfinite(matrix)):
        return None
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return vectors / np.sqrt(values) if values[0] > 1e-12 * values[-1] else None


def _solved(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray | None:
    root = _root(matrix)
    return None if root is None or not np.all(np.isfinite(vector)) else root @ (root.T @ vector)


def nearest(fits: list[Fit | None], mean: np.ndarray) -> Fit | None:
    """Of fits about as probable as the best, the one nearest to ``mean``: a chain may be at any of several like modes.

    A typical draw lies d/2 below its mode in log density.
    """
    found = [fit for fit in fits if fit is not None]
    if not found:
        return None
    best = max(fit.log_density for fit in found)
    like = [fit for fit in found if fit.log_density >= best - 1 - len(mean) / 2]
    return min(like, key=lambda fit: float(np.sum(((fit.mean - mean) / fit.std) ** 2)))
