"""Three posteriors that are known exactly: by formula, or by quadrature on a grid."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

import dpmcmc as dp


@dataclass(frozen=True)
class Problem:
    """A model, records, a sensible step, a slope that no record's log likelihood exceeds where the posterior is."""

    name: str
    model: Any
    records: Any
    step: float
    slope: float

    def exact(self, count: int, temperature: float = 1.0, seed: int = 0) -> np.ndarray:
        """Exact draws of the posterior at a temperature."""
        return _by_quadrature(self.name, count, temperature, seed)

    def moments(self, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the posterior."""
        points, weights = _grid(self.name, temperature)
        mean = weights @ points
        return mean, np.sqrt(weights @ (points - mean) ** 2)


def _logistic_model():
    return dp.Model(
        log_prior=lambda theta: -0.5 * (theta**2).sum() / 4,
        log_likelihood=lambda theta, r: r["y"] * (r["x"] @ theta) - jax.numpy.logaddexp(0.0, r["x"] @ theta),
        init=np.zeros(2),
        log_ratio_bound=lambda here, there: 1.5 * jax.numpy.sqrt(((there - here) ** 2).sum()),
    )


@lru_cache
def problem(name: str, n: int = 100) -> Problem:
    rng = np.random.default_rng(7)
    if name == "gaussian":
        return Problem(name, dp.models.GaussianMean(2), rng.normal([0.2, -0.1], 1.0, (n, 2)), step=0.1, slope=3.5)
    if name == "mixture":
        centre = 1.0 * rng.integers(2, size=n)
        return Problem(name, dp.models.TiedMixture(), centre + np.sqrt(2) * rng.normal(size=n), step=0.5, slope=3.5)
    x = np.c_[np.ones(n), rng.uniform(-1, 1, n)]
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.5 + x[:, 1])))).astype(float)
    return Problem(name, _logistic_model(), {"x": x, "y": y}, step=0.25, slope=1.5)


PROBLEMS = ("gaussian", "mixture", "logistic")


@lru_cache
def _grid(name: str, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Points and normalised weights of a fine grid over the posterior."""
    this = problem(name)
    wide = {"gaussian": (-1.2, 1.2), "mixture": (-3.5, 4.5), "logistic": (-3.0, 5.0)}[name]
    axis = np.linspace(*wide, 241)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    with jax.enable_x64(True):
        one = jax.vmap(this.model.log_likelihood, (None, 0))
        log_target = np.asarray(
            jax.lax.map(
                lambda t: this.model.log_prior(t) + temperature * one(t, this.records).sum(), points, batch_size=500
            )
        )
    weights = np.exp(log_target - log_target.max())
    return points, weights / weights.sum()


def _by_quadrature(name: str, count: int, temperature: float, seed: int) -> np.ndarray:
    points, weights = _grid(name, temperature)
    rng = np.random.default_rng(seed)
    spacing = np.max(np.diff(np.unique(points[:, 0])))
    chosen = points[rng.choice(len(points), count, p=weights)]
    return chosen + rng.uniform(-0.5, 0.5, chosen.shape) * spacing  # the cell, not its centre
