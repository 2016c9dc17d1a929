"""What to expect of records for models that do not simulate: stand-ins of the size that was released.

Noisy counts of each parameter's curvature say how large it is, to a factor of two. Stand-ins for scores are normal with
that information for a covariance, and their products with themselves stand for curvatures: equal in expectation, where
the model is right. Everything else is learnt as it is for other models (:mod:`dpmcmc.scores.curvature`), and lengths
from the counts of norms that precede every sum (:mod:`dpmcmc.scores.lengths`).

Reference: docs/theory/score-release.md, "Models that do not simulate".
"""

from __future__ import annotations

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.foresight import FEW, Curved
from dpmcmc.scores.picture import Picture, Simulated, prior_at, prior_precision, root_of
from dpmcmc.scores.reader import Reader

SIZE_SHARE = 0.01  # of μ², for counts of curvatures, and again of those that show nothing
FACTOR, BINS = 4.0, 28  # of the size from bin to bin, and how many there are
SMALLEST = 1e-10  # curvature that is told from none, where the prior has no precision
STANDS_OUT = 3.5  # standard deviations of the noise that a count must have to be believed


class StandIn:
    """Normal scores with the same ``information`` everywhere."""

    blind, reach = True, 1.0

    def __init__(self, model: RaveledModel, information: np.ndarray, rng: np.random.Generator, count: int) -> None:
        self.model, self._information = model, information
        self.white = rng.normal(size=(count, len(information)))

    def at(self, theta: np.ndarray) -> Simulated:
        scores = self.white @ root_of(self._information).T
        return Simulated(theta, scores, self._information, *prior_at(self.model, theta))

    def information(self, theta: np.ndarray) -> np.ndarray:
        return self._information

    def seen_information(self, theta: np.ndarray) -> None:
        """Covariates are not described, so none of their values is known to be rare."""

    def records(self, theta: np.ndarray, count: int) -> None:
        return None

    def clipped(self, picture: Picture, theta: np.ndarray, clip: float) -> None:
        """What a sum should be elsewhere is not foreseen; it is taken to be linear in the move."""
        return None

    def bent(self, picture: Picture, theta: np.ndarray, clip: float) -> None:
        return None

    def curved(self, places: tuple[np.ndarray, np.ndarray], known: np.ndarray) -> Curved:
        lower, white = root_of(self._information + known), self.white[:FEW]

        def numbers(root: np.ndarray) -> np.ndarray:
            where, weights = matrices.triangle(len(root))
            rows = white @ (root @ lower).T
            return rows[:, where[0]] * rows[:, where[1]] * weights

        return Curved(lower, known, white, numbers)


def of_sizes(reader: Reader, theta: np.ndarray, rng: np.random.Generator, count: int) -> StandIn:
    """Release how large curvatures are at ``theta``; again, with less noise, of those that few records have."""
    precision = np.diag(prior_precision(reader.model, theta)) / reader.n
    least = np.where(precision > 0, precision, SMALLEST)  # what is smaller is of no consequence, or none
    sizes = _means(reader, theta, least, np.ones(len(least), bool))
    hidden = np.isnan(sizes)
    if np.any(hidden):
        sizes[hidden] = _means(reader, theta, least, hidden)
    return StandIn(reader.model, np.diag(np.fmax(sizes, least)), rng, count)


def _means(reader: Reader, theta: np.ndarray, least: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Of the curvatures of some parameters, over the records in bins that stand out; NaN if that is the lowest only."""
    edges = FACTOR ** np.arange(BINS - 1)
    arguments = (theta, np.diag(1 / least)[which])
    table = np.tile(edges, (int(which.sum()), 1))
    counts, std = reader.number_counts(vectors.own_curvatures, arguments, table, SIZE_SHARE)
    kept = np.where(counts > STANDS_OUT * std, counts, 0.0)
    means = kept @ np.append(0.0, edges * np.sqrt(FACTOR)) / reader.n
    return np.where(means > 0, means * least[which], np.nan)
