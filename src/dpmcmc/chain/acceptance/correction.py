"""Correction distributions behind one interface: the optimal one, and the two that were published, for comparison.

Each is a function of the noise variance C that returns a :class:`~dpmcmc.privacy.correction.Correction`: a few
symmetric atoms and a proven bound on sup|P(N(0, C) + V_cor ≤ y) − logistic(y)|. The published ones are a mixture of 100
normals and a law on 8001 points; they are replaced by the Gauss quadrature of the same law, whose atoms match
2·ATOMS − 1 of its moments. The error reported is that of the atoms, and the bit's privacy event names them, so nothing
rests on how close the two are.

Reference: docs/theory/correction.md; Heikkilä et al. (2019), eq. 85; Seita et al. (2017).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.special import expit, log_expit, logsumexp, ndtr

from dpmcmc.privacy.correction import Correction, distance_to_logistic, optimal_correction

ATOMS = 25
"""Atoms of the quadratures: about one per unit of length, far closer than normal noise of variance 1 resolves."""

SPAN = 14.0
"""Atoms beyond are left out: the logistic law has 8e-7 of its mass there, and quadrature would waste nodes on it."""


@dataclass(frozen=True)
class NormalMixture:
    """Σ_k w_k N(m_k, s_k²): a correction distribution with a density."""

    means: tuple[float, ...]
    stds: tuple[float, ...]
    weights: tuple[float, ...]

    def cdf(self, y: np.ndarray, variance: float) -> np.ndarray:
        """The cdf of N(0, variance) plus the mixture: variances add."""
        std = np.sqrt(variance + np.square(self.stds))
        return ndtr((np.asarray(y)[..., None] - np.array(self.means)) / std) @ np.array(self.weights)

    def error(self, variance: float) -> float:
        """sup_y |cdf − logistic|, to 1e-8 (the difference bends by less than 0.3, on a grid of 1e-3/2)."""
        y = np.linspace(0, 40, 80_001)  # symmetric
        return float(max(np.max(np.abs(self.cdf(part, variance) - expit(part))) for part in np.array_split(y, 80)))


@lru_cache(maxsize=16)
def gmm_correction(variance: float, steps: int = 20_000) -> Correction:
    """Heikkilä et al.'s Gaussian mixture with its published settings.

    Choose it only to compare: :func:`~dpmcmc.privacy.correction.optimal_correction` has a quarter of its error.
    Reference: Heikkilä et al. (2019), eq. 85 and the settings of their code (see :func:`fit_mixture`).
    """
    mixture = fit_mixture(variance, steps=steps)
    nodes, masses = np.polynomial.hermite_e.hermegauss(15)
    atoms = np.add.outer(mixture.means, np.zeros(15)) + np.outer(mixture.stds, nodes)
    weights = np.outer(mixture.weights, masses / masses.sum())
    return _reduced(variance, atoms.ravel(), weights.ravel())


@lru_cache(maxsize=16)
def fit_mixture(
    variance: float, components: int = 50, points: int = 1000, steps: int = 20_000, log_density: bool = True
) -> NormalMixture:
    """min ‖log Σ_k π_k ½[N(y; m_k, C + s_k²) + N(y; −m_k, C + s_k²)] − log logistic density‖₂ over a grid of y.

    The published settings: 50 components and their mirror images, 1000 points on [−10, 10], a start near 0, and 20 000
    steps of Adam of size 0.01 (10 000 in the chains of the published code). The paper writes the norm with densities
    (``log_density = False``), its code with their logarithms; the former is the better fit. Takes about ten seconds.
    """
    y = np.linspace(-10, 10, points)
    y = y[y > 0][:, None]  # the rest by symmetry
    log_target = (log_expit(y) + log_expit(-y))[:, 0]
    rng = np.random.default_rng(0)
    start = np.stack([0.1 * rng.normal(size=components), 0.1 * rng.normal(size=components), rng.random(components)])

    def loss(parameters: jax.Array) -> jax.Array:
        mean, log_std, logit = parameters
        v = variance + jnp.exp(2 * log_std)
        both = jnp.exp(-((y - mean) ** 2) / (2 * v)) + jnp.exp(-((y + mean) ** 2) / (2 * v))
        density = both / jnp.sqrt(8 * jnp.pi * v) @ jax.nn.softmax(logit)
        return jnp.linalg.norm(jnp.log(density) - log_target if log_density else density - jnp.exp(log_target))

    def adam(carry: tuple[Any, Any, Any], i: jax.Array) -> tuple[tuple[Any, Any, Any], None]:
        at, first, second = carry  # Kingma & Ba 2015, Algorithm 1
        slope = jax.grad(loss)(at)
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        move = first / (1 - 0.9**i) / (jnp.sqrt(second / (1 - 0.999**i)) + 1e-8)
        return (at - 0.01 * move, first, second), None

    with jax.enable_x64(True):
        begin = jnp.asarray(start)
        counted = jnp.arange(1.0, steps + 1)
        (fitted, _, _), _ = jax.jit(lambda b: jax.lax.scan(adam, (b, 0 * b, 0 * b), counted))(begin)
    mean, log_std, logit = np.asarray(fitted)
    half, std = np.exp(logit - logsumexp(logit)) / 2, np.exp(log_std)
    both = [np.concatenate(pair).tolist() for pair in ((mean, -mean), (std, std), (half, half))]
    return NormalMixture(*map(tuple, both))


def ridge_solution(
    variance: float, points: int = 400, ridge: float = 10.0, end: float = 10.0
) -> tuple[np.ndarray, np.ndarray]:
    """Atoms and weights of Seita et al.'s ridge regression; some weights are negative, more the larger the variance.

    u = (MᵀM + λI)⁻¹Mᵀv with M the cdf of N(0, C) between a grid of 2n+1 atoms on [−V, V] and one of 4n+1 values on
    [−2V, 2V], v the logistic cdf; n = 4000, λ = 10, V = 10. The solution depends on n and λ through λ/n² alone, up to
    the grid's own error, so the same is computed with n = ``points`` and λ = ``ridge``·(points/4000)².
    Reference: Seita et al. (2017), with the settings that Heikkilä et al. (2019) quote.
    """
    atoms, values = np.linspace(-end, end, 2 * points + 1), np.linspace(-2 * end, 2 * end, 4 * points + 1)
    cdf = ndtr((values[:, None] - atoms) / np.sqrt(variance))
    normal = cdf.T @ cdf + ridge * (points / 4000) ** 2 * np.eye(len(atoms))
    return atoms, np.linalg.solve(normal, cdf.T @ expit(values))


@lru_cache(maxsize=16)
def ridge_correction(variance: float, points: int = 400) -> Correction:
    """Seita et al.'s ridge regression (:func:`ridge_solution`), negative weights set to zero.

    Choose it only to compare: at C = 2 its error is 90 times the optimal one's.
    """
    atoms, weights = ridge_solution(variance, points)
    weights = np.maximum(weights, 0.0)
    return _reduced(variance, atoms, weights / weights.sum())


def _reduced(variance: float, atoms: np.ndarray, weights: np.ndarray) -> Correction:
    near = np.abs(atoms) <= SPAN
    atoms, weights = gauss_quadrature(atoms[near], weights[near], ATOMS)
    error = distance_to_logistic(variance, atoms, weights)
    return Correction(variance, tuple(atoms.tolist()), tuple(weights.tolist()), error)


def gauss_quadrature(atoms: np.ndarray, weights: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """At most ``count`` atoms with the same first 2·count − 1 moments, symmetric like the law they come from.

    Lanczos' recursion for the orthogonal polynomials of the law; nodes and weights are its matrix's eigenvalues and the
    squares of the first components of its eigenvectors (Golub & Welsch 1969).
    """
    kept = weights > 0
    atoms, basis = atoms[kept], [np.sqrt(weights[kept] / weights[kept].sum())]
    beside: list[float] = []
    while len(basis) < count:
        new = atoms * basis[-1]
        for _ in range(2):  # twice is enough
            new = new - np.array(basis).T @ (np.array(basis) @ new)
        if (length := float(np.linalg.norm(new))) < 1e-9:
            break
        beside.append(length)
        basis.append(new / length)
    nodes, vectors = eigh_tridiagonal(np.zeros(len(basis)), np.array(beside))  # a symmetric law: no diagonal
    masses = vectors[0] ** 2
    nodes, masses = (nodes - nodes[::-1]) / 2, (masses + masses[::-1]) / 2  # symmetric to the last bit
    nodes, masses = nodes[masses > 1e-9], masses[masses > 1e-9]
    return nodes, masses / masses.sum()


CORRECTIONS: dict[str, Callable[[float], Correction]] = {
    "optimal": optimal_correction,
    "gmm": gmm_correction,
    "ridge": ridge_correction,
}
"""Corrections by name: from the noise variance to the distribution."""
