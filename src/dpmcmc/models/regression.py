"""What the regressions share: bounded covariates, normal priors and a linear predictor."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds, Covariates
from dpmcmc.models.priors import NormalPriors
from dpmcmc.models.priors import Theta as Theta
from dpmcmc.records import numeric

Record = dict[str, Array]


class Regression(NormalPriors):
    """An outcome y whose law depends on bounded covariates x through η = θ₀ + x·θ.

    A record is ``{"x": covariates, "y": outcome}``. Each covariate is scaled by its *declared* bounds to [−1, 1] and
    values outside are moved to the bounds, so nothing is learnt from the records by the scaling. Coefficients are for
    the scaled covariates, the first is the intercept; their prior is N(0, ``prior_std``²) each.

    A family is a frozen dataclass with the three fields below that says what an outcome is, its log likelihood and how
    to draw it. The law of the covariates is no part of it.
    """

    bounds: Mapping[str, Bounds]
    prior_std: float
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        Covariates(self.bounds)
        if not 0 < self.prior_std < np.inf:
            raise ValueError(f"prior_std must be positive and finite, got {self.prior_std!r}")
        for name in ("intercept", *self.shape_priors):
            if name in self.bounds:
                raise ValueError(f"a covariate cannot be called {name!r}, a parameter of the model: rename the column")
        object.__setattr__(self, "names", tuple(self.priors))

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of the normal prior of each parameter beside intercept and coefficients."""
        return {}

    @property
    def priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each parameter's normal prior."""
        return dict.fromkeys(("intercept", *self.bounds), (0.0, float(self.prior_std))) | self.shape_priors

    def predictor(self, theta: Theta, x: Array) -> Array:
        """η = θ₀ + x·θ, of one row of covariates or of many."""
        return theta["intercept"] + x @ jnp.stack([theta[name] for name in self.bounds])

    def encode(self, table: Any, outcome: str) -> dict[str, np.ndarray]:
        """Records for this model from the columns of a table (a data frame or a mapping of arrays).

        Missing values stay NaN, which :func:`dpmcmc.sample` refuses.
        """
        columns = numeric(table, (*self.bounds, outcome))
        return {"x": Covariates(self.bounds).encode(columns), "y": self.encode_outcome(columns[outcome], outcome)}

    def covariates(self, record: Record) -> Array:
        """The part of a record whose law the model does not state."""
        return record["x"]

    def response(self, record: Record) -> Array:
        """The outcome within [−1, 1]."""
        return self.outcome_to_unit(record["y"])

    def respond(self, x: Array, responses: Array) -> Record:
        """Records with the rows of ``x`` and these outcomes within [−1, 1]."""
        x = jnp.asarray(x, float)
        return {"x": x, "y": self.outcome_from_unit(jnp.asarray(responses, x.dtype))}

    def outcome_to_unit(self, y: Array) -> Array:
        """An outcome as a number within [−1, 1]: as it is, if it is one."""
        return y

    def outcome_from_unit(self, unit: Array) -> Array:
        """The outcome that has that number."""
        return unit

    def simulate(self, key: Array, theta: Theta, n: int) -> Record:
        """n records from public knowledge only: covariates within the declared bounds, or at them."""
        x_key, y_key = jax.random.split(key)
        return self.simulate_given(y_key, theta, Covariates(self.bounds).anywhere(x_key, n))

    def simulate_given(self, key: Array, theta: Theta, x: Array) -> Record:
        """Records with the rows of ``x`` for covariates, and outcomes of the model."""
        x = jnp.asarray(x, float)
        return {"x": x, "y": self.draw_outcomes(key, theta, x).astype(x.dtype)}

    @abstractmethod
    def log_likelihood(self, theta: Theta, record: Record) -> Array:
        """Log density of the outcome given the covariates."""

    @abstractmethod
    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        """Outcomes as the log likelihood takes them; what cannot be one raises, NaN stays NaN."""

    @abstractmethod
    def draw_outcomes(self, key: Array, theta: Theta, x: Array) -> Array:
        """One outcome for each row of ``x``."""


def exp_to(x: Array, limit: float) -> Array:
    """eˣ up to x = ``limit`` and its tangent beyond: convex and increasing everywhere, and never infinite."""
    return jnp.exp(jnp.minimum(x, limit)) * (1 + jnp.maximum(x - limit, 0))
