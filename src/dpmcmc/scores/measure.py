"""A sum over records that is clipped by what the records are: counts of norms, a radius from them, the noisy sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from dpmcmc.scores import radius
from dpmcmc.scores.lengths import Lengths
from dpmcmc.scores.radius import ASIDE, FORESEEN, UNFORESEEN, Tails
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.vectors import Arguments, Vectors

LEAST = 0.95  # quantile of simulated norms; nothing is clipped earlier
TYPICAL = 0.5  # errors of what is put back, over those that intervals allow for, which are of records that few are like
DOUBTFUL = 1.0  # an excess of so many standard deviations of its doubt counts for nothing
LOPSIDED = 1.4  # of what a clip takes, the part that may point one way, where nothing says which
SURE = 0.02  # no number is taken to be known better
SCALES = np.geomspace(0.01, 4.0, 30)  # of differences between what is seen and what was expected
WIDTHS = 3.0 / chi2.ppf((np.arange(10) + 0.5) / 10, 3.0)  # of the normals that make up a Student t with 3 degrees
UNCERTAIN = 1.0  # standard deviation of the logarithm of that scale, before any is seen


class Measured(NamedTuple):
    """A noisy sum of clipped vectors, over the clip; everything here is released or public."""

    total: np.ndarray
    std: float  # of the noise of each number
    clip: float
    excess: float  # what the clip takes beyond what is foreseen: a sum of lengths, over the clip
    doubt: float  # standard deviation of that
    beyond: float  # share of records that are clipped, estimated
    tails: Tails | None = None  # of the norms, which these three are from
    lengths: Lengths | None = None  # of real vectors, where stand-ins do not know
    aside: float = 0.0  # standard deviation of each number, for what the clip takes in directions that are not known
    caution: float = 1.0  # factor of the standard deviations of what a clip takes

    def read_with(self, others: Sequence[Tails]) -> Measured:
        """The same, with what counts of norms at other places say of the tail."""
        if self.tails is None or not others:
            return self
        excess, doubt, beyond = self.tails.together(others).excess(self.clip)
        return self._replace(excess=excess / self.clip, doubt=doubt / self.clip, beyond=beyond)

    def typical(self) -> Measured:
        """The same with errors of what the clip takes as they mostly are, and not as intervals allow for."""
        return self._replace(caution=TYPICAL)

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
    earlier: Sequence[Tails] = (),
    blind: bool = False,
) -> Measured:
    """Counts of the vectors' norms by the first of ``shares``, then their noisy sum by the second.

    ``simulated`` are vectors of simulated records: what the real ones are expected to be like. ``harm`` maps an error
    of the sum to where its length matters. The radius is at least the 95 % quantile of the simulated norms.
    ``earlier`` are norms of such vectors at other places, with the same tail. If simulated vectors are stand-ins,
    ``blind`` to how long vectors are, the counts alone say it.
    """
    norms, width = np.linalg.norm(simulated, axis=1), simulated.shape[1]
    edges = radius.norm_edges(norms, blind)
    counts, std = reader.norm_counts(vectors, arguments, edges, shares[0])
    share = min(shares[1], reader.left)
    noise = reader.noise * max(1 / np.sqrt(share), reader.mu)  # multipliers are at least 1
    lengths = Lengths.fitted(edges, counts[0], std, norms, reader.n) if blind else None
    if lengths is not None:
        simulated, norms = lengths.carried(simulated), lengths.of(norms)
        tails = Tails(*radius.folded(edges, counts[0], norms), std, norms)
    else:
        tails = Tails(edges, counts[0], std, norms)
    lopsided = LOPSIDED if blind else 0.0
    clip, excess, doubt, beyond, taken = radius.choose(tails.together(earlier), simulated, harm, noise, LEAST, lopsided)
    total, std = reader.total(vectors, arguments, clip, width, share)
    aside = lopsided * taken / clip / float(np.sqrt(width))
    return Measured(total, std, clip, excess / clip, doubt / clip, beyond, None if blind else tails, lengths, aside)


def share_for(error: float, aim: tuple[float, float, float]) -> float:
    """The share of μ² for a release that has an ``error`` with all of it: what the aim takes, between two shares."""
    return float(np.clip((error / aim[0]) ** 2, *aim[1:]))


def believed(difference: np.ndarray, noise: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """What of noisy differences is believed, number by number, and the standard deviations of what remains unknown.

    The differences are taken to come from one Student t about 0: most are about alike, and some far larger. Its scale
    is learnt from all of them; before, it is about half of the ``error`` that was expected. Student's t is a mixture
    of normals, and so is what is known of each difference after it was seen.
    """
    variances = np.multiply.outer(np.outer(SCALES**2, WIDTHS), np.ones_like(noise)) + noise**2  # (scale, width, number)
    density = np.exp(-(difference**2) / variances / 2) / np.sqrt(variances) + 1e-300
    of_scale = np.sum(np.log(np.mean(density, axis=1)), axis=tuple(range(1, density.ndim - 1)))
    of_scale -= (np.log(2 * SCALES / error) / UNCERTAIN) ** 2 / 2
    of_scale = np.exp(of_scale - np.max(of_scale))
    weights = density / np.sum(density, axis=1, keepdims=True)
    weights = weights * (of_scale / np.sum(of_scale)).reshape(-1, *(1,) * (density.ndim - 1))
    kept = 1 - noise**2 / variances
    mean = np.sum(weights * kept, axis=(0, 1)) * difference
    square = np.sum(weights * ((kept * difference) ** 2 + kept * noise**2), axis=(0, 1))
    return mean, np.sqrt(np.maximum(square - mean**2, SURE**2))


def believed_matrix(difference: np.ndarray, noise: np.ndarray, error: float) -> tuple[np.ndarray, np.ndarray]:
    """:func:`believed`, of symmetric matrices: numbers on the diagonal are one kind, the others another."""
    mean, left = (np.diag(part) for part in believed(np.diag(difference), np.diag(noise), error))
    where = np.triu_indices(len(difference), 1)
    if where[0].size:
        both = believed(difference[where], noise[where], error)
        for matrix, numbers in zip((mean, left), both, strict=True):
            matrix[where], matrix[where[::-1]] = numbers, numbers
    return mean, left
