"""Logistic regression: 0/1 outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds
from dpmcmc.models.regression import Regression, Theta
from dpmcmc.records import RefusedValue


@dataclass(frozen=True)
class LogisticRegression(Regression):
    """Bayesian logistic regression of a 0/1 outcome on bounded covariates: P(y = 1) = 1/(1 + e^−η).

        model = LogisticRegression({"age": (18, 90), "income": (0, 200_000)})
        data = model.encode(table, outcome="visit")

    Covariates, coefficients and priors are those of every :class:`~dpmcmc.models.regression.Regression`.

    ``log_ratio_bound`` is exact: log σ is 1-Lipschitz, so one record's log ratio is at most Σ|θ'ⱼ − θⱼ|.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    prior_std: float = 2.5
    names: tuple[str, ...] = field(init=False)

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        return y * eta - jnp.logaddexp(0.0, eta)

    def log_ratio_bound(self, theta: Theta, theta_new: Theta) -> Array:
        """|log p(x|θ') − log p(x|θ)| ≤ |Δlogit|, times the largest weight."""
        return self.heaviest * self.predictor_change(theta, theta_new)

    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        if not np.all(np.isnan(values) | (values == 0) | (values == 1)):
            raise RefusedValue(f"the outcome {name!r} must be 0/1 or True/False; recode it first, as in (outcome == 2)")
        return values

    def outcome_to_unit(self, y: Array) -> Array:
        return 2 * y - 1

    def outcome_from_unit(self, unit: Array) -> Array:
        return jnp.where(unit > 0, 1.0, 0.0).astype(unit.dtype)

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        return jax.random.bernoulli(key, jax.nn.sigmoid(eta))

    def expected(self, theta: Theta, eta: Array) -> Array:
        """The probability of the event."""
        return jax.nn.sigmoid(eta)
