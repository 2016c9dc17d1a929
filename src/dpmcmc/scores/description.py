"""The covariates as far as they are known: what simulated records are given, and how it is learnt from the real ones.

First the covariates one by one (:mod:`dpmcmc.scores.marginals`), then their first and second moments in coordinates
where what is known so far is standard: moments that are small against others come out round by round. Covariates are
simulated with those marginals through correlated normals, and then moved by the linear map that gives them the released
moments exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from dpmcmc.scores import matrices
from dpmcmc.scores.marginals import Marginals, first_edges
from dpmcmc.scores.measure import measure
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.vectors import MEAN_WEIGHT, moments

COUNT_SHARES = (0.008, 0.006, 0.02)  # of μ², for even bins, finer ones where they are needed, and the last ones
MOMENT_SHARES = (0.004, 0.016)  # of one round: counts of norms, and the sum
ROUNDS = 2
LEAST_QUANTILE = 0.995  # moments are clipped no earlier, as what the clip takes is known less well than for scores
DRAWN = 8192  # simulated covariates that a description is fitted with
OUTSIDE = 1.2  # simulated covariates may lie so far out, so that their moments can be right


@dataclass(frozen=True, eq=False)
class Description:
    """A distribution of covariates: marginals, correlations of the normals behind them, and a linear correction."""

    marginals: Marginals
    root: np.ndarray
    mean: np.ndarray
    correction: np.ndarray

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        x = self.marginals.from_normals(rng.normal(size=(count, len(self.root))) @ self.root.T)
        return np.clip(self.mean + (x - x.mean(axis=0)) @ self.correction.T, -OUTSIDE, OUTSIDE)


def describe(reader: Reader, covariates: int, rng: np.random.Generator) -> Description:
    """Release what is needed to simulate covariates like the real ones."""
    marginals = _marginals(reader, covariates)
    normals = rng.normal(size=(DRAWN, covariates))
    simulated = marginals.from_normals(normals)
    mean, covariance = simulated.mean(axis=0), np.diag(np.maximum(simulated.var(axis=0), 1e-12))
    for _ in range(ROUNDS):
        mean, covariance = _refined(reader, mean, covariance, simulated)
        latent = matrices.correlation(covariance)
        simulated = marginals.from_normals(normals @ np.linalg.cholesky(latent).T)
    return _fitted(marginals, normals, mean, covariance)


def _marginals(reader: Reader, covariates: int) -> Marginals:
    def counted(edges: np.ndarray, share: float) -> Marginals:
        counts, std = reader.covariate_counts(edges[:, 1:-1], share)
        return Marginals.from_counts(edges, counts, std, reader.n)

    even, finer, last = COUNT_SHARES
    marginals = counted(first_edges(covariates), even)
    if marginals.concentrated:
        marginals = counted(marginals.finer_edges(last=False), finer)
    return counted(marginals.finer_edges(last=True), last)


def _refined(
    reader: Reader, mean: np.ndarray, covariance: np.ndarray, simulated: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance after one more release of moments, in coordinates where the last ones are standard."""
    size = len(mean)
    inverse = matrices.power(covariance, -0.5)
    own = matrices.power(np.cov(simulated, rowvar=False).reshape(size, size), -0.5)
    away = (simulated - simulated.mean(axis=0)) @ own
    where, weights = matrices.triangle(size)
    expected = np.concatenate([MEAN_WEIGHT * away, away[:, where[0]] * away[:, where[1]] * weights], axis=1)
    arguments = (jnp.asarray(mean), jnp.asarray(inverse))
    found = measure(reader, moments, arguments, expected, MOMENT_SHARES, least=LEAST_QUANTILE)
    numbers, noise = found.mean(expected, reader.n), found.error(reader.n)
    shift = numbers[:size] / MEAN_WEIGHT
    seen = matrices.as_matrix(numbers[size:], size) - np.outer(shift, shift)
    standard = towards(seen, np.eye(size), noise)
    standard = matrices.positive(standard, max(0.7 * spectral(noise, size), 1e-3))
    root = matrices.power(covariance, 0.5)
    kept = max(0.0, 1 - (2 * noise / MEAN_WEIGHT) ** 2 / max(float(np.mean(shift**2)), 1e-300))
    return mean + kept * shift @ root, root @ standard @ root


def spectral(noise: float, size: int) -> float:
    """About the largest eigenvalue of a symmetric matrix of noise, given that of its weighted triangle's numbers."""
    return noise * np.sqrt(2 * size)


def towards(seen: np.ndarray, expected: np.ndarray, noise: float) -> np.ndarray:
    """A noisy symmetric matrix drawn to what was expected, diagonal and rest apart (James & Stein 1961)."""
    difference = seen - expected
    diagonal = np.eye(len(seen), dtype=bool)
    for part, std in ((diagonal, noise), (~diagonal, noise / np.sqrt(2))):
        size = float(np.mean(difference[part] ** 2)) if part.any() else 0.0
        difference = np.where(part, difference * max(0.0, 1 - std**2 / max(size, 1e-300)), difference)
    return expected + difference


def _fitted(marginals: Marginals, normals: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> Description:
    """The description with these moments: the normals' correlations by rounds of correction, the rest linear."""
    size, wanted = len(mean), matrices.correlation(covariance)
    latent = wanted
    for _ in range(5):
        drawn = marginals.from_normals(normals @ np.linalg.cholesky(latent).T)
        found = matrices.correlation(np.cov(drawn, rowvar=False).reshape(size, size) + 1e-12 * np.eye(size))
        latent = matrices.correlation(np.clip(latent + 0.8 * (wanted - found), -0.9995, 0.9995))
    root = np.linalg.cholesky(latent)
    own = np.cov(marginals.from_normals(normals @ root.T), rowvar=False).reshape(size, size)
    half, inverse = matrices.power(own, 0.5, 1e-8), matrices.power(own, -0.5, 1e-8)
    correction = inverse @ matrices.power(half @ covariance @ half, 0.5, 1e-14) @ inverse
    return Description(marginals, root, mean, correction)
