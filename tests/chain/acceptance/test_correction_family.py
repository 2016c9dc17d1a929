"""Correction distributions as published, beside the optimal one, and the error bounds of the test they serve."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from scipy.stats import binom, hypergeom

from dpmcmc.chain.acceptance.correction import (
    CORRECTIONS,
    fit_mixture,
    gauss_quadrature,
    gmm_correction,
    ridge_correction,
)
from dpmcmc.chain.acceptance.error_bounds import Moments, acceptance_error, sampling_error, stationary_error
from dpmcmc.privacy.correction import optimal_correction


def test_quadrature_matches_moments_and_is_symmetric():
    rng = np.random.default_rng(0)
    half, mass = rng.uniform(0, 5, 300), rng.random(300)
    atoms, weights = np.concatenate([half, -half]), np.concatenate([mass, mass]) / (2 * mass.sum())
    nodes, masses = gauss_quadrature(atoms, weights, 8)
    for power in range(0, 16, 2):
        assert masses @ nodes**power == pytest.approx(weights @ atoms**power, rel=1e-9)
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.array_equal(masses, masses[::-1])
    three = gauss_quadrature(np.array([-2.0, 0.0, 2.0]), np.array([0.25, 0.5, 0.25]), 8)
    np.testing.assert_allclose(three[0], [-2, 0, 2], atol=1e-12)


@pytest.mark.slow
def test_a_gaussian_mixture_and_its_quadrature_have_one_error():
    """A tenth of the published fit's steps, to be quick: above its error of 2.4e-3, not far."""
    mixture, reduced = fit_mixture(2.0, steps=2000), gmm_correction(2.0, steps=2000)
    assert 2.4e-3 < mixture.error(2.0) < 6e-3
    assert reduced.error == pytest.approx(mixture.error(2.0), rel=0.02)
    y = np.linspace(-20, 20, 2001)
    assert np.max(np.abs(reduced.cdf(y) - mixture.cdf(y, 2.0))) < 1e-4
    assert optimal_correction(2.0).error < 6e-4
    check_interface(reduced)


@pytest.mark.slow
@pytest.mark.parametrize(("variance", "published"), [(1.0, 7e-5), (1.5, 3e-4), (2.0, 2.4e-3)])
def test_the_gaussian_mixture_has_its_published_errors(variance, published):
    assert fit_mixture(variance).error(variance) == pytest.approx(published, rel=0.15)


@pytest.mark.slow
def test_the_mixture_fits_better_with_the_norm_that_the_paper_writes():
    assert fit_mixture(2.0, log_density=False).error(2.0) < 8e-4


@pytest.mark.parametrize(("variance", "least", "most"), [(1.0, 2e-4, 3e-3), (1.5, 0.012, 0.018), (2.0, 0.049, 0.054)])
def test_ridge_has_its_published_error(variance, least, most):
    assert least < ridge_correction(variance).error < most


def test_ridge_depends_on_its_grid_through_the_ratio_alone():
    assert ridge_correction(2.0, points=200).error == pytest.approx(ridge_correction(2.0).error, rel=2e-3)


def check_interface(correction):
    atoms, weights = np.array(correction.pairs).T
    assert np.array_equal(atoms, -atoms[::-1])
    assert np.all(weights > 0)
    assert abs(weights.sum() - 1) < 1e-12
    y = np.linspace(-30, 30, 4001)
    assert np.max(np.abs(correction.cdf(y) - expit(y))) <= correction.error


@pytest.mark.parametrize("name", sorted(CORRECTIONS.keys() - {"gmm"}))
@pytest.mark.parametrize("variance", [1.25, 2.0, 2.5])
def test_the_family_shares_one_interface(name, variance):
    check_interface(CORRECTIONS[name](variance))


@pytest.mark.parametrize("n", [None, 10**6])
@pytest.mark.parametrize(("size", "share"), [(1.0, 0.5), (1.0, 0.1), (0.3, 0.3), (0.05, 0.5)])
@pytest.mark.parametrize("batch", [10, 100, 1000])
def test_the_acceptance_error_bounds_the_true_one(n, size, share, batch):
    """Two kinds of records, so that the law of the batch is binomial or hypergeometric and the truth is a sum."""
    correction = optimal_correction(2.0)
    counts = np.arange(batch + 1)
    law = binom(batch, share) if n is None else hypergeom(n, round(share * n), batch)
    p, part = law.pmf(counts), counts / batch
    moments = Moments.of(size * np.concatenate([np.ones(round(1000 * share)), -np.ones(1000 - round(1000 * share))]))
    v = 2.0 - 4 * size**2 * part * (1 - part)
    worst = 0.0
    for delta in np.linspace(-6, 6, 61):
        x = delta + size * 2 * (part - share) * np.sqrt(batch)
        accept = sum(w * ndtr((x + a) / np.sqrt(v)) for a, w in correction.pairs) @ p
        worst = max(worst, abs(accept - expit(delta)))
    assert worst <= acceptance_error(correction, moments, batch, n)


def test_error_bounds_shrink_as_they_should():
    moments = Moments.of(np.random.default_rng(0).uniform(-1, 1, 10_000))
    one, other = (sampling_error(moments, b, 2.0) for b in (10**4, 10**6))
    assert other == pytest.approx(one / 10, rel=0.02)
    assert sampling_error(Moments(0.0, 0.0, 0.0), 10, 2.0) == 0.0
    assert stationary_error(0.001, 0.9) == pytest.approx(0.01)
    for wrong in (lambda: stationary_error(0.1, 1.0), lambda: sampling_error(moments, 10, 1.0)):
        with pytest.raises(ValueError, match=r"contraction|variance"):
            wrong()
