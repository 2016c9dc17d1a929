"""What the sums so far say together, read again with the newest information and from where the search is now.

Sums have errors of two kinds: privacy noise, independent from sum to sum, and what the clip took and was put back
wrongly, which is much the same in all of them. Many sums make the first small and not the second.

Reference: docs/theory/score-release.md, "What the sums say".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dpmcmc.scores import matrices
from dpmcmc.scores.curvature import Doubt
from dpmcmc.scores.foresight import Foresight
from dpmcmc.scores.measure import Measured
from dpmcmc.scores.picture import Picture
from dpmcmc.scores.radius import Tails
from dpmcmc.scores.step import Knowledge, changed, expected

NEAR = 0.4  # sums farther from the place than so many standard deviations of the posterior of one record are left out


class Released(NamedTuple):
    """A released sum, where it was taken and in which coordinates."""

    theta: np.ndarray
    root: np.ndarray
    found: Measured
    said: Knowledge  # of the estimate without privacy, when it was released


class Said(NamedTuple):
    """What one sum says of the estimate without privacy, and how much of its error all sums share."""

    knowledge: Knowledge
    shared: np.ndarray  # covariance

    @classmethod
    def of(
        cls, picture: Picture, found: Measured, there: Picture, doubt: Doubt | None, n: int, foresight: Foresight
    ) -> Said:
        """Of a sum taken at the picture's place, for an estimate near another place."""
        at, move = expected(picture, found, n), there.theta - picture.theta
        change, derivative = changed(picture, found, at, there.theta, foresight)
        weighing = n * np.linalg.solve(at.noise, derivative)
        precision = matrices.symmetric(n * derivative.T @ weighing)
        residual = found.total - n * (at.mean + change)
        knowledge = Knowledge(precision, weighing.T @ residual + precision @ there.theta)
        spread = matrices.power(precision + there.prior_precision, -1, 1e-14)
        shared = spread @ weighing.T @ at.shared @ weighing @ spread
        if doubt is not None:
            blur = doubt.of_move(move) + doubt.of_noise(spread)
            knowledge, shared = knowledge.blurred(blur), shared + doubt.of_noise(spread)
        return cls(knowledge, matrices.symmetric(shared))


def recalled(
    sums: Sequence[Released],
    pictured: Callable[[Released], Picture],
    there: Picture,
    doubt: Doubt | None,
    n: int,
    foresight: Foresight,
) -> tuple[Knowledge, Knowledge]:
    """What the sums that are near say, read again, and what the others said when they were released.

    ``pictured`` is the model where and as a sum was taken, ``there`` it is now.
    """
    here = near(sums, there, n)
    said = [Said.of(pictured(one), one.found.read_with(tails(here, one)), there, doubt, n, foresight) for one in here]
    others = Knowledge.none(len(there.theta))
    for released in sums:
        if not any(released is one for one in here):
            others = others + released.said
    return (together(said) if said else Knowledge.none(len(there.theta))), others


def near(sums: Sequence[Released], there: Picture, n: int) -> list[Released]:
    """Those that were taken near a place."""
    shape = there.information + there.prior_precision / n
    moves = ((released, there.theta - released.theta) for released in sums)
    return [released for released, move in moves if move @ shape @ move < NEAR**2]


def tails(sums: Sequence[Released], besides: Released | None = None) -> list[Tails]:
    """What is known of norms where sums were taken, besides one of them."""
    return [one.found.tails for one in sums if one is not besides and one.found.tails is not None]


def together(said: Sequence[Said]) -> Knowledge:
    """Sums weighed by all of their errors, with what they share counted as shared.

    With Λ_t and B_t of sum t, weights W_t = Λ⁻¹Λ_t, Λ = ΣΛ_t: independent errors would have Σ W_t B_t W_tᵀ; the same
    one in all has (about) Σ W_t B_t.
    """
    total = said[0].knowledge
    for other in said[1:]:
        total = total + other.knowledge
    inverse = matrices.power(total.precision, -1, 1e-14)
    weights = [inverse @ one.knowledge.precision for one in said]
    parts = zip(weights, (one.shared for one in said), strict=True)
    more = sum((weight @ shared @ (np.eye(len(weight)) - weight.T) for weight, shared in parts), np.zeros_like(inverse))
    return total.blurred(matrices.positive(more))
