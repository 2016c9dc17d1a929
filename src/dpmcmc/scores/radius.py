"""Where to clip: the radius at which noise and what the clip takes away do the least harm, from noisy counts of norms.

Simulated records say how long vectors are to be expected; of the real ones, noisy counts of norms are released. Beyond
the simulated norms' ``START`` quantile q the real tail is taken to be a·P(q (r/q)^γ > ·) for simulated norms r: longer
or shorter by an exponent, heavier or lighter by a factor; and a share of the records may be outliers, anywhere beyond
it. All of these are weighed by how well they fit the counts, so that a tail is seen that shows in no single bin. What
the clip takes is put back as far as it is foreseen (:mod:`dpmcmc.scores.measure`); the rest of it is a harm.

Reference: docs/theory/score-release.md, "Where to clip".
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np

STEPS = np.array([1.0, 1.12, 1.3, 1.55, 1.9, 2.4, 3.2])  # edges, over where the tail begins
FARTHER = 5  # edges beyond, evenly in the logarithm: the fewer bins records are spread over, the better they are seen
BINS = len(STEPS) + FARTHER
WIDER, MORE_BINS = 8.0, 34  # where nothing foresees norms: by how much bins reach farther at both ends
REACH = 30.0  # the last edge, in root mean squares of simulated norms
CANDIDATES = 40
ROWS = 8192  # simulated vectors that candidates are tried on
START = 0.95  # quantile of simulated norms where the tail begins
EXPONENTS, FACTORS = np.geomspace(0.5, 5.0, 24), np.geomspace(0.25, 8.0, 16)
OUTLIERS = 0.02  # probability, before counts are seen, that a share of the records does not belong to the tail
SHARES = np.geomspace(1e-3, 0.3, 10)  # of the records
KINDS = ((0.0, 12.0), (1.0, 36.0), (2.0, 36.0))
"""Outliers have norms r with a density of their logarithm ∝ r^−α from ``NEAREST`` to so many times where the tail
begins: α and that."""
NEAREST = 1.5
BENDS = 4.0  # beyond so many times the norm where the tail begins, exponents change norms by a factor
LOG_SPREAD = 0.3  # scale of the logarithms of exponents and factors, before counts are seen
FORESEEN = 0.35  # relative error of the loss that simulated records foresee
UNFORESEEN = 0.7  # the same of what the counts show beyond it
TAIL = 0.95  # quantile of simulated norms beyond which vectors say where the rest of a tail points
LENGTH = 0.03  # relative error of all simulated norms together: where many are as long as the clip, it matters
ASIDE = 0.3  # squared, of a tail's length: how much of it may point elsewhere


def _outliers(power: float, farthest: float, count: int = 512) -> np.ndarray:
    """Quantiles of the norms of one kind of outliers, over where the tail begins."""
    ranks = (np.arange(count) + 0.5) / count
    if not power:
        return NEAREST * (farthest / NEAREST) ** ranks
    return NEAREST * (1 - ranks * (1 - (farthest / NEAREST) ** -power)) ** (-1 / power)


OUTSIDE = np.stack([_outliers(*kind) for kind in KINDS])


class Radius(NamedTuple):
    """A clip radius, and what of the clipped records goes beyond what simulated ones foresee."""

    clip: float
    excess: float  # by how much norms exceed the clip, in all, less the same for simulated records
    doubt: float  # standard deviation of that
    beyond: float  # share of records
    taken: float = 0.0  # by how much norms exceed the clip, in all


class Tails:
    """The real norms beyond q, by simulated ones and noisy counts."""

    def __init__(self, edges: np.ndarray, counts: np.ndarray, std: float, norms: np.ndarray) -> None:
        self.n = max(float(np.sum(counts)), 1.0)
        ordered = np.sort(norms)
        inside, self.norms = np.split(ordered, [int(START * len(norms))])
        self.start = max(float(self.norms[0]), 1e-300)
        self.share = len(self.norms) / len(norms)
        far = np.log(self.norms / self.start)
        near = np.minimum(far, np.log(BENDS))
        self.stretched = self.start * np.exp(far + (EXPONENTS[:, None] - 1) * near)  # (exponent, norm)
        shown = edges >= self.start
        each = np.stack([np.histogram(row, np.append(0.0, edges))[0] for row in np.minimum(self.stretched, edges[-1])])
        self._tail = self.n * self.share / len(self.norms) * each[:, None, None, shown] * FACTORS[:, None, None]
        outside = [np.histogram(np.minimum(self.start * row, edges[-1]), np.append(0.0, edges))[0] for row in OUTSIDE]
        each = np.stack(outside)[:, shown] / OUTSIDE.shape[1]
        self._outliers = self.n * _with_none(SHARES[:, None, None] * each)  # (share and kind, bin)
        self._below = np.histogram(inside, np.append(0.0, edges))[0][shown] * self.n / len(norms)
        self._counts, self._std, self.edges = counts[shown], std, edges[shown]
        self._misfits: dict[int, np.ndarray] = {}
        self._weigh((self,))

    def together(self, others: Sequence[Tails]) -> Tails:
        """The same, with what counts at other places say of exponent, factor and outliers, which are the same there."""
        if not others:
            return self
        joint = copy(self)
        joint._weigh((self, *others))
        return joint

    @property
    def _predicted(self) -> np.ndarray:
        """Counts beyond q, by exponent, factor, outliers and bin."""
        return self._tail + self._outliers

    def _misfit(self, places: int) -> np.ndarray:
        """Minus twice the log likelihood of exponents, factors and outliers: of noise, chance, and the shape.

        The shape is wrong in the same way at all ``places``, so that many of them say no more of it than one.
        """
        if places not in self._misfits:
            predicted = self._predicted
            variance = self._std**2 + predicted + places * (0.25 * predicted) ** 2
            misfit = (self._counts - self._below - predicted) ** 2 / variance + np.log(variance)
            self._misfits[places] = np.sum(misfit, axis=-1)
        return self._misfits[places]

    def _weigh(self, places: Sequence[Tails]) -> None:
        away = (np.log(EXPONENTS)[:, None] ** 2 + np.log(FACTORS)[None, :] ** 2) / LOG_SPREAD**2
        prior = 3 * np.log1p(away)[:, :, None]  # minus twice the logarithm of a Cauchy density in two dimensions
        kinds = len(self._outliers)
        prior = prior - 2 * np.log(np.append(1 - OUTLIERS, np.full(kinds - 1, OUTLIERS / (kinds - 1))))
        cost = prior + np.sum([tails._misfit(len(places)) for tails in places], axis=0)
        weights = np.exp(-(cost - np.min(cost)) / 2)
        self.weights = weights / weights.sum()  # (exponent, factor, outliers)

    def excess(self, clip: float) -> tuple[float, float, float]:
        """Mean and standard deviation of Σ(norm − clip)₊ less the simulated records' own, and the share beyond."""
        return tuple(float(part[0]) for part in self.excesses(np.array([clip])))  # type: ignore[return-value]

    def excesses(self, clips: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """:meth:`excess` of several clips at once."""
        taken, beyond = (part[:, :, None, None] for part in _beyond(self.stretched, clips))  # (clip, exponent, 1, 1)
        own = self.n * self.share * _beyond(self.norms[None], clips)[0][:, 0]
        more, outside = _beyond(self.start * OUTSIDE, clips)  # (clip, kind)
        outliers, outside = (
            np.stack([_with_none(SHARES[:, None] * each) for each in part]) for part in (more, outside)
        )
        over = self.n * (self.share * taken * FACTORS[:, None] + outliers[:, None, None])
        beyond = self.share * beyond * FACTORS[:, None] + outside[:, None, None]
        mean, square, share = (np.sum(self.weights * part, axis=(1, 2, 3)) for part in (over, over**2, beyond))
        return mean - own, np.sqrt(np.maximum(square - mean**2, 0.0)), share


def _beyond(norms: np.ndarray, clips: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over rows of norms, in order, of what exceeds each clip, and the shares that do: (clip, row)."""
    sums = np.append(np.cumsum(norms[:, ::-1], axis=1)[:, ::-1], np.zeros((len(norms), 1)), axis=1)
    count = norms.shape[1]
    first = np.stack([np.searchsorted(row, clips, side="right") for row in norms], axis=1)  # (clip, row)
    beyond = count - first
    taken = np.take_along_axis(sums.T, first, axis=0) - clips[:, None] * beyond
    return np.maximum(taken, 0.0) / count, beyond / count


def _with_none(kinds: np.ndarray) -> np.ndarray:
    """Outliers by share and kind, as one axis that begins with none."""
    flat = kinds.reshape(-1, *kinds.shape[2:])
    return np.concatenate([np.zeros_like(flat[:1]), flat])


def tail_direction(simulated: np.ndarray) -> np.ndarray:
    """The mean direction of the longest simulated vectors: of length 1 if all point the same way, 0 if all ways."""
    norms = np.linalg.norm(simulated, axis=1)
    over = norms - np.quantile(norms, TAIL)
    far = over > 0
    over, norms = over[far], norms[far]
    return (over / np.maximum(norms, 1e-300)) @ simulated[far] / max(np.sum(over), 1e-300)


def more_lost(norms: np.ndarray, clip: float | np.ndarray) -> np.ndarray:
    """What the clip would take in addition of vectors with these norms if all were ``LENGTH`` longer, over norms."""
    more = np.maximum((1 + LENGTH) * norms - clip, 0.0) - np.maximum(norms - clip, 0.0)
    return more / np.maximum(norms, 1e-300)


def norm_edges(norms: np.ndarray, blind: bool = False) -> np.ndarray:
    """Upper edges of the bins of norms; what is larger belongs to the last. More of them where stand-ins are blind."""
    low = max(np.median(norms) / 4, 1e-12)
    high = max(REACH * np.sqrt(np.mean(norms**2)), 4 * np.max(norms), 10 * low)
    if blind:
        return np.geomspace(low / WIDER, high * WIDER, MORE_BINS)
    start = max(float(np.sort(norms)[int(START * len(norms))]), 1e-12)
    farther = np.geomspace(STEPS[-1] * start, max(high, 2 * STEPS[-1] * start), FARTHER + 1)
    return np.concatenate([STEPS * start, farther[1:]])


def folded(edges: np.ndarray, counts: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bins and counts without those far beyond ``norms``, which are mostly noise: what they have is in the last."""
    last = int(np.searchsorted(edges, max(REACH * np.sqrt(np.mean(norms**2)), 4 * np.max(norms))))
    last = min(max(last, 2), len(edges) - 1)
    return edges[: last + 1], np.append(counts[:last], np.sum(counts[last:]))


def choose(
    tails: Tails, simulated: np.ndarray, harm: np.ndarray | None, noise: float, least: float, lopsided: float = 0.0
) -> Radius:
    """The best radius for sums whose noise has standard deviation ``noise`` times the radius in each number.

    ``simulated`` vectors, one row each, say what to expect; ``harm`` maps an error of the sum to where its length is
    the harm it does, for scores; without it, for other vectors, all numbers matter alike. The radius is at least the
    quantile ``least`` of the simulated norms. What the clip takes may point any way, with a mean of so much of its
    length as ``lopsided`` says.
    """
    shrinks = harm is not None  # what is clipped of scores tells less of the parameters
    harm = np.eye(simulated.shape[1]) if harm is None else harm
    total_harm = np.sum(harm**2)
    spread = np.sum((harm @ tail_direction(simulated)) ** 2) + ASIDE * total_harm / simulated.shape[1]
    simulated = simulated[:ROWS]
    norms = np.linalg.norm(simulated, axis=1)
    low = max(np.quantile(norms, least), 1e-12)
    clips = np.geomspace(low, max(2 * np.max(norms), tails.edges[-2]), CANDIDATES)
    far = (1 + LENGTH) * norms > low  # of the others no candidate takes anything
    squares, rows, norms = np.sum(norms**2), len(norms), norms[far]
    harmed = simulated[far] @ harm.T if shrinks else simulated[far]
    cut = 1 - np.minimum(clips[:, None] / np.maximum(norms, 1e-300), 1.0)  # (clip, vector)
    lost = tails.n / rows * (cut @ harmed)
    longer = tails.n / rows * (more_lost(norms, clips[:, None]) @ harmed)
    excess, doubt, beyond = tails.excesses(clips)
    bias = spread * ((UNFORESEEN * excess) ** 2 + doubt**2)
    bias += FORESEEN**2 * np.sum(lost**2, axis=1) + np.sum(longer**2, axis=1)
    taken = np.maximum(tails.n / rows * np.sum(cut * norms, axis=1) + excess, 0.0)
    bias += (lopsided * taken) ** 2 * total_harm / simulated.shape[1]
    total = total_harm * (noise * clips) ** 2 + bias
    if shrinks:
        total /= (1 - cut @ norms**2 / squares) ** 2
    if not np.any(total < np.inf):
        return Radius(float(low), 0.0, 0.0, 0.0)
    best = int(np.argmin(np.where(np.isnan(total), np.inf, total)))
    return Radius(*(float(part[best]) for part in (clips, excess, doubt, beyond, taken)))
