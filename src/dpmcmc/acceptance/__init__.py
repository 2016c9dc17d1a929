"""Acceptance tests: one private bit from the records."""

from dpmcmc.acceptance.barker import Barker as Barker
from dpmcmc.acceptance.base import Acceptance as Acceptance
from dpmcmc.acceptance.base import Decision as Decision
from dpmcmc.acceptance.penalty import Penalty as Penalty

__all__ = ["Acceptance", "Barker", "Decision", "Penalty"]
