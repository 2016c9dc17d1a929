"""The private variational fit comes near a Gaussian posterior, and costs what it says."""

import functools
from dataclasses import replace

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.variational import Fit, dpvi
from dpmcmc.privacy import Repeat


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
    assert (fit.receipt.epsilon, fit.receipt.delta) == (4.0, 1e-6)


def test_a_seed_voids_the_guarantee_and_secret_noise_gives_one():
    model, records = dp.models.GaussianMean(1), np.zeros((50, 1))
    seeded = dpvi(model, records, 1.0, 1e-6, steps=3, seed=1)
    again = dpvi(model, records, 1.0, 1e-6, steps=3, seed=1)
    secret = dpvi(model, records, 1.0, 1e-6, steps=3)
    assert seeded.guarantee is None
    assert np.array_equal(seeded.mean, again.mean)
    assert not np.array_equal(seeded.mean, secret.mean)
    assert secret.guarantee.epsilon == 1.0
    assert "differentially private" in str(secret)
    assert "No guarantee" in str(seeded)


def test_serves_as_start_and_scale_of_a_chain():
    model, records, fit = gaussian_fit()
    start = dp.Model(log_prior=model.log_prior, log_likelihood=model.log_likelihood, init=fit.position)
    kernel = dp.dp_barker(0.5 * fit.root, dp.DistanceClip(1.0))
    release = dp.sample(start, records, 8.0, 1e-6, kernel=kernel, steps=30, seed=2, progress=False)
    assert release.draws["theta"].shape == (2, 30, 3)


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
    plan = dp.plan(model, len(records), dp.Budget(1.0, 1e-6), kernel=kernel, after=fit)
    limit = privacy.zcdp_limit(1.0, 1e-6)
    chain = privacy.zcdp(plan.receipt.event) if plan.receipt.filter is None else plan.receipt.filter.limit
    assert 0.97 * limit < privacy.zcdp(fit.event) + chain <= limit
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 1e-6)
    alone = dp.plan(model, len(records), dp.Budget(1.0, 1e-6), kernel=kernel)
    assert plan.steps < alone.steps
    release = dp.sample(model, records, plan=replace(plan, steps=10, warmup=0), init=fit.position, progress=False)
    assert [receipt.purpose for receipt in release.receipts] == ["variational fit", "chains"]


def test_a_checkpoint_after_one_fit_is_not_resumed_after_another(fitted, tmp_path, monkeypatch):
    """Two fits of the same price: draws that began at the first must not be released as after the second."""
    model, records, fit = fitted
    again = replace(fit, position=fit.position + 1.0)
    kernel, path = dp.dp_barker(0.1, 0.01), tmp_path / "checkpoint"
    given = {"kernel": kernel, "steps": 100, "checkpoint": path, "progress": False}

    def cut(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpmcmc.sample.run_chunk", cut)
    with pytest.raises(KeyboardInterrupt):
        dp.sample(model, records, 1.0, 1e-6, after=fit, init=fit.position, **given)
    assert path.exists()
    with pytest.raises(ValueError, match="checkpoint"):
        dp.sample(model, records, 1.0, 1e-6, after=again, init=again.position, **given)


def test_what_cannot_be_counted_before_a_chain_is_refused(fitted):
    model, records, fit = fitted
    budget, kernel = dp.Budget(1.0, 1e-6), dp.dp_barker(0.1, 0.05)
    seeded = dpvi(model, records, 0.5, 1e-6, steps=3, seed=1)
    with pytest.raises(ValueError, match="without a guarantee"):
        dp.plan(model, len(records), budget, kernel=kernel, after=seeded)
    with pytest.raises(ValueError, match="all of the budget"):
        dp.plan(model, len(records), dp.Budget(0.4, 1e-6), kernel=kernel, after=fit)
    with pytest.raises(ValueError, match="is left, for"):
        dp.plan(model, len(records), budget, kernel=kernel, steps=10**6, after=(fit,))
    with pytest.raises(ValueError, match="is left, for 0 steps"):
        dp.plan(model, len(records), budget, kernel=dp.dp_barker_subsampled(0.1, 100), temperature=0.01, after=fit)
    for method in (None, "chain"):
        with pytest.raises(ValueError, match="give a kernel"):
            dp.plan(model, len(records), budget, method=method, after=fit)
    with pytest.raises(TypeError, match="got a Plan"):
        dp.plan(model, len(records), budget, kernel=kernel, after=dp.plan(model, len(records), budget, kernel=kernel))
    other = Repeat(privacy.Gaussian(50.0, privacy.ADD_REMOVE), 2)
    with pytest.raises(ValueError, match="relation"):
        dp.plan(
            model, len(records), budget, kernel=kernel, after=replace(fit, receipt=replace(fit.receipt, event=other))
        )
    chain = dp.sample(model, records, 0.5, 1e-6, kernel=kernel, steps=3, progress=False)
    with pytest.raises(ValueError, match="Gaussian sums; got 'chains'"):
        dp.plan(model, len(records), budget, kernel=kernel, after=chain)
