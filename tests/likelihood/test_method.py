"""The default method: right posteriors, honest about its noise, and predicted before it runs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.likelihood import smc
from dpmcmc.likelihood.rehearsal import rehearsal_records
from dpmcmc.raveled import RaveledModel
from dpmcmc_experiments.targets import Banana
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)

NORMAL = dp.models.GaussianMean(2)


def records(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2)) + np.array([0.3, -0.2])


@pytest.mark.slow
def test_the_default_recovers_a_normal_posterior_and_its_intervals_know_the_noise():
    """n = 20 000 at ε = 1, against the noise by hand: the clip C over the noise multiplier of the last stage.

    Scores are standard normal in two dimensions, so a clip that one in a thousand passes has C = 3.72; the last stage
    has 87 % of μ² = 0.237²; the noise moves a mean by 2C/(√0.87 μ √n) = 0.24 posterior standard deviations.
    """
    by_hand = 2 * np.sqrt(-2 * np.log(1e-3)) / (np.sqrt(0.87) * 0.237 * np.sqrt(20_000))
    data = records(20_000)
    release = dp.sample(NORMAL, data, 1.0, 1e-6, seed=5, progress=False)
    mean, variance = NORMAL.exact_posterior(data)
    draws = release.draws["theta"].reshape(-1, 2)
    assert 0.5 < release.quality.mean_error / by_hand < 1.5
    assert np.all(np.abs(draws.mean(0) - mean) / np.sqrt(variance) < 4.5 * (by_hand + 1 / np.sqrt(len(draws))))
    assert np.allclose(draws.std(0), np.sqrt(variance * (1 + by_hand**2)), rtol=0.1)
    assert "the privacy noise moves posterior means" in release.quality.describe()


@pytest.mark.slow
def test_a_bent_posterior_from_the_prior():
    """Narrow banana, curvature 350, from a prior thousands of posterior standard deviations wide."""
    model = Banana(2, 350.0)
    with jax.enable_x64(True):
        data = np.asarray(model.simulate(jax.random.key(5), model.truth, 150_000))
    exact = model.exact_draws(np.random.default_rng(1), data, 1000)
    release = dp.sample(model, data, 1.0, 1e-6, seed=3, progress=False)
    assert dp.metrics.mmd_raisa(release.draws["theta"].reshape(-1, 2), exact) < 0.15


@pytest.mark.slow
def test_two_modes_are_both_found():
    """The tied mixture with its labels free has two modes; tempered to 100 records both have mass."""
    model = dp.models.TiedMixture()
    with jax.enable_x64(True):
        data = np.asarray(model.simulate(jax.random.key(0), jnp.asarray([0.0, 1.0]), 100_000))
    release = dp.sample(model, data, 1.0, 1e-6, temperature=1e-3, seed=2, progress=False)
    second = release.draws["theta"][..., 1].ravel()
    assert 0.2 < np.mean(second > 0) < 0.8


@pytest.mark.slow
def test_a_small_data_set_gets_a_wide_posterior_and_advice():
    plan = dp.plan(NORMAL, 300, dp.Budget(1.0, 1e-6))
    assert plan.expected.mean_error > 0.5
    assert plan.expected.widening > 1.1
    assert "n = 300 is small for epsilon = 1" in str(plan)
    assert "temperature=" in str(plan)
    ample = dp.plan(NORMAL, 100_000, dp.Budget(1.0, 1e-6))
    assert ample.expected.mean_error < 0.2
    assert "is small" not in str(ample)


@pytest.mark.slow
def test_the_prediction_is_within_a_factor_of_two_of_the_outcome():
    """Root mean square error of the means over 12 runs; a factor of two is 3.4 of its standard errors."""
    data = records(5_000)
    mean, variance = NORMAL.exact_posterior(data)
    plan = dp.plan(NORMAL, 5_000, dp.Budget(1.0, 1e-6))
    errors = [
        dp.sample(NORMAL, data, 1.0, 1e-6, seed=seed, progress=False).draws["theta"].mean((0, 1)) - mean
        for seed in range(12)
    ]
    seen = np.sqrt(np.mean(np.square(errors)) / variance)
    assert 0.5 < seen / plan.expected.mean_error < 2.0


def test_the_free_sampler_draws_two_modes_in_their_right_weights():
    """N(−3, 1) with weight 0.3 and N(3, 1) with 0.7 as the log likelihood of one record: ±4.5 standard errors."""
    model = dp.Model(
        log_prior=lambda theta: -0.5 * jnp.sum(theta**2) / 100,
        log_likelihood=lambda theta, x: (
            jnp.logaddexp(jnp.log(0.3) - (theta[0] + 3) ** 2 / 2, jnp.log(0.7) - (theta[0] - 3) ** 2 / 2)
            + 0.5 * jnp.sum(theta**2) / 100
        ),
        init=np.zeros(1),
    )
    raveled = RaveledModel.of(model)
    with jax.enable_x64(True):
        problem = smc.Problem(
            records=np.zeros((1, 1)),
            weights=jnp.ones((32, 1)),
            power=jnp.asarray(1.0),
            centre=jnp.zeros(1),
            root=5 * jnp.eye(1),
            reach=jnp.asarray(jnp.inf),
            from_prior=jnp.asarray(False),
            evenly=jnp.asarray(False),
        )
        begin = 5 * np.random.default_rng(0).normal(size=(32, 128, 1))
        draws, arrived = smc.sample(raveled, problem, begin, jax.random.key(1))
    assert arrived
    shares = (draws > 0).mean((1, 2))
    assert abs(shares.mean() - 0.7) < 4.5 * shares.std(ddof=1) / np.sqrt(32)
    assert abs(shares.mean() - 0.7) < 0.1
    assert draws[draws > 0].std() == pytest.approx(1.0, abs=0.06)


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler")
def test_a_sampler_that_gives_up_says_so(monkeypatch):
    monkeypatch.setattr(smc, "MOST_TEMPERATURES", 2)
    release = dp.sample(NORMAL, records(20_000), 1.0, 1e-6, progress=False)
    assert release.quality.unconverged_stages > 0
    assert "did not reach the released posterior" in str(release)


def test_what_the_method_needs_is_said():
    with pytest.raises(ValueError, match="simulate="):
        dp.plan(
            dp.Model(lambda t: 0.0, lambda t, x: -t * x, init=0.0),
            100,
            dp.Budget(1.0, 1e-6),
            method=dp.LikelihoodRelease(),
        )
    with pytest.raises(TypeError, match="real parameters only"):
        dp.plan(
            dp.Model(lambda t: 0.0, lambda t, x: -t * x, init=0, simulate=lambda key, t, n: jnp.zeros(n)),
            100,
            dp.Budget(1.0, 1e-6),
        )


@pytest.mark.slow
def test_public_records_can_take_the_place_of_a_simulator():
    model = dp.Model(NORMAL.log_prior, NORMAL.log_likelihood, init=np.zeros(2))
    data = records(20_000)
    release = dp.sample(
        model, data, 1.0, 1e-6, method=dp.LikelihoodRelease(public_data=records(2000, seed=9)), seed=6, progress=False
    )
    mean, variance = NORMAL.exact_posterior(data)
    assert np.all(np.abs(release.draws["theta"].mean((0, 1)) - mean) < 2.5 * np.sqrt(variance))


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler")
def test_a_likelihood_release_is_not_read_as_a_chain(tmp_path):
    """No accept bits, no effective sample size or R-hat of draws that are no chain; the noise is said instead."""
    model = dp.Model(
        log_prior=lambda theta: -0.5 * theta["a"] ** 2,
        log_likelihood=lambda theta, x: -0.5 * (x - theta["a"]) ** 2,
        init={"a": 0.0},
        simulate=lambda key, theta, n: theta["a"] + jax.random.normal(key, (n,)),
        sample_prior=lambda key: {"a": jax.random.normal(key)},
    )
    release = dp.sample(model, records(500)[:, 0], 1.0, 1e-6, chains=3, draws=70, progress=False)
    assert {name: values.shape for name, values in release.draws.items()} == {"a": (3, 70)}
    assert release.sample_stats == {}
    assert not hasattr(release.to_arviz(), "sample_stats")
    assert list(release.summary().columns) == ["mean", "sd", "hdi_5%", "hdi_95%"]
    shown = str(release)
    assert f"by about {release.quality.mean_error:.2f} posterior standard deviations" in shown
    for word in ("r_hat", "ess_bulk", "R-hat", "effective sample size"):
        assert word not in shown
    loaded = dp.Release.load(release.save(tmp_path / "release.npz"))
    assert str(loaded) == shown
    assert (loaded.quality, loaded.receipts, loaded.settings) == (release.quality, release.receipts, release.settings)


@pytest.mark.parametrize(("init", "middle"), [(None, 0.0), (lambda key: 7.0 + jax.random.normal(key, (2,)), 7.0)])
def test_a_rehearsal_lies_where_the_model_starts(init, middle):
    plan = dp.plan(NORMAL, 4000, dp.Budget(1.0, 1e-6), init=init)
    with jax.enable_x64(True):
        simulated = np.asarray(rehearsal_records(plan, jax.random.key(0)))
    assert np.abs(simulated.mean(0) - middle).max() < (0.08 if init is None else 0.5)
