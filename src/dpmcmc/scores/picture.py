"""What a model looks like at one place: scores of simulated records, information, and coordinates to release them in.

Real records may carry more or less information than simulated ones; ``ratio``, learnt from released curvatures, is
the real information in coordinates where the simulated one is standard. Simulated scores are stretched accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors

POWER = 6.0  # of the norm whose mean the coordinates keep small: between whitening (2) and the largest norm (infinity)
METRIC_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Picture:
    """The model at ``theta``; everything is public. Information and precision are per record."""

    theta: np.ndarray
    information: np.ndarray  # of the real records, as far as is known
    prior_precision: np.ndarray  # not per record
    stretch: np.ndarray  # simulated scores, times its transpose, have that information
    root: np.ndarray  # from scores to features
    scores: np.ndarray  # of simulated records, stretched
    features: np.ndarray  # the same, times the root
    harm: np.ndarray  # from features to standard deviations of the posterior

    def posterior_covariance(self, records: float) -> np.ndarray:
        """Of the posterior without privacy, for so many records."""
        return matrices.power(records * self.information + self.prior_precision, -1)


def picture(model: RaveledModel, theta: np.ndarray, x: Any, ratio: np.ndarray, n: int, key: Any) -> Picture:
    """The model at ``theta``, from records simulated with covariates ``x``."""
    at = jnp.asarray(theta)
    records = vectors.simulate(model)(key, at, x)
    scores = np.asarray(vectors.on_public(model, vectors.scores)((at, jnp.eye(len(theta))), records))
    simulated = simulated_information(model, at, records)
    precision = prior_precision(model, theta)
    lower = root_of(simulated + precision / n)
    information = matrices.positive(lower @ ratio @ lower.T - precision / n)
    stretch = lower @ matrices.power(ratio, 0.5) @ np.linalg.inv(lower)
    scores = scores @ stretch.T
    whitening = matrices.power(information + precision / n, -0.5)
    inner = metric(scores[:METRIC_ROWS] @ whitening)
    root = inner @ whitening
    return Picture(theta, information, precision, stretch, root, scores, scores @ root.T, np.linalg.inv(inner))


def simulated_information(model: RaveledModel, at: Any, records: Any) -> np.ndarray:
    """Minus the mean Hessian, or the mean square of scores where that is not one of a peak: equal in expectation."""
    mean = matrices.symmetric(np.nan_to_num(np.asarray(vectors.information(model)(at, records))))
    if np.linalg.eigvalsh(mean)[0] >= 0:
        return mean
    scores = np.asarray(vectors.on_public(model, vectors.scores)((at, jnp.eye(model.dimension)), records))
    return scores.T @ scores / len(scores)


def prior_precision(model: RaveledModel, theta: np.ndarray) -> np.ndarray:
    """Minus the Hessian of the log prior, where it is one of a peak."""
    return matrices.positive(-np.nan_to_num(np.asarray(vectors.prior_at(model)(jnp.asarray(theta))[2])))


def root_of(matrix: np.ndarray) -> np.ndarray:
    """A triangular root of a symmetric matrix that may be singular to rounding."""
    scale = np.trace(matrix) / len(matrix)
    return np.linalg.cholesky(matrices.positive(matrix, 1e-10 * max(scale, 1e-280)))


def metric(white: np.ndarray, rounds: int = 40) -> np.ndarray:
    """Coordinates T for white vectors z that make tr (TᵀT)⁻¹ (E‖Tz‖^q)^(2/q) small, with E‖Tz‖² = dimension.

    Directions in which few records stand far out get more noise than others, but less than whitening gives all. At the
    optimum (TᵀT)⁻² ∝ E ‖Tz‖^(q−2) zzᵀ; damped rounds of that (docs/theory/score-release.md, "Coordinates").
    """
    size = white.shape[1]
    inner = np.eye(size)
    for _ in range(rounds):
        norms = np.sqrt(np.maximum(np.sum((white @ inner) * white, axis=1), 1e-300))
        weights = (norms / max(norms.max(), 1e-300)) ** (POWER - 2)
        wanted = matrices.power((white * weights[:, None]).T @ white, -0.5, 1e-9)
        inner = inner * size / np.trace(inner) / 2 + wanted * size / np.trace(wanted) / 2
    root = matrices.power(inner, 0.5)
    return root * np.sqrt(size / max(np.mean(np.sum((white @ root) ** 2, axis=1)), 1e-300))
