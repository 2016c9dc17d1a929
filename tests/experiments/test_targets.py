"""Targets of the published studies: exact draws agree with the log densities, and priors with their draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpmcmc_experiments.targets import Banana, Circle, CorrelatedGaussian

MODELS = {
    "banana": Banana(3, 5.0),
    "correlated": CorrelatedGaussian(),
    "circle": Circle(sharpness=0.01),
}


@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("name", MODELS)
def test_exact_draws_have_the_score_of_the_posterior(name, temperature):
    """E ∇ log π = 0 and E (∇ log π)·θ = −1 a coordinate (Stein's identities), each within 4.5 standard errors."""
    model = MODELS[name]
    with jax.enable_x64(True):
        data = np.asarray(model.simulate(jax.random.key(0), jnp.asarray(model.init), 100))
        draws = model.exact_draws(np.random.default_rng(1), data, 20_000, temperature)
        total = jax.grad(
            lambda t: model.log_prior(t) + temperature * jnp.sum(jax.vmap(model.log_likelihood, (None, 0))(t, data))
        )
        scores = np.asarray(jax.vmap(total)(jnp.asarray(draws)))
    for values, target in ((scores, 0.0), (scores * (draws - draws.mean(0)), -1.0)):
        error = values.mean(0) - target
        assert np.all(np.abs(error) < 4.5 * values.std(0) / np.sqrt(len(values)))


@pytest.mark.parametrize("model", [MODELS["banana"], MODELS["correlated"]], ids=repr)
def test_draws_of_the_prior_have_its_score(model):
    """E ∇ log prior = 0 and E (∇ log prior)·θ = −1 a coordinate, within 4.5 standard errors."""
    with jax.enable_x64(True):
        draws = jax.vmap(model.sample_prior)(jax.random.split(jax.random.key(0), 20_000))
        scores = np.asarray(jax.vmap(jax.grad(model.log_prior))(draws))
    for values, target in ((scores, 0.0), (scores * np.asarray(draws), -1.0)):
        assert np.all(np.abs(values.mean(0) - target) < 4.5 * values.std(0) / np.sqrt(len(values)))


def test_bad_settings_name_the_value():
    for wrong in (
        lambda: Banana(1),
        lambda: Circle(-1.0),
        lambda: CorrelatedGaussian(((1.0, 2.0), (2.0, 1.0))),
    ):
        with pytest.raises(ValueError, match=r"-1\.0|dimension|covariance"):
            wrong()
