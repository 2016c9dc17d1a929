"""Algorithms as they were published, where the claims do not hold: for comparison only."""

from __future__ import annotations

from typing import Any

from dpmcmc.algorithms.registry import Algorithm, Contract, register
from dpmcmc.algorithms.steps import as_proposal
from dpmcmc.arguments import truth
from dpmcmc.chain.acceptance import PublishedFastMH, PublishedFastMHFull
from dpmcmc.chain.kernel import Kernel
from dpmcmc.privacy.catalogue import Z23_THEOREM_2, Accounting
from dpmcmc.privacy.events import MetropolisBit


def published_fast_mh(step: Any, constants: Any, full_batch: bool = False, **published: Any) -> Kernel:
    """DP-Fast MH as published, for comparison. **Not private**: no guarantee is issued (docs/theory/fast-mh.md).

    Reference: Zhang & Zhang (2023), Algorithm 2.
    """
    truth("full_batch", full_batch)
    test = PublishedFastMHFull if full_batch else PublishedFastMH
    return Kernel(as_proposal(step), test(constants, **published))


register(
    Algorithm(
        published_fast_mh,
        target="as published",
        needs="record-wise Lipschitz bounds",
        example=lambda: published_fast_mh(0.1, 1.0),
        contracts=(
            Contract(
                lambda proposal, clip: published_fast_mh(proposal, min(clip, 4.0), epsilon=100.0),
                exact=False,
                one_bit=False,
                private=False,
            ),
        ),
        records="random",
        accounting=Accounting(
            "fastmh",
            "DP-Fast MH as published, in its branch without noise: not private",
            {"shift": 0.01},
            lambda s: MetropolisBit(s["shift"]),
            (Z23_THEOREM_2,),
        ),
    )
)
