"""The correction distribution: its error, certified and small (docs/theory/correction.md)."""

import time

import numpy as np
import pytest
from scipy.special import expit

from dpmcmc.privacy.correction import distance_to_logistic, optimal_correction


@pytest.mark.parametrize(("variance", "most"), [(2.5, 3.6e-3), (2.0, 6.0e-4), (1.5, 3e-5), (1.0, 6e-8)])
def test_error_and_time(variance, most):
    optimal_correction.cache_clear()
    start = time.process_time()
    correction = optimal_correction(variance)
    assert time.process_time() - start < 5
    assert correction.error <= most
    assert optimal_correction(variance) is correction


@pytest.mark.parametrize("variance", [1.0, 1.2, 2.0, 3.0, 8.0])
def test_is_a_symmetric_distribution_whose_error_holds(variance):
    correction = optimal_correction(variance)
    atoms, weights = np.array(correction.atoms), np.array(correction.weights)
    assert np.all(weights > 0)
    assert abs(weights.sum() - 1) < 1e-14
    np.testing.assert_array_equal(atoms, -atoms[::-1])
    np.testing.assert_array_equal(weights, weights[::-1])
    y = np.random.default_rng(1).uniform(-45, 45, 200_000)
    assert np.abs(correction.cdf(y) - expit(y)).max() <= correction.error


def test_distance_of_the_normal_alone():
    """By hand: N(0, 2) against the logistic; the maximum of |Φ(y/√2) − σ(y)| is at y ≈ ±2.0, 0.0498…"""
    y = np.linspace(1.5, 2.5, 100_001)
    from scipy.stats import norm

    most = np.abs(norm.cdf(y, scale=np.sqrt(2)) - expit(y)).max()
    assert distance_to_logistic(2.0, np.zeros(1), np.ones(1)) == pytest.approx(most, abs=1e-8)


def test_no_other_choice_of_weights_is_better():
    """Moving a little mass between the atoms, symmetrically, never lowers the error by more than its margin."""
    correction = optimal_correction(2.0)
    atoms, weights = np.array(correction.atoms), np.array(correction.weights)
    for i, j in [(0, 1), (1, 2), (0, 2), (1, 0), (2, 1), (2, 0)]:
        moved = weights.copy()
        for a, b in ((i, j), (len(atoms) - 1 - i, len(atoms) - 1 - j)):
            moved[a] -= 5e-4 * (2 if a == len(atoms) - 1 - a else 1) / 2
            moved[b] += 5e-4 * (2 if b == len(atoms) - 1 - b else 1) / 2
        assert distance_to_logistic(2.0, atoms, moved / moved.sum()) > correction.error - 1e-8


@pytest.mark.parametrize("variance", [0.99, 0.0, -1.0, np.inf, np.nan])
def test_bad_variance(variance):
    with pytest.raises(ValueError, match="variance"):
        optimal_correction(variance)
