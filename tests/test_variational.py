"""The private variational fit comes near a Gaussian posterior, and costs what it says."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.variational import Fit, dpvi


@functools.cache
def gaussian_fit(full_rank=True, epsilon=4.0):
    rng = np.random.default_rng(0)
    model = dp.models.GaussianMean(3, noise_std=2.0)
    records = rng.normal([1.0, -3.0, 0.5], 2.0, (20_000, 3))
    fit = dpvi(model, records, epsilon, 1e-6, full_rank=full_rank, steps=300, seed=1)
    return model, records, fit


@pytest.mark.parametrize("full_rank", [True, False])
def test_comes_near_a_gaussian_posterior(full_rank):
    model, records, fit = gaussian_fit(full_rank)
    mean, variance = model.exact_posterior(records)
    assert np.all(np.abs(fit.mean - mean) < 1.0 * np.sqrt(variance))
    spread = np.sqrt(np.diag(fit.covariance) / variance)
    assert np.all((spread > 0.75) & (spread < 1.35))
    correlation = fit.covariance / np.sqrt(np.outer(np.diag(fit.covariance), np.diag(fit.covariance)))
    assert np.all(np.abs(correlation - np.eye(3)) < 0.4)
    assert np.allclose(fit.position, fit.mean)


def test_charges_every_gradient_within_the_budget():
    _, _, fit = gaussian_fit()
    assert isinstance(fit.event, privacy.Repeat)
    assert fit.event.count == 300
    assert isinstance(fit.event.event, privacy.Gaussian)
    assert 3.99 < privacy.epsilon(fit.event, 1e-6) <= 4.0
    assert (fit.guarantee, fit.receipts[0].delta) == (None, 1e-6)
    assert 3.99 < fit.receipts[0].epsilon <= 4.0


def test_a_seed_voids_the_guarantee_and_secret_noise_gives_one():
    model, records = dp.models.GaussianMean(1), np.zeros((50, 1))
    seeded = dpvi(model, records, 1.0, 1e-6, steps=3, seed=1)
    again = dpvi(model, records, 1.0, 1e-6, steps=3, seed=1)
    secret = dpvi(model, records, 1.0, 1e-6, steps=3)
    assert seeded.guarantee is None
    assert np.array_equal(seeded.mean, again.mean)
    assert not np.array_equal(seeded.mean, secret.mean)
    assert 0.999 < secret.guarantee.epsilon <= 1.0
    assert "differentially private" in str(secret)
    assert "NO PRIVACY GUARANTEE" in str(seeded)


def test_serves_as_start_and_scale_of_a_chain():
    model, records, fit = gaussian_fit()
    start = dp.Model(log_prior=model.log_prior, log_likelihood=model.log_likelihood, init=fit.position)
    kernel = dp.dp_barker(0.5 * fit.root, dp.DistanceClip(1.0))
    release = dp.sample(start, records, 8.0, 1e-6, method=dp.Chain(kernel, warmup=7), draws=23, seed=2, progress=False)
    assert release.draws["theta"].shape == (2, 30, 3)


@pytest.mark.slow
def test_parameters_of_any_shape():
    rng = np.random.default_rng(1)
    model = dp.models.LogisticRegression({"a": (-1.0, 1.0)})
    x = rng.uniform(-1, 1, 5000)
    y = rng.random(5000) < 1 / (1 + np.exp(-(0.5 + 2 * x)))
    fit = dpvi(model, model.encode({"a": x, "y": y}, outcome="y"), 4.0, 1e-6, seed=3)
    assert isinstance(fit, Fit)
    assert abs(float(fit.position["a"]) - 2.0) < 0.4
    assert abs(float(fit.position["intercept"]) - 0.5) < 0.3


@pytest.mark.parametrize(
    ("settings", "says"),
    [({"steps": 0}, "steps"), ({"clip": -1.0}, "clip"), ({"epsilon": -1.0}, "epsilon"), ({"delta": 0.0}, "delta")],
)
def test_public_mistakes_are_refused(settings, says):
    arguments = {"epsilon": 1.0, "delta": 1e-6} | settings
    with pytest.raises(ValueError, match=says):
        dpvi(dp.models.GaussianMean(1), np.zeros((10, 1)), **arguments)


@pytest.fixture(scope="module")
def fitted():
    model = dp.models.GaussianMean(2)
    records = np.random.default_rng(0).normal(size=(20_000, 2))
    return model, records, dpvi(model, records, 0.5, 1e-6, steps=20)


@pytest.mark.parametrize("clip", [0.01, dp.DistanceClip(3.5)])
def test_one_budget_pays_for_a_fit_and_the_chain_after_it(fitted, clip):
    """The zCDP of both, added up here, is within that of the budget and uses nearly all of it."""
    model, records, fit = fitted
    kernel = dp.dp_barker(0.5 * fit.root, clip)
    plan = dp.plan(model, len(records), dp.Budget(1.0, 1e-6), method=kernel, spent=fit)
    limit = privacy.zcdp_limit(1.0, 1e-6)
    receipt = plan.receipts[-1]
    chain = privacy.zcdp(receipt.event) if receipt.filter is None else receipt.filter.limit
    assert 0.97 * limit < privacy.zcdp(fit.event) + chain <= limit
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 1e-6)
    alone = dp.plan(model, len(records), dp.Budget(1.0, 1e-6), method=kernel)
    assert plan.steps < alone.steps
    short = dp.plan(
        model,
        len(records),
        dp.Budget(1.0, 1e-6),
        method=dp.Chain(kernel, warmup=0),
        draws=10,
        spent=fit,
        init=fit.position,
    )
    release = short.sample(records, progress=False)
    assert [receipt.purpose for receipt in release.receipts] == ["variational fit", "chains"]


def test_a_checkpoint_after_one_fit_is_not_resumed_after_another(fitted, tmp_path, monkeypatch):
    """Two fits of the same price: draws that began at the first must not be released as after the second."""
    model, records, fit = fitted
    again = replace(fit, position=fit.position + 1.0)
    path = tmp_path / "checkpoint"
    given = {"method": dp.Chain(dp.dp_barker(0.1, 0.01), checkpoint=path), "draws": 75, "progress": False}

    def cut(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpmcmc.chain.run.run_chunk", cut)
    with pytest.raises(KeyboardInterrupt):
        dp.sample(model, records, 1.0, 1e-6, spent=fit, init=fit.position, **given)
    assert path.exists()
    with pytest.raises(ValueError, match="checkpoint"):
        dp.sample(model, records, 1.0, 1e-6, spent=again, init=again.position, **given)
