"""From a released sum of scores to where the parameters are: the θ at which simulated records would give that sum."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpmcmc.scores import matrices
from dpmcmc.scores.foresight import Foresight
from dpmcmc.scores.measure import Measured
from dpmcmc.scores.picture import Picture
from dpmcmc.scores.radius import ASIDE, FORESEEN, LENGTH, more_lost

ITERATIONS, HALVINGS = 25, 5
NOTHING_KNOWN = 1e-13  # of the precision along a direction, over the largest
FAR = 0.15  # standard deviations of the posterior of one record beyond which changes of a sum are simulated
SMALL_GAIN = 0.02  # nats that a step must promise to be taken


class Knowledge(NamedTuple):
    """What the sums say of the estimate without privacy: precision·θ = weighted, noise of the sums alone."""

    precision: np.ndarray
    weighted: np.ndarray

    @classmethod
    def none(cls, dimension: int) -> Knowledge:
        return cls(np.zeros((dimension, dimension)), np.zeros(dimension))

    def __add__(self, other: object) -> Knowledge:
        assert isinstance(other, Knowledge)
        return Knowledge(self.precision + other.precision, self.weighted + other.weighted)

    def blurred(self, covariance: np.ndarray) -> Knowledge:
        """The same with an independent error of that covariance: (P⁻¹ + C)⁻¹ without inverting P, if it has one.

        With P = RRᵀ it is R(1 + RᵀCR)⁻¹Rᵀ, which no rounding makes negative.
        """
        scale = np.sqrt(np.maximum(np.diag(self.precision), 1e-300))
        values, axes = np.linalg.eigh(matrices.symmetric(self.precision / np.outer(scale, scale)))
        known = values > NOTHING_KNOWN * max(values[-1], 1e-300)
        axes, lengths = axes[:, known], np.sqrt(values[known])
        root = scale[:, None] * axes * lengths
        inner = np.eye(len(lengths)) + matrices.symmetric(root.T @ covariance @ root)
        weighted = np.linalg.solve(inner, axes.T @ (self.weighted / scale) / lengths)
        return Knowledge(matrices.symmetric(root @ np.linalg.solve(inner, root.T)), root @ weighted)


def of_prior(picture: Picture) -> Knowledge:
    """The prior of the parameters, as a normal about the picture's place."""
    precision = picture.prior_precision
    return Knowledge(precision, precision @ picture.theta + picture.prior_slope)


def sampling(picture: Picture, n: int) -> np.ndarray:
    """Covariance of the estimate without privacy about the parameters."""
    return matrices.power(n * picture.some_information, -1, 1e-14)


class Expected(NamedTuple):
    """The mean of clipped features over the clip, per record, at the picture's place, and its derivative in θ."""

    mean: np.ndarray
    to_features: np.ndarray  # from scores to features over the clip
    information: np.ndarray
    shortened: np.ndarray  # what the clip takes of the derivative
    noise: np.ndarray  # covariance of the sum: privacy noise, and errors of what the clip takes
    shared: np.ndarray  # the second part of it, which sums at other places have as well

    @property
    def derivative(self) -> np.ndarray:
        return self.to_features @ self.information - self.shortened


def expected(picture: Picture, found: Measured, n: int) -> Expected:
    """By simulated records. Scores average to zero and minus the Hessian is their derivative: only the clip's part is
    simulated."""
    features = found.as_seen(picture.features)
    norms, rows = np.linalg.norm(features, axis=1), len(features)
    far = (1 + LENGTH) * norms > found.clip  # the clip takes nothing of the others
    features, norms = features[far], norms[far]
    lost = features / found.clip - features / np.maximum(norms, found.clip)[:, None]
    mean, tail, size = lost.sum(axis=0) / rows, picture.tail, len(picture.theta)
    even = np.eye(size) / size
    shared = (FORESEEN * n) ** 2 * (np.outer(mean, mean) + mean @ mean * even) / 2
    shared += found.unseen**2 * (np.outer(tail, tail) + ASIDE * even)
    longer = n / found.clip * (more_lost(norms, found.clip) @ features) / rows
    shared += np.outer(longer, longer)
    shared += found.aside**2 * np.eye(size)
    shared *= found.caution**2
    shortened = lost.T @ picture.scores[far] / rows
    if found.lengths is not None:  # the information is the mean product of features and scores, whatever their lengths
        shortened *= found.lengths.shared(picture.features)
    return Expected(
        mean=-(mean + found.seen / n * tail),
        to_features=picture.root / found.clip,
        information=picture.information,
        shortened=shortened,
        noise=found.std**2 * np.eye(size) + shared,
        shared=shared,
    )


def surprise(picture: Picture, found: Measured, at: Expected, before: Knowledge, n: int) -> float:
    """The squared distance between the sum and what earlier knowledge foretold, in standard deviations of both."""
    known = matrices.power(before.precision, -1, 1e-14)
    residual = found.total - n * (at.mean + at.derivative @ (known @ before.weighted - picture.theta))
    spread = n**2 * at.derivative @ known @ at.derivative.T + at.noise
    return float(residual @ np.linalg.solve(spread, residual))


def changed(
    picture: Picture, found: Measured, at: Expected, theta: np.ndarray, foresight: Foresight
) -> tuple[np.ndarray, np.ndarray]:
    """By how much the mean changes if records come from ``theta`` and not from the picture's place; its derivative.

    Near that place only what is not linear in the move is simulated, which is more exact; farther away all of it is.
    """
    move = theta - picture.theta
    if move @ picture.information @ move > FAR**2:
        there, here = (foresight.clipped(picture, place, found.clip) for place in (theta, picture.theta))
        if there is not None and here is not None and all(np.all(np.isfinite(part)) for part in there):
            return there[0] - here[0], there[1]
    linear, bent = at.derivative, foresight.bent(picture, theta, found.clip)
    if bent is None or not all(np.all(np.isfinite(part)) for part in bent):
        return linear @ move, linear
    return linear @ move + bent[0], linear + bent[1]


class Search:
    """Gauss–Newton for the parameters that explain a sum, earlier knowledge and the prior together.

    Where the centre is ``far`` from the posterior, what the sum should be is simulated; near it, only what is not
    linear in the move.
    """

    def __init__(self, picture: Picture, found: Measured, n: int, foresight: Foresight, far: bool) -> None:
        self.picture, self.found, self.n, self.foresight, self.far = picture, found, n, foresight, far
        self.at = expected(picture, found, n)
        self.weight = np.linalg.inv(self.at.noise)  # of what the sum says of the estimate without privacy
        chance = n**2 * self.at.derivative @ sampling(picture, n) @ self.at.derivative.T
        self.trust = np.linalg.inv(self.at.noise + chance)  # and of the parameters
        self.here = self._simulated(picture.theta)[0]

    def _simulated(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean of clipped features, less that at the centre where it is near, and its derivative."""
        simulated = self.foresight.clipped(self.picture, theta, self.found.clip) if self.far else None
        if simulated is not None:
            return simulated
        return changed(self.picture, self.found, self.at, theta, self.foresight)

    def _residual(self, mean: np.ndarray) -> np.ndarray:
        """The sum less what it should be; the difference from the centre is simulated, with the same randomness."""
        return self.found.total - self.n * (self.at.mean + mean - self.here)

    def run(self, before: Knowledge) -> tuple[np.ndarray, Knowledge]:
        """Where the parameters are, and what this sum alone says of the estimate without privacy.

        ``before`` is of the parameters, with the prior.
        """
        theta, slope, residual = self.picture.theta, self.at.derivative, self._residual(self.here)
        cost = self._cost(theta, residual, before)
        for _ in range(ITERATIONS):
            gradient = self.n * slope.T @ self.trust @ residual + before.weighted - before.precision @ theta
            hessian = self.n**2 * slope.T @ self.trust @ slope + before.precision
            step = matrices.power(hessian, -1, 1e-14) @ gradient
            step, gain = self._within_reach(theta, step, gradient)
            if gain < SMALL_GAIN:
                break
            taken = self._line(theta, step, gain, cost, before)
            if taken is None:
                break
            theta, residual, cost, new_slope = taken
            slope = new_slope
        precision = self.n**2 * slope.T @ self.weight @ slope
        return theta, Knowledge(precision, self.n * slope.T @ self.weight @ residual + precision @ theta)

    def _within_reach(self, theta: np.ndarray, step: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, float]:
        """The step, cut where it would leave the ball in which the sum is trusted, and what it promises."""
        shape = self.picture.information + self.picture.prior_precision / self.n
        so_far = theta - self.picture.theta
        a, b, c = step @ shape @ step, so_far @ shape @ step, so_far @ shape @ so_far - self.foresight.reach**2
        cut = 1.0 if a + 2 * b + c <= 0 else (np.sqrt(max(b**2 - a * c, 0.0)) - b) / a
        return cut * step, cut * float(gradient @ step)

    def _line(self, theta: np.ndarray, step: np.ndarray, gain: float, cost: float, before: Knowledge) -> Any:
        length = 1.0
        for _ in range(HALVINGS):
            there = theta + length * step
            mean, slope = self._simulated(there)
            if np.all(np.isfinite(mean)) and np.all(np.isfinite(slope)):
                residual = self._residual(mean)
                new = self._cost(there, residual, before)
                if new < cost - 1e-4 * length * gain:
                    return there, residual, new, slope
            length /= 2.5
        return None

    def _cost(self, theta: np.ndarray, residual: np.ndarray, before: Knowledge) -> float:
        kept = theta @ before.precision @ theta / 2 - before.weighted @ theta
        return float(residual @ self.trust @ residual) / 2 + float(kept)
