"""The one-shot oracle: how well a single noisy sum of clipped scores could do, with everything else known.

With the mode θ̂, the Hessian H there (prior included) and whitened scores zᵢ = H^{−½}∇ℓᵢ(θ̂), one release of
Σ clip_C(zᵢ) with noise of standard deviation 2C/μ_t moves every parameter by that many posterior standard deviations,
and the clip moves them by H^{−½}Σ(zᵢ − clip_C zᵢ). The oracle is the least root mean square over parameters for any C.
μ_t² is a share of the budget's μ²: the rest pays for finding the mode and the geometry. Reads the records: a yardstick.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.privacy import gaussian
from dpmcmc_experiments.trust.base import Problem, delta_of, size_of
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.reference import Exact

SHARE = 0.6
RADII = 4000


@dataclass(frozen=True)
class Oracle:
    """``error`` in posterior standard deviations, the best ``radius``, and the share of records that it ``clipped``."""

    error: float
    radius: float
    clipped: float


def oracle(
    problem: Problem,
    records: Any,
    exact: Exact,
    epsilon: float,
    delta: float | None = None,
    share: float = SHARE,
) -> Oracle:
    """The oracle for a problem's records; δ is that of the study unless given."""
    mu = np.sqrt(share) * gaussian.gaussian_mu_limit(epsilon, delta_of(size_of(records)) if delta is None else delta)
    scores = density(problem).scores(exact.mode, records)
    return best_radius(scores, exact.hessian, mu)


def best_radius(scores: np.ndarray, hessian: np.ndarray, mu: float) -> Oracle:
    """The least error over radii from the root mean square of the norms to the largest.

    Smaller radii are left out: at the mode scores add up to almost nothing, so a clip that leaves only their directions
    would seem free, though it takes away the curvature as well.
    """
    root = inverse_root(hessian)
    whitened = scores @ root
    norms = np.linalg.norm(whitened, axis=1)
    order = np.argsort(-norms)
    whitened, norms = whitened[order], norms[order]
    least = np.sqrt(np.mean(norms**2))
    if not least > 0:
        return Oracle(0.0, 0.0, 0.0)
    radii = np.geomspace(least, norms[0], RADII) if norms[0] > least else np.array([least])
    beyond = np.searchsorted(-norms, -radii)  # how many norms exceed each radius
    directions = whitened / np.maximum(norms, np.finfo(float).tiny)[:, None]
    excess = _leading_sums(whitened)[beyond] - radii[:, None] * _leading_sums(directions)[beyond]
    bias = excess @ root / np.sqrt(np.diag(root @ root))
    errors = np.sqrt((2 * radii / mu) ** 2 + np.mean(bias**2, axis=1))
    best = int(np.argmin(errors))
    return Oracle(float(errors[best]), float(radii[best]), float(beyond[best] / len(norms)))


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """The symmetric inverse square root of a positive definite matrix."""
    values, axes = np.linalg.eigh(matrix)
    return (axes / np.sqrt(np.maximum(values, 1e-12 * values[-1]))) @ axes.T


def _leading_sums(rows: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, … rows."""
    return np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
