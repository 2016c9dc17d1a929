"""Symmetric matrices: roots, and the upper triangle as a vector of the same length."""

from __future__ import annotations

from typing import Any

import numpy as np

FLOOR = 1e-10  # of an eigenvalue, over the largest


def symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2


def power(matrix: np.ndarray, exponent: float, floor: float = FLOOR) -> np.ndarray:
    """A power of a symmetric matrix, with eigenvalues no smaller than ``floor`` times the largest."""
    values, axes = np.linalg.eigh(symmetric(matrix))
    return (axes * np.maximum(values, max(floor * values[-1], 1e-300)) ** exponent) @ axes.T


def positive(matrix: np.ndarray, least: float = 0.0, most: float = np.inf) -> np.ndarray:
    """The nearest symmetric matrix whose eigenvalues lie in [``least``, ``most``]."""
    values, axes = np.linalg.eigh(symmetric(matrix))
    return (axes * np.clip(values, least, most)) @ axes.T


def magnitude(matrix: np.ndarray) -> np.ndarray:
    """The symmetric matrix with the same axes and eigenvalues without their signs."""
    values, axes = np.linalg.eigh(symmetric(matrix))
    return (axes * np.abs(values)) @ axes.T


def correlation(covariance: np.ndarray, floor: float = 1e-4) -> np.ndarray:
    """The correlations of a covariance, positive definite."""
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    inner = positive(covariance / np.outer(spread, spread), floor)
    spread = np.sqrt(np.diag(inner))
    return inner / np.outer(spread, spread)


def triangle(size: int) -> tuple[Any, np.ndarray]:
    """Indices of the upper triangle, and the weights that make its norm the matrix's."""
    where = np.triu_indices(size)
    return where, np.where(where[0] == where[1], 1.0, np.sqrt(2.0))


def as_matrix(numbers: np.ndarray, size: int) -> np.ndarray:
    """The symmetric matrix whose weighted upper triangle is ``numbers``."""
    where, weights = triangle(size)
    upper = np.zeros((size, size))
    upper[where] = numbers / weights
    return upper + upper.T - np.diag(np.diag(upper))


def as_numbers(matrix: np.ndarray) -> np.ndarray:
    """The weighted upper triangle: the inverse of :func:`as_matrix`."""
    where, weights = triangle(len(matrix))
    return matrix[where] * weights


def as_variances(numbers: np.ndarray, size: int) -> np.ndarray:
    """Variances of the symmetric matrix whose weighted upper triangle has variances ``numbers``."""
    return as_matrix(numbers / triangle(size)[1], size)


def pooled(matrix: np.ndarray, errors: np.ndarray, least: float = 1e-3) -> np.ndarray:
    """A covariance from a noisy one: the lowest eigenvalues, as far as noise can make them of 0, become their mean.

    ``errors`` are standard deviations of the matrix's numbers. Noise of standard deviation s in each number of an
    m × m block moves eigenvalues by up to about s√(2m), but their mean by s√2/m only.
    """
    values, axes = np.linalg.eigh(symmetric(matrix))
    size, squares = len(values), axes**2
    spread = np.sqrt(np.sum(squares * ((2 - np.eye(size)) * errors**2 @ squares), axis=0)) + 1e-300
    for count in range(size, 0, -1):
        if np.all(values[:count] <= np.sqrt(2 * count) * spread[:count]):
            weights = 1 / spread[:count] ** 2
            values[:count] = max(np.average(values[:count], weights=weights), np.sqrt(2 / np.sum(weights)))
            break
    return (axes * np.maximum(values, least)) @ axes.T
