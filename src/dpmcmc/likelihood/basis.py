"""A few functions of θ that the log likelihood of any record is made of, found from simulated records.

Over a region of the parameters, the functions θ ↦ log p(x|θ) of different records x are much alike: those of an
exponential family span as many dimensions as it has sufficient statistics, those of a smooth model are nearly linear
over a small region. So Σᵢ log p(xᵢ|·), the only thing a posterior needs of the records, is a few numbers.

Take ``anchors`` θ₁..θ_M in the region and records that the model simulates (public). Their centred values
D_ij = ℓ_i(θ_j) − (mean over j) − (mean over i) have singular values λ_k and functions ψ_k, orthonormal over the anchors:

    ℓ_i(θ) − const ≈ mean(θ) + Σ_k c_ik ψ_k(θ),     c_ik = (1/M) Σ_j D_ij ψ_k(θ_j),     E c_ik² = λ_k².

A record's features are f_ik = c_ik/√λ_k. Among all scalings this one makes the noise of a Gaussian release do the
least harm to the function: with E‖f‖² = Σλ the mean square error over the anchors is proportional to (Σλ)², its
minimum (docs/theory/likelihood-release.md, Proposition 2).

The released function is a weighted sum of the simulated records' own log likelihoods, so it can be evaluated anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpmcmc.models.base import PyTree

Values = Callable[[Any, PyTree], Any]
"""(anchors, records) → log p(record|anchor), one row a record."""

LEAST = 0.02  # components that move the whole log likelihood by less than this many nats are left out
MOST = 128  # components kept
SPARE = 4  # simulated records kept per component
CLIPPED = 0.005  # share of simulated records whose features are longer than the clip


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions for the log likelihood over a region; everything here is public."""

    anchors: np.ndarray  # (M, d)
    mean: np.ndarray  # (M,) the simulated records' mean log likelihood, centred
    scales: np.ndarray  # (p,) λ
    functions: np.ndarray  # (p, M) ψ at the anchors
    clip: float  # radius for features
    simulated: PyTree  # records that carry the released function
    carry: np.ndarray  # (M, m) from values at the anchors to weights of the simulated records

    @classmethod
    def build(cls, values: Values, anchors: np.ndarray, simulated: PyTree, records: float) -> Basis:
        """From anchors and simulated records, for a log likelihood of so many ``records`` (tempered ones count less)."""
        table = np.asarray(values(anchors, simulated), np.float64)
        table = np.nan_to_num(table - np.mean(table, axis=1, keepdims=True), nan=0.0, posinf=0.0, neginf=0.0)
        mean = np.mean(table, axis=0)
        rows, columns = table.shape
        squares, axes = np.linalg.eigh((table - mean).T @ (table - mean) / (rows * columns))
        sizes, right = np.sqrt(np.maximum(squares[::-1], 0.0)), axes[:, ::-1].T
        count = int(np.clip(np.sum(records * sizes > LEAST), 1, min(MOST, rows // 2, columns // 2)))
        scales, functions = np.maximum(sizes[:count], 1e-300), right[:count] * np.sqrt(columns)
        features = (table - mean) @ functions.T / columns / np.sqrt(scales)
        clip = float(np.quantile(np.linalg.norm(features, axis=1), 1 - CLIPPED))
        kept = slice(0, min(rows, max(128, SPARE * (count + 1))))
        return cls(
            anchors=np.asarray(anchors, np.float64),
            mean=mean,
            scales=scales,
            functions=functions,
            clip=max(clip, 1e-300),
            simulated=jax.tree.map(lambda leaf: leaf[kept], simulated),
            carry=np.linalg.pinv(table[kept], rcond=1e-12),
        )

    @property
    def size(self) -> int:
        return len(self.scales)

    @property
    def projection(self) -> np.ndarray:
        """(M, p): from a record's centred values at the anchors to its features, over the clip."""
        return self.functions.T / len(self.anchors) / np.sqrt(self.scales) / self.clip

    def log_likelihood(self, n: int, sums: np.ndarray) -> np.ndarray:
        """Values at the anchors (up to a constant) of the log likelihood of ``n`` records with these feature sums."""
        return n * self.mean + (np.asarray(sums) * self.clip * np.sqrt(self.scales)) @ self.functions

    def weights(self, n: int, sums: np.ndarray) -> np.ndarray:
        """Weights of the simulated records: Σ wᵢ log p(x̃ᵢ|θ) is the log likelihood, at the anchors and between them."""
        return self.log_likelihood(n, sums) @ self.carry
