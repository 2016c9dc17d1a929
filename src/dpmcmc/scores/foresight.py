"""What records are expected to be like at a place, and how that is known: what real ones are compared with.

Everything here is public or released. Models that simulate say it by simulated records (:class:`SimulatedRecords`);
for others there are stand-ins with the released size of their scores (:mod:`dpmcmc.scores.stand_in`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.picture import Picture, Simulated, prior_at, root_of, simulated_information

FEW = 8192  # simulated records where many would take long
CURVED = (0.25, 4.0)  # curvatures over information that are used as they are


class Curved(NamedTuple):
    """The curvatures of records that are foreseen at a place, and a root of their mean."""

    lower: np.ndarray  # the mean is lower lowerᵀ, raised where it is not one of a peak
    offset: np.ndarray  # what that has beyond the mean of the records alone
    white: np.ndarray  # scores, times lower⁻¹
    numbers: Callable[[np.ndarray], np.ndarray]  # the curvatures with a root on both sides, as upper triangles


class Foresight(Protocol):
    """What is to be expected of records. ``blind`` foresight knows their size, and neither how long the longest are,
    nor which way they point, nor how any of it changes with the parameters: that is then learnt from counts alone, or
    allowed for."""

    blind: bool
    reach: float  # how far a sum can tell, in standard deviations of the posterior of one record

    def at(self, theta: np.ndarray) -> Simulated:
        """Scores and information at ``theta``, of records that come from there."""

    def information(self, theta: np.ndarray) -> np.ndarray:
        """The information at ``theta`` alone, with fewer records."""

    def seen_information(self, theta: np.ndarray) -> np.ndarray | None:
        """The information of one record if those with values that were not seen had none; None if all were."""

    def records(self, theta: np.ndarray, count: int) -> Any:
        """Records that come from there, or None."""

    def clipped(self, picture: Picture, theta: np.ndarray, clip: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Mean of clipped features at the picture's place, over the clip, of records from ``theta``; its derivative.

        None if that is not foreseen.
        """

    def bent(self, picture: Picture, theta: np.ndarray, clip: float) -> tuple[np.ndarray, np.ndarray] | None:
        """What of the change of that mean, and of its derivative, is not linear in the move; for moves that are short.

        None if that is not foreseen.
        """

    def curved(self, places: tuple[np.ndarray, np.ndarray], known: np.ndarray) -> Curved:
        """Curvatures at the first of two ``places``, of records from the second; ``known`` joins the information."""


class SimulatedRecords:
    """By records that the model simulates, with covariates ``x`` like the real ones'."""

    blind, reach = False, 2.0

    def __init__(self, model: RaveledModel, key: Any, x: Any, unseen: np.ndarray | None = None) -> None:
        """``unseen`` says which rows of ``x`` have values that may be no real record's."""
        self.model, self.key, self.many = model, key, np.asarray(x)
        self.few = self.many[:FEW]
        self._unseen = np.zeros(len(self.few), bool) if unseen is None else np.asarray(unseen)[:FEW]

    def at(self, theta: np.ndarray) -> Simulated:
        records = self._from(theta, self.many)
        scores = np.asarray(vectors.on_public(self.model, vectors.scores)((theta, np.eye(len(theta))), records))
        return Simulated(theta, scores, simulated_information(self.model, theta, records), *prior_at(self.model, theta))

    def information(self, theta: np.ndarray) -> np.ndarray:
        return simulated_information(self.model, theta, self._from(theta, self.few))

    def seen_information(self, theta: np.ndarray) -> np.ndarray | None:
        """The information of one record if those with values that were not seen had none; None if all were."""
        if not self._unseen.any():
            return None
        seen = np.nonzero(~self._unseen)[0]
        if not len(seen):
            return np.zeros((len(theta), len(theta)))
        x = self.few[np.resize(seen, len(self.few))]  # as many rows: one program
        return len(seen) / len(self.few) * simulated_information(self.model, theta, self._from(theta, x))

    def records(self, theta: np.ndarray, count: int) -> Any:
        return self._from(theta, self.many[:count])

    def clipped(self, picture: Picture, theta: np.ndarray, clip: float) -> tuple[np.ndarray, np.ndarray]:
        centre, stretch = picture.theta, picture.stretch
        moved = centre + stretch.T @ (theta - centre)  # real records are that much more sensitive
        arguments = (centre, picture.root @ stretch)
        run = vectors.clipped_moments(self.model)
        mean, slope, _ = run(self.key, moved, self.few, arguments, np.float64(clip))
        return np.asarray(mean), np.asarray(slope) @ stretch.T

    def bent(self, picture: Picture, theta: np.ndarray, clip: float) -> tuple[np.ndarray, np.ndarray]:
        centre, stretch = picture.theta, picture.stretch
        moved = centre + stretch.T @ (theta - centre)
        arguments = (centre, picture.root @ stretch)
        records = self._from(centre, self.few)
        mean, slope = vectors.bent_moments(self.model)(moved, records, arguments, np.float64(clip))
        return np.asarray(mean), np.asarray(slope) @ stretch.T

    def curved(self, places: tuple[np.ndarray, np.ndarray], known: np.ndarray) -> Curved:
        """Far from where records come from, the mean curvature may be small or none of a peak; then it is raised to a
        part of the information, for coordinates in which it can be compared with what is released."""
        at = places[0]
        records = self._from(places[1], self.few)
        fisher = root_of(self.information(places[0]) + known)
        inverse = np.linalg.inv(fisher)
        mean = matrices.symmetric(np.nan_to_num(np.asarray(vectors.information(self.model)(at, records))))
        raised = fisher @ matrices.positive(inverse @ (mean + known) @ inverse.T, *CURVED) @ fisher.T
        lower = root_of(raised)

        def seen(kind: vectors.Vectors, root: np.ndarray) -> np.ndarray:
            return np.asarray(vectors.on_public(self.model, kind)((at, root), records))

        white = seen(vectors.scores, np.linalg.inv(lower))
        return Curved(lower, raised - mean, white, lambda root: seen(vectors.curvatures, root))

    def _from(self, at: Any, x: Any) -> Any:
        return vectors.simulate(self.model)(self.key, at, x)
