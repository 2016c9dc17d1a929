"""The covariates one by one: distributions on [−1, 1] from noisy counts, in bins that follow the records.

The first bins are even; the next ones are quantiles of what the last ones showed, so that a covariate that fills a
thousandth of its declared range is seen as well as one that fills it. Values at the bounds, where 0/1 covariates
always are, have bins of their own. A covariate with declared levels has a bin for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

BINS = 20  # or as many as the most levels
ATOM = 1e-6  # width of the bins at the bounds
TAILS = 3  # bins on each side, ever wider, in the last round
TWO_VALUED = 0.9  # a mass at the bounds beyond which a covariate is taken for 0/1
SEEN = 3.0  # standard deviations of the noise that the count of a level must have to be told from none
STANDS_OUT = 4.5  # standard deviations of the noise that a count far from the others must have to be believed


@dataclass(frozen=True, eq=False)
class Marginals:
    """Distributions, one row a covariate: ``edges`` (k, bins + 1), ``mass`` (k, bins), and how many levels it has.

    Between edges they are smooth, unless the covariate has levels; then the first bins are those.
    """

    edges: np.ndarray
    mass: np.ndarray
    levels: tuple[int, ...]  # 0 for a number
    unseen: tuple[tuple[float, ...], ...] = ()  # values of each whose counts cannot be told from none

    @classmethod
    def from_counts(
        cls, edges: np.ndarray, counts: np.ndarray, std: float, n: int, levels: tuple[int, ...] | None = None
    ) -> Marginals:
        levels = (0,) * len(edges) if levels is None else levels
        rows = zip(counts, edges, levels, strict=True)
        mass = [_levelled(row, n, count) if count else believed(row, std, n, edge) for row, edge, count in rows]
        pairs = zip(counts, mass, levels, strict=True)
        return cls(edges, np.stack(mass), levels, tuple(_unseen(row, own, std, count) for row, own, count in pairs))

    def __getitem__(self, rows: slice) -> Marginals:
        """Those of some covariates."""
        return Marginals(self.edges[rows], self.mass[rows], self.levels[rows], self.unseen[rows])

    @property
    def cumulated(self) -> np.ndarray:
        """P(x ≤ edge), increasing strictly."""
        sums = np.concatenate([np.zeros((len(self.mass), 1)), np.cumsum(self.mass, axis=1)], axis=1)
        return sums + 1e-12 * np.arange(sums.shape[1])

    @property
    def concentrated(self) -> bool:
        """Whether some covariate, not only at its bounds, fills so few bins that finer ones are needed."""
        few = (np.sum(self.mass > 0.02, axis=1) <= 3) & (np.array(self.levels) == 0)
        return bool(np.any(few & (self.mass[:, 0] + self.mass[:, -1] < 0.9)))

    def quantiles(self, ranks: np.ndarray) -> np.ndarray:
        """Covariates (n, k) at ranks in [0, 1]."""
        rows = zip(ranks.T, self.cumulated, self.edges, self.levels, strict=True)
        return np.stack([_level(rank, sums, k) if k else _between(rank, sums, e) for rank, sums, e, k in rows], axis=1)

    def from_normals(self, normals: np.ndarray) -> np.ndarray:
        """Covariates from standard normals (n, k), correlated as one likes."""
        return self.quantiles(ndtr(normals))

    def finer_edges(self, last: bool) -> np.ndarray:
        """Edges at quantiles; in the ``last`` round with wide bins for the tails beyond the middle 98 %."""
        rows = zip(self.cumulated, self.edges, self.levels, strict=True)
        return np.stack([edges if k else _finer(sums, edges, last) for sums, edges, k in rows])


def _between(ranks: np.ndarray, cumulated: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Quantiles, smooth and increasing between edges: uniform bins would make bell-shaped covariates too wide."""
    found = PchipInterpolator(cumulated, edges)(np.clip(ranks, cumulated[0], cumulated[-1]))
    return np.clip(found, edges[0], edges[-1])


def first_edges(levels: tuple[int, ...]) -> np.ndarray:
    """Even bins, or one for each level; bins that are left over lie beyond 1 and are empty."""
    bins = max(BINS, *levels)
    even = np.concatenate([[-1.0], np.linspace(ATOM - 1, 1 - ATOM, bins - 1), [1.0]])

    def between(count: int) -> np.ndarray:
        middles = level_values(count)[1:] - 1 / (count - 1)
        return np.concatenate([[-1.0], middles, np.full(bins - len(middles), 2.0)])

    return np.stack([between(count) if count else even for count in levels])


def level_values(count: int) -> np.ndarray:
    """The values of a covariate with so many levels."""
    return np.linspace(-1.0, 1.0, count)


def _level(ranks: np.ndarray, cumulated: np.ndarray, count: int) -> np.ndarray:
    """Quantiles of a covariate with levels."""
    return level_values(count)[np.clip(np.searchsorted(cumulated, ranks) - 1, 0, count - 1)]


def _levelled(counts: np.ndarray, n: int, levels: int) -> np.ndarray:
    """Masses of a covariate with levels."""
    mass = np.zeros(len(counts))
    mass[:levels] = _onto_simplex(counts[:levels], n) / n
    return mass / mass.sum()


def _unseen(counts: np.ndarray, mass: np.ndarray, std: float, levels: int) -> tuple[float, ...]:
    """Levels, or the rarer of two values at the bounds, whose counts cannot be told from none."""
    if levels:
        return tuple(level_values(levels)[counts[:levels] < SEEN * std].tolist())
    if mass[0] + mass[-1] <= TWO_VALUED:
        return ()
    rare = 0 if mass[0] < mass[-1] else -1
    return (-1.0 if rare == 0 else 1.0,) if counts[rare] < SEEN * std else ()


def believed(counts: np.ndarray, std: float, n: int, edges: np.ndarray) -> np.ndarray:
    """Masses from noisy counts: all bins near the middle 70 %, and of the others those that stand out from the noise.

    Noise that is spread over far bins would make a narrow covariate look wide.
    """
    cumulated = np.append(0.0, np.clip(isotonic_regression(np.cumsum(counts)).x / n, 0, 1))
    cumulated[-1] = 1.0
    low, high = np.interp([0.15, 0.85], np.maximum.accumulate(cumulated) + 1e-12 * np.arange(len(edges)), edges)
    low = edges[max(np.searchsorted(edges, low, side="right") - 1, 0)]
    high = edges[min(np.searchsorted(edges, high), len(edges) - 1)]
    width = max(high - low, 1e-9)
    core = (edges[1:] > low - width) & (edges[:-1] < high + width)
    clear = counts > STANDS_OUT * std
    kept = (core & (np.diff(edges) > 2 * ATOM)) | clear
    inner = kept & ~clear
    counts = _falling(_falling(counts, edges, inner & (edges[:-1] >= high)), edges, inner & (edges[1:] <= low), -1)
    mass = np.zeros(len(counts))
    mass[kept] = _onto_simplex(counts[kept], n) / n
    if mass[0] + mass[-1] > TWO_VALUED:  # the rarer of two values is there, though it may be lost in the noise
        rare = 0 if mass[0] < mass[-1] else -1
        mass[rare] = max(mass[rare], min(max(counts[rare], std) / n, 0.1))
    return mass / mass.sum()


def _falling(counts: np.ndarray, edges: np.ndarray, tail: np.ndarray, step: int = 1) -> np.ndarray:
    """The same with densities of the ``tail`` bins made to fall outwards: otherwise noise far out, where only what is
    positive is kept, would make every covariate wider than it is."""
    bins = np.nonzero(tail)[0][::step]
    if not len(bins):
        return counts
    widths = np.diff(edges)[bins]
    density = isotonic_regression(counts[bins] / widths, weights=(widths / widths.max()) ** 2, increasing=False).x
    found = counts.copy()
    found[bins] = np.maximum(density, 0.0) * widths
    return found


def _onto_simplex(counts: np.ndarray, total: float) -> np.ndarray:
    """The nearest numbers, none negative, that add up to ``total``."""
    descending = np.sort(counts)[::-1]
    over = (np.cumsum(descending) - total) / np.arange(1, len(counts) + 1)
    return np.maximum(counts - over[np.nonzero(descending > over)[0][-1]], 0.0)


def _finer(cumulated: np.ndarray, edges: np.ndarray, last: bool) -> np.ndarray:
    bins = len(edges) - 1
    if last:
        middle = np.interp(np.linspace(0.01, 0.99, bins - 3 - 2 * TAILS), cumulated, edges)
        width = max(middle[-1] - middle[0], 1e-5) / 2
        up = middle[-1] + np.geomspace(width, max(1 - middle[-1], 2 * width), TAILS + 1)[:-1]
        down = middle[0] - np.geomspace(width, max(1 + middle[0], 2 * width), TAILS + 1)[:-1]
        inner = np.concatenate([down, middle, up])
    else:
        inner = np.interp(np.linspace(0.001, 0.999, bins - 3), cumulated, edges)
        margin = 0.01 * (inner[-1] - inner[0])  # values at the edge of a bin are inside the finer ones
        inner[0], inner[-1] = inner[0] - margin, inner[-1] + margin
    inner = np.sort(np.clip(inner, ATOM - 1, 1 - ATOM)) + 1e-10 * np.arange(len(inner))
    return np.concatenate([[-1.0, ATOM - 1], np.minimum(inner, 1 - ATOM), [1 - ATOM, 1.0]])
