"""Acceptance tests: one private bit from the records."""

from dpmcmc.acceptance.barker import Barker as Barker
from dpmcmc.acceptance.base import Acceptance as Acceptance
from dpmcmc.acceptance.base import Decision as Decision
from dpmcmc.acceptance.penalty import Penalty as Penalty
from dpmcmc.acceptance.penalty import ProportionalPenalty as ProportionalPenalty
from dpmcmc.acceptance.unprotected import Metropolis as Metropolis
from dpmcmc.acceptance.unprotected import PlainBarker as PlainBarker

__all__ = ["Acceptance", "Barker", "Decision", "Metropolis", "Penalty", "PlainBarker", "ProportionalPenalty"]
