"""What recipes take for a step."""

from __future__ import annotations

from typing import Any

from dpmcmc.chain.proposals import Proposal, RandomWalk
from dpmcmc.chain.proposals.random_walk import scales


def as_proposal(step: Any) -> Proposal:
    """A proposal as it is; the scale of a random walk (a number, one per parameter, or a matrix) as that walk."""
    if hasattr(step, "propose") and not isinstance(step, type):
        return step  # type: ignore[no-any-return]
    return RandomWalk(scales("step", step))
