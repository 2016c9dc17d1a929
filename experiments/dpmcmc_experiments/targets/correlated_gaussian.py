"""The correlated Gaussian: a narrow ridge along the diagonal, with exact draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class CorrelatedGaussian:
    """The mean θ of records N(θ, Σ) with known ``covariance`` Σ and prior N(0, ``prior_std``² I).

    Reference: Räisä (2021), Section 5.1, with correlation 0.999 (the default).
    """

    covariance: Any = ((1.0, 0.999), (0.999, 1.0))
    prior_std: float = 100.0

    def __post_init__(self) -> None:
        matrix = np.asarray(self.covariance, np.float64)
        if matrix.ndim != 2 or not np.allclose(matrix, matrix.T) or not np.linalg.eigvalsh(matrix)[0] > 0:
            raise ValueError(f"CorrelatedGaussian: covariance must be symmetric and positive, got {self.covariance!r}")
        object.__setattr__(self, "covariance", tuple(map(tuple, matrix.tolist())))

    @property
    def dimension(self) -> int:
        return len(self.covariance)

    @property
    def truth(self) -> np.ndarray:
        """The mean that the published data set was drawn at."""
        return np.array([0.0, 3.0, *([0.0] * (self.dimension - 2))])

    @property
    def init(self) -> np.ndarray:
        return np.zeros(self.dimension)

    def log_prior(self, theta: Array) -> Array:
        return -0.5 * jnp.sum((theta / self.prior_std) ** 2)

    def sample_prior(self, key: Array) -> Array:
        """A draw of the prior."""
        return self.prior_std * jax.random.normal(key, (self.dimension,))

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        """Without the terms that do not depend on θ: one inner product a record."""
        weighted = jnp.asarray(np.linalg.inv(np.asarray(self.covariance)), theta.dtype) @ theta
        return record @ weighted - 0.5 * theta @ weighted

    def simulate(self, key: Array, theta: Any, n: int) -> Array:
        """n records at ``theta``."""
        root = np.linalg.cholesky(np.asarray(self.covariance))
        return theta + jax.random.normal(key, (n, self.dimension)) @ root.T

    def exact_draws(self, rng: np.random.Generator, records: Any, count: int, temperature: float = 1.0) -> np.ndarray:
        """Independent draws of the posterior with the likelihood raised to ``temperature``. Not private."""
        records = np.asarray(records, np.float64)
        one = np.linalg.inv(np.asarray(self.covariance))
        covariance = np.linalg.inv(temperature * len(records) * one + np.eye(self.dimension) / self.prior_std**2)
        mean = covariance @ one @ records.sum(0) * temperature
        return rng.multivariate_normal(mean, (covariance + covariance.T) / 2, count)
