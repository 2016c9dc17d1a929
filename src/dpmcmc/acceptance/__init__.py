"""Acceptance tests: one private bit from the records."""

from dpmcmc.acceptance.always import Always as Always
from dpmcmc.acceptance.barker import Barker as Barker
from dpmcmc.acceptance.base import Acceptance as Acceptance
from dpmcmc.acceptance.base import Decision as Decision
from dpmcmc.acceptance.corrected_barker import CorrectedBarker as CorrectedBarker
from dpmcmc.acceptance.fast_mh import PublishedFastMH as PublishedFastMH
from dpmcmc.acceptance.fast_mh import PublishedFastMHFull as PublishedFastMHFull
from dpmcmc.acceptance.minibatch_penalty import MinibatchPenalty as MinibatchPenalty
from dpmcmc.acceptance.minibatch_penalty import ProportionalMinibatchPenalty as ProportionalMinibatchPenalty
from dpmcmc.acceptance.penalty import Penalty as Penalty
from dpmcmc.acceptance.penalty import ProportionalPenalty as ProportionalPenalty
from dpmcmc.acceptance.poisson import PoissonBarker as PoissonBarker
from dpmcmc.acceptance.seita import GrowingBatch as GrowingBatch
from dpmcmc.acceptance.tuna import TunaMH as TunaMH
from dpmcmc.acceptance.unprotected import Metropolis as Metropolis
from dpmcmc.acceptance.unprotected import PlainBarker as PlainBarker

__all__ = [
    "Acceptance",
    "Always",
    "Barker",
    "CorrectedBarker",
    "Decision",
    "GrowingBatch",
    "Metropolis",
    "MinibatchPenalty",
    "Penalty",
    "PlainBarker",
    "PoissonBarker",
    "ProportionalMinibatchPenalty",
    "ProportionalPenalty",
    "PublishedFastMH",
    "PublishedFastMHFull",
    "TunaMH",
]
