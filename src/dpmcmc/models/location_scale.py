"""What regressions of a real outcome share: its declared bounds, and the scale of what the covariates leave open."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds, check_bounds, scaled
from dpmcmc.models.regression import Record, Regression, Theta, exp_to

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

    def squared_error(self, theta: Theta, record: Record) -> Array:
        """((y − η)/σ)²."""
        error = record["y"] - self.predictor(theta, record["x"])
        return error**2 * exp_to(-2 * self.log_sigma(theta), MOST_LOG_PRECISION)

    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        return scaled(values, self.outcome)

    def located(self, theta: Theta, x: Array, noise: Array) -> Array:
        """η + σ·noise."""
        return self.predictor(theta, x) + jnp.exp(self.log_sigma(theta)) * noise
