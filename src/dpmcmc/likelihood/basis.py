"""A few functions of θ that the log likelihood of any record is made of, found from simulated records.

Over a region of the parameters, the functions θ ↦ log p(x|θ) of different records x are much alike: those of an
exponential family span as many dimensions as it has sufficient statistics, those of a smooth model are nearly linear
over a small region. So Σᵢ log p(xᵢ|·), the only thing a posterior needs of the records, is a few numbers.

Take ``anchors`` θ₁..θ_M in the region and records that the model simulates (public). Their centred values
D_ij = ℓ_i(θ_j) − (mean over j) − (mean over i) have singular values λ_k and functions ψ_k, orthonormal on the anchors:

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
LARGEST = 1e100  # of a log likelihood: beyond, products of a few of them are no numbers
FLOOR = 1e-7  # components smaller than this over the largest are rounding
SPARE = 4  # simulated records kept per component
ROWS = 1024  # simulated records that the functions are found from; all are used to choose the clip
QUANTILES = (0.995, 0.998, 0.999, 0.9995, 0.9998, 0.9999, 1.0)
"""Clips to choose from: these quantiles of simulated records' feature norms, and half as much again as the largest."""


def centred(values: Any) -> Any:
    """Log likelihoods at the anchors less each record's own mean: a constant says nothing about θ."""
    return values - values.mean(axis=1, keepdims=True)


def features(centred_values: Any, mean: Any, projection: Any) -> Any:
    """The features of records, one row each: what they say beyond the average record, along each function."""
    return (centred_values - mean) @ projection


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions for the log likelihood over a region; everything here is public."""

    anchors: np.ndarray  # (M, d)
    mean: np.ndarray  # (M,) the simulated records' mean log likelihood, centred
    scales: np.ndarray  # (p,) λ
    functions: np.ndarray  # (p, M) ψ at the anchors
    clip: float  # radius for features
    simulated: PyTree  # records that carry the released function
    simulated_mean: np.ndarray  # (M,) their mean log likelihood, centred
    to_weights: np.ndarray  # (M, m) from values at the anchors to weights of the simulated records that add up to 0
    complete: bool  # whether all components that matter are kept
    clipped: float  # share of the simulated records that the clip shortens

    @classmethod
    def build(
        cls, values: Values, anchors: np.ndarray, simulated: PyTree, records: float, noise_multiplier: float = 10.0
    ) -> Basis:
        """From anchors and simulated records, for the log likelihood of so many ``records`` (temperature·n).

        Anchors where more than one simulated record in a hundred has no finite log likelihood are left out, and then
        records that have none at some anchor left.
        """
        table = np.asarray(values(anchors, simulated), np.float64)
        columns = np.mean(np.isfinite(table), axis=0) >= 0.99
        rows = np.all(np.isfinite(table[:, columns]), axis=1)
        if columns.sum() < 8 or rows.sum() < 16:
            raise ValueError(
                f"the log likelihood is not finite at {np.sum(~columns)} of {len(columns)} parameters drawn from the "
                "region that was searched; give the model sample_prior=, or init=, a function of a key that draws "
                "parameters where it is"
            )
        simulated = jax.tree.map(lambda leaf: np.asarray(leaf)[rows], simulated)
        anchors, table = np.asarray(anchors, np.float64)[columns], table[rows][:, columns]
        table = np.clip(centred(table), -LARGEST, LARGEST)
        mean = np.mean(table[:ROWS], axis=0)
        away = table[:ROWS] - mean
        largest = max(float(np.max(np.abs(away))), 1e-300)  # their squares may be as small or large as no float
        squares, axes = np.linalg.eigh((away / largest).T @ (away / largest) / away.size)
        sizes, right = largest * np.sqrt(np.maximum(squares[::-1], 0.0)), axes[:, ::-1].T
        wanted = np.sum((records * sizes > LEAST) & (sizes > FLOOR * sizes[0]))
        count = int(np.clip(wanted, 1, min(MOST, len(away) // 2, len(anchors) // 2)))
        scales, functions = np.maximum(sizes[:count], 1e-300), right[:count] * np.sqrt(len(anchors))
        coefficients = features(table, mean, functions.T) / len(anchors) / np.sqrt(scales)
        clip = choose_clip(coefficients, scales, records, noise_multiplier)
        kept = slice(0, min(len(away), 2 ** int(np.ceil(np.log2(max(128, SPARE * (count + 1)))))))  # few sizes
        return cls(
            anchors=anchors,
            mean=mean,
            scales=scales,
            functions=functions,
            clip=clip,
            simulated=jax.tree.map(lambda leaf: leaf[kept], simulated),
            simulated_mean=table[kept].mean(axis=0),
            to_weights=_inverse(table[kept] - table[kept].mean(axis=0)),
            complete=bool(count >= wanted),
            clipped=float(np.mean(np.linalg.norm(coefficients, axis=1) > clip)),
        )

    def features(self, values: np.ndarray) -> np.ndarray:
        """Features, over the clip, of records with these log likelihoods at the anchors, one row a record."""
        return features(centred(values), self.mean, self.projection)

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
        """Weights of the simulated records: Σ wᵢ log p(x̃ᵢ|θ) is the log likelihood, at the anchors and between them.

        They add up to ``n``, as the records' own do: with any other total the function may rise without bound far away.
        """
        away = self.log_likelihood(n, sums) - n * self.simulated_mean
        return n / self.to_weights.shape[1] + away @ self.to_weights


def _inverse(away: np.ndarray) -> np.ndarray:
    """Weights of least norm for values at the anchors; they add up to 0 but for rounding, which is taken off."""
    found = np.linalg.pinv(away, rcond=1e-10)
    return found - found.mean(axis=1, keepdims=True)


def choose_clip(features: np.ndarray, scales: np.ndarray, records: float, noise_multiplier: float) -> float:
    """The radius at which clipping and noise together do the least harm to the released function.

    Clipping moves the sums by records·E[f − clip f], which for skewed features does not vanish and grows with the
    number of records; noise is proportional to the radius. Both by simulation, the first less its own sampling error.
    """
    lengths = np.linalg.norm(features, axis=1)
    radii = np.quantile(lengths, QUANTILES)
    best, least = float(radii[0]), np.inf
    for radius in (*radii, 1.5 * radii[-1]):
        lost = features * np.maximum(0.0, 1 - radius / np.maximum(lengths, 1e-300))[:, None]
        bias = records**2 * (lost.mean(axis=0) ** 2 - lost.var(axis=0) / len(lost))
        harm = max(float(scales @ bias), 0.0) + scales.sum() * (2 * noise_multiplier * radius) ** 2
        if harm < least:
            best, least = float(radius), harm
    return max(best, 1e-300)
