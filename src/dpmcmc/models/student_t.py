"""Robust regression: real outcomes with Student t noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array
from scipy import stats

from dpmcmc.arguments import positive
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.location_scale import LocationScaleRegression
from dpmcmc.models.regression import Theta


@dataclass(frozen=True)
class StudentTRegression(LocationScaleRegression):
    """Regression of a bounded outcome with outliers: (y − η)/σ has Student's t distribution.

        model = StudentTRegression({"age": (18, 90)}, outcome=(0, 200_000))
        data = model.encode(table, outcome="income")

    As :class:`~dpmcmc.models.LinearRegression`, with ``df`` degrees of freedom, fixed and public: the fewer, the less
    an outlier counts. ``log_sigma`` is the log of the scale σ on the scaled outcome, with the prior N(−1, 1.5²).
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    outcome: Bounds
    df: float = 4.0
    prior_std: float = 2.5
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        positive("df", self.df, "for normal noise use LinearRegression")
        super().__post_init__()

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        tail = jnp.log1p(self.squared_error(theta, eta, y) / self.df)
        return -self.log_sigma(theta) - 0.5 * (self.df + 1) * tail

    def log_constant(self, y: Array) -> float:
        return float(stats.t(self.df).logpdf(0.0))

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        return self.located(theta, eta, jax.random.t(key, self.df, eta.shape))
