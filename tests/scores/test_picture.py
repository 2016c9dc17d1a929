"""The model at one place: information as in closed form, and coordinates that do no more harm than whitening."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.coordinates import POWER, kind_axes, metric
from dpmcmc.scores.foresight import SimulatedRecords
from dpmcmc.scores.picture import picture
from tests.scores.problems import LINEAR, SIGMA, linear_records

RAVELED = RaveledModel.of(LINEAR)
X = linear_records(8192)["x"]


def pictured(ratio=None, n=5000, theta=(0.3, -0.2, 0.2)):
    with jax.enable_x64(True):
        at = SimulatedRecords(RAVELED, jax.random.key(0), X).at(np.array(theta))
    return picture(at, np.eye(3) if ratio is None else ratio, n)


def closed_form():
    """The information of one record, a, b and the intercept in the order of raveled parameters."""
    design = np.column_stack([X, np.ones(len(X))])
    return design.T @ design / len(X) / SIGMA**2


def test_the_information_is_that_of_the_model():
    here = pictured()
    np.testing.assert_allclose(here.information, closed_form(), rtol=1e-9)
    np.testing.assert_allclose(here.prior_precision, np.eye(3) / 2.5**2)
    exact = np.linalg.inv(5000 * closed_form() + np.eye(3) / 2.5**2)
    np.testing.assert_allclose(here.posterior_covariance(5000), exact, rtol=1e-8)


def test_scores_of_simulated_records_are_scores():
    """Mean zero and the information for a covariance, within 4.5 standard errors of 8192 records."""
    here = pictured()
    white = here.scores @ matrices.power(here.information, -0.5)
    assert np.all(np.abs(white.mean(axis=0)) < 4.5 / np.sqrt(len(X)))
    assert np.abs(white.T @ white / len(X) - np.eye(3)).max() < 4.5 * np.sqrt(15 / len(X))
    np.testing.assert_allclose(here.features, here.scores @ here.root.T, atol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_the_ratio_is_the_real_information_over_the_simulated(seed):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(3, 6))
    ratio = a @ a.T / 6 + 0.2 * np.eye(3)
    here = pictured(ratio, n=10**9)
    lower = np.linalg.cholesky(closed_form())
    np.testing.assert_allclose(here.information, lower @ ratio @ lower.T, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(here.stretch @ closed_form() @ here.stretch.T, here.information, rtol=1e-4, atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.integers(10, 10**6))
def test_features_come_back_as_standard_deviations(seed, n):
    """``harm`` undoes the metric: harm · root · information · rootᵀ · harmᵀ is the identity, but for the prior."""
    here = pictured(n=n)
    whole = here.harm @ here.root
    shape = here.information + here.prior_precision / n
    np.testing.assert_allclose(whole @ shape @ whole.T, np.eye(3), atol=1e-8)


def objective(coordinates, white):
    norms = np.linalg.norm(white @ coordinates.T, axis=1)
    return np.trace(np.linalg.inv(coordinates.T @ coordinates)) * np.mean(norms**POWER) ** (2 / POWER)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000), st.floats(0.001, 0.5))
def test_coordinates_are_no_worse_than_whitening(size, seed, rare):
    """tr (TᵀT)⁻¹ (E‖Tz‖^q)^(2/q) for white vectors, of which one column is rare and far out."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2000, size))
    z[:, 0] = (rng.random(2000) < rare) * rng.choice([-1, 1], 2000) / np.sqrt(rare) + 1e-3 * z[:, 0]
    z = z @ np.linalg.qr(rng.normal(size=(size, size)))[0]
    white = z @ matrices.power(z.T @ z / len(z), -0.5)
    found = metric(white)
    assert objective(found, white) <= objective(np.eye(size), white) * (1 + 1e-3)
    assert np.mean(np.sum((white @ found) ** 2, axis=1)) == pytest.approx(size)
    for _ in range(5):  # nor is any near by much better
        other = found + 0.05 * rng.normal(size=(size, size))
        assert objective(found, white) < objective(other, white) * 1.02


def test_rare_and_far_directions_get_more_noise():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20_000, 3))
    z[:, 0] = (rng.random(20_000) < 0.002) / np.sqrt(0.002)
    white = z @ matrices.power(z.T @ z / len(z), -0.5)
    found = metric(white)
    assert objective(found, white) < 0.5 * objective(np.eye(3), white)
    assert found[0, 0] < 0.7 * found[1, 1]


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10_000))
def test_axes_for_products_have_the_norms_of_the_metric(size, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(2000, size))
    a = rng.normal(size=(size, size))
    harm = matrices.power(a @ a.T, 0.5)
    lengths, axes = kind_axes(z, harm)
    np.testing.assert_allclose(axes.T @ axes, np.eye(size), atol=1e-10)
    direct = np.linalg.norm(z @ harm @ metric(z @ harm, 2 * POWER), axis=1)
    np.testing.assert_allclose(np.linalg.norm(z @ axes * lengths, axis=1), direct, rtol=1e-6)


def test_the_information_elsewhere_is_in_proportion():
    """Of the linear model it is the same everywhere, also when real records are known to carry twice as much."""
    here = pictured(2 * np.eye(3), n=10**9)
    with jax.enable_x64(True):
        there = here.of_real(SimulatedRecords(RAVELED, jax.random.key(0), X).information(np.array([1.0, 2.0, -1.0])))
    np.testing.assert_allclose(there, 2 * closed_form(), rtol=1e-4)


def test_constant_scores_have_coordinates():
    assert np.all(np.isfinite(metric(np.zeros((100, 3)))))
    with jax.enable_x64(True):
        at = SimulatedRecords(RAVELED, jax.random.key(0), np.zeros((8192, 2))).at(np.zeros(3))
    flat = picture(at, np.eye(3), 5000)
    assert np.all(np.isfinite(flat.root))
    assert np.all(np.isfinite(flat.features))


def test_vectors_of_one_record_are_derivatives_of_its_log_likelihood():
    """Scores and curvatures of the linear model in closed form: x r/σ² and x xᵀ/σ²."""
    data = linear_records(20)
    theta, root = np.array([0.1, 0.4, -0.3]), np.random.default_rng(0).normal(size=(3, 3))
    design = np.column_stack([data["x"], np.ones(20)])
    residual = data["y"] - design @ theta
    with jax.enable_x64(True):
        arguments = (theta, root)
        scores = np.asarray(vectors.on_public(RAVELED, vectors.scores)(arguments, data))
        curved = np.asarray(vectors.on_public(RAVELED, vectors.curvatures)(arguments, data))
        moments = np.asarray(vectors.on_public(RAVELED, vectors.moments)((np.array([0.1, 0.2]), np.eye(2)), data))
    np.testing.assert_allclose(scores, (design * residual[:, None] / SIGMA**2) @ root.T, rtol=1e-6, atol=1e-9)
    for row, numbers in zip(design, curved, strict=True):
        inner = root @ row
        np.testing.assert_allclose(
            matrices.as_matrix(numbers, 3), np.outer(inner, inner) / SIGMA**2, rtol=1e-6, atol=1e-8
        )
    away = data["x"] - [0.1, 0.2]
    np.testing.assert_allclose(moments[:, :2], vectors.MEAN_WEIGHT * away, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(moments[:, 2:], axis=1), np.sum(away**2, axis=1), rtol=1e-12)
