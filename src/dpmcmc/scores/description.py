"""The covariates as far as they are known: what simulated records are given, and how it is learnt from the real ones.

First the covariates one by one (:mod:`dpmcmc.scores.marginals`), then their first and second moments in coordinates
where what is known so far is standard: moments that are small against others come out round by round. Covariates are
simulated with those marginals through correlated normals, and then moved by the linear map that gives them the released
moments exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dpmcmc.privacy import reach
from dpmcmc.scores import matrices
from dpmcmc.scores.coordinates import kind_axes
from dpmcmc.scores.marginals import Marginals, first_edges
from dpmcmc.scores.measure import LEAST, believed, believed_matrix, measure, share_for
from dpmcmc.scores.reader import Noisy, Reader
from dpmcmc.scores.vectors import MEAN_WEIGHT, moments

COUNT_SHARES = (0.008, 0.006)  # of μ², for even bins and finer ones where they are needed
LAST_COUNTS = (0.01, 0.02, 0.06)  # noise of the last counts, over n, that is aimed at, with a share between two numbers
SECOND_LOOK = 0.05  # share for counting once more where some value may be no record's
NORM_COUNTS = 0.004  # share for counts of moments' norms, of one round
MOMENTS = (0.06, 0.016, 0.05)  # error of the moments that is aimed at in one round, with a share between two numbers
MOST_ROUNDS = 3
SMALL_CHANGE = 0.3  # of the logarithms of variances in all directions, after which no round follows
UNKNOWN = 0.5  # error of correlations before moments are released
DRAWN = 8192  # simulated covariates that a description is fitted with
OUTSIDE = 1.2  # simulated covariates may lie so far out, so that their moments can be right


@dataclass(frozen=True, eq=False)
class Description:
    """A distribution of covariates: marginals, correlations of the normals behind them, and a linear correction."""

    marginals: Marginals
    root: np.ndarray
    mean: np.ndarray
    correction: np.ndarray
    outcomes: Marginals | None  # what they look like, if the model can tell

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        x = self.marginals.from_normals(rng.normal(size=(count, len(self.root))) @ self.root.T)
        moved = np.clip(self.mean + (x - x.mean(axis=0)) @ self.correction.T, -OUTSIDE, OUTSIDE)
        return np.where(np.array(self.marginals.levels) > 0, x, moved)  # there is nothing between levels


def describe(reader: Reader, levels: tuple[int, ...], has_outcome: bool, rng: np.random.Generator) -> Description:
    """Release what is needed to simulate covariates like the real ones, and what outcomes look like.

    ``levels`` has one number a covariate: how many values it has, 0 if it is a number.
    """
    covariates = len(levels)
    marginals = _marginals(reader, levels, has_outcome)
    outcomes = marginals[covariates:] if has_outcome else None
    marginals = marginals[:covariates]
    normals = rng.normal(size=(DRAWN, covariates))
    simulated = marginals.from_normals(normals)
    known = Moments(simulated.mean(axis=0), np.diag(np.maximum(simulated.var(axis=0), 1e-12)), UNKNOWN)
    for _ in range(MOST_ROUNDS):
        before, known = known, _refined(reader, known, simulated)
        latent = matrices.correlation(known.covariance)
        simulated = marginals.from_normals(normals @ np.linalg.cholesky(latent).T)
        change = np.linalg.eigvals(np.linalg.solve(before.covariance, known.covariance))
        if np.all(np.abs(np.log(np.abs(change))) < SMALL_CHANGE):
            break
    return replace(_fitted(marginals, normals, known.mean, known.covariance), outcomes=outcomes)


def _marginals(reader: Reader, levels: tuple[int, ...], has_outcome: bool) -> Marginals:
    """Of the covariates and the outcome: even bins, then such as follow the records; rare values are counted twice."""
    columns = (*levels, 0) if has_outcome else levels

    def found(edges: np.ndarray, counted: Noisy) -> Marginals:
        return Marginals.from_counts(edges, *counted, reader.n, columns)

    def counts(edges: np.ndarray, share: float) -> Noisy:
        return reader.covariate_counts(edges[:, 1:-1], share)

    even, finer = COUNT_SHARES
    edges = first_edges(columns)
    marginals = found(edges, counts(edges, even))
    if marginals.concentrated:
        edges = marginals.finer_edges(last=False)
        marginals = found(edges, counts(edges, finer))
    edges = marginals.finer_edges(last=True)
    noise = np.sqrt(reach(reader.relation) * len(columns)) / reader.mu
    counted = counts(edges, share_for(noise / reader.n, LAST_COUNTS))
    marginals = found(edges, counted)
    if not any(marginals.unseen[: len(levels)]):
        return marginals
    return found(edges, counted.averaged(counts(edges, SECOND_LOOK)))


class Moments(NamedTuple):
    """Mean and covariance of the covariates, and the typical error of a number where the covariance is standard."""

    mean: np.ndarray
    covariance: np.ndarray
    error: float


def _refined(reader: Reader, known: Moments, simulated: np.ndarray) -> Moments:
    """After one more release, in coordinates where the last moments are standard, kind to rare values."""
    size = len(known.mean)
    own = matrices.power(np.cov(simulated, rowvar=False).reshape(size, size), -0.5)
    white = (simulated - simulated.mean(axis=0)) @ own
    lengths, axes = kind_axes(white)
    away, scale = white @ axes * lengths, np.outer(lengths, lengths)
    where, weights = matrices.triangle(size)
    expected = np.concatenate([MEAN_WEIGHT * away, away[:, where[0]] * away[:, where[1]] * weights], axis=1)
    to_release = matrices.power(known.covariance, -0.5) @ axes * lengths
    arguments = (known.mean, to_release)
    longest = np.quantile(np.linalg.norm(expected, axis=1), LEAST)
    shares = (NORM_COUNTS, share_for(longest * reader.noise / reader.n, MOMENTS))
    found = measure(reader, moments, arguments, expected, shares)
    numbers, variances = found.mean(expected, reader.n), found.variances(expected, reader.n)
    shift, _ = believed(numbers[:size] / MEAN_WEIGHT, np.sqrt(variances[:size]) / MEAN_WEIGHT, known.error)
    seen = matrices.as_matrix(numbers[size:], size) - np.outer(shift, shift) - np.diag(lengths**2)
    change, left = believed_matrix(seen, np.sqrt(matrices.as_variances(variances[size:], size)), known.error)
    standard = matrices.pooled(np.eye(size) + change / scale, left / scale)
    root = matrices.power(known.covariance, 0.5) @ axes
    error = float(np.sqrt(np.mean(left**2)))
    return Moments(known.mean + root @ (shift / lengths), matrices.symmetric(root @ standard @ root.T), error)


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
    return Description(marginals, root, mean, correction, None)
