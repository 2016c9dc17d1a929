"""The conjugate Gaussian: the one model whose posterior is known in closed form, tempered or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import positive, whole


@dataclass(frozen=True)
class GaussianMean:
    """The mean θ of records N(θ, ``noise_std``² I) with prior N(0, ``prior_std``² I), in ``dimension`` dimensions."""

    dimension: int = 1
    noise_std: float = 1.0
    prior_std: float = 10.0

    def __post_init__(self) -> None:
        whole("GaussianMean: dimension", self.dimension)
        positive("GaussianMean: noise_std", self.noise_std)
        positive("GaussianMean: prior_std", self.prior_std)

    @property
    def init(self) -> np.ndarray:
        return np.zeros(self.dimension)

    def log_prior(self, theta: Array) -> Array:
        return -0.5 * jnp.sum((theta / self.prior_std) ** 2)

    def sample_prior(self, key: Array) -> Array:
        """A draw of the prior."""
        return self.prior_std * jax.random.normal(key, (self.dimension,))

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        return -0.5 * jnp.sum(((record - theta) / self.noise_std) ** 2)

    def simulate(self, key: Array, theta: Array, n: int) -> Array:
        """n records at ``theta``."""
        return theta + self.noise_std * jax.random.normal(key, (n, self.dimension))

    def exact_posterior(self, records: Any, temperature: float = 1.0) -> tuple[np.ndarray, float]:
        """Mean and (common) variance of the posterior with the likelihood raised to ``temperature``. Not private."""
        records = np.asarray(records, np.float64).reshape(-1, self.dimension)
        precision = temperature * len(records) / self.noise_std**2 + 1 / self.prior_std**2
        return temperature * records.sum(0) / self.noise_std**2 / precision, 1 / precision
