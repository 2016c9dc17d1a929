"""Distances between samples. They see draws and nothing else, so on a release they are post-processing."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def median_bandwidth(x: np.ndarray, y: np.ndarray, points: int = 500, seed: int = 0) -> float:
    """The median distance between pairs of the two samples, from at most ``points`` points of each."""
    rng = np.random.default_rng(seed)
    one, two = (s[rng.choice(len(s), min(len(s), points), replace=False)] for s in (_rows(x), _rows(y)))
    return float(np.median(cdist(one, two)))


def mmd(x: np.ndarray, y: np.ndarray, bandwidth: float | None = None) -> float:
    """Squared maximum mean discrepancy with a Gaussian kernel: the unbiased estimate, which may be negative.

    Reference: Gretton et al. (2012), equation 3.
    """
    x, y = _rows(x), _rows(y)
    gram = _gram(x, y, bandwidth)
    return float(_u_statistic(gram, np.arange(len(x) + len(y)) < len(x)))


def mmd_test(x: np.ndarray, y: np.ndarray, permutations: int = 999, seed: int = 0) -> float:
    """p-value of the hypothesis that two samples of independent draws come from one distribution.

    A permutation test: exact level whatever the distribution, so p ≤ 0.001 happens once in a thousand by chance.
    """
    x, y = _rows(x), _rows(y)
    gram, labels = _gram(x, y, None), np.arange(len(x) + len(y)) < len(x)
    rng = np.random.default_rng(seed)
    observed = _u_statistic(gram, labels)
    others = [_u_statistic(gram, rng.permutation(labels)) for _ in range(permutations)]
    return float((1 + sum(other >= observed for other in others)) / (1 + permutations))


def _rows(sample: np.ndarray) -> np.ndarray:
    sample = np.asarray(sample, np.float64)
    return sample[:, None] if sample.ndim == 1 else sample.reshape(len(sample), -1)


def _gram(x: np.ndarray, y: np.ndarray, bandwidth: float | None) -> np.ndarray:
    width = median_bandwidth(x, y) if bandwidth is None else bandwidth
    if not width > 0:
        raise ValueError(f"bandwidth must be positive, got {width!r}: do all draws coincide?")
    both = np.concatenate([x, y])
    return np.exp(-cdist(both, both, "sqeuclidean") / (2 * width**2))


def _u_statistic(gram: np.ndarray, first: np.ndarray) -> float:
    a = first.astype(np.float64)
    b = 1.0 - a
    m, n = a.sum(), b.sum()
    ga, gb = gram @ a, gram @ b
    diagonal = np.diag(gram)
    within = (a @ ga - a @ diagonal) / (m * (m - 1)) + (b @ gb - b @ diagonal) / (n * (n - 1))
    return float(within - 2 * (a @ gb) / (m * n))
