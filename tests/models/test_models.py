"""Models of the library: priors agree with their draws, closed forms and simulations with their densities."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import dpmcmc as dp
from tests.models.families import FAMILIES

MODELS = {
    "gaussian": dp.models.GaussianMean(2),
    "mixture": dp.models.TiedMixture(),
} | {name: model for name, (model, _) in FAMILIES.items()}


def near(values, target):
    """Whether means over the first axis are within 4.5 standard errors."""
    return np.all(np.abs(values.mean(0) - target) < 4.5 * values.std(0) / np.sqrt(len(values)))


@pytest.mark.parametrize("name", MODELS)
def test_draws_of_the_prior_have_its_score(name):
    """E ∇ log prior = 0 and E (∇ log prior)·θ = −1 a coordinate."""
    model = MODELS[name]
    with jax.enable_x64(True):
        draws = jax.vmap(model.sample_prior)(jax.random.split(jax.random.key(0), 20_000))
        scores = jax.vmap(jax.grad(model.log_prior))(draws)
        scores, draws = (np.asarray(jax.vmap(lambda t: ravel_pytree(t)[0])(tree)) for tree in (scores, draws))
    assert near(scores, 0.0)
    assert near(scores * draws, -1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_simulated_records_have_the_likelihoods_score(name):
    """E ∇θ log p(x|θ) = 0 over records simulated at θ."""
    model = MODELS[name]
    with jax.enable_x64(True):
        theta = model.sample_prior(jax.random.key(1))
        theta = jax.tree.map(lambda leaf: 0.3 * leaf, theta)
        records = model.simulate(jax.random.key(2), theta, 20_000)
        scores = jax.vmap(jax.grad(model.log_likelihood), (None, 0))(theta, records)
        scores = np.asarray(jax.vmap(lambda t: ravel_pytree(t)[0])(scores))
    assert near(scores, 0.0)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_the_closed_form_is_the_maximum_with_its_curvature(temperature):
    model = dp.models.GaussianMean(2, noise_std=1.5, prior_std=0.7)
    records = np.random.default_rng(0).normal(size=(40, 2))
    mean, variance = model.exact_posterior(records, temperature)

    def log_posterior(theta):
        each = jax.vmap(model.log_likelihood, (None, 0))(theta, jnp.asarray(records))
        return model.log_prior(theta) + temperature * jnp.sum(each)

    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(log_posterior)(jnp.asarray(mean)), 0.0, atol=1e-9)
        np.testing.assert_allclose(jax.hessian(log_posterior)(jnp.asarray(mean)), -np.eye(2) / variance, atol=1e-9)


def test_bad_settings_name_the_value():
    with pytest.raises(ValueError, match=r"noise_std must be positive.* -1\.0"):
        dp.models.GaussianMean(2, noise_std=-1.0)
    with pytest.raises(ValueError, match=r"\(4\.0, 0\.0\)"):
        dp.models.LogisticRegression({"a": (4.0, 0.0)})


def test_another_start_leaves_the_model_as_it_is():
    model = dp.models.WithInit(MODELS["gaussian"], np.ones(2))
    assert np.array_equal(model.init, np.ones(2))
    assert model.simulate(jax.random.key(0), jnp.zeros(2), 3).shape == (3, 2)
    assert model.dimension == 2


@pytest.mark.parametrize("outcome", [[1, 2], [0, 0.5], [-1, 1]])
def test_an_outcome_that_is_not_binary_is_refused(outcome):
    model = dp.models.LogisticRegression({"a": (0, 1)})
    with pytest.raises(ValueError, match="'y' must be 0/1 or True/False; recode"):
        model.encode({"a": [0.1, 0.2], "y": outcome}, outcome="y")


def test_a_missing_outcome_stays_missing():
    """It is then refused with the other records that are not finite, and never read as 0."""
    encoded = dp.models.LogisticRegression({"a": (0, 1)}).encode({"a": [0.1, 0.2], "y": [np.nan, True]}, outcome="y")
    assert np.isnan(encoded["y"][0])
    assert encoded["y"][1] == 1
