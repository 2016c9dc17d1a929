"""The contract of every model family; and a model that breaks it is found out."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.models.contracts import check_model
from dpmcmc_experiments.targets import Banana, CorrelatedGaussian

LOGISTIC = dp.models.LogisticRegression({"a": (0, 1), "b": (-2, 5)})
MODELS = {
    "normal mean": (dp.models.GaussianMean(3, noise_std=2.0), None),
    "logistic regression": (LOGISTIC, {"intercept": 0.3, "a": -1.0, "b": 0.5}),
    "tied mixture": (dp.models.TiedMixture(), None),
    "banana": (Banana(3, 5.0, prior_variance=1.0), None),
    "correlated normal": (CorrelatedGaussian(((1.0, 0.9), (0.9, 1.0)), prior_std=2.0), None),
}


@pytest.mark.parametrize(("model", "theta"), MODELS.values(), ids=MODELS)
def test_a_model_family_keeps_its_contract(model, theta):
    check_model(model, theta)


@dataclass(frozen=True)
class Broken:
    """A normal mean with one thing wrong."""

    shift: float = 0.0
    spread: float = 1.0
    prior: float = 1.0
    slope: float = 100.0
    summary: float = 0.1
    init: float = 0.0

    def log_prior(self, theta):
        return jnp.where(theta < 10, -0.5 * theta**2, -jnp.inf)

    def log_likelihood(self, theta, x):
        return -0.5 * (x - theta) ** 2

    def sample_prior(self, key):
        return jax.random.normal(key) + self.prior - 1.0

    def simulate(self, key, theta, n):
        return theta + self.shift + self.spread * jax.random.normal(key, (n,))

    def log_ratio_bound(self, theta, new):
        return self.slope * jnp.abs(new - theta)

    def record_summary(self, x):
        return jnp.asarray([self.summary])

    def simulate_like(self, key, theta, n, summary):
        return self.simulate(key, theta, n)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, None),
        ({"shift": 0.1}, "mean score of simulated records"),
        ({"spread": 1.1}, "simulate and log_likelihood disagree"),
        ({"prior": 1.2}, "sample_prior and log_prior disagree"),
        ({"slope": 0.5}, "exceeds log_ratio_bound"),
        ({"summary": 1.5}, "norm 1.5, more than 1"),
        ({"init": 11.0}, "move init"),
    ],
)
def test_what_is_wrong_is_found_and_said(wrong, says):
    if says is None:
        check_model(Broken(), np.float64(0.2))
        return
    with pytest.raises(AssertionError, match=says):
        check_model(Broken(**wrong), np.float64(0.2))
