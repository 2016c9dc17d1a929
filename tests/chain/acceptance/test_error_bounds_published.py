"""Theorem 3 of Heikkilä et al. (2019) as printed, standardised, and our bound in its place."""

import math

import numpy as np
import pytest

from dpmcmc.chain.acceptance.error_bounds import Moments, published_sampling_error, sampling_error

DOCS = (43.5, 0.318, 0.00059)  # as printed, standardised, ours: docs/theory/correction.md


def test_the_printed_bound_cannot_hold():
    """A cdf with a jump J is at least J/2 from any continuous one, at any scale; the printed bound shrinks with it."""
    batch, rare, counts_as = 10, 0.02, 1000.0
    jump = (1 - rare) ** batch  # all draws at the common value
    ratios = np.concatenate([np.zeros(98), np.ones(2)])
    assert published_sampling_error(1e-6 * ratios, counts_as, batch) < 1e-4 < jump / 2
    with_variance_one = published_sampling_error(1e-6 * ratios, counts_as, batch, standardised=True)
    assert with_variance_one == pytest.approx(published_sampling_error(ratios, 7.0, batch, standardised=True))
    assert with_variance_one > jump / 2


def test_the_three_bounds_of_the_docs():
    batch = 1000
    y = np.linspace(-0.3, 0.3, 20_001)  # terms as the test scales them: N₀r/√b
    ratios = y * math.sqrt(batch)  # N₀r, with N₀ = 1
    ours = sampling_error(Moments.of(y), batch, 2.0)
    assert published_sampling_error(ratios, 1.0, batch) == pytest.approx(DOCS[0], rel=0.01)
    assert published_sampling_error(ratios, 1.0, batch, standardised=True) == pytest.approx(DOCS[1], rel=0.02)
    assert ours == pytest.approx(DOCS[2], rel=0.02)
