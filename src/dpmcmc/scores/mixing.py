"""Draws of walkers, and whether these got about."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEAST_ACCEPTED, LEAST_OF_ONE = 0.1, 0.02  # share of moves taken, by all walkers and by any
APART_AT_MOST = 0.25  # variance of the walkers' means over that within them: draws of 64 count as at least 256
DRIFT_AT_MOST = 0.4  # of the mean, from the first half of the draws to the second, in standard deviations


class Walked(NamedTuple):
    """Draws (walker, draw, parameter), and the share of each walker's moves that was accepted."""

    theta: np.ndarray
    accepted: np.ndarray

    @property
    def mixed(self) -> bool:
        """Whether the walkers got about: moves taken, by every one; none apart from the others; no drift of them all.

        Draws of a density that has not been reached drift or are apart; 256 independent ones drift by 0.13.
        """
        if not np.all(np.isfinite(self.theta)):
            return False
        within, between = self.theta.var(axis=1).mean(axis=0), self.theta.mean(axis=1).var(axis=0)
        early, late = np.array_split(self.theta, 2, axis=1)
        drift = np.abs(early.mean(axis=(0, 1)) - late.mean(axis=(0, 1)))
        moved = np.mean(self.accepted) > LEAST_ACCEPTED and np.all(self.accepted > LEAST_OF_ONE)
        together = np.all(between < APART_AT_MOST * within)
        return bool(moved and together and np.all(drift < DRIFT_AT_MOST * np.sqrt(within + between)))
