"""The contract of every model family; and a model that breaks it is found out."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.models.contracts import check_model
from dpmcmc_experiments.targets import Banana, CorrelatedGaussian
from tests.models.families import BESIDE_TERMS, FAMILIES

MODELS = (
    {
        "normal mean": (dp.models.GaussianMean(3, noise_std=2.0), None),
        "tied mixture": (dp.models.TiedMixture(), None),
        "banana": (Banana(3, 5.0, prior_variance=1.0), None),
        "correlated normal": (CorrelatedGaussian(((1.0, 0.9), (0.9, 1.0)), prior_std=2.0), None),
    }
    | FAMILIES
    | {name: BESIDE_TERMS[name] for name in ("groups", "weights")}
)


LONG = {"banana", "categorical", "groups", "negative binomial", "ordinal"}


@pytest.mark.parametrize(
    ("model", "theta"),
    [pytest.param(*given, id=name, marks=[pytest.mark.slow] * (name in LONG)) for name, given in MODELS.items()],
)
def test_a_model_family_keeps_its_contract(model, theta):
    check_model(model, theta)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["offset and weights", "all of them"])
def test_so_do_more_regressions_with_offsets_weights_and_groups(name):
    check_model(*BESIDE_TERMS[name])


@dataclass(frozen=True)
class Broken:
    """A normal mean, and covariates that do not matter, with one thing wrong."""

    shift: float = 0.0
    spread: float = 1.0
    prior: float = 1.0
    slope: float = 100.0
    largest: float = 1.0
    moved: float = 0.0
    given_shift: float = 0.0
    given_count: int = 2
    response_off: float = 0.0
    init: float = 0.0
    levels: tuple[int, ...] | None = None
    heavy: float = 1.0
    said: float = 1.0

    def log_prior(self, theta):
        return jnp.where(theta < 10, -0.5 * theta**2, -jnp.inf)

    def log_likelihood(self, theta, record):
        return -0.5 * self.heavy * (record["y"] - theta) ** 2

    def weight(self, record):
        return self.said

    def sample_prior(self, key):
        return jax.random.normal(key) + self.prior - 1.0

    def simulate(self, key, theta, n):
        x = jnp.linspace(-self.largest, self.largest, 2 * n).reshape(n, 2)
        return {"x": x, "y": theta + self.shift + self.spread * jax.random.normal(key, (n,))}

    def log_ratio_bound(self, theta, new):
        return self.slope * jnp.abs(new - theta)

    def covariates(self, record):
        return record["x"]

    def simulate_given(self, key, theta, x):
        y = theta + self.given_shift + jax.random.normal(key, x.shape[:1])
        return {"x": x[:, : self.given_count] + self.moved, "y": y}

    def response(self, record):
        return record["y"] / 10

    def respond(self, x, responses):
        return {"x": x, "y": 10 * responses + self.response_off}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({}, None),
        ({"shift": 0.1}, "mean score of simulated records"),
        ({"spread": 1.1}, "simulate and log_likelihood disagree"),
        ({"prior": 1.2}, "sample_prior and log_prior disagree"),
        ({"slope": 0.5}, "exceeds log_ratio_bound"),
        ({"largest": 1.5}, "covariate of 1.5 is outside"),
        ({"moved": 0.1}, "off by 0.1 from those it was given"),
        ({"given_shift": 0.1}, "simulate_given and log_likelihood disagree"),
        ({"given_count": 1}, "simulate_given gives records of shapes"),
        ({"response_off": 1.0}, "response of records from respond are off by 0.1"),
        ({"init": 11.0}, "move init"),
        ({"levels": (0, 3)}, "covariate 1 has values between its 3 levels"),
        ({"heavy": 2.0, "said": 2.0}, None),
        ({"heavy": 2.0}, "simulate and log_likelihood disagree"),
        ({"levels": (0,)}, "levels has 1 numbers for 2 covariates"),
    ],
)
def test_what_is_wrong_is_found_and_said(wrong, says):
    if says is None:
        check_model(Broken(**wrong), np.float64(0.2))
        return
    with pytest.raises(AssertionError, match=says):
        check_model(Broken(**wrong), np.float64(0.2))


@pytest.mark.parametrize("alone", ["covariates", "simulate_given", "response", "respond"])
def test_covariates_and_records_given_them_belong_together(alone):
    functions = {"log_prior": lambda theta: 0.0, "log_likelihood": lambda theta, x: 0.0, "init": 0.0}
    with pytest.raises(TypeError, match="both or neither"):
        dp.Model(**functions, **{alone: lambda *given: given})
    whole = dp.Model(**functions, covariates=lambda x: x, simulate_given=lambda key, theta, x: x)
    assert whole.covariates(1.0) == 1.0
    with pytest.raises(TypeError, match="response needs covariates"):
        dp.Model(**functions, response=lambda x: x, respond=lambda x, y: x)


@pytest.mark.parametrize("levels", [(1,), (-2,), (2.5,)])
def test_levels_are_whole_numbers_of_values(levels):
    functions = {"log_prior": lambda theta: 0.0, "log_likelihood": lambda theta, x: 0.0, "init": 0.0}
    given = {"covariates": lambda x: x, "simulate_given": lambda key, theta, x: x}
    with pytest.raises(ValueError, match=rf"levels .*{levels[0]}"):
        dp.Model(**functions, **given, levels=levels)
    with pytest.raises(TypeError, match="levels are those of covariates"):
        dp.Model(**functions, levels=(2,))
    assert dp.Model(**functions, **given, levels=(0, 5)).levels == (0, 5)
