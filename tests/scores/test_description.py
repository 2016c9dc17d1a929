"""Simulated covariates have the moments of the real ones, as far as the noise lets them be seen."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.scores.description import DRAWN, OUTSIDE, describe, spectral, towards
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
        found = describe(reader, x.shape[1], np.random.default_rng(seed))
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


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10_000))
def test_a_matrix_of_noise_is_drawn_to_what_was_expected_and_a_signal_is_not(size, seed):
    """James & Stein: nearer to the truth than what was seen; unchanged where it is far from what was expected."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(size, size)) / np.sqrt(2)
    noise = 0.1 * (noise + noise.T) / np.sqrt(2) * np.where(np.eye(size), np.sqrt(2) ** 2 / np.sqrt(2), 1)
    truth = np.eye(size)
    found = towards(truth + noise, truth, 0.1)
    assert np.linalg.norm(found - truth) <= np.linalg.norm(noise) + 1e-12
    np.testing.assert_allclose(found, found.T)
    signal = truth + 100 * (np.ones((size, size)) + np.eye(size))
    np.testing.assert_allclose(towards(signal + noise, truth, 0.1), signal + noise, rtol=1e-4)


def test_the_largest_eigenvalue_of_noise_is_foreseen():
    """Of weighted triangles of independent numbers: the mean over a hundred matrices, within a quarter."""
    from dpmcmc.scores import matrices

    rng = np.random.default_rng(0)
    for size in (5, 20):
        largest = [
            np.abs(np.linalg.eigvalsh(matrices.as_matrix(rng.normal(size=size * (size + 1) // 2), size))).max()
            for _ in range(100)
        ]
        assert np.mean(largest) == pytest.approx(spectral(1.0, size), rel=0.25)
