"""Poisson regression: counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jax import Array

from dpmcmc.models.counts import MOST_LOG_RATE, CountRegression
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.regression import Theta, exp_to


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

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        return y * eta - exp_to(eta, MOST_LOG_RATE)

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        return self.draw_counts(key, eta)
