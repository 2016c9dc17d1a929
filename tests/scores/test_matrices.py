"""Symmetric matrices: roots are roots, triangles have the matrix's length, nothing leaves the cone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.scores import matrices

sizes, seeds = st.integers(1, 6), st.integers(0, 10_000)


def positive(size, seed, condition=1e3):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return (axes * condition ** -rng.random(size)) @ axes.T


@settings(max_examples=50, deadline=None)
@given(sizes, seeds)
def test_powers_are_powers(size, seed):
    a = positive(size, seed)
    half = matrices.power(a, 0.5)
    np.testing.assert_allclose(half @ half, a, atol=1e-12)
    np.testing.assert_allclose(half, half.T, atol=1e-13)
    np.testing.assert_allclose(matrices.power(a, -1) @ a, np.eye(size), atol=1e-9)
    np.testing.assert_allclose(matrices.power(a, -0.5) @ half, np.eye(size), atol=1e-10)


@settings(max_examples=50, deadline=None)
@given(sizes, seeds)
def test_a_triangle_is_the_matrix_and_as_long_as_it(size, seed):
    a = np.random.default_rng(seed).normal(size=(size, size))
    a = a + a.T
    numbers = matrices.as_numbers(a)
    assert len(numbers) == size * (size + 1) // 2
    np.testing.assert_allclose(matrices.as_matrix(numbers, size), a, atol=1e-14)
    assert np.linalg.norm(numbers) == pytest.approx(np.linalg.norm(a))


@settings(max_examples=50, deadline=None)
@given(sizes, seeds, st.floats(0, 2), st.floats(0, 5))
def test_the_nearest_positive_matrix(size, seed, least, more):
    """Eigenvalues are within the limits, a matrix that was there stays, and no other one within them is nearer."""
    rng = np.random.default_rng(seed)
    a = matrices.symmetric(2 * rng.normal(size=(size, size)))
    found = matrices.positive(a, least, least + more)
    values = np.linalg.eigvalsh(found)
    assert np.all((values > least - 1e-12) & (values < least + more + 1e-12))
    np.testing.assert_allclose(matrices.positive(found, least, least + more), found, atol=1e-12)
    other = matrices.positive(found + 0.1 * matrices.symmetric(rng.normal(size=(size, size))), least, least + more)
    assert np.linalg.norm(other - a) >= np.linalg.norm(found - a) - 1e-12


@settings(max_examples=50, deadline=None)
@given(sizes, seeds, st.booleans())
def test_correlations(size, seed, singular):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(size, 1 if singular else size + 1))
    covariance = np.diag(10.0 ** rng.uniform(-6, 2, size))
    covariance = covariance @ (a @ a.T) @ covariance
    found = matrices.correlation(covariance)
    np.testing.assert_allclose(np.diag(found), 1.0)
    assert np.linalg.eigvalsh(found)[0] > 0
    np.linalg.cholesky(found)
    if not singular and np.linalg.eigvalsh(found)[0] > 1e-3:
        spread = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(found, covariance / np.outer(spread, spread), atol=1e-10)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.ones((2, 2)), np.diag([1e200, 1e-200])])
def test_singular_matrices_have_finite_powers(matrix):
    for exponent in (-1.0, -0.5, 0.5):
        assert np.all(np.isfinite(matrices.power(matrix, exponent)))
    assert np.all(np.isfinite(matrices.correlation(matrix)))


@settings(max_examples=50, deadline=None)
@given(sizes, seeds, st.floats(0.01, 0.3))
def test_pooled_eigenvalues_are_positive_and_large_ones_stay(size, seed, noise):
    rng = np.random.default_rng(seed)
    a = matrices.symmetric(rng.normal(size=(size, size)))
    matrix = a @ a.T
    found = matrices.pooled(matrix, np.full((size, size), noise))
    values, again = np.linalg.eigvalsh(matrix), np.linalg.eigvalsh(found)
    assert again[0] > 0
    clear = values > np.sqrt(2 * size) * noise * np.sqrt(2)
    np.testing.assert_allclose(again[clear], values[clear], rtol=1e-9)


def test_pooling_finds_the_size_of_small_eigenvalues_in_noise():
    """One of 5 and nine of 0.01 under noise of 0.1 in each number: the mean of fifty is within a factor of ten, where
    the smallest eigenvalue alone is negative."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    truth = (axes * np.array([5.0] + [0.01] * 9)) @ axes.T
    smallest, pooled = [], []
    for _ in range(50):
        noise = matrices.as_matrix(0.1 * rng.normal(size=55), 10)
        smallest.append(np.linalg.eigvalsh(truth + noise)[0])
        errors = np.sqrt(matrices.as_variances(np.full(55, 0.01), 10))
        pooled.append(np.linalg.eigvalsh(matrices.pooled(truth + noise, errors))[0])
    assert np.mean(smallest) < 0
    assert 0.001 < np.mean(pooled) < 0.1
