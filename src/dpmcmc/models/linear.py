"""Linear regression: real outcomes with normal noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import positive
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.location_scale import LocationScaleRegression
from dpmcmc.models.regression import Theta


@dataclass(frozen=True)
class LinearRegression(LocationScaleRegression):
    """Bayesian linear regression of a bounded outcome on bounded covariates: y ~ N(η, σ²).

        model = LinearRegression({"age": (18, 90)}, outcome=(0, 200_000))
        data = model.encode(table, outcome="income")

    The outcome is scaled by its *declared* bounds to [−1, 1] and values outside are moved to the bounds, as for the
    covariates; coefficients are for the scaled outcome. A known noise ``sigma`` is given on the outcome's own scale.
    Without it the log of σ on the scaled outcome is the parameter ``log_sigma``, with the prior N(−1, 1.5²).
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    outcome: Bounds
    prior_std: float = 2.5
    sigma: float | None = None
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.sigma is not None:
            positive("sigma", self.sigma, "or None to infer it")
        super().__post_init__()

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        return super().shape_priors if self.sigma is None else {}

    def log_sigma(self, theta: Theta) -> Array:
        if self.sigma is None:
            return super().log_sigma(theta)
        return jnp.log(self.sigma / self.outcome_scale[1])

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        return -self.log_sigma(theta) - 0.5 * self.squared_error(theta, eta, y)

    def log_constant(self, y: Array) -> float:
        return -0.5 * float(np.log(2 * np.pi))

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        return self.located(theta, eta, jax.random.normal(key, eta.shape))
