"""Algorithms as recipes: a proposal and a test each."""

from __future__ import annotations

from typing import Any

from dpmcmc.acceptance import Barker, Penalty
from dpmcmc.kernel import Kernel
from dpmcmc.mechanisms.clip import Clip
from dpmcmc.proposals import Proposal, RandomWalk


def dp_barker(step: Any, clip: Clip | float) -> Kernel:
    """Full-data Barker test with a random walk: exact where nothing is clipped, private without added noise.

    ``step`` is the random walk's scale (a number, one per parameter, or a matrix) or a proposal of your own; ``clip``
    bounds what one record may contribute to a log ratio (a number, or a clip from :mod:`dpmcmc.mechanisms.clip`).

    Choose it first: at equal budget its bit is the cheapest of the full-data tests.
    Guarantee: one accept bit a step, shift 2·temperature·clip, under substitution of one record.
    Reference: Barker (1965); docs/theory/accept-bit.md.
    """
    return Kernel(_proposal(step), Barker(clip))


def dp_penalty(step: Any, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty: Metropolis–Hastings with Gaussian noise on the log ratio and the penalty that corrects for it.

    Choose it where Barker's lower acceptance hurts and the budget is ample, or to compare with published results.
    Guarantee: one accept bit a step under substitution of one record; the noise is integrated out, not released.
    Reference: Ceperley & Dewing (1999); Yıldırım & Ermiş (2019), Algorithm 1; Räisä (2021), Algorithm 1.
    """
    return Kernel(_proposal(step), Penalty(clip, std))


def _proposal(step: Any) -> Proposal:
    return step if hasattr(step, "propose") else RandomWalk(step)
