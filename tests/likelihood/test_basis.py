"""The basis: right functions, right features, least harm."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.likelihood.basis import Basis, choose_clip
from dpmcmc.raveled import RaveledModel
from dpmcmc_experiments.targets import Banana, CorrelatedGaussian


def built(model, width=0.05, seed=0, records=10_000.0, simulated=1024):
    flat = RaveledModel.of(model)
    rng = np.random.default_rng(seed)
    centre = np.asarray(getattr(model, "truth", np.zeros(flat.dimension)))
    anchors = centre + width * rng.normal(size=(200, flat.dimension))
    with jax.enable_x64(True):
        records_like = jax.tree.map(np.asarray, model.simulate(jax.random.key(seed), centre, simulated))
        return flat, Basis.build(flat.values, anchors, records_like, records), rng


def features(flat, basis, records):
    with jax.enable_x64(True):
        values = np.asarray(flat.values(basis.anchors, records))
    return basis.features(values) * basis.clip


@pytest.mark.parametrize(
    "model",
    [dp.models.GaussianMean(3), Banana(2, 350.0), CorrelatedGaussian()],
    ids=["normal", "banana", "correlated"],
)
def test_an_exponential_family_is_carried_exactly_even_between_the_anchors(model):
    """d sufficient statistics: d functions, and the released sums without noise give back the log likelihood."""
    flat, basis, rng = built(model)
    assert basis.size == flat.dimension
    with jax.enable_x64(True):
        data = np.asarray(model.simulate(jax.random.key(7), np.asarray(getattr(model, "truth", np.zeros(3))), 500))
        sums = features(flat, basis, data).sum(0) / basis.clip
        fresh = basis.anchors[0] + 0.05 * rng.normal(size=(20, flat.dimension))
        ours = np.asarray(flat.values(fresh, basis.simulated)).T @ basis.weights(len(data), sums)
        exact = np.asarray(flat.values(fresh, data)).sum(0)
    assert np.allclose(ours - ours[0], exact - exact[0], rtol=1e-6, atol=1e-6 * np.ptp(exact))


def test_features_of_simulated_records_have_the_variances_that_the_scaling_wants():
    """E f_k² = λ_k, and at most one in two hundred is longer than the clip."""
    model = dp.models.TiedMixture()
    flat, basis, _ = built(model, width=0.5)
    with jax.enable_x64(True):
        same = np.asarray(model.simulate(jax.random.key(0), np.zeros(2), 1024))
    f = features(flat, basis, same)
    assert np.allclose(np.mean(f**2, axis=0), basis.scales, rtol=1e-6)
    assert np.mean(np.linalg.norm(f, axis=1) > basis.clip) <= 0.006


def test_the_clip_grows_with_n_where_features_are_skewed_and_not_where_they_are_symmetric():
    """Clipping a skewed feature biases its sum by n times a mean; a symmetric one's not at all."""
    rng = np.random.default_rng(0)
    skewed = np.concatenate([rng.normal(size=(16_384, 1)), rng.chisquare(1, (16_384, 1)) - 1], axis=1)
    symmetric = rng.normal(size=(16_384, 2))
    scales = np.ones(2)
    small, large = (choose_clip(skewed, scales, n, 5.0) for n in (1e2, 1e6))
    assert large > 1.3 * small
    small, large = (choose_clip(np.r_[symmetric, -symmetric], scales, n, 5.0) for n in (1e2, 1e6))
    assert large == small


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_no_other_scaling_does_less_harm(size, seed):
    """Proposition 2: tr(T K Tᵀ)·tr(T⁻¹T⁻ᵀ) ≥ (Σλ)², reached at T = diag(λ^−½)."""
    rng = np.random.default_rng(seed)
    scales = rng.uniform(0.01, 1.0, size)
    harm = lambda t: np.trace(t @ np.diag(scales**2) @ t.T) * np.trace(np.linalg.inv(t.T @ t))  # noqa: E731
    assert harm(np.diag(scales**-0.5)) == pytest.approx(scales.sum() ** 2)
    assert harm(rng.normal(size=(size, size)) + 0.1 * np.eye(size)) >= scales.sum() ** 2 * (1 - 1e-9)


def test_small_components_are_left_out_and_large_ones_kept():
    _, narrow, _ = built(dp.models.TiedMixture(), width=0.02, records=1000.0)
    _, wide, _ = built(dp.models.TiedMixture(), width=1.0, records=1e6)
    assert narrow.size < wide.size
    assert np.all(1000.0 * narrow.scales[1:] > 0.02)
