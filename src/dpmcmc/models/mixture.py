"""A mixture of two normals with tied means: two modes, the test case of minibatch MCMC since SGLD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import numbers, positive, shown


@dataclass(frozen=True)
class TiedMixture:
    """x ~ ½ N(θ₁, σₓ²) + ½ N(θ₁ + θ₂, σₓ²) with priors θ₁ ~ N(0, 10) and θ₂ ~ N(0, 1), σₓ² = ``variance``.

    Reference: Welling & Teh (2011), Section 5.1; Heikkilä et al. (2019), Section 5.
    """

    variance: float = 2.0
    prior_variances: tuple[float, float] = (10.0, 1.0)

    def __post_init__(self) -> None:
        positive("TiedMixture: variance", self.variance)
        found = numbers("TiedMixture: prior_variances", self.prior_variances, "be two positive numbers")
        if found.shape != (2,) or not np.all(found > 0):
            raise ValueError(f"TiedMixture: prior_variances must be two positive numbers, got {shown(found.tolist())}")

    @property
    def init(self) -> np.ndarray:
        return np.zeros(2)

    def log_prior(self, theta: Array) -> Array:
        return -0.5 * (theta[0] ** 2 / self.prior_variances[0] + theta[1] ** 2 / self.prior_variances[1])

    def sample_prior(self, key: Array) -> Array:
        """A draw of the prior."""
        return jnp.sqrt(jnp.asarray(self.prior_variances)) * jax.random.normal(key, (2,))

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        near = -0.5 * (record - theta[0]) ** 2 / self.variance
        far = -0.5 * (record - theta[0] - theta[1]) ** 2 / self.variance
        return jnp.maximum(near, far) + jnp.log(1 + jnp.exp(-jnp.abs(near - far)))  # log(1 + y), 0 ≤ y ≤ 1, not log1p

    def simulate(self, key: Array, theta: Any, n: int) -> Array:
        """n records at ``theta``."""
        which, noise = jax.random.split(key)
        centre = theta[0] + theta[1] * jax.random.bernoulli(which, 0.5, (n,))
        drawn: Array = centre + jnp.sqrt(self.variance) * jax.random.normal(noise, (n,))
        return drawn
