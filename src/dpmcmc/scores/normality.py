"""Whether the likelihood is normal enough over the draws: how much its curvature changes within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.scores import matrices
from dpmcmc.scores.curvature import BLIND_BENDS
from dpmcmc.scores.foresight import Foresight
from dpmcmc.scores.picture import Picture

PAIRS = 6  # of draws, to either side


class Normality(NamedTuple):
    """What the information is over the draws of a release."""

    information: np.ndarray  # its average, of a record
    bend: float  # typical change of the logarithm of the curvature between the mode and a draw


def over_draws(here: Picture, covariance: np.ndarray, n: float, foresight: Foresight, seed: int) -> Normality:
    """From draws of the normal with that ``covariance`` about the picture's place, for ``n`` records."""
    half = np.random.default_rng(seed).normal(size=(PAIRS, len(covariance)))
    moves = np.concatenate([half, -half]) @ matrices.power(covariance, 0.5, 1e-14)
    centre, *others = (
        matrices.positive(here.of_real(foresight.information(here.theta + move)))
        for move in (np.zeros(len(covariance)), *moves)
    )
    curvature = centre * n + here.prior_precision
    changes = [
        np.log((move @ (other * n + here.prior_precision) @ move) / (move @ curvature @ move))
        for move, other in zip(moves, others, strict=True)
    ]
    if foresight.blind:  # that it does not change is no knowledge
        changes = [BLIND_BENDS * np.sqrt(move @ centre @ move) for move in moves]
    bend = float(np.sqrt(np.mean(np.square(changes)))) if np.all(np.isfinite(changes)) else np.inf
    return Normality(np.mean([centre, *others], axis=0), bend)
