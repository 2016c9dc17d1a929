"""Every kernel that the contracts are run on. A new kernel joins by adding a line.

An entry makes a kernel from a proposal and a number c such that no record's log ratio exceeds c in the contract's
problem; what it does with c is its own business. Which contracts apply is said by the flags.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpmcmc.chain.acceptance import (
    Barker,
    CorrectedBarker,
    Metropolis,
    MinibatchPenalty,
    Penalty,
    PlainBarker,
    PoissonBarker,
    ProportionalMinibatchPenalty,
    ProportionalPenalty,
)
from dpmcmc.chain.kernel import Kernel
from dpmcmc.mechanisms.clip import ModelClip
from dpmcmc.chain.proposals import HiddenCentre, Leapfrog
from dpmcmc.chain.selection import Select


@dataclass(frozen=True)
class Entry:
    """``exact``: targets the posterior; ``uses_proposal``: moves as it is told; ``one_bit``: a full-data test, whose
    bit has a known probability at every value of its statistic (kernels of other forms check events and neighbours
    in tests of their own)."""

    make: Callable[[Any, float], Any]
    exact: bool = True
    uses_proposal: bool = True
    one_bit: bool = True
    private: bool = True


KERNELS: dict[str, Entry] = {
    "barker": Entry(lambda proposal, clip: Kernel(proposal, Barker(clip))),
    "barker, varying cost": Entry(lambda proposal, clip: Kernel(proposal, Barker(ModelClip()))),
    "penalty, std 1": Entry(lambda proposal, clip: Kernel(proposal, Penalty(clip, std=1.0))),
    "penalty, std 0.5": Entry(lambda proposal, clip: Kernel(proposal, Penalty(clip, std=0.5))),
    "penalty, varying cost": Entry(lambda proposal, clip: Kernel(proposal, Penalty(ModelClip(), std=1.0))),
    "penalty, proportional": Entry(
        lambda proposal, clip: Kernel(proposal, ProportionalPenalty(ModelClip(), 0.05)), one_bit=False
    ),
    "exact minibatch": Entry(lambda proposal, clip: Kernel(proposal, PoissonBarker(min(clip, 6.0))), one_bit=False),
    "corrected barker": Entry(lambda proposal, clip: Kernel(proposal, CorrectedBarker(4)), exact=False, one_bit=False),
    "minibatch penalty": Entry(
        lambda proposal, clip: Kernel(proposal, MinibatchPenalty(4, clip)), exact=False, one_bit=False
    ),
    "minibatch penalty, proportional": Entry(
        lambda proposal, clip: Kernel(proposal, ProportionalMinibatchPenalty(4, ModelClip(), 1.0)),
        exact=False,
        one_bit=False,
    ),
    "selection": Entry(lambda proposal, clip: Select(HiddenCentre(proposal, 4), clip), one_bit=False),
    "hmc": Entry(
        lambda proposal, clip: Kernel(Leapfrog(0.1, 3, 3.0, 1.5), Penalty(clip, 1.0)),
        uses_proposal=False,
        one_bit=False,
    ),
    "hmc, gradient reused": Entry(
        lambda proposal, clip: Kernel(Leapfrog(0.1, 3, 3.0, 1.5, reuse_gradient=True), Barker(clip)),
        uses_proposal=False,
        one_bit=False,
    ),
    "metropolis (not private)": Entry(
        lambda proposal, clip: Kernel(proposal, Metropolis()), one_bit=False, private=False
    ),
    "barker (not private)": Entry(lambda proposal, clip: Kernel(proposal, PlainBarker()), one_bit=False, private=False),
}
