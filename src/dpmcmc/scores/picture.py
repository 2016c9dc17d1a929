"""What a model looks like at one place: scores of simulated records, information, and coordinates to release them in.

Real records may carry more or less information than simulated ones; ``ratio``, learnt from released curvatures, is
the real information in coordinates where the simulated one is standard. Simulated scores are stretched accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np

from dpmcmc.models.base import has
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.coordinates import ROWS, metric
from dpmcmc.scores.radius import tail_direction

PRIOR_DRAWS = 4096
PROBES = (0.0, 0.03, 1.0, 30.0, 1000.0)  # distances at which a log prior is asked for its curvature
NEXT_TO_NOTHING = 1e-10  # of the prior's precision, per record
OF_PRIOR = 0.01  # so much of the prior's precision joins the information where two are compared: some may have none


@dataclass(frozen=True, eq=False)
class Picture:
    """The model at ``theta``; everything is public. Information and precision are per record."""

    theta: np.ndarray
    information: np.ndarray  # of the real records, as far as is known
    prior_precision: np.ndarray  # not per record
    prior_slope: np.ndarray  # the gradient of the log prior
    stretch: np.ndarray  # simulated scores, times its transpose, have that information
    root: np.ndarray  # from scores to features
    scores: np.ndarray  # of simulated records, stretched
    features: np.ndarray  # the same, times the root
    harm: np.ndarray  # from features to standard deviations of the posterior

    @property
    def some_information(self) -> np.ndarray:
        """The information, with next to nothing of the prior's where there is none: it can be inverted."""
        return self.information + NEXT_TO_NOTHING * self.prior_precision

    @cached_property
    def tail(self) -> np.ndarray:
        """The direction of the longest features."""
        return tail_direction(self.features)

    def of_real(self, simulated: np.ndarray) -> np.ndarray:
        """The information elsewhere, from that of simulated records there, in proportion to what is known here."""
        found = np.nan_to_num(simulated, posinf=0, neginf=0)
        return matrices.symmetric(self.stretch @ found @ self.stretch.T)

    def posterior_covariance(self, records: float) -> np.ndarray:
        """Of the posterior without privacy, for so many records."""
        return matrices.power(records * self.information + self.prior_precision, -1)


class Simulated(NamedTuple):
    """What simulated records say of one place, whatever is known of real ones."""

    theta: np.ndarray
    scores: np.ndarray
    information: np.ndarray
    prior_precision: np.ndarray
    prior_slope: np.ndarray


def picture(simulated: Simulated, ratio: np.ndarray, n: int, root: np.ndarray | None = None) -> Picture:
    """The model at a place, with that ratio of real over simulated information; in coordinates ``root`` if given."""
    theta, precision = simulated.theta, simulated.prior_precision
    known = OF_PRIOR * precision / n
    lower = root_of(simulated.information + known)
    information = matrices.positive(lower @ ratio @ lower.T - known)
    stretch = lower @ matrices.power(ratio, 0.5) @ np.linalg.inv(lower)
    scores = simulated.scores @ stretch.T
    whitening = matrices.power(information + precision / n, -0.5)
    root = metric(scores[:ROWS] @ whitening) @ whitening if root is None else root
    harm = whitening @ np.linalg.inv(root)
    return Picture(theta, information, precision, simulated.prior_slope, stretch, root, scores, scores @ root.T, harm)


def simulated_information(model: RaveledModel, at: Any, records: Any) -> np.ndarray:
    """Minus the mean Hessian, or the mean square of scores where that is not one of a peak: equal in expectation."""
    mean = matrices.symmetric(np.nan_to_num(np.asarray(vectors.information(model)(at, records))))
    if np.linalg.eigvalsh(mean)[0] >= 0:
        return mean
    scores = np.asarray(vectors.on_public(model, vectors.scores)((at, np.eye(model.dimension)), records))
    return scores.T @ scores / len(scores)


class NormalPrior(NamedTuple):
    """What a search takes a prior for whose log is no quadratic."""

    mean: np.ndarray
    precision: np.ndarray


@lru_cache(maxsize=64)
def normal_prior(model: RaveledModel) -> NormalPrior | None:
    """The moments of the prior by draws of it; None if its log is a quadratic, or it cannot be drawn from.

    The highest density of a hierarchy, say, may be where its groups do not differ at all, and not where its mass is.
    """
    if not has(model.model, "sample_prior"):
        return None
    if _quadratic(model):
        return None
    key = jax.random.key(0)
    draws = np.asarray(
        jax.jit(jax.vmap(lambda key: model.ravel(model.model.sample_prior(key))))(jax.random.split(key, PRIOR_DRAWS))
    )
    if not np.all(np.isfinite(draws)):
        return None
    low, middle, high = np.quantile(draws, [0.1587, 0.5, 0.8413], axis=0)  # tails may have no variance
    spread = np.maximum((high - low) / 2, 1e-300)
    white = np.clip((draws - middle) / spread, -3, 3)
    return NormalPrior(middle, matrices.power(np.outer(spread, spread) * matrices.correlation(np.cov(white.T)), -1))


def _quadratic(model: RaveledModel) -> bool:
    """Whether the log prior has one Hessian everywhere: at 0, and at places near and far whose numbers all differ."""
    ways = np.random.default_rng(0).normal(size=(len(PROBES), model.dimension))
    first, *others = (
        np.asarray(vectors.prior_at(model)(length * way)[2]) for length, way in zip(PROBES, ways, strict=True)
    )
    scale = np.max(np.abs(first)) + 1e-300
    return all(np.all(np.abs(other - first) <= 1e-6 * scale) for other in others)


def prior_precision(model: RaveledModel, theta: np.ndarray) -> np.ndarray:
    """Minus the Hessian of the log prior, where it is one of a peak; or the inverse of its covariance."""
    normal = normal_prior(model)
    if normal is not None:
        return normal.precision
    return matrices.positive(-np.nan_to_num(np.asarray(vectors.prior_at(model)(theta)[2])))


def prior_at(model: RaveledModel, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Precision and slope of the prior at a place."""
    normal = normal_prior(model)
    if normal is not None:
        return normal.precision, normal.precision @ (normal.mean - theta)
    slope = np.nan_to_num(np.asarray(vectors.prior_at(model)(theta)[1]))
    return prior_precision(model, theta), slope


def root_of(matrix: np.ndarray) -> np.ndarray:
    """A triangular root of a symmetric matrix that may be singular to rounding."""
    scale = np.trace(matrix) / len(matrix)
    return np.linalg.cholesky(matrices.positive(matrix, 1e-10 * max(scale, 1e-280)))
