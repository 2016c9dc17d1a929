"""Negative binomial regression: counts that vary more than Poisson ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import gammaln

from dpmcmc.models.counts import CountRegression
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.regression import Theta

LOG_CONCENTRATION_PRIOR = (0.0, 1.5)  # r between 1/20 and 20 with 95 %
POISSON = 40.0  # a log concentration beyond which the counts are Poisson to rounding
SERIES = (
    5.0  # a log concentration beyond which Stirling's series is exact to rounding, and differences of gammaln are not
)


@dataclass(frozen=True)
class NegativeBinomialRegression(CountRegression):
    """Bayesian regression of overdispersed counts: y has mean μ = e^η and variance μ + μ²/r (NB2).

        model = NegativeBinomialRegression({"age": (18, 90)}, most=100)
        data = model.encode(table, outcome="visits")

    As :class:`~dpmcmc.models.PoissonRegression`, with rates that are themselves gamma distributed with shape r. The
    parameter ``log_concentration``, log r, has the prior N(0, 1.5²); large r is nearly Poisson.

    With log r = c,  log p(y) = yη − (y + r) log(1 + e^(η−c)) + Σ_{i<y} log(1 + i/r) − log y!, the last left out.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    prior_std: float = 2.5
    most: int | None = None
    names: tuple[str, ...] = field(init=False)

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        return {"log_concentration": LOG_CONCENTRATION_PRIOR}

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        log_r = jnp.minimum(theta["log_concentration"], POISSON)
        excess = jnp.logaddexp(0.0, eta - log_r)
        return y * eta - (y + jnp.exp(log_r)) * excess + log_rising(y, log_r)

    def shown(self, coefficients: dict[str, Any], theta: Mapping[str, Any]) -> dict[str, Any]:
        return coefficients | {"concentration": np.exp(np.asarray(theta["log_concentration"]))}

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        rate_key, count_key = jax.random.split(key)
        log_r = jnp.clip(theta["log_concentration"], -POISSON, POISSON)
        log_gamma = jax.random.loggamma(rate_key, jnp.exp(log_r), eta.shape)
        return self.draw_counts(count_key, eta + log_gamma - log_r)


def log_rising(y: Array, log_r: Array) -> Array:
    """Σ_{i<y} log(1 + i/r) = log Γ(y + r) − log Γ(r) − y log r, which is 0 for y = 0, without cancellation."""
    low, high = jnp.minimum(log_r, SERIES), jnp.maximum(log_r, SERIES)
    few, r = jnp.maximum(y, 1.0), jnp.exp(low)
    by_gamma = gammaln(few + r) - gammaln(1 + r) - (few - 1) * low
    r = jnp.exp(high)
    by_series = (y + r - 0.5) * jnp.log1p(y / r) - y + _stirling(y + r) - _stirling(r)
    return jnp.where(y < 1, 0.0, jnp.where(log_r < SERIES, by_gamma, by_series))


def _stirling(z: Array) -> Array:
    """log Γ(z) − (z − ½) log z + z − ½ log 2π."""
    return (1 / 12 - (1 / 360 - 1 / (1260 * z**2)) / z**2) / z
