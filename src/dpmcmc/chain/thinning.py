"""A kernel on few records that behaves as it would on many: for rehearsals, which cost what their records cost.

m records at temperature τ·n/m stand for n at τ: sums of clipped log ratios are the same, up to which records they are
of. A part of a kernel whose noise is relative to what one record can do is told to add less, so that its noise in the
sum is that of n records. Nothing here is private: it is for simulated and public records alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

from dpmcmc.chain.acceptance import Always, Barker, Penalty, PoissonBarker, ProportionalPenalty
from dpmcmc.chain.acceptance.minibatch import MinibatchTest
from dpmcmc.chain.acceptance.unprotected import UnprotectedTest
from dpmcmc.chain.kernel import Kernel, KernelLike
from dpmcmc.chain.proposals.base import PrivateProposal
from dpmcmc.chain.proposals.langevin import Langevin
from dpmcmc.chain.selection import Select

BATCHES = 20  # batches that the records must hold, so that drawing without replacement is nearly with


@singledispatch
def thinned(part: Any, factor: float) -> Any:
    """The part for 1/``factor`` of the records at ``factor`` times the temperature; None where it is not known."""
    return None


@thinned.register
def _(part: Kernel, factor: float) -> Any:
    acceptance = thinned(part.acceptance, factor)
    reads = isinstance(part.proposal, PrivateProposal)
    proposal = thinned(part.proposal, factor) if reads else part.proposal
    return None if acceptance is None or proposal is None else Kernel(proposal, acceptance)


@thinned.register(Barker)
@thinned.register(Penalty)
@thinned.register(UnprotectedTest)
@thinned.register(Always)
@thinned.register(Select)
@thinned.register(MinibatchTest)
def _(part: Any, factor: float) -> Any:
    return part  # they know the records by temperature·Σ, or by temperature·n/batch


@thinned.register
def _(part: ProportionalPenalty, factor: float) -> Any:
    return replace(part, noise_multiplier=part.noise_multiplier / factor)


@thinned.register
def _(part: PoissonBarker, factor: float) -> Any:
    return replace(part, bound=part.bound * factor)


@thinned.register
def _(part: Langevin, factor: float) -> Any:
    return None if part.batch is None else part  # else its noise would be less than a sum of gradients can have


def fewest_records(kernel: KernelLike) -> int:
    """Records below which a kernel on batches is another one."""
    parts = (getattr(kernel, "acceptance", None), getattr(kernel, "proposal", None))
    return BATCHES * max(getattr(part, "batch", None) or 0 for part in parts)


def records_a_step(kernel: KernelLike, records: int) -> float:
    """Log likelihoods, or gradients, that a step of one chain evaluates on so many records: about."""
    if isinstance(kernel, Select):
        return float(kernel.candidates.count * records)
    acceptance, proposal = getattr(kernel, "acceptance", None), getattr(kernel, "proposal", None)
    decided = getattr(acceptance, "batch", None) or (0 if isinstance(acceptance, Always) else records)
    gradients = 3 * getattr(proposal, "gradients", 1) if isinstance(proposal, PrivateProposal) else 0
    return float(decided + gradients * (getattr(proposal, "batch", None) or records))
