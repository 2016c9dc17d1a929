"""Proposals: from released history alone."""

from dpmcmc.proposals.base import Move as Move
from dpmcmc.proposals.base import Proposal as Proposal
from dpmcmc.proposals.candidates import Candidates as Candidates
from dpmcmc.proposals.candidates import CandidateSet as CandidateSet
from dpmcmc.proposals.candidates import HiddenCentre as HiddenCentre
from dpmcmc.proposals.candidates import Orbit as Orbit
from dpmcmc.proposals.guided import GuidedWalk as GuidedWalk
from dpmcmc.proposals.langevin import Langevin as Langevin
from dpmcmc.proposals.leapfrog import Leapfrog as Leapfrog
from dpmcmc.proposals.one_component import OneComponent as OneComponent
from dpmcmc.proposals.random_walk import Custom as Custom
from dpmcmc.proposals.random_walk import RandomWalk as RandomWalk
from dpmcmc.proposals.sphere import Sphere as Sphere
from dpmcmc.proposals.unprotected import PlainLangevin as PlainLangevin
from dpmcmc.proposals.unprotected import PlainLeapfrog as PlainLeapfrog

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
