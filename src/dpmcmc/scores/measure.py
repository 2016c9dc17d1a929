"""A sum over records that is clipped by what the records are: counts of norms, a radius from them, the noisy sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.scores import radius
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.vectors import Arguments, Vectors


class Measured(NamedTuple):
    """A noisy sum of clipped vectors, over the clip; everything here is released or public."""

    total: np.ndarray
    std: float  # of the noise of each number
    clip: float
    excess: float  # what the clip takes beyond what is foreseen: a sum of lengths, over the clip
    doubt: float  # standard deviation of that
    beyond: float  # share of records that are clipped, estimated

    def mean(self, simulated: np.ndarray, n: int) -> np.ndarray:
        """The mean over ``n`` records, with what the clip takes put back, as ``simulated`` ones and the excess say.

        An excess counts only as far as it is beyond doubt.
        """
        seen = self.excess * max(0.0, 1 - (2 * self.doubt / max(abs(self.excess), 1e-300)) ** 2)
        return self.clip * (self.total / n + self._replace(excess=seen).lost(simulated, n))

    def error(self, n: int) -> float:
        """Standard deviation of the noise in each number of that mean."""
        return self.clip / n * self.std

    def lost(self, simulated: np.ndarray, n: int) -> np.ndarray:
        """What the clip takes of the mean over ``n`` records, over the clip: from simulated records, and the excess
        in the direction of the longest of them."""
        foreseen = np.mean(simulated / self.clip - clipped(simulated, self.clip), axis=0)
        return foreseen + self.excess / n * radius.tail_direction(simulated)


def clipped(vectors: np.ndarray, clip: float) -> np.ndarray:
    """Rows cut to norm ``clip``, over it."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), clip)


def measure(
    reader: Reader,
    vectors: Vectors,
    arguments: Arguments,
    simulated: np.ndarray,
    shares: tuple[float, float],
    harm: np.ndarray | None = None,
    least: float = 0.0,
) -> Measured:
    """Counts of the vectors' norms by the first of ``shares``, then their noisy sum by the second.

    ``simulated`` are vectors of simulated records: what the real ones are expected to be like. ``harm`` maps an error
    of the sum to where its length matters. The radius is at least the quantile ``least`` of the simulated norms.
    """
    norms, width = np.linalg.norm(simulated, axis=1), simulated.shape[1]
    edges = radius.norm_edges(norms)
    counts, std = reader.norm_counts(vectors, arguments, edges, shares[0])
    share = min(shares[1], reader.left)
    noise = 2 * max(1 / (reader.mu * np.sqrt(share)), 1.0)
    harm = np.eye(width) if harm is None else harm
    tails = radius.Tails(edges, counts[0], std, norms)
    clip, excess, doubt, beyond = radius.choose(tails, simulated, harm, noise, least)
    total, std = reader.total(vectors, arguments, clip, width, share)
    return Measured(total, std, clip, excess / clip, doubt / clip, beyond)
