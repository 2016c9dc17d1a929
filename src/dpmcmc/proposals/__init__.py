"""Proposals: from released history alone."""

from dpmcmc.proposals.base import Move as Move
from dpmcmc.proposals.base import Proposal as Proposal
from dpmcmc.proposals.random_walk import Custom as Custom
from dpmcmc.proposals.random_walk import RandomWalk as RandomWalk

__all__ = ["Custom", "Move", "Proposal", "RandomWalk"]
