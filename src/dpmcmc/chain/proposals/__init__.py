"""Proposals: from released history alone."""

from dpmcmc.chain.proposals.base import Move as Move
from dpmcmc.chain.proposals.base import Proposal as Proposal
from dpmcmc.chain.proposals.candidates import Candidates as Candidates
from dpmcmc.chain.proposals.candidates import CandidateSet as CandidateSet
from dpmcmc.chain.proposals.candidates import HiddenCentre as HiddenCentre
from dpmcmc.chain.proposals.candidates import Orbit as Orbit
from dpmcmc.chain.proposals.guided import GuidedWalk as GuidedWalk
from dpmcmc.chain.proposals.langevin import Langevin as Langevin
from dpmcmc.chain.proposals.leapfrog import Leapfrog as Leapfrog
from dpmcmc.chain.proposals.one_component import OneComponent as OneComponent
from dpmcmc.chain.proposals.random_walk import Custom as Custom
from dpmcmc.chain.proposals.random_walk import RandomWalk as RandomWalk
from dpmcmc.chain.proposals.sphere import Sphere as Sphere
from dpmcmc.chain.proposals.unprotected import PlainLangevin as PlainLangevin
from dpmcmc.chain.proposals.unprotected import PlainLeapfrog as PlainLeapfrog

__all__ = [
    "CandidateSet",
    "Candidates",
    "Custom",
    "GuidedWalk",
    "HiddenCentre",
    "Langevin",
    "Leapfrog",
    "Move",
    "OneComponent",
    "Orbit",
    "PlainLangevin",
    "PlainLeapfrog",
    "Proposal",
    "RandomWalk",
    "Sphere",
]
