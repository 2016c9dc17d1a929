"""Moments of samples, and how many independent draws a chain is worth."""

from __future__ import annotations

import numpy as np

from dpmcmc.arguments import numbers
from dpmcmc.diagnostics import stats


def mean_error(draws: np.ndarray, mean: np.ndarray) -> float:
    """Euclidean distance between the mean of ``draws`` (draw, parameter) and ``mean``."""
    draws, mean = _table(draws), numbers("mean", mean)
    if mean.shape not in ((), draws.shape[1:]):
        raise ValueError(f"mean must have an entry for each parameter of draws, got {mean.shape} for {draws.shape[1:]}")
    return float(np.linalg.norm(np.mean(draws, axis=0) - mean))


def covariance_error(draws: np.ndarray, covariance: np.ndarray) -> float:
    """Frobenius distance between the covariance of ``draws`` (draw, parameter) and ``covariance``."""
    draws, covariance = _table(draws), numbers("covariance", covariance)
    found = np.cov(draws, rowvar=False)
    if covariance.shape != found.shape:
        raise ValueError(f"covariance must have shape {found.shape}, as that of the draws, got {covariance.shape}")
    return float(np.linalg.norm(found - covariance))


def running_moments(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of the first 1, 2, ... draws along the first axis."""
    draws = np.atleast_1d(numbers("draws", draws))
    counts = np.arange(1, len(draws) + 1).reshape(-1, *([1] * (draws.ndim - 1)))
    centre = draws[0]
    first = np.cumsum(draws - centre, axis=0) / counts
    second = np.cumsum((draws - centre) ** 2, axis=0) / counts
    return first + centre, second - first**2


def effective_draws(draws: np.ndarray) -> float:
    """The least effective number of draws for the mean of any parameter; ``draws`` is (chain, draw, parameter)."""
    draws = _chains(draws)
    return min(stats().ess(draws[..., j], method="mean") for j in range(draws.shape[-1]))


def largest_r_hat(draws: np.ndarray) -> float:
    """The largest rank-normalised R-hat of any parameter; ``draws`` is (chain, draw, parameter)."""
    draws = _chains(draws)
    return max(stats().rhat(draws[..., j]) for j in range(draws.shape[-1]))


def _table(draws: np.ndarray) -> np.ndarray:
    found = numbers("draws", draws, "be an array (draw, parameter) of finite numbers")
    if found.ndim != 2:
        raise ValueError(f"draws must be an array (draw, parameter), got shape {found.shape}")
    return found


def _chains(draws: np.ndarray) -> np.ndarray:
    found = numbers("draws", draws, "be an array (chain, draw, parameter) of finite numbers")
    if found.ndim != 3:
        raise ValueError(f"draws must be an array (chain, draw, parameter), got shape {found.shape}")
    return found
