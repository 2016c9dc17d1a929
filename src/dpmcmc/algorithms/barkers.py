"""Barker's test: on all records, on batches with a correction, and exactly on minibatches."""

from __future__ import annotations

from typing import Any

from dpmcmc.algorithms.registry import BATCH, CLIP, RECORDS, TEMPERED, Algorithm, Contract, register
from dpmcmc.algorithms.steps import as_proposal
from dpmcmc.chain.acceptance import Barker, CorrectedBarker, PoissonBarker
from dpmcmc.chain.kernel import Kernel
from dpmcmc.mechanisms.clip import Clip, ModelClip
from dpmcmc.privacy.catalogue import H19_COROLLARY_1, H19_COROLLARY_2, H19_COROLLARY_2_MONOTONE, Accounting
from dpmcmc.privacy.events import BarkerBit, PoissonBarkerBit, SubsampledBarkerBit


def dp_barker(step: Any, clip: Clip | float) -> Kernel:
    """Full-data Barker test: exact where nothing is clipped, private without added noise.

    Choose it first: at equal budget its bit is the cheapest of the full-data tests.
    Guarantee: one accept bit a step, shift 2·temperature·clip, under substitution of one record.
    Reference: Barker (1965); docs/theory/accept-bit.md.
    """
    return Kernel(as_proposal(step), Barker(clip))


register(
    Algorithm(
        dp_barker,
        target="exact unless clipped",
        needs="a clip",
        example=lambda: dp_barker(0.1, CLIP),
        contracts=(
            Contract(dp_barker),
            Contract(lambda proposal, clip: dp_barker(proposal, ModelClip()), "varying cost"),
        ),
        accounting=Accounting(
            "barker",
            "Barker's test on all records; shift is the largest change of the log ratio",
            {"shift": 0.01},
            lambda s: BarkerBit(s["shift"]),
            (H19_COROLLARY_1,),
            ({"shift": 0.01}, {"shift": 0.04}, {"shift": 0.1}),
        ),
    )
)


def dp_barker_subsampled(step: Any, batch: int, correction: str = "optimal", noise_variance: float = 2.0) -> Kernel:
    """DP Barker on batches: the corrected test of a tempered posterior, terms clipped at √batch/(temperature·n).

    Choose it where a step must not read all records and the target is tempered anyway.
    Guarantee: one subsampled accept bit a step, whatever the temperature, under substitution of one record.
    Approximate: the correction's error (docs/theory/correction.md) and what is clipped.
    Reference: Heikkilä et al. (2019), Algorithm 1; docs/theory/subsampling.md.
    """
    return Kernel(as_proposal(step), CorrectedBarker(batch, noise_variance, correction))


register(
    Algorithm(
        dp_barker_subsampled,
        target="approximate (tempered)",
        needs="a temperature; clips at √b/(τn)",
        example=lambda: dp_barker_subsampled(0.1, BATCH),
        contracts=(Contract(lambda proposal, clip: dp_barker_subsampled(proposal, 4), exact=False, one_bit=False),),
        records=BATCH,
        temperature=TEMPERED,
        accounting=Accounting(
            "barker-subsampled",
            "the corrected Barker test on batches without replacement, log ratios clipped at √batch / N0",
            {"n": 1_000_000, "batch": 1000},
            lambda s: SubsampledBarkerBit(s["n"], s["batch"]),
            (H19_COROLLARY_2, H19_COROLLARY_2_MONOTONE),
        ),
    )
)


def dp_barker_minibatch(step: Any, bound: float, rate: float | None = None) -> Kernel:
    """Exact minibatch Barker by Poisson counts: DP-Fast MH, repaired.

    Choose it where n is large and one record's tempered energy change has a true bound below 1/8: it reads about
    4·n·bound records a step and is exact.
    Guarantee: one accept bit a step at the full-data price, under substitution of one record.
    Reference: Zhang, Cooper & De Sa (2020); Zhang & Zhang (2023), whose own test leaks; docs/theory/poisson.md.
    """
    return Kernel(as_proposal(step), PoissonBarker(bound, rate))


register(
    Algorithm(
        dp_barker_minibatch,
        target="exact if the bound is true",
        needs="a true bound on the tempered log ratio",
        example=lambda: dp_barker_minibatch(0.1, TEMPERED * CLIP),
        contracts=(Contract(lambda proposal, clip: dp_barker_minibatch(proposal, min(clip, 6.0)), one_bit=False),),
        records=4 * RECORDS * TEMPERED * CLIP,
        temperature=TEMPERED,
        accounting=Accounting(
            "poisson-barker",
            "Barker's test on Poisson minibatches, exact; bound is m, rate is λ",
            {"n": 100_000, "bound": 0.005, "rate": 1500.0},
            lambda s: PoissonBarkerBit(s["n"], s["bound"], s["rate"]),
        ),
    )
)
