"""Moves along noisy gradients: Hamiltonian and Langevin."""

from __future__ import annotations

from typing import Any

from dpmcmc.algorithms.registry import CLIP, RECORDS, Algorithm, Contract, register
from dpmcmc.arguments import positive
from dpmcmc.chain.acceptance import Always, Barker, Penalty
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import Langevin, Leapfrog
from dpmcmc.mechanisms.clip import Clip
from dpmcmc.privacy.catalogue import H19_SGLD, R21_THEOREM_42, R21_THEOREM_43, Accounting
from dpmcmc.privacy.events import Compose, Gaussian, PenaltyBit, Repeat, SubsampledGaussian
from dpmcmc.privacy.relations import ADD_REMOVE


def dp_hmc(
    step: float,
    steps: int,
    gradient_clip: float,
    noise_multiplier: float,
    clip: Clip | float,
    std: float = 1.0,
    **more: Any,
) -> Kernel:
    """DP-HMC: leapfrog paths along noisy clipped gradients, decided by the penalty test.

    ``more`` goes to :class:`~dpmcmc.chain.proposals.Leapfrog`: ``mass``, ``reuse_gradient``.
    Exact where no log ratio is clipped, whatever the gradients' noise. Choose it in many dimensions with much budget.
    Guarantee: ``steps`` + 1 Gaussian releases and one accept bit a step under substitution of one record.
    Reference: Räisä (2021), Algorithm 4, corrected; docs/theory/dp-hmc.md.
    """
    positive("gradient_clip", gradient_clip)
    return Kernel(Leapfrog(step, steps, gradient_clip, noise_multiplier, **more), Penalty(clip, std))


register(
    Algorithm(
        dp_hmc,
        target="exact unless log ratios are clipped",
        needs="gradient clip and noise, a clip, noise std",
        example=lambda: dp_hmc(0.1, 5, 1.0, 100.0, CLIP),
        contracts=(
            Contract(lambda proposal, clip: dp_hmc(0.1, 3, 3.0, 1.5, clip), uses_proposal=False, one_bit=False),
            Contract(
                lambda proposal, clip: Kernel(Leapfrog(0.1, 3, 3.0, 1.5, reuse_gradient=True), Barker(clip)),
                "gradient reused, Barker's test",
                uses_proposal=False,
                one_bit=False,
            ),
        ),
        records=7 * RECORDS,
        accounting=Accounting(
            "hmc",
            "DP HMC: leapfrog + 1 gradients with noise gradient_noise × sensitivity, then the penalty test",
            {"shift": 1 / 31.6, "std": 1.0, "gradient_noise": 126.5, "leapfrog": 10},
            lambda s: Compose(
                (PenaltyBit(s["shift"], s["std"]), Repeat(Gaussian(s["gradient_noise"]), s["leapfrog"] + 1))
            ),
            (R21_THEOREM_43, R21_THEOREM_42),
        ),
    )
)


def dp_sgld(step: float, clip: float, batch: int | None = None, variant: str = "right") -> Kernel:
    """DP-SGLD with the right drift; ``variant="heikkila2019"`` samples the squared posterior, as published.

    Approximate in the step size, in clipping and in batch noise. Choose it for very large data.
    Guarantee: one (subsampled) Gaussian release a step under substitution of one record.
    Reference: Welling & Teh (2011); Wang, Fienberg & Smola (2015); docs/theory/dp-sgld.md.
    """
    return Kernel(Langevin(step, clip, batch, variant), Always())


register(
    Algorithm(
        dp_sgld,
        target="approximate in step and clipping",
        needs="a gradient clip, a step",
        example=lambda: dp_sgld(1e-8, 1.0),
        contracts=(
            Contract(lambda proposal, clip: dp_sgld(0.003, 4.0), exact=False, uses_proposal=False, one_bit=False),
        ),
        accounting=Accounting(
            "sgld",
            "noisy gradients of Poisson minibatches under add/remove, DP-SGLD or DP-SGD",
            {"n": 1_000_000, "batch": 100, "noise_multiplier": 1.2},
            lambda s: SubsampledGaussian(s["noise_multiplier"], s["n"], s["batch"], "poisson", ADD_REMOVE),
            (H19_SGLD,),
        ),
    )
)
