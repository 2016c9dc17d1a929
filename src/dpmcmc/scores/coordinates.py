"""Coordinates to release white vectors in that are kind to directions in which few records stand far out.

Reference: docs/theory/score-release.md, "Coordinates".
"""

from __future__ import annotations

import numpy as np

from dpmcmc.scores import matrices

POWER = 6.0  # of the norm whose mean the coordinates keep small: between whitening (2) and the largest norm (infinity)
ROWS = 4096
STILL = 1e-3  # relative change of a round after which no other follows


def metric(white: np.ndarray, power: float = POWER, rounds: int = 40) -> np.ndarray:
    """Coordinates T for white vectors z that make tr (TᵀT)⁻¹ (E‖Tz‖^q)^(2/q) small, with E‖Tz‖² = dimension.

    Directions in which few records stand far out get more noise than others, but less than whitening gives all. At the
    optimum (TᵀT)⁻² ∝ E ‖Tz‖^(q−2) zzᵀ; damped rounds of that (docs/theory/score-release.md, "Coordinates").
    """
    white = white[:ROWS]
    size = white.shape[1]
    inner = np.eye(size)
    for _ in range(rounds):
        norms = np.sqrt(np.maximum(np.sum((white @ inner) * white, axis=1), 1e-300))
        weights = (norms / max(norms.max(), 1e-300)) ** (power - 2)
        wanted = matrices.power((white * weights[:, None]).T @ white, -0.5, 1e-9)
        before = inner
        inner = inner * size / np.trace(inner) / 2 + wanted * size / np.trace(wanted) / 2
        if np.max(np.abs(inner - before)) < STILL:
            break
    root = matrices.power(inner, 0.5)
    return root * np.sqrt(size / max(np.mean(np.sum((white @ root) ** 2, axis=1)), 1e-300))


def kind_axes(white: np.ndarray, harm: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates for products of two numbers of the vectors, as lengths along orthonormal axes (columns).

    ``harm``, a symmetric matrix, maps errors to where their length matters.
    """
    harm = np.eye(white.shape[1]) if harm is None else harm
    root = metric(white @ harm, 2 * POWER) @ harm
    squares, axes = np.linalg.eigh(root.T @ root)
    return np.sqrt(np.maximum(squares, 1e-24 * squares[-1])), axes
