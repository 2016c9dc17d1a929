"""Simulated covariates have the moments of the real ones, as far as the noise lets them be seen."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.scores.description import DRAWN, OUTSIDE, describe
from dpmcmc.scores.measure import SURE, believed
from dpmcmc.scores.reader import Noisy
from tests.scores.problems import MU, NumbersReader

MODEL = dp.models.LogisticRegression({"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)})


def correlated(n, seed=0):
    """Covariates far from uniform: one narrow, one rare, two alike."""
    rng = np.random.default_rng(seed)
    a = np.clip(0.2 + 0.1 * rng.normal(size=n), -1, 1)
    b = np.where(rng.random(n) < 0.1, 1.0, -1.0)
    c = np.clip(0.5 * b + 0.3 * rng.normal(size=n), -1, 1)
    return np.stack([a, b, c], axis=1)


def described(x, mu=MU, noise=1.0, seed=0, count=50_000):
    reader = NumbersReader(MODEL, {"x": x, "y": np.zeros(len(x))}, mu, seed, noise)
    with jax.enable_x64(True):
        found = describe(reader, (0,) * x.shape[1], False, np.random.default_rng(seed))
    return found.draw(np.random.default_rng(seed + 1), count)


def test_drawn_covariates_have_the_moments_of_correlated_ones():
    """Without noise to speak of: 4.5 standard errors of the covariates that the description is fitted with."""
    x = correlated(20_000)
    drawn = described(x, mu=100.0)
    spread = x.std(axis=0)
    error = 4.5 * np.sqrt(2 / DRAWN)
    assert np.all(np.abs(drawn.mean(axis=0) - x.mean(axis=0)) / spread < error)
    away = (np.cov(drawn.T) - np.cov(x.T)) / np.outer(spread, spread)
    assert np.abs(away).max() < error
    assert np.all(np.abs(drawn) <= OUTSIDE)


def test_noise_moves_the_moments_by_what_it_is():
    """n = 20 000 at ε = 1: each moment's noise is 2C/(√0.016 μ n) in standard coordinates, with a clip C near 10."""
    x = correlated(20_000)
    drawn = described(x)
    spread = x.std(axis=0)
    noise = 2 * 10 / (np.sqrt(0.016) * MU * 20_000)
    assert np.all(np.abs(drawn.mean(axis=0) - x.mean(axis=0)) / spread < 4.5 * 2 * noise)
    away = (np.cov(drawn.T) - np.cov(x.T)) / np.outer(spread, spread)
    assert np.abs(away).max() < 4.5 * (noise + np.sqrt(2 / DRAWN))


@pytest.mark.parametrize("mu", [1e-3, MU, 100.0])
@pytest.mark.parametrize(
    "x",
    [
        np.zeros((40, 3)),
        np.ones((40, 3)),
        np.tile(np.linspace(-1, 1, 40)[:, None], 3),
        correlated(1).repeat(40, axis=0),
    ],
    ids=["constant", "at the bounds", "all the same", "one record"],
)
def test_whatever_the_records_are_covariates_can_be_drawn(mu, x):
    drawn = described(x, mu=mu, count=1000)
    assert drawn.shape == (1000, 3)
    assert np.all(np.isfinite(drawn))
    assert np.all(np.abs(drawn) <= OUTSIDE)


def test_a_rare_value_does_not_drown_the_rest():
    """One in two hundred, twice: correlations of the others are found as if it were not there, and it is not lost."""
    rng = np.random.default_rng(0)
    n = 20_000
    a = rng.uniform(-1, 1, n)
    b = np.clip(0.8 * a + 0.3 * rng.normal(size=n), -1, 1)
    rare = np.where(rng.random(n) < 0.005, 1.0, -1.0)
    alone, all_three = np.stack([a, b, b], axis=1), np.stack([a, b, rare], axis=1)
    errors = []
    for x in (alone, all_three):
        drawn = [np.corrcoef(described(x, seed=seed)[:, :2].T)[0, 1] for seed in range(5)]
        errors.append(np.sqrt(np.mean((np.array(drawn) - np.corrcoef(a, b)[0, 1]) ** 2)))
    assert errors[1] < 2 * errors[0] + 0.02
    masses = [np.mean(described(all_three, seed=seed)[:, 2] > 0) for seed in range(5)]
    assert 0.001 < np.mean(masses) < 0.02


def test_values_that_may_be_no_records_are_counted_once_more():
    """Counts and noise by hand: seen at first, not seen at first, and seen by both together."""
    n, rng = 20_000, np.random.default_rng(0)
    a = rng.uniform(-1, 1, n)
    for share, times, unseen in ((0.1, 2, 0), (0.0, 3, 1), (0.01, 3, 0)):
        rare = np.where(np.arange(n) < share * n, 1.0, -1.0)
        reader = NumbersReader(MODEL, {"x": np.stack([a, a, rare], axis=1), "y": np.zeros(n)}, 0.2, 1, 1.0)
        counted = []
        real = reader.covariate_counts
        reader.covariate_counts = lambda *given, real=real, counted=counted: counted.append(real(*given)) or counted[-1]
        with jax.enable_x64(True):
            found = describe(reader, (0, 0, 0), False, np.random.default_rng(0))
        assert len(counted) == times
        assert sum(map(bool, found.marginals.unseen)) == unseen


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 10), st.floats(0.1, 10), st.integers(0, 1000))
def test_two_counts_are_averaged_by_their_precision(one, two, seed):
    """The variance of the average over 4000 numbers, 5 standard errors."""
    rng = np.random.default_rng(seed)
    both = Noisy(one * rng.normal(size=4000), one).averaged(Noisy(two * rng.normal(size=4000), two))
    assert both.std == pytest.approx((one**-2 + two**-2) ** -0.5)
    assert np.var(both.values) == pytest.approx(both.std**2, rel=5 * np.sqrt(2 / 4000))


def test_covariates_that_are_nearly_the_same_are_found_to_be():
    """Correlations of 0.99: the smallest variance of the drawn ones, which noise hides at first, within a factor 5."""
    rng = np.random.default_rng(0)
    common = 0.3 * rng.normal(size=(20_000, 1))
    x = np.clip(common + 0.03 * rng.normal(size=(20_000, 3)), -1, 1)
    true = np.linalg.eigvalsh(np.cov(x.T))[0]
    for seed in range(3):
        assert np.linalg.eigvalsh(np.cov(described(x, seed=seed).T))[0] < 5 * true


def test_outcomes_are_described_beside_the_covariates():
    """A count that is 3 in the middle and a 0/1 outcome that is rare, within four standard deviations of the noise."""
    rng = np.random.default_rng(0)
    x = correlated(20_000)
    for model, y, error in (
        (dp.models.PoissonRegression(MODEL.bounds, most=1000), rng.poisson(3.0, 20_000), 0.3),
        (MODEL, rng.random(20_000) < 0.03, 0.02),
    ):
        reader = NumbersReader(model, {"x": x, "y": y.astype(float)}, MU)
        with jax.enable_x64(True):
            found = describe(reader, (0, 0, 0), True, np.random.default_rng(0)).outcomes
            unit = found.quantiles(np.random.default_rng(1).uniform(size=(50_000, 1)))[:, 0]
            again = np.asarray(model.respond(np.zeros((50_000, 3)), unit)["y"])
        assert abs(again.mean() - y.mean()) < error


@settings(max_examples=100, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10_000), st.floats(-2, 2), st.floats(0.05, 2))
def test_what_is_believed_is_between_what_was_expected_and_what_was_seen(size, seed, log_noise, error):
    rng = np.random.default_rng(seed)
    noise = 10 ** (log_noise + rng.normal(size=size))
    seen = error * rng.normal(size=size) + noise * rng.normal(size=size)
    found, left = believed(seen, noise, error)
    assert np.all(np.abs(found) <= np.abs(seen))
    assert np.all(found * seen >= 0)
    assert np.all(left >= SURE)
    # a mixture of normals whose variances are at most the noise's, with means between 0 and what was seen
    assert np.all(left**2 <= np.maximum(noise**2 + seen**2 / 4, SURE**2) * (1 + 1e-9))
    alike = believed(np.full(size, error), np.sort(noise), error)[0]
    assert np.all(np.diff(alike) <= 1e-9 * error)  # the noisier, the less


def test_what_is_believed_is_nearer_to_the_truth_and_knows_how_near():
    """400 numbers with noise from a tenth to ten times their size: the mean square over what is said, 4.5 errors."""
    rng = np.random.default_rng(0)
    truth, noise = 0.3 * rng.normal(size=400), 0.3 * 10 ** rng.uniform(-1, 1, 400)
    seen = truth + noise * rng.normal(size=400)
    found, left = believed(seen, noise, 0.5)
    assert np.mean((found - truth) ** 2) < 0.5 * np.mean((seen - truth) ** 2)
    assert np.mean(((found - truth) / left) ** 2) == pytest.approx(1, abs=4.5 * np.sqrt(2 / 400))
