"""How long vectors are when nothing foresees it: from noisy counts of norms alone.

Stand-ins have a norm r about a median m; real ones are taken to have norms m·a·(r/m)^b, with the scale a and the
exponent b that the counts make most likely.

Reference: docs/theory/score-release.md, "Models that do not simulate".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SCALES, EXPONENTS = np.geomspace(1 / 64, 64, 97), np.geomspace(0.25, 4.0, 33)
SCALE_SPREAD, EXPONENT_SPREAD = 1.0, 0.35  # of their logarithms, before counts are seen
SHAPE = 0.25  # relative error of an expected count: the shape is not the stand-ins'
ROWS = 4096  # stand-ins that are counted


class Lengths(NamedTuple):
    """Norms of stand-ins, carried to where real ones are."""

    middle: float
    scale: float
    exponent: float
    most: float  # what is longer was not counted apart

    @classmethod
    def fitted(cls, edges: np.ndarray, counts: np.ndarray, std: float, norms: np.ndarray) -> Lengths:
        """The most likely, by counts of norms up to each of the ``edges``; larger ones are in the last."""
        n, ordered = max(float(np.sum(counts)), 1.0), np.sort(norms[:ROWS])
        middle = max(float(np.median(ordered)), 1e-300)
        reach = np.log(np.maximum(edges, 1e-300) / middle) - np.log(SCALES)[:, None]
        within = middle * np.exp(reach[:, None] / EXPONENTS[None, :, None])  # (scale, exponent, edge), of stand-ins
        below = np.searchsorted(ordered, within.ravel(), side="right").reshape(within.shape) / len(ordered)
        below[..., -1] = 1.0
        predicted = n * np.diff(below, axis=2, prepend=0.0)
        variance = std**2 + predicted + (SHAPE * predicted) ** 2
        misfit = np.sum((counts - predicted) ** 2 / variance + np.log(variance), axis=2)
        away = (np.log(SCALES)[:, None] / SCALE_SPREAD) ** 2 + (np.log(EXPONENTS)[None, :] / EXPONENT_SPREAD) ** 2
        best = np.unravel_index(np.argmin(misfit + 3 * np.log1p(away)), misfit.shape)
        return cls(middle, float(SCALES[best[0]]), float(EXPONENTS[best[1]]), float(edges[-2]))

    def of(self, norms: np.ndarray) -> np.ndarray:
        """Real norms for those of stand-ins."""
        longer = self.middle * self.scale * (np.maximum(norms, 1e-300) / self.middle) ** self.exponent
        return np.minimum(longer, self.most)

    def carried(self, vectors: np.ndarray) -> np.ndarray:
        """Stand-ins with real norms."""
        norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
        return vectors * (self.of(norms) / norms)

    def shared(self, vectors: np.ndarray) -> float:
        """The mean product of stand-ins with themselves over that with the carried ones."""
        norms = np.linalg.norm(vectors, axis=1)
        return float(np.sum(norms**2) / max(np.sum(norms * self.of(norms)), 1e-300))
