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
