"""What recipes take for a step."""

from __future__ import annotations

from typing import Any

from dpmcmc.chain.proposals import Proposal, RandomWalk


def as_proposal(step: Any) -> Proposal:
    """A proposal as it is; the scale of a random walk (a number, one per parameter, or a matrix) as that walk."""
    return step if hasattr(step, "propose") else RandomWalk(step)
