"""Distances between samples."""

import numpy as np
import pytest
from scipy import stats

from dpmcmc.metrics import mmd, mmd_test


def test_mmd_matches_its_definition_and_the_closed_form_for_normals():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(7, 2)), rng.normal(1.0, 1.0, size=(5, 2))

    def kernel(a, b):
        return np.exp(-np.sum((a - b) ** 2) / (2 * 1.3**2))

    by_hand = (
        np.mean([kernel(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j])
        + np.mean([kernel(a, b) for i, a in enumerate(y) for j, b in enumerate(y) if i != j])
        - 2 * np.mean([kernel(a, b) for a in x for b in y])
    )
    assert mmd(x, y, bandwidth=1.3) == pytest.approx(by_hand, abs=1e-12)

    x, y = rng.normal(size=3000), rng.normal(0.5, 1.0, size=3000)
    exact = 2 / np.sqrt(3) * (1 - np.exp(-(0.5**2) / 6))  # E k = exp(−Δ²/(2·3))/√3 for variances 1 + 1 + bandwidth²
    assert mmd(x, y, bandwidth=1.0) == pytest.approx(exact, abs=0.025)  # four standard errors


@pytest.mark.slow
def test_the_permutation_test_is_calibrated_and_has_power():
    rng = np.random.default_rng(1)
    p_values = [mmd_test(rng.normal(size=60), rng.normal(size=60), 99, seed) for seed in range(60)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3  # seed fixed
    assert mmd_test(rng.normal(size=300), rng.normal(0.5, 1.0, size=300)) == 0.001
    assert mmd_test(rng.normal(size=400), rng.normal(0.0, 1.5, size=400)) <= 0.005
