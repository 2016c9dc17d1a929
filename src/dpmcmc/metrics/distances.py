"""Distances between samples. They see draws and nothing else, so on a release they are post-processing."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist, pdist

from dpmcmc.arguments import numbers, positive, whole


def median_bandwidth(x: np.ndarray, y: np.ndarray, points: int = 500, seed: int = 0) -> float:
    """The median distance between pairs of the two samples, from at most ``points`` points of each."""
    rng, points = np.random.default_rng(seed), whole("points", points)
    one, two = (s[rng.choice(len(s), min(len(s), points), replace=False)] for s in _both(x, y))
    return float(np.median(cdist(one, two)))


def mmd(x: np.ndarray, y: np.ndarray, bandwidth: float | None = None) -> float:
    """Squared maximum mean discrepancy with a Gaussian kernel: the unbiased estimate, which may be negative.

    Reference: Gretton et al. (2012), equation 3.
    """
    x, y = _both(x, y)
    gram = _gram(x, y, bandwidth)
    return float(_u_statistic(gram, np.arange(len(x) + len(y)) < len(x)))


def mmd_raisa(x: np.ndarray, y: np.ndarray, seed: int = 0) -> float:
    """Maximum mean discrepancy as the studies of Räisä (2021) report it: √|unbiased estimate of its square|.

    The bandwidth is the median of 500 distances between points drawn with replacement from either sample, pair by pair
    (his code; Section 5.3 of the text says 50). Without bias correction by the root, so it is near 0.02, not 0, for two
    exact samples of a thousand.
    """
    x, y = _both(x, y)
    rng = np.random.default_rng(seed)
    pairs = x[rng.integers(len(x), size=500)] - y[rng.integers(len(y), size=500)]
    width = float(np.median(np.sqrt(np.sum(pairs**2, axis=1))))
    within = _mean_off_diagonal(x, width) + _mean_off_diagonal(y, width)
    return float(np.sqrt(abs(within - 2 * np.exp(-cdist(x, y, "sqeuclidean") / (2 * width**2)).mean())))


def symmetric_kl(
    x: np.ndarray, y: np.ndarray, bounds: tuple[tuple[float, float], ...], bins: int = 99, floor: float = 1e-13
) -> float:
    """½ (KL(x‖y) + KL(y‖x)) between the histograms of two samples over a box, ``bins`` to a side.

    Empty bins count as ``floor``, so the value depends on how many draws there are; compare samples of one size.
    Reference: the measure of Zhang & Zhang (2023), with the bins and floor of their code.
    """
    samples, box = _both(x, y), numbers("bounds", bounds, "be a low and a high end for each parameter")
    if box.shape != (samples[0].shape[1], 2) or not np.all(box[:, 0] < box[:, 1]):
        raise ValueError(f"bounds must be a low and a high end for each parameter, got shape {box.shape} or low ≥ high")
    whole("bins", bins)
    positive("floor", floor)
    p, q = (np.histogramdd(s, bins=bins, range=bounds)[0] for s in samples)
    if not (p.sum() > 0 and q.sum() > 0):
        raise ValueError(f"no draw lies within the box {bounds}; widen it")
    p, q = (np.maximum(h / h.sum(), floor) for h in (p, q))
    return float(np.sum((p - q) * np.log(p / q)) / 2)


def mmd_test(x: np.ndarray, y: np.ndarray, permutations: int = 999, seed: int = 0) -> float:
    """p-value of the hypothesis that two samples of independent draws come from one distribution.

    A permutation test: exact level whatever the distribution, so p ≤ 0.001 happens once in a thousand by chance.
    """
    x, y = _both(x, y)
    gram, labels = _gram(x, y, None), np.arange(len(x) + len(y)) < len(x)
    rng = np.random.default_rng(seed)
    observed = _u_statistic(gram, labels)
    others = [_u_statistic(gram, rng.permutation(labels)) for _ in range(whole("permutations", permutations))]
    return float((1 + sum(other >= observed for other in others)) / (1 + permutations))


def _both(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two samples, a row a draw, of the same parameters."""
    one, two = _rows("x", x), _rows("y", y)
    if one.shape[1] != two.shape[1]:
        raise ValueError(f"x and y must be draws of the same parameters, got {one.shape[1]} and {two.shape[1]} of them")
    return one, two


def _rows(name: str, sample: np.ndarray) -> np.ndarray:
    sample = numbers(name, sample, "be draws, a row of finite numbers each")
    if sample.ndim == 0 or len(sample) < 2:
        raise ValueError(f"{name} must hold two draws or more, got shape {sample.shape}")
    return sample[:, None] if sample.ndim == 1 else sample.reshape(len(sample), -1)


def _mean_off_diagonal(x: np.ndarray, width: float) -> float:
    if len(x) < 2 or not width > 0:
        raise ValueError(f"needs at least two draws and draws that differ, got {len(x)} and bandwidth {width!r}")
    return float(np.mean(np.exp(-pdist(x, "sqeuclidean") / (2 * width**2))))


def _gram(x: np.ndarray, y: np.ndarray, bandwidth: float | None) -> np.ndarray:
    width = positive("bandwidth", median_bandwidth(x, y) if bandwidth is None else bandwidth, "do all draws coincide?")
    both = np.concatenate([x, y])
    gram: np.ndarray = np.exp(-cdist(both, both, "sqeuclidean") / (2 * width**2))
    return gram


def _u_statistic(gram: np.ndarray, first: np.ndarray) -> float:
    a = first.astype(np.float64)
    b = 1.0 - a
    m, n = a.sum(), b.sum()
    ga, gb = gram @ a, gram @ b
    diagonal = np.diag(gram)
    within = (a @ ga - a @ diagonal) / (m * (m - 1)) + (b @ gb - b @ diagonal) / (n * (n - 1))
    return float(within - 2 * (a @ gb) / (m * n))
