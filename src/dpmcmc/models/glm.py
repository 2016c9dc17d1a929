"""Generalised linear models on covariates with declared public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class LogisticRegression:
    """Bayesian logistic regression of a 0/1 outcome on bounded covariates.

        model = LogisticRegression({"age": (18, 90), "income": (0, 200_000)})
        data = model.encode(table, outcome="visit")

    Each covariate is scaled by its *declared* bounds to [−1, 1] and values outside are moved to the bounds, so nothing
    is learnt from the records by the scaling. Coefficients are for the scaled covariates, the first is the
    intercept; their prior is N(0, ``prior_std``²) each.

    ``log_ratio_bound`` is exact: log σ is 1-Lipschitz, so one record's log ratio is at most Σ|θ'ⱼ − θⱼ|.
    """

    bounds: Mapping[str, tuple[float, float]]
    prior_std: float = 2.5
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.bounds:
            raise ValueError("LogisticRegression: bounds must name at least one covariate, got none")
        for name, (low, high) in self.bounds.items():
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise ValueError(f"bounds of {name!r} must be finite and low < high, got {(low, high)}")
        if not self.prior_std > 0:
            raise ValueError(f"prior_std must be positive, got {self.prior_std!r}")
        object.__setattr__(self, "names", ("intercept", *self.bounds))

    @property
    def init(self) -> dict[str, float]:
        return dict.fromkeys(self.names, 0.0)

    def encode(self, table: Any, outcome: str) -> dict[str, np.ndarray]:
        """Records for this model from the columns of a table (a data frame or a mapping of arrays)."""
        missing = [name for name in (*self.bounds, outcome) if name not in table]
        if missing:
            raise ValueError(f"the table has no column {', '.join(map(repr, missing))}")
        columns = []
        for name, (low, high) in self.bounds.items():
            values = np.asarray(table[name], dtype=np.float64)
            columns.append(np.clip((2 * values - low - high) / (high - low), -1, 1))
        y = np.asarray(table[outcome], dtype=np.float64)
        return {"x": np.stack(columns, axis=1).astype(np.float32), "y": (y > 0).astype(np.float32)}

    def log_prior(self, theta: dict[str, Array]) -> Array:
        return -0.5 * jnp.sum(jnp.stack(list(theta.values())) ** 2) / self.prior_std**2

    def sample_prior(self, key: Array) -> dict[str, Array]:
        """A draw of the prior."""
        draws = self.prior_std * jax.random.normal(key, (len(self.names),))
        return dict(zip(self.names, draws, strict=True))

    def log_likelihood(self, theta: dict[str, Array], record: dict[str, Array]) -> Array:
        slopes = jnp.stack([theta[name] for name in self.bounds])
        logit = theta["intercept"] + record["x"] @ slopes
        return record["y"] * logit - jnp.logaddexp(0.0, logit)

    def log_ratio_bound(self, theta: dict[str, Array], theta_new: dict[str, Array]) -> Array:
        """|log p(x|θ') − log p(x|θ)| ≤ |Δlogit| ≤ Σ|θ'ⱼ − θⱼ|, as every scaled covariate lies in [−1, 1]."""
        return jnp.sum(jnp.stack([jnp.abs(theta_new[name].astype(jnp.float64) - theta[name]) for name in self.names]))

    def simulate(self, key: Array, theta: dict[str, Array], n: int) -> dict[str, Array]:
        """n records from public knowledge only: covariates uniform within the declared bounds in one half of them.

        In the other half they are at the bounds, as 0/1 covariates always are: what is planned with these records holds
        for both.
        """
        x_key, end_key, y_key = jax.random.split(key, 3)
        x = jax.random.uniform(x_key, (n, len(self.bounds)), minval=-1.0, maxval=1.0)
        x = jnp.where(jax.random.bernoulli(end_key, 0.5, (n, 1)), jnp.sign(x), x)
        logit = theta["intercept"] + x @ jnp.stack([theta[name] for name in self.bounds])
        y = jax.random.bernoulli(y_key, jax.nn.sigmoid(logit)).astype(x.dtype)
        return {"x": x, "y": y}
