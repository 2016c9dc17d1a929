"""Problems whose parameters come from the prior, for calibration: those of the paper on noise-aware DPVI, 5000 records.

After the experiments of Alrawajfeh, Jälkö & Honkela (2025): linear regression on ten normal covariates, logistic
regression, and three exponential families. Apart from it: coefficients and log σ have independent normal priors with
the moments of the paper's (σ² ~ InvΓ(20, ½), coefficients ~ N(0, 4σ²)); values have bounds, as the library asks, that
records of the model hardly ever reach; the logistic regression has ten covariates and an intercept, not three columns.
The law of the covariates is public knowledge, and every method may simulate from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import digamma, polygamma

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import names_of, unit_bounds

N, COVARIATES = 5000, 10
X_BOUND, Y_BOUND = 4.0, 6.0
SHAPE, SCALE = 20.0, 0.5  # of the inverse gamma distribution of σ²
LOG_SIGMA = (0.5 * float(np.log(SCALE) - digamma(SHAPE)), 0.5 * float(np.sqrt(polygamma(1, SHAPE))))
WEIGHT_STD = float(np.sqrt(4 * SCALE / (SHAPE - 1)))


@dataclass(frozen=True)
class NormalCovariates(dp.models.LinearRegression):
    """Linear regression on standard normal covariates, with the priors above on the scale of bounded values."""

    @property
    def priors(self) -> dict[str, tuple[float, float]]:
        slopes = dict.fromkeys(self.bounds, (0.0, WEIGHT_STD * X_BOUND / Y_BOUND))
        log_sigma = (LOG_SIGMA[0] - np.log(Y_BOUND), LOG_SIGMA[1])
        return {"intercept": (0.0, WEIGHT_STD / Y_BOUND)} | slopes | {"log_sigma": log_sigma}

    def simulate(self, key: Any, theta: Any, n: int) -> Any:
        x_key, y_key = jax.random.split(key)
        x = jax.random.normal(x_key, (n, len(self.bounds))) / X_BOUND
        return self.simulate_given(y_key, theta, jnp.clip(x, -1, 1))


@dataclass(frozen=True)
class UniformCovariates(dp.models.LogisticRegression):
    """Logistic regression on covariates that are uniform within their bounds."""

    def simulate(self, key: Any, theta: Any, n: int) -> Any:
        x_key, y_key = jax.random.split(key)
        x = jax.random.uniform(x_key, (n, len(self.bounds)), minval=-1.0, maxval=1.0)
        return self.simulate_given(y_key, theta, x)


def linear() -> dp.models.LinearRegression:
    bounds = dict.fromkeys(names_of(COVARIATES), (-X_BOUND, X_BOUND))
    return NormalCovariates(bounds, outcome=(-Y_BOUND, Y_BOUND))


def logistic() -> dp.models.LogisticRegression:
    return UniformCovariates(unit_bounds(COVARIATES), prior_std=1.0)


def bernoulli() -> dp.Model:
    """p ~ Beta(10, 10), in the logit of p."""
    alpha = 10.0

    def log_prior(theta: Any) -> Any:
        return alpha * (jax.nn.log_sigmoid(theta) + jax.nn.log_sigmoid(-theta))

    return dp.Model(
        log_prior=log_prior,
        log_likelihood=lambda theta, y: y * theta - jnp.logaddexp(0.0, theta),
        init=0.0,
        simulate=lambda key, theta, n: jax.random.bernoulli(key, jax.nn.sigmoid(theta), (n,)).astype(float),
        sample_prior=lambda key: jax.scipy.special.logit(jax.random.beta(key, alpha, alpha)),
    )


def categorical() -> dp.Model:
    """Three shares ~ Dirichlet(5, 5, 5), in their log odds against the last; a record has a one at its level."""
    alpha = 5.0

    def log_shares(theta: Any) -> Any:
        return jax.nn.log_softmax(jnp.append(theta, 0.0))

    def simulate(key: Any, theta: Any, n: int) -> Any:
        return jax.nn.one_hot(jax.random.categorical(key, log_shares(theta), shape=(n,)), 3)

    def sample_prior(key: Any) -> Any:
        logs = jnp.log(jax.random.dirichlet(key, alpha * jnp.ones(3)))
        return logs[:2] - logs[2]

    return dp.Model(
        log_prior=lambda theta: alpha * jnp.sum(log_shares(theta)),
        log_likelihood=lambda theta, y: y @ log_shares(theta),
        init=np.zeros(2),
        simulate=simulate,
        sample_prior=sample_prior,
    )


def exponential() -> dp.Model:
    """Waiting times with rate λ ~ Γ(8, 2), in log λ."""
    shape, rate = 8.0, 2.0
    return dp.Model(
        log_prior=lambda theta: shape * theta - rate * jnp.exp(theta),
        log_likelihood=lambda theta, y: theta - jnp.exp(theta) * y,
        init=float(np.log(shape / rate)),
        simulate=lambda key, theta, n: jax.random.exponential(key, (n,)) / jnp.exp(theta),
        sample_prior=lambda key: jnp.log(jax.random.gamma(key, shape) / rate),
    )


def _from_prior(name: str, family: str, about: str, make_model: Callable[[], Any]) -> Problem:
    """Parameters of the prior, and records of the model at them."""

    @lru_cache(maxsize=1)
    def compiled(model: Any) -> Callable[[int], tuple[Any, Any]]:
        def drawn(seed: int) -> tuple[Any, Any]:
            prior_key, records_key = jax.random.split(jax.random.key(seed))
            theta = model.sample_prior(prior_key)
            return model.simulate(records_key, theta, N), theta

        return jax.jit(drawn)

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, Any]:
        with jax.enable_x64(True):
            records, theta = jax.tree.map(np.asarray, compiled(model)(int(rng.integers(2**31))))
        if family == "linear":
            records["y"] = np.clip(records["y"], -1, 1)
        return records, theta

    return Problem(name, family, about, make_model, make, from_model=True)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        _from_prior("linear-10", "linear", "10 normal covariates", linear),
        _from_prior("logistic-10", "logistic", "10 uniform covariates", logistic),
        _from_prior("beta-bernoulli", "exponential", "0/1 outcomes", bernoulli),
        _from_prior("dirichlet-categorical", "exponential", "three levels", categorical),
        _from_prior("gamma-exponential", "exponential", "waiting times", exponential),
    )
}
