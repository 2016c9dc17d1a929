"""Regressions: densities and estimates are those of SciPy and statsmodels, and nothing overflows."""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.flatten_util import ravel_pytree
from scipy import optimize, stats
from scipy.special import softmax
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.miscmodels.tmodel import TLinearModel

import dpmcmc as dp
from dpmcmc.models.negative_binomial import log_rising
from tests.models.families import BESIDE_TERMS, BOUNDS, FAMILIES

ALL = FAMILIES | BESIDE_TERMS


class Levels:
    """The distribution of a level for each row of probabilities."""

    dist = None

    def __init__(self, probabilities):
        self.probabilities = probabilities

    def rvs(self, random_state):
        return np.array([random_state.choice(len(row), p=row) for row in self.probabilities])

    def logpmf(self, y):
        return np.log(self.probabilities[np.arange(len(y)), y.astype(int)])


def scipy_law(name, theta, x):
    """The outcomes' distribution, on the scale of encoded outcomes."""
    if name == "categorical":
        bus, train = (
            theta[f"intercept[{k}]"] + x @ np.array([theta[f"a[{k}]"], theta[f"b[{k}]"]]) for k in ("bus", "train")
        )
        return Levels(softmax(np.stack([bus, np.zeros(len(x)), train], axis=1), axis=1))
    eta = theta["intercept"] + x @ np.array([theta["a"], theta["b"]])
    if name == "ordinal":
        gaps = np.exp([theta["log_gap[fair|good]"], theta["log_gap[good|best]"]])
        thresholds = np.concatenate([[0.0], np.cumsum(gaps)])
        at_most = stats.logistic.cdf(thresholds - eta[:, None])
        return Levels(np.diff(at_most, axis=1, prepend=0.0, append=1.0))
    if name == "linear, known noise":
        return stats.norm(eta, 2.0 / 5.0)  # an outcome in (0, 10) shrinks by 5
    if name == "logistic":
        return stats.bernoulli(1 / (1 + np.exp(-eta)))
    if name == "poisson":
        return stats.poisson(np.exp(eta))
    if name == "negative binomial":
        r = np.exp(theta["log_concentration"])
        return stats.nbinom(r, r / (r + np.exp(eta)))
    sigma = np.exp(theta["log_sigma"])
    return stats.norm(eta, sigma) if name == "linear" else stats.t(4.0, eta, sigma)


def records(name, n=50):
    rng = np.random.default_rng(0)
    model, theta = FAMILIES[name]
    x = rng.uniform(-1, 1, (n, 2))
    return model, theta, {"x": x, "y": scipy_law(name, theta, x).rvs(random_state=rng).astype(float)}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_log_likelihood_is_scipys_up_to_what_does_not_depend_on_parameters(name):
    model, here, data = records(name)
    there = {key: 0.5 - 2 * value for key, value in here.items()}
    with jax.enable_x64(True):
        each = jax.vmap(model.log_likelihood, (None, 0))
        ratios = np.asarray(each(there, data)) - np.asarray(each(here, data))
    of_scipy = "logpdf" if hasattr(scipy_law(name, here, data["x"]).dist, "logpdf") else "logpmf"
    far, near = (getattr(scipy_law(name, theta, data["x"]), of_scipy)(data["y"]) for theta in (there, here))
    np.testing.assert_allclose(ratios, far - near, rtol=1e-10, atol=1e-10)
    with jax.enable_x64(True):
        whole = each(here, data) + np.asarray(model.log_constant(jnp.asarray(data["y"])))
    np.testing.assert_allclose(whole, near, rtol=1e-9, atol=1e-9)  # log_constant is all that was left out


@pytest.mark.parametrize("name", FAMILIES)
def test_the_expected_outcome_is_scipys(name):
    model, theta, data = records(name)
    law = scipy_law(name, theta, data["x"])
    with jax.enable_x64(True):
        found = model.expected(theta, model.predictor(theta, jnp.asarray(data["x"])))
    np.testing.assert_allclose(found, law.probabilities if isinstance(law, Levels) else law.mean(), rtol=1e-9)


def fitted(model, data):
    """Maximum likelihood, in the order of the model's names."""
    with jax.enable_x64(True):
        flat, unravel = ravel_pytree({name: jnp.asarray(value) for name, value in model.init.items()})

        def loss(raveled):
            return -jnp.mean(jax.vmap(model.log_likelihood, (None, 0))(unravel(raveled), data))

        gradient = jax.jit(jax.value_and_grad(loss))
        found = optimize.minimize(lambda t: jax.tree.map(np.asarray, gradient(t)), flat, jac=True, tol=1e-9)
        return np.array([float(unravel(found.x)[name]) for name in model.names])


class FourDegrees(TLinearModel):
    fix_df = 4.0


def statsmodels_fit(name, x, y):
    if name == "logistic":
        return sm.Logit(y, x).fit(disp=False, tol=1e-10).params
    if name == "poisson":
        return sm.Poisson(y, x).fit(disp=False, tol=1e-10).params
    if name == "negative binomial":
        found = sm.NegativeBinomial(y, x).fit(disp=False, gtol=1e-9, maxiter=500).params
        return np.append(found[:-1], -np.log(found[-1]))  # α = 1/r
    if name == "ordinal":
        found = OrderedModel(y, x[:, 1:], distr="logit").fit(method="bfgs", disp=False, gtol=1e-8, maxiter=500).params
        return np.concatenate([[-found[2]], found[:2], found[3:]])  # slopes, first threshold, logs of gaps
    if name == "categorical":
        reordered = np.array([1, 0, 2])[y.astype(int)]  # the reference first
        return sm.MNLogit(reordered, x).fit(disp=False, tol=1e-10).params.T.ravel()
    if name == "student t":
        found = FourDegrees(y, x).fit(disp=False, start_params=np.r_[0.0, 0.0, 0.0, 0.5], maxiter=5000, maxfun=5000)
        return np.append(found.params[:-1], np.log(found.params[-1]))
    found = sm.OLS(y, x).fit()
    return found.params if "known" in name else np.append(found.params, 0.5 * np.log(np.mean(found.resid**2)))


@pytest.mark.parametrize("name", FAMILIES)
def test_maximum_likelihood_is_that_of_statsmodels(name):
    model, _, data = records(name, 500)
    expected = statsmodels_fit(name, sm.add_constant(data["x"]), data["y"])
    np.testing.assert_allclose(fitted(model, data), expected, atol=2e-4)


@lru_cache
def value_and_gradient(name):
    return jax.jit(jax.value_and_grad(ALL[name][0].log_likelihood))


def outcomes(model):
    if model.classes:
        return st.integers(0, len(model.classes) - 1).map(float)
    if isinstance(model, dp.models.LogisticRegression):
        return st.sampled_from([0.0, 1.0])
    return counts if hasattr(model, "most") else scaled


extreme = st.one_of(st.floats(-700, 700), st.floats(-3, 3), st.sampled_from([-700.0, 0.0, 5.0, 20.0, 40.0, 700.0]))
counts = st.one_of(st.integers(0, 5), st.integers(0, 2**31)).map(float)
scaled = st.floats(-1, 1)


@pytest.mark.parametrize("name", ALL)
@settings(deadline=None)  # the first example compiles
@given(data=st.data())
def test_nothing_overflows(name, data):
    """Values and gradients are finite for all parameters up to 700, and predictors up to 2100."""
    model, _ = ALL[name]
    theta = {key: data.draw(extreme) for key in model.names}
    x = np.array([data.draw(scaled) for _ in model.levels])
    record = {"x": x, "y": data.draw(outcomes(model))}
    with jax.enable_x64(True):
        theta, record = jax.tree.map(jnp.asarray, (theta, record))
        assert np.all(np.isfinite(ravel_pytree(value_and_gradient(name)(theta, record))[0]))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("x64", [True, False])
@pytest.mark.parametrize("size", [-500.0, 21.0, 500.0])
def test_records_can_be_simulated_wherever_the_parameters_are(name, x64, size):
    model, theta = FAMILIES[name]
    x = np.linspace(-1, 1, 40).reshape(20, 2)
    with jax.enable_x64(x64):
        given = model.simulate_given(jax.random.key(0), theta | {model.names[0]: size}, x)
        rows, y = np.asarray(jax.vmap(model.covariates)(given)), np.asarray(given["y"])
    assert np.all(np.isfinite(y))
    assert rows.dtype == (np.float64 if x64 else np.float32)
    np.testing.assert_allclose(rows, x, rtol=1e-6)
    if name in ("poisson", "negative binomial"):
        assert np.all(y >= 0)


def test_a_poisson_likelihood_points_back_from_wherever_it_is():
    model, theta = FAMILIES["poisson"]

    def slope(at):
        return jax.grad(model.log_likelihood)(theta | {"intercept": at}, {"x": np.zeros(2), "y": 1e6})["intercept"]

    with jax.enable_x64(True):
        assert slope(13.0) > 0  # the rate of a million is at 13.8
        assert all(slope(at) < 0 for at in (14.0, 19.0, 20.0, 21.0, 500.0))


@pytest.mark.parametrize("family", [dp.models.PoissonRegression, dp.models.NegativeBinomialRegression])
def test_simulated_counts_are_those_of_encoded_records(family):
    theta = FAMILIES["negative binomial"][1] | {"intercept": 15.0}
    given = family(BOUNDS, most=7).simulate(jax.random.key(0), theta, 50)
    assert np.max(given["y"]) == 7


def test_counts_that_vary_little_are_poisson():
    poisson, negative = (FAMILIES[name][0] for name in ("poisson", "negative binomial"))
    _, theta, data = records("poisson")
    with jax.enable_x64(True):
        one = jax.vmap(poisson.log_likelihood, (None, 0))(theta, data)
        for log_r in (25.0, 39.0, 41.0, 300.0):
            other = jax.vmap(negative.log_likelihood, (None, 0))(theta | {"log_concentration": log_r}, data)
            np.testing.assert_allclose(other, one, atol=1e-8)


@settings(deadline=None)
@given(st.integers(0, 300), st.floats(-20, 30))
def test_the_log_of_rising_products(y, log_r):
    with jax.enable_x64(True):
        found = log_rising(jnp.asarray(float(y)), jnp.asarray(log_r))
    np.testing.assert_allclose(found, np.log1p(np.arange(y) * np.exp(-log_r)).sum(), rtol=1e-11, atol=1e-11)


def test_starts_are_prior_means_and_order_is_part_of_a_model():
    model, _ = FAMILIES["linear"]
    assert model.init == {"intercept": 0.0, "a": 0.0, "b": 0.0, "log_sigma": -1.0}
    assert FAMILIES["linear, known noise"][0].names == ("intercept", "a", "b")
    again = dp.models.LinearRegression(dict(BOUNDS), (0, 10))
    assert (model, hash(model)) == (again, hash(again))
    assert model != dp.models.LinearRegression(dict(reversed(BOUNDS.items())), (0, 10))
    assert FAMILIES["poisson"][0] != dp.models.NegativeBinomialRegression(BOUNDS)
