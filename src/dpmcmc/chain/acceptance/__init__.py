"""Acceptance tests: one private bit from the records."""

from dpmcmc.chain.acceptance.always import Always as Always
from dpmcmc.chain.acceptance.barker import Barker as Barker
from dpmcmc.chain.acceptance.base import Acceptance as Acceptance
from dpmcmc.chain.acceptance.base import Decision as Decision
from dpmcmc.chain.acceptance.base import FullDataTest as FullDataTest
from dpmcmc.chain.acceptance.corrected_barker import CorrectedBarker as CorrectedBarker
from dpmcmc.chain.acceptance.fast_mh import PublishedFastMH as PublishedFastMH
from dpmcmc.chain.acceptance.fast_mh import PublishedFastMHFull as PublishedFastMHFull
from dpmcmc.chain.acceptance.minibatch_penalty import MinibatchPenalty as MinibatchPenalty
from dpmcmc.chain.acceptance.minibatch_penalty import ProportionalMinibatchPenalty as ProportionalMinibatchPenalty
from dpmcmc.chain.acceptance.penalty import Penalty as Penalty
from dpmcmc.chain.acceptance.penalty import ProportionalPenalty as ProportionalPenalty
from dpmcmc.chain.acceptance.poisson import PoissonBarker as PoissonBarker
from dpmcmc.chain.acceptance.seita import GrowingBatch as GrowingBatch
from dpmcmc.chain.acceptance.tuna import TunaMH as TunaMH
from dpmcmc.chain.acceptance.unprotected import Metropolis as Metropolis
from dpmcmc.chain.acceptance.unprotected import PlainBarker as PlainBarker

__all__ = [
    "Acceptance",
    "Always",
    "Barker",
    "CorrectedBarker",
    "Decision",
    "FullDataTest",
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
