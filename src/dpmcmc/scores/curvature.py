"""How much information the real records carry, from a released sum of their curvatures, and how well that is known.

Simulated records foresee it as far as model and description are right; the released sum corrects them number by number,
as far as each stands out from its noise and from what the clip may have taken of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.coordinates import kind_axes
from dpmcmc.scores.foresight import Foresight
from dpmcmc.scores.measure import LEAST, believed_matrix, measure, share_for
from dpmcmc.scores.picture import OF_PRIOR, prior_precision
from dpmcmc.scores.reader import Reader

COUNTS = 0.004  # share of μ² for counts of norms
UNDESCRIBED = 0.5  # relative error of the information before curvatures are released
UNLIKE = 2.5  # information along rare directions may be less like the simulated one, by up to such a factor;
# where the prior has more of it, what is unlike matters less
TELLS = 0.1  # directions with less of the information in all precision are the prior's; of them nothing is released
TOLD = 4.0  # standard deviations that the information along a direction must have to be told from none
NOTHING = 30.0  # relative error along a direction of which nothing is known
BENDS = 0.2  # relative change of the information, times the length of a move in standard deviations for one record
BLIND_BENDS = 0.5  # the same where it is not foreseen at all
FACTORS = (0.1, 10.0)  # by which one release may change the information


class Doubt(NamedTuple):
    """How far the information may be off: in coordinates where it is standard, independent errors of its numbers."""

    frame: np.ndarray  # information of a record is frame frameᵀ
    errors: np.ndarray  # standard deviations of the numbers of frame⁻¹ information frame⁻ᵀ
    told: int  # directions, which come first, of which records say enough to be asked
    bends: float = BENDS

    @classmethod
    def none(cls, frame: np.ndarray) -> Doubt:
        """Where the prior says more than the records along every direction, so that doubt does not matter."""
        return cls(frame, np.zeros_like(frame), 0)

    @classmethod
    def of_change(
        cls, frame: np.ndarray, others: np.ndarray, change: np.ndarray, errors: np.ndarray
    ) -> tuple[np.ndarray, Doubt]:
        """After the information frame frameᵀ was found to be frame ``change`` frameᵀ, with errors of the change.

        ``others`` are the columns of the frame of which nothing was released. The change within ``FACTORS``, and the
        doubt about it: what it would have been beyond them is an error as well.
        """
        values, axes = np.linalg.eigh(matrices.symmetric(change))
        within = np.clip(values, *FACTORS)
        squares, both = axes**2, 2 - np.eye(len(values))
        variances = squares.T @ (both * errors**2) @ squares / both + np.diag((within - values) ** 2)
        relative = np.minimum(np.sqrt(variances / np.outer(within, within)), 1.0)
        whole = cls.none(np.hstack([frame @ axes * np.sqrt(within), others]))
        whole.errors[: len(values), : len(values)] = relative
        return (axes * within) @ axes.T, whole._replace(told=len(values))

    def cautious(self) -> Doubt:
        """The same, with nothing known along directions in which the information cannot be told from none."""
        own = np.diag(self.errors)
        return self._replace(errors=self.errors + np.diag(np.where(own * TOLD > 1, NOTHING, 0.0)))

    def elsewhere(self, step: np.ndarray) -> Doubt:
        """The same after a step, on which the information changes and nothing says how."""
        told = np.arange(len(step)) < self.told
        change = np.outer(told, told) * self.bends * float(np.linalg.norm(self.frame.T @ step))
        return self._replace(errors=np.minimum(np.hypot(self.errors, change), np.maximum(self.errors, 1.0)))

    @property
    def typical(self) -> float:
        """The median over the numbers."""
        return float(np.median(self._of_told)) if self.told else 0.0

    @property
    def in_worst_direction(self) -> float:
        """How far off the information may be along the direction where it is worst: 1 if it cannot be told from none.

        Independent errors of standard deviation s in all numbers of an m × m matrix move its eigenvalues by up to 2s√m.
        """
        if not self.told:
            return 0.0
        return float(2 * np.sqrt(np.median(np.sum(np.minimum(self._of_told, 1.0) ** 2, axis=1))))

    @property
    def _of_told(self) -> np.ndarray:
        return self.errors[: self.told, : self.told]

    def of_move(self, step: np.ndarray) -> np.ndarray:
        """Covariance of the error in where a step ends that was made with this information.

        On the way it changes, by about ``bends`` over a standard deviation of the posterior of one record.
        """
        move, squares = self.frame.T @ step, self.errors**2
        told = np.arange(len(move)) < self.told
        own = squares @ move**2 + self.bends**2 * np.sum(move[told] ** 2) ** 2 * told
        both = squares * np.outer(move, move)
        return self._back(both - np.diag(np.diag(both)) + np.diag(own))

    def of_noise(self, covariance: np.ndarray) -> np.ndarray:
        """By how much the error of an estimate exceeds its ``covariance``, which supposes this information.

        With Δ the error of the information where it is standard, (1 + Δ)⁻¹ N (1 + Δ)⁻¹ exceeds N on average by about
        E[ΔNΔ + Δ²N + NΔ²].
        """
        noise = np.diag(self.frame.T @ covariance @ self.frame)
        squares = self.errors**2
        return self._back(np.diag(squares @ noise + 2 * squares.sum(axis=1) * noise))

    def of_width(self) -> np.ndarray:
        """By how much the expected inverse of the information exceeds its estimate."""
        return self._back(np.diag(np.diag(self.errors) ** 2))

    def _back(self, covariance: np.ndarray) -> np.ndarray:
        back = np.linalg.inv(self.frame).T
        return back @ covariance @ back.T


class Curvature(NamedTuple):
    """The ratio of real to simulated information, and how well it is known."""

    ratio: np.ndarray
    doubt: Doubt


def learn(
    model: RaveledModel,
    reader: Reader,
    places: tuple[np.ndarray, np.ndarray],
    known: tuple[np.ndarray, float],
    foresight: Foresight,
    aim: tuple[float, float, float],
) -> Curvature:
    """Release curvatures at the first of two ``places``, for records that are thought to come from the second.

    The ratio is ``known`` with a typical error. ``aim`` is the relative error of the information that is aimed at, with
    a share of μ² between two numbers.
    """
    ratio, error = known
    at, precision = places[0], prior_precision(model, places[0]) / reader.n
    lower, offset, scores, curvatures = foresight.curved(places, OF_PRIOR * precision)
    own, relative = np.linalg.inv(lower), np.linalg.cholesky(ratio)
    inverse = np.linalg.inv(lower @ relative)
    of_all = matrices.power(np.eye(len(ratio)) + inverse @ precision @ inverse.T, -1, 1e-14)
    shares, directions = np.linalg.eigh(of_all)  # of the information in all precision
    others, directions = np.split(directions, [int(np.sum(shares < TELLS))], axis=1)
    size = directions.shape[1]
    if not size:
        return Curvature(ratio, Doubt.none(lower @ relative))
    of_all = directions.T @ of_all @ directions
    lengths, axes = kind_axes(scores @ directions, matrices.power(of_all, 0.5, 1e-14))
    shown = directions @ axes  # what is released, in coordinates where the information is standard
    inverse = shown.T @ inverse
    to_release = lengths[:, None] * np.stack([shown.T @ own, inverse])
    expected = curvatures(to_release[0])
    longest = np.quantile(np.linalg.norm(expected, axis=1), LEAST)
    spent = (COUNTS, share_for(longest * reader.noise / reader.n, aim))
    arguments = (at, to_release[1])
    found = measure(reader, vectors.curvatures, arguments, expected, spent, blind=foresight.blind)
    scale = np.outer(lengths, lengths)
    seen = matrices.as_matrix(found.mean(expected, reader.n), size) / scale + inverse @ offset @ inverse.T
    noise = np.sqrt(matrices.as_variances(found.variances(expected, reader.n), size)) / scale
    matters = np.sqrt(np.diag(axes.T @ of_all @ axes))
    unlike = np.minimum(1 / scale, UNLIKE) * np.outer(matters, matters)
    change, left = (unlike * part for part in believed_matrix((seen - np.eye(size)) / unlike, noise / unlike, error))
    whole = np.eye(size) + change
    if foresight.blind:  # nothing says that the curvature is one of a peak; against it, steps are as long
        whole = matrices.magnitude(whole)
    frame = lower @ relative
    change, doubt = Doubt.of_change(frame @ shown, frame @ others, matrices.pooled(whole, left), left)
    if foresight.blind:
        doubt = doubt._replace(bends=BLIND_BENDS)
    new = relative @ (shown @ change @ shown.T + others @ others.T) @ relative.T
    return Curvature(matrices.symmetric(new), doubt)
