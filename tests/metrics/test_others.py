"""The other measures: moments, predictions, histograms, clip fractions."""

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import metrics


def test_the_thesis_measure_on_two_exact_samples_is_small_and_grows_with_a_shift():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))
    assert metrics.mmd_raisa(x, y) < 0.06
    assert metrics.mmd_raisa(x + 1.0, y) > 0.3
    assert metrics.mmd_raisa(x + 10.0, y) == pytest.approx(np.sqrt(2 * (1 - np.exp(-0.5))), abs=0.03)  # two far clumps


def test_the_thesis_measure_is_the_formula():
    x, y = np.array([[0.0], [1.0], [3.0]]), np.array([[0.5], [2.0]])
    rng = np.random.default_rng(4)
    width = np.median(np.abs(x[rng.integers(3, size=500), 0] - y[rng.integers(2, size=500), 0]))
    k = lambda a, b: np.exp(-((a - b) ** 2) / (2 * width**2))  # noqa: E731
    within = (k(0, 1) + k(0, 3) + k(1, 3)) / 3 + k(0.5, 2.0)
    between = np.mean([k(a, b) for a in x[:, 0] for b in y[:, 0]])
    assert metrics.mmd_raisa(x, y, seed=4) == pytest.approx(np.sqrt(abs(within - 2 * between)))


def test_symmetric_kl_is_zero_for_one_sample_and_symmetric():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5000, 2)), rng.normal(0.5, 1, size=(5000, 2))
    box = ((-4.0, 4.0), (-4.0, 4.0))
    assert metrics.symmetric_kl(x, x, box) == 0.0
    assert metrics.symmetric_kl(x, y, box, bins=20) == pytest.approx(metrics.symmetric_kl(y, x, box, bins=20))
    with pytest.raises(ValueError, match="no draw lies within"):
        metrics.symmetric_kl(x + 100, y, box)


def test_running_moments_are_those_of_the_first_draws():
    draws = np.random.default_rng(0).normal(5.0, 2.0, size=(50, 3, 2))
    means, variances = metrics.running_moments(draws)
    for count in (1, 7, 50):
        assert np.allclose(means[count - 1], draws[:count].mean(0))
        assert np.allclose(variances[count - 1], draws[:count].var(0))


def test_predictions_against_outcomes():
    p, y = np.array([0.9, 0.2, 0.6, 0.4]), np.array([1, 0, 0, 1])
    assert metrics.accuracy(p, y) == 0.5
    assert metrics.log_loss(p, y) == pytest.approx(-np.mean(np.log([0.9, 0.8, 0.4, 0.4])))
    assert metrics.calibration_error(p, y) == pytest.approx((0.1 + 0.2 + 0.6 + 0.6) / 4)
    rng = np.random.default_rng(0)
    q = rng.random(100_000)
    assert metrics.calibration_error(q, rng.random(100_000) < q) < 0.01


def test_clip_fractions_count_records():
    model, data = dp.models.GaussianMean(1), np.array([[-3.0], [-1.0], [0.5], [2.0]])
    here, there = np.zeros((1, 1)), np.full((1, 1), 0.1)
    ratios = np.abs(0.1 * data[:, 0] - 0.005)
    for bound in (0.04, 0.15, 0.25):
        found = metrics.clip_fraction(model, data, dp.ConstantClip(bound), here, there)
        assert found == np.mean(ratios > bound)
    assert metrics.gradient_clip_fraction(model, data, 1.5, here) == 0.5


def test_effective_draws_and_r_hat():
    rng = np.random.default_rng(0)
    fresh = rng.normal(size=(4, 500, 2))
    assert 1200 < metrics.effective_draws(fresh) < 2800
    assert metrics.largest_r_hat(fresh) < 1.02
    stuck = fresh + np.arange(4)[:, None, None]
    assert metrics.largest_r_hat(stuck) > 1.5


def test_moment_errors():
    draws = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    assert metrics.mean_error(draws, np.array([1.0, 0.0])) == pytest.approx(1.0)
    assert metrics.covariance_error(draws, np.cov(draws, rowvar=False)) == 0.0
