"""The penalty method: Metropolis–Hastings with noise on the log ratio, and the penalty that corrects for it."""

from __future__ import annotations

from typing import Any

from dpmcmc.algorithms.registry import BATCH, CLIP, TEMPERED, Algorithm, Contract, register
from dpmcmc.algorithms.steps import as_proposal
from dpmcmc.chain.acceptance import (
    MinibatchPenalty,
    Penalty,
    ProportionalMinibatchPenalty,
    ProportionalPenalty,
)
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import GuidedWalk, OneComponent
from dpmcmc.chain.proposals.random_walk import scales
from dpmcmc.mechanisms.clip import Clip, ModelClip
from dpmcmc.privacy.catalogue import (
    R21_THEOREM_32,
    R21_THEOREM_35_FOURIER,
    R21_THEOREM_35_RENYI,
    YE19_PENALTY,
    Accounting,
)
from dpmcmc.privacy.events import PenaltyBit, SubsampledPenaltyBit


def dp_penalty(
    step: Any, clip: Clip | float, std: float | None = None, *, noise_multiplier: float | None = None
) -> Kernel:
    """DP penalty: Metropolis–Hastings with Gaussian noise on the log ratio and the penalty that corrects for it.

    The noise has standard deviation ``std`` (1 if nothing is said), or ``noise_multiplier`` times the move's shift.
    Choose it to compare with published results, or where the budget is ample and Barker's lower acceptance hurts.
    Guarantee: one accept bit a step under substitution of one record; the noise is integrated out, not released.
    Reference: Ceperley & Dewing (1999); Yıldırım & Ermiş (2019), Algorithm 1; Räisä (2021), Algorithm 1.
    """
    if std is not None and noise_multiplier is not None:
        raise ValueError(f"give std or noise_multiplier, not both; got {std!r} and {noise_multiplier!r}")
    if noise_multiplier is not None:
        return Kernel(as_proposal(step), ProportionalPenalty(clip, noise_multiplier))
    return Kernel(as_proposal(step), Penalty(clip, 1.0 if std is None else std))


register(
    Algorithm(
        dp_penalty,
        target="exact unless clipped",
        needs="a clip, noise std",
        example=lambda: dp_penalty(0.1, CLIP, std=1.0),
        contracts=(
            Contract(dp_penalty),
            Contract(lambda proposal, clip: dp_penalty(proposal, clip, std=0.5), "std 0.5"),
            Contract(lambda proposal, clip: dp_penalty(proposal, ModelClip(), std=1.0), "varying cost"),
            Contract(
                lambda proposal, clip: dp_penalty(proposal, ModelClip(), noise_multiplier=0.05),
                "proportional noise",
                one_bit=False,
            ),
        ),
        accounting=Accounting(
            "penalty",
            "the penalty test on all records with Gaussian noise of standard deviation std",
            {"shift": 1 / 31.6, "std": 1.0},
            lambda s: PenaltyBit(s["shift"], s["std"]),
            (R21_THEOREM_32, YE19_PENALTY),
            (*({"shift": std / 31.6, "std": std} for std in (0.5, 1.0, 2.0, 3.0)), {"shift": 1 / 316, "std": 1.0}),
        ),
    )
)


def dp_penalty_one_component(step: Any, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty that moves one parameter at a time (OCU). Choose it where parameters are nearly independent.

    Guarantee: one accept bit a step under substitution of one record. Reference: Räisä (2021), Section 4.1.
    """
    return Kernel(OneComponent(scales("step", step)), Penalty(clip, std))


register(
    Algorithm(
        dp_penalty_one_component,
        target="exact unless clipped",
        needs="a clip, noise std",
        example=lambda: dp_penalty_one_component(0.1, CLIP),
        contracts=(
            Contract(lambda proposal, clip: dp_penalty_one_component(0.35, clip), uses_proposal=False, one_bit=False),
        ),
    )
)


def dp_penalty_guided(step: Any, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty with a guided walk (GWMH): a direction is kept while moves are accepted and turned when one is not.

    Choose it for long journeys in few dimensions.
    Guarantee: one accept bit a step under substitution of one record. Reference: Gustafson (1998); Räisä (2021).
    """
    return Kernel(GuidedWalk(scales("step", step)), Penalty(clip, std))


register(
    Algorithm(
        dp_penalty_guided,
        target="exact unless clipped",
        needs="a clip, noise std",
        example=lambda: dp_penalty_guided(0.1, CLIP),
        contracts=(Contract(lambda proposal, clip: dp_penalty_guided(0.35, clip), uses_proposal=False, one_bit=False),),
    )
)


def dp_penalty_minibatch(step: Any, batch: int, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty on batches, the log ratio's sampling variance estimated and penalised too.

    Approximate: the batch's log ratio is taken for normal. Choose it to compare with published results.
    Guarantee: one subsampled accept bit a step under substitution of one record.
    Reference: Räisä (2021), Algorithm 2; docs/theory/subsampling.md.
    """
    return Kernel(as_proposal(step), MinibatchPenalty(batch, clip, std))


register(
    Algorithm(
        dp_penalty_minibatch,
        target="approximate",
        needs="a clip, noise std, a batch",
        example=lambda: dp_penalty_minibatch(0.1, BATCH, CLIP),
        contracts=(
            Contract(lambda proposal, clip: dp_penalty_minibatch(proposal, 4, clip), exact=False, one_bit=False),
            Contract(
                lambda proposal, clip: Kernel(proposal, ProportionalMinibatchPenalty(4, ModelClip(), 1.0)),
                "proportional noise",
                exact=False,
                one_bit=False,
            ),
        ),
        records=BATCH,
        temperature=TEMPERED,
        accounting=Accounting(
            "penalty-minibatch",
            "the penalty test on batches without replacement; bound is the largest log ratio of one record",
            {"n": 100_000, "batch": 1000, "bound": 0.14, "std": 0.415, "temperature": 0.01},
            lambda s: SubsampledPenaltyBit(s["n"], s["batch"], s["bound"], s["std"], s["temperature"]),
            (R21_THEOREM_35_RENYI, R21_THEOREM_35_FOURIER),
            ({"std": 0.415}, {"std": 1.0}),
        ),
    )
)
