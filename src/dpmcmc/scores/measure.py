"""A sum over records that is clipped by what the records are: counts of norms, a radius from them, the noisy sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.scores import radius
from dpmcmc.scores.lengths import SHAPE, Lengths
from dpmcmc.scores.radius import ASIDE, FORESEEN, UNFORESEEN
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.vectors import Arguments, Vectors

FAMILIAR = 4.0  # so many numbers' worth of evidence is the error that was expected before a release
DOUBTFUL = 1.0  # an excess of so many standard deviations of its doubt counts for nothing
LOPSIDED = 1.4  # of what a clip takes, the part that may point one way, where nothing says which
SURE = 0.02  # no number is taken to be known better


class Measured(NamedTuple):
    """A noisy sum of clipped vectors, over the clip; everything here is released or public."""

    total: np.ndarray
    std: float  # of the noise of each number
    clip: float
    excess: float  # what the clip takes beyond what is foreseen: a sum of lengths, over the clip
    doubt: float  # standard deviation of that
    beyond: float  # share of records that are clipped, estimated
    lengths: Lengths | None = None  # of real vectors, where stand-ins do not know
    aside: float = 0.0  # standard deviation of each number, for what the clip takes in directions that are not known

    @property
    def seen(self) -> float:
        """The excess as far as it is beyond doubt."""
        return self.excess * max(0.0, 1 - (DOUBTFUL * self.doubt / max(abs(self.excess), 1e-300)) ** 2)

    @property
    def unseen(self) -> float:
        """Standard deviation of the rest of it, and of an error in what is put back."""
        return float(np.sqrt((UNFORESEEN * self.seen) ** 2 + self.doubt**2 + (self.excess - self.seen) ** 2))

    def mean(self, simulated: np.ndarray, n: int) -> np.ndarray:
        """The mean over ``n`` records, with what the clip takes put back."""
        return self.clip * (self.total / n + self.lost(simulated, n))

    def variances(self, simulated: np.ndarray, n: int) -> np.ndarray:
        """Of the numbers of that mean: the noise, and errors of what was put back."""
        foreseen, tail = FORESEEN * n * self.foreseen(simulated), radius.tail_direction(simulated)
        unseen = self.unseen**2 * (tail**2 + ASIDE / len(tail))
        return (self.clip / n) ** 2 * (self.std**2 + foreseen**2 + unseen + self.aside**2)

    def foreseen(self, simulated: np.ndarray) -> np.ndarray:
        """What the clip takes of the mean over simulated records, over the clip."""
        simulated = self.as_seen(simulated)
        return np.mean(simulated / self.clip - clipped(simulated, self.clip), axis=0)

    def as_seen(self, simulated: np.ndarray) -> np.ndarray:
        """Simulated vectors as long as the counts say, where nothing else does."""
        return simulated if self.lengths is None else self.lengths.carried(simulated)

    def lost(self, simulated: np.ndarray, n: int) -> np.ndarray:
        """What the clip takes of the mean over ``n`` records, over the clip: as simulated ones foresee, and the excess
        in the direction of the longest of them."""
        return self.foreseen(simulated) + self.seen / n * radius.tail_direction(simulated)


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
    blind: bool = False,
) -> Measured:
    """Counts of the vectors' norms by the first of ``shares``, then their noisy sum by the second.

    ``simulated`` are vectors of simulated records: what the real ones are expected to be like. ``harm`` maps an error
    of the sum to where its length matters. The radius is at least the quantile ``least`` of the simulated norms. If
    those are stand-ins, ``blind`` to how long vectors are, the counts alone say it.
    """
    norms, width = np.linalg.norm(simulated, axis=1), simulated.shape[1]
    edges = radius.norm_edges(norms, blind)
    counts, std = reader.norm_counts(vectors, arguments, edges, shares[0])
    share = min(shares[1], reader.left)
    noise = 2 * max(1 / (reader.mu * np.sqrt(share)), 1.0)
    lengths = Lengths.fitted(edges, counts[0], std, norms, reader.n) if blind else None
    if lengths is not None:
        simulated, norms = lengths.carried(simulated), lengths.of(norms)
        tails = radius.Tails(*radius.folded(edges, counts[0], norms), std, norms, SHAPE)
    else:
        tails = radius.Tails(edges, counts[0], std, norms)
    lopsided = LOPSIDED if blind else 0.0
    clip, excess, doubt, beyond, taken = radius.choose(tails, simulated, harm, noise, least, lopsided)
    total, std = reader.total(vectors, arguments, clip, width, share)
    aside = lopsided * taken / clip / float(np.sqrt(width))
    return Measured(total, std, clip, excess / clip, doubt / clip, beyond, lengths, aside)


def share_for(error: float, aim: tuple[float, float, float]) -> float:
    """The share of μ² for a release that has an ``error`` with all of it: what the aim takes, between two shares."""
    return float(np.clip((error / aim[0]) ** 2, *aim[1:]))


def believed(difference: np.ndarray, noise: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """What of noisy differences is believed, number by number, and the standard deviations of what remains unknown.

    The differences are taken to be normal about 0 with one variance, which is estimated from all of them and the
    ``error`` that was expected; those too noisy to tell say nothing of it.
    """
    weights = (error**2 / (noise**2 + error**2)) ** 2
    prior = FAMILIAR * error**2 + np.sum(weights * (difference**2 - noise**2))
    prior = max(prior / (FAMILIAR + np.sum(weights)), SURE**2)
    kept = prior / (prior + noise**2)
    return kept * difference, np.sqrt(np.maximum(kept * noise**2, SURE**2))
