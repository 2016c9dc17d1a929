"""How long vectors are when nothing foresees it: from noisy counts of norms alone.

Stand-ins have a norm r about a median m; real ones are taken to have norms m·a·(r/m)^b, with a scale a and exponents b
below and above the median that the counts make most likely.

Reference: docs/theory/score-release.md, "Models that do not simulate".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SCALES, EXPONENTS = np.geomspace(1 / 64, 64, 97), np.geomspace(0.7, 8.0, 29)
BELOW = (0.1, 0.2, 0.4, 0.7, 1.2, 2.0, 3.5, 7.0)  # exponents of norms below the median
SCALE_SPREAD, EXPONENT_SPREAD = 1.0, 0.8  # of their logarithms, before counts are seen
SHAPE = 0.25  # relative error of an expected count: the shape is not the stand-ins'
ROWS = 4096  # stand-ins that are counted


class Lengths(NamedTuple):
    """Norms of stand-ins, carried to where real ones are."""

    middle: float
    scale: float
    exponents: tuple[float, float]  # below the middle and above
    most: float  # what is longer was not counted apart

    @classmethod
    def fitted(cls, edges: np.ndarray, counts: np.ndarray, std: float, norms: np.ndarray, n: int) -> Lengths:
        """The most likely, by counts of ``n`` norms up to each of the ``edges``; larger ones are in the last."""
        ordered = np.sort(norms[:ROWS])
        middle = max(float(np.median(ordered)), 1e-300)
        reach = (np.log(np.maximum(edges, 1e-300) / middle) - np.log(SCALES)[:, None])[:, None, :]
        best, least = cls(middle, 1.0, (1.0, 1.0), float(edges[-2])), np.inf
        away = (np.log(SCALES)[:, None] / SCALE_SPREAD) ** 2 + (np.log(EXPONENTS)[None, :] / EXPONENT_SPREAD) ** 2
        for low in BELOW:
            within = middle * np.exp(reach / np.where(reach < 0, low, EXPONENTS[None, :, None]))  # of stand-ins
            below = np.searchsorted(ordered, within.ravel(), side="right").reshape(within.shape) / len(ordered)
            below[..., -1] = 1.0
            predicted = n * np.diff(below, axis=2, prepend=0.0)  # (scale, exponent, bin)
            variance = std**2 + predicted + (SHAPE * predicted) ** 2
            misfit = np.sum((counts - predicted) ** 2 / variance + np.log(variance), axis=2) + 3 * np.log1p(away)
            first, second = np.unravel_index(np.argmin(misfit), misfit.shape)
            if misfit[first, second] < least:
                least = misfit[first, second]
                best = best._replace(scale=float(SCALES[first]), exponents=(low, float(EXPONENTS[second])))
        return best

    def of(self, norms: np.ndarray) -> np.ndarray:
        """Real norms for those of stand-ins."""
        relative = np.maximum(norms, 1e-300) / self.middle
        longer = self.middle * self.scale * relative ** np.where(relative < 1, *self.exponents)
        return np.minimum(longer, self.most)

    def carried(self, vectors: np.ndarray) -> np.ndarray:
        """Stand-ins with real norms."""
        norms = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
        return vectors * (self.of(norms) / norms)

    def shared(self, vectors: np.ndarray) -> float:
        """The mean product of stand-ins with themselves over that with the carried ones."""
        norms = np.linalg.norm(vectors, axis=1)
        return float(np.sum(norms**2) / max(np.sum(norms * self.of(norms)), 1e-300))
