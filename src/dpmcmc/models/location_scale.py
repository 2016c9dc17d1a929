"""What regressions of a real outcome share: its declared bounds, and the scale of what the covariates leave open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds, check_bounds, scaled
from dpmcmc.models.regression import Regression, Theta, exp_to

LOG_SIGMA_PRIOR = (-1.0, 1.5)  # σ of an outcome in [−1, 1]: about 0.4, and between 0.02 and 7 with 95 %
MOST_LOG_PRECISION = 40.0  # σ below e⁻²⁰ of the outcome's half-range: continued so that nothing overflows


class LocationScaleRegression(Regression):
    """y = η + σ·noise, with y scaled by its *declared* bounds ``outcome`` to [−1, 1] as the covariates are.

    Coefficients and σ are for the scaled outcome. Real outcomes outside the bounds are moved to them; simulated ones
    are the model's and may lie outside. ``log_sigma``, the log of σ, has the prior N(−1, 1.5²).
    """

    outcome: Bounds

    def __post_init__(self) -> None:
        check_bounds("outcome", self.outcome)
        super().__post_init__()

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        return {"log_sigma": LOG_SIGMA_PRIOR}

    def log_sigma(self, theta: Theta) -> Array:
        """log σ on the scale of the outcome in [−1, 1]."""
        return theta["log_sigma"]

    @property
    def outcome_scale(self) -> Bounds:
        low, high = self.outcome
        return (low + high) / 2, (high - low) / 2

    def squared_error(self, theta: Theta, eta: Array, y: Array) -> Array:
        """((y − η)/σ)²."""
        return (y - eta) ** 2 * exp_to(-2 * self.log_sigma(theta), MOST_LOG_PRECISION)

    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        return scaled(values, self.outcome)

    def located(self, theta: Theta, eta: Array, noise: Array) -> Array:
        """η + σ·noise."""
        return eta + jnp.exp(self.log_sigma(theta)) * noise

    def expected(self, theta: Theta, eta: Array) -> Array:
        return eta

    def shown(self, coefficients: dict[str, Any], theta: Mapping[str, Any]) -> dict[str, Any]:
        """σ is on the scale of the outcome."""
        if "log_sigma" not in self.shape_priors:
            return coefficients
        return coefficients | {"sigma": self.outcome_scale[1] * np.exp(np.asarray(theta["log_sigma"]))}
