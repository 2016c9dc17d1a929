"""Poisson regression: counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jax import Array

from dpmcmc.models.counts import MOST_LOG_RATE, CountRegression
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.regression import Record, Theta, exp_to


@dataclass(frozen=True)
class PoissonRegression(CountRegression):
    """Bayesian regression of counts on bounded covariates: y ~ Poisson(e^η).

        model = PoissonRegression({"age": (18, 90)}, most=100)
        data = model.encode(table, outcome="visits")

    Covariates, coefficients and priors are those of every :class:`~dpmcmc.models.regression.Regression`. Counts above
    the public limit ``most`` are moved to it, real and simulated ones; with wide priors the default method needs one.

    Beyond η = 20, half a billion expected, the rate goes on as the tangent of e^η: nothing overflows, and the log
    likelihood stays concave and points back.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    prior_std: float = 2.5
    most: int | None = None
    names: tuple[str, ...] = field(init=False)

    def log_likelihood(self, theta: Theta, record: Record) -> Array:
        log_rate = self.predictor(theta, record["x"])
        return record["y"] * log_rate - exp_to(log_rate, MOST_LOG_RATE)

    def draw_outcomes(self, key: Array, theta: Theta, x: Array) -> Array:
        return self.draw_counts(key, self.predictor(theta, x))
