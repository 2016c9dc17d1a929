"""Log likelihoods of the study's posteriors as products of matrices: clipped sums, and what is clipped.

For many parameters at once. Plain arithmetic that reads records, for public data only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

BLOCKS = 200
"""Records are added up in so many parts, each of which stays in a processor's cache; every n here is a multiple."""


@dataclass(frozen=True, eq=False)
class Normal:
    """A banana or a Gauss: y = P x for every record x, in ``blocks``, with P its precision; and ‖y‖².

    log p(x|θ) = y·μ − ½ μ·Pμ with μ(θ) = θ + aθ₁²e₂, so its gradient is Jᵀu, u = y − Pμ, J = I + 2aθ₁ e₂e₁ᵀ.
    """

    model: Any
    precision: np.ndarray
    curvature: float

    @classmethod
    def of(cls, model: Any) -> Normal:
        covariance = np.diag(model.variances) if hasattr(model, "variances") else np.asarray(model.covariance)
        return cls(model, np.linalg.inv(covariance), getattr(model, "curvature", 0.0))

    def features(self, records: np.ndarray) -> np.ndarray:
        y = records @ self.precision
        return np.column_stack([y, (y**2).sum(axis=1)])

    def means(self, theta: Any) -> Any:
        return theta.at[:, 1].add(self.curvature * theta[:, 0] ** 2)

    def gradients(self, theta: Any, block: Any, clip: float) -> tuple[Any, Any]:
        """For each of ``theta``: the sum of clipped gradients over a block, and how many were longer than ``clip``."""
        y, squares = block[:, :-1], block[:, -1:]
        centre, bend = self.means(theta) @ self.precision, 2 * self.curvature * theta[:, 0]
        first, second = y[:, :1] - centre[:, 0], y[:, 1:2] - centre[:, 1]
        norm2 = squares - 2 * y @ centre.T + (centre**2).sum(axis=1) + bend * second * (2 * first + bend * second)
        scale = jnp.minimum(1.0, clip / jnp.sqrt(norm2))
        total = scale.T @ y - scale.sum(axis=0)[:, None] * centre
        return total.at[:, 0].add(bend * total[:, 1]), (norm2 > clip**2).sum(axis=0)

    def ratios(self, here: Any, there: Any, block: Any) -> Any:
        """log p(x|there) − log p(x|here): (record, move)."""
        old, new = self.means(here), self.means(there)
        return block[:, :-1] @ (new - old).T - 0.5 * ((new @ self.precision) * new - (old @ self.precision) * old).sum(
            1
        )


@dataclass(frozen=True, eq=False)
class Ring:
    """The circle: a record r enters by its square alone."""

    model: Any

    def features(self, records: np.ndarray) -> np.ndarray:
        return records[:, None] ** 2

    def gradients(self, theta: Any, block: Any, clip: float) -> tuple[Any, Any]:
        squares = (theta**2).sum(axis=1)
        slope = 4 * self.model.sharpness * jnp.sqrt(squares)  # norm of the gradient over |r² − ‖θ‖²|
        off, most = block - squares, clip / slope
        total = jnp.clip(off, -most, most).sum(axis=0)
        return 4 * self.model.sharpness * theta * total[:, None], (jnp.abs(off) > most).sum(axis=0)

    def ratios(self, here: Any, there: Any, block: Any) -> Any:
        old, new = (here**2).sum(axis=1), (there**2).sum(axis=1)
        return self.model.sharpness * (new - old) * (2 * block - new - old)


def likelihood(model: Any) -> Normal | Ring:
    return Ring(model) if hasattr(model, "sharpness") else Normal.of(model)


def blocks_of(target: Normal | Ring, records: np.ndarray) -> np.ndarray:
    features = target.features(np.asarray(records, np.float64))
    return features.reshape(BLOCKS, -1, features.shape[1])


def clipped_gradients(target: Any, theta: Any, blocks: Any, clip: float) -> tuple[Any, Any]:
    """Sums of clipped gradients over all records, one row for each of ``theta``, and the shares that were clipped."""
    sums, counts = jax.lax.map(lambda block: target.gradients(theta, block, clip), blocks)
    return sums.sum(axis=0), counts.sum(axis=0) / (blocks.shape[0] * blocks.shape[1])


def clipped_ratios(target: Any, here: Any, there: Any, bound: Any, blocks: Any) -> tuple[Any, Any]:
    """Sums of log ratios clipped at ``bound`` over all records, one for each move, and the shares that were clipped."""

    def part(block: Any) -> Any:
        ratios = target.ratios(here, there, block)
        return jnp.clip(ratios, -bound, bound).sum(axis=0), (jnp.abs(ratios) > bound).sum(axis=0)

    sums, counts = jax.lax.map(part, blocks)
    return sums.sum(axis=0), counts.sum(axis=0) / (blocks.shape[0] * blocks.shape[1])
