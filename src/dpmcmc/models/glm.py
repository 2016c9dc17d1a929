"""Generalised linear models on covariates with declared public bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

LEAST_VARIANCE = 0.01  # of a combination of covariates, when simulated from noisy moments
TWO_VALUED = 0.95  # a mean square, of covariates in [−1, 1], beyond which they are taken for −1 or 1


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
        """Records for this model from the columns of a table (a data frame or a mapping of arrays).

        The outcome must be 0/1 or True/False. Missing values stay NaN, which :func:`dpmcmc.sample` refuses.
        """
        missing = [name for name in (*self.bounds, outcome) if name not in table]
        if missing:
            raise ValueError(f"the table has no column {', '.join(map(repr, missing))}")
        columns = []
        for name, (low, high) in self.bounds.items():
            values = np.asarray(table[name], dtype=np.float64)
            columns.append(np.clip((2 * values - low - high) / (high - low), -1, 1))
        y = np.asarray(table[outcome], dtype=np.float64)
        if not np.all(np.isnan(y) | (y == 0) | (y == 1)):
            raise ValueError(
                f"the outcome {outcome!r} must be 0/1 or True/False; recode it first, as in (outcome == 2)"
            )
        return {"x": np.stack(columns, axis=1).astype(np.float32), "y": y.astype(np.float32)}

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
        """n records from public knowledge only: covariates uniform within the declared bounds, or at them.

        The share at the bounds, where 0/1 covariates always are, is itself uniform from record to record.
        """
        x_key, y_key = jax.random.split(key)
        return self._outcomes(y_key, theta, self._anywhere(x_key, n))

    def record_summary(self, record: dict[str, Array]) -> Array:
        """First and second moments of the covariates, of norm at most 1: what :meth:`simulate_like` asks to know."""
        x = jnp.asarray(record["x"])
        moments = jnp.concatenate([x, jnp.outer(x, x)[jnp.triu_indices(len(self.bounds))]])
        return moments / np.sqrt(len(moments))

    def simulate_like(self, key: Array, theta: dict[str, Array], n: int, summary: Array) -> dict[str, Array]:
        """n records whose covariates have about the moments of ``summary``, the mean of :meth:`record_summary`.

        Normal covariates, moved to the bounds where they are outside; those whose mean square is near 1 must be at
        the bounds always, and are the signs of shifted normals.
        """
        x_key, y_key = jax.random.split(key)
        return self._outcomes(y_key, theta, self._with_moments(x_key, n, summary))

    def _with_moments(self, key: Array, n: int, summary: Array) -> Array:
        count = len(self.bounds)
        moments = jnp.asarray(summary) * np.sqrt(len(summary))
        mean = jnp.clip(moments[:count], -1.0, 1.0)
        upper = jnp.zeros((count, count)).at[jnp.triu_indices(count)].set(moments[count:])
        covariance = upper + upper.T - jnp.diag(jnp.diag(upper)) - jnp.outer(mean, mean)
        values, axes = jnp.linalg.eigh(covariance)
        root = axes * jnp.sqrt(jnp.maximum(values, LEAST_VARIANCE))
        away = jax.random.normal(key, (n, count)) @ root.T
        at_ends = jnp.where(jax.scipy.special.ndtr(-away / jnp.linalg.norm(root, axis=1)) < (1 + mean) / 2, 1.0, -1.0)
        return jnp.where(jnp.diag(upper) > TWO_VALUED, at_ends, jnp.clip(mean + away, -1.0, 1.0))

    def _anywhere(self, key: Array, n: int) -> Array:
        x_key, share_key, end_key = jax.random.split(key, 3)
        x = jax.random.uniform(x_key, (n, len(self.bounds)), minval=-1.0, maxval=1.0)
        at_bounds = jax.random.uniform(end_key, x.shape) < jax.random.uniform(share_key, (n, 1))
        return jnp.where(at_bounds, jnp.sign(x), x)

    def _outcomes(self, key: Array, theta: dict[str, Array], x: Array) -> dict[str, Array]:
        logit = theta["intercept"] + x @ jnp.stack([theta[name] for name in self.bounds])
        y = jax.random.bernoulli(key, jax.nn.sigmoid(logit)).astype(x.dtype)
        return {"x": x, "y": y}
