"""The banana: a normal posterior bent along a parabola, with exact draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class Banana:
    """x₁ ~ N(θ₁, 20), x₂ ~ N(θ₂ + a θ₁², 2.5), xⱼ ~ N(θⱼ, 1) for j > 2, with a = ``curvature``.

    Prior: θ₁, θ₂ + a θ₁² and the other θⱼ are N(0, ``prior_variance``). In the coordinates (θ₁, θ₂ + a θ₁², θ₃, ...)
    the posterior, tempered or not, is normal; so exact draws are at hand. ``curvature`` 0 is a normal model.

    Reference: Räisä (2021), Section 5.1 and Table 5.1; Tran et al. (2016).
    """

    dimension: int = 2
    curvature: float = 20.0
    prior_variance: float = 1000.0

    def __post_init__(self) -> None:
        if self.dimension < 2 or not self.prior_variance > 0:
            raise ValueError(f"Banana needs dimension ≥ 2 and a positive prior variance, got {self!r}")

    @property
    def variances(self) -> np.ndarray:
        """Variances of the coordinates of one record."""
        return np.array([20.0, 2.5, *([1.0] * (self.dimension - 2))])

    @property
    def truth(self) -> np.ndarray:
        """The parameters that the published data sets were drawn at."""
        return np.array([0.0, 3.0, *([0.0] * (self.dimension - 2))])

    @property
    def init(self) -> np.ndarray:
        return np.zeros(self.dimension)

    def straight(self, theta: Any) -> Any:
        """(θ₁, θ₂ + a θ₁², θ₃, ...): the mean of a record."""
        return theta + self.curvature * theta[0] ** 2 * np.eye(1, self.dimension, 1, dtype=theta.dtype)[0]

    def log_prior(self, theta: Array) -> Array:
        return -0.5 * jnp.sum(self.straight(theta) ** 2) / self.prior_variance

    def sample_prior(self, key: Array) -> Array:
        """A draw of the prior."""
        straight = jnp.sqrt(self.prior_variance) * jax.random.normal(key, (self.dimension,))
        return straight.at[1].add(-self.curvature * straight[0] ** 2)

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        """Without the terms that do not depend on θ: one inner product a record."""
        mean = self.straight(theta)
        weighted = mean / jnp.asarray(self.variances, mean.dtype)
        return record @ weighted - 0.5 * mean @ weighted

    def simulate(self, key: Array, theta: Any, n: int) -> Array:
        """n records at ``theta``."""
        mean = self.straight(jnp.asarray(theta))
        return mean + jnp.sqrt(jnp.asarray(self.variances)) * jax.random.normal(key, (n, self.dimension))

    def exact_draws(self, rng: np.random.Generator, records: Any, count: int, temperature: float = 1.0) -> np.ndarray:
        """Independent draws of the posterior with the likelihood raised to ``temperature``. Not private."""
        records = np.asarray(records, np.float64)
        precision = temperature * len(records) / self.variances + 1 / self.prior_variance
        mean = temperature * records.sum(0) / self.variances / precision
        draws = mean + rng.normal(size=(count, self.dimension)) / np.sqrt(precision)
        draws[:, 1] -= self.curvature * draws[:, 0] ** 2
        return draws
