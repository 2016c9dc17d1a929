"""Algorithms that are not private: what the private ones are compared with."""

from __future__ import annotations

from typing import Any

from dpmcmc.algorithms.registry import BATCH, RECORDS, Algorithm, Contract, register
from dpmcmc.algorithms.steps import as_proposal
from dpmcmc.chain.acceptance import Always, GrowingBatch, Metropolis, PlainBarker, TunaMH
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import PlainLangevin, PlainLeapfrog


def metropolis(step: Any) -> Kernel:
    """Random-walk Metropolis, not private: the reference to compare with. Reference: Metropolis et al. (1953)."""
    return Kernel(as_proposal(step), Metropolis())


register(
    Algorithm(
        metropolis,
        target="exact",
        needs="nothing",
        example=lambda: metropolis(0.1),
        contracts=(Contract(lambda proposal, clip: metropolis(proposal), one_bit=False, private=False),),
    )
)


def barker(step: Any) -> Kernel:
    """Barker's test without clipping, not private: the reference to compare with. Reference: Barker (1965)."""
    return Kernel(as_proposal(step), PlainBarker())


register(
    Algorithm(
        barker,
        target="exact",
        needs="nothing",
        example=lambda: barker(0.1),
        contracts=(Contract(lambda proposal, clip: barker(proposal), one_bit=False, private=False),),
    )
)


def hmc(step: float, steps: int) -> Kernel:
    """Hamiltonian Monte Carlo, not private: the reference to compare with. Reference: Duane et al. (1987)."""
    return Kernel(PlainLeapfrog(step, steps), Metropolis())


register(
    Algorithm(
        hmc,
        target="exact",
        needs="gradients",
        example=lambda: hmc(0.1, 5),
        contracts=(Contract(lambda proposal, clip: hmc(0.1, 3), uses_proposal=False, one_bit=False, private=False),),
        records=11 * RECORDS,
    )
)


def sgld(step: float, batch: int | None = None) -> Kernel:
    """Stochastic gradient Langevin dynamics, not private. Approximate. Reference: Welling & Teh (2011)."""
    return Kernel(PlainLangevin(step, batch), Always())


register(
    Algorithm(
        sgld,
        target="approximate in the step",
        needs="gradients",
        example=lambda: sgld(1e-8),
        contracts=(
            Contract(
                lambda proposal, clip: sgld(0.003), exact=False, uses_proposal=False, one_bit=False, private=False
            ),
        ),
    )
)


def seita(step: Any, batch: int) -> Kernel:
    """Barker's test on a batch that grows until its variance is small; not private. Reference: Seita et al. (2017)."""
    return Kernel(as_proposal(step), GrowingBatch(batch))


register(
    Algorithm(
        seita,
        target="approximate",
        needs="nothing",
        example=lambda: seita(0.1, BATCH),
        contracts=(Contract(lambda proposal, clip: seita(proposal, 4), exact=False, one_bit=False, private=False),),
        records="grows",
    )
)


def tuna_mh(step: Any, constants: Any, chi: float | None = None, rate: float | None = None) -> Kernel:
    """TunaMH, exact minibatch Metropolis–Hastings; not private. λ = χC²M² (χ = 0.01), or fixed by ``rate``.

    Reference: Zhang, Cooper & De Sa (2020), Algorithm 2; with ``rate`` Zhang & Zhang (2023), Algorithm 1.
    """
    return Kernel(as_proposal(step), TunaMH(constants, chi, rate))


register(
    Algorithm(
        tuna_mh,
        target="exact if the bound is true",
        needs="record-wise Lipschitz bounds",
        example=lambda: tuna_mh(0.1, 1.0),
        contracts=(Contract(lambda proposal, clip: tuna_mh(proposal, min(clip, 4.0)), one_bit=False, private=False),),
        records="random",
    )
)
