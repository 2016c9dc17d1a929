"""Algorithms as recipes: a proposal and a test each. Every one is a kernel for :func:`dpmcmc.sample`.

``step`` is the scale of a random walk (a number, one per parameter, or a matrix) or a proposal of your own; ``clip``
bounds what one record may contribute to a log ratio (a number, or a clip such as :class:`~dpmcmc.DistanceClip`).
Which to choose: docs/algorithms.md.
"""

from __future__ import annotations

from typing import Any

from dpmcmc.chain.acceptance import (
    Always,
    Barker,
    CorrectedBarker,
    GrowingBatch,
    Metropolis,
    MinibatchPenalty,
    Penalty,
    PlainBarker,
    PoissonBarker,
    ProportionalPenalty,
    PublishedFastMH,
    PublishedFastMHFull,
    TunaMH,
)
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import (
    GuidedWalk,
    HiddenCentre,
    Langevin,
    Leapfrog,
    OneComponent,
    Orbit,
    PlainLangevin,
    PlainLeapfrog,
    Proposal,
    RandomWalk,
)
from dpmcmc.chain.selection import Select
from dpmcmc.mechanisms.clip import Clip


def dp_barker(step: Any, clip: Clip | float) -> Kernel:
    """Full-data Barker test: exact where nothing is clipped, private without added noise.

    Choose it first: at equal budget its bit is the cheapest of the full-data tests.
    Guarantee: one accept bit a step, shift 2·temperature·clip, under substitution of one record.
    Reference: Barker (1965); docs/theory/accept-bit.md.
    """
    return Kernel(_proposal(step), Barker(clip))


def dp_barker_subsampled(step: Any, batch: int, correction: str = "optimal", noise_variance: float = 2.0) -> Kernel:
    """DP Barker on batches: the corrected test of a tempered posterior, terms clipped at √batch/(temperature·n).

    Choose it where a step must not read all records and the target is tempered anyway.
    Guarantee: one subsampled accept bit a step, whatever the temperature, under substitution of one record.
    Approximate: the correction's error (docs/theory/correction.md) and what is clipped.
    Reference: Heikkilä et al. (2019), Algorithm 1; docs/theory/subsampling.md.
    """
    return Kernel(_proposal(step), CorrectedBarker(batch, noise_variance, correction))


def dp_barker_minibatch(step: Any, bound: float, rate: float | None = None) -> Kernel:
    """Exact minibatch Barker by Poisson counts: DP-Fast MH, repaired.

    Choose it where n is large and one record's tempered energy change has a true bound below 1/8: it reads about
    4·n·bound records a step and is exact.
    Guarantee: one accept bit a step at the full-data price, under substitution of one record.
    Reference: Zhang, Cooper & De Sa (2020); Zhang & Zhang (2023), whose own test leaks; docs/theory/poisson.md.
    """
    return Kernel(_proposal(step), PoissonBarker(bound, rate))


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
        return Kernel(_proposal(step), ProportionalPenalty(clip, noise_multiplier))
    return Kernel(_proposal(step), Penalty(clip, 1.0 if std is None else std))


def dp_penalty_one_component(step: Any, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty that moves one parameter at a time (OCU). Choose it where parameters are nearly independent.

    Guarantee: one accept bit a step under substitution of one record. Reference: Räisä (2021), Section 4.1.
    """
    return Kernel(OneComponent(step), Penalty(clip, std))


def dp_penalty_guided(step: Any, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty with a guided walk (GWMH): a direction is kept while moves are accepted and turned when one is not.

    Choose it for long journeys in few dimensions.
    Guarantee: one accept bit a step under substitution of one record. Reference: Gustafson (1998); Räisä (2021).
    """
    return Kernel(GuidedWalk(step), Penalty(clip, std))


def dp_penalty_minibatch(step: Any, batch: int, clip: Clip | float, std: float = 1.0) -> Kernel:
    """DP penalty on batches, the log ratio's sampling variance estimated and penalised too.

    Approximate: the batch's log ratio is taken for normal. Choose it to compare with published results.
    Guarantee: one subsampled accept bit a step under substitution of one record.
    Reference: Räisä (2021), Algorithm 2; docs/theory/subsampling.md.
    """
    return Kernel(_proposal(step), MinibatchPenalty(batch, clip, std))


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
    return Kernel(Leapfrog(step, steps, gradient_clip, noise_multiplier, **more), Penalty(clip, std))


def dp_sgld(step: float, clip: float, batch: int | None = None, variant: str = "right") -> Kernel:
    """DP-SGLD with the right drift; ``variant="heikkila2019"`` samples the squared posterior, as published.

    Approximate in the step size, in clipping and in batch noise. Choose it for very large data.
    Guarantee: one (subsampled) Gaussian release a step under substitution of one record.
    Reference: Welling & Teh (2011); Wang, Fienberg & Smola (2015); docs/theory/dp-sgld.md.
    """
    return Kernel(Langevin(step, clip, batch, variant), Always())


def dp_orbit(mean: Any, root: Any, count: int, clip: Clip | float, base: Any = None) -> Select:
    """One private choice among ``count`` points on an ellipse about a Gaussian fit N(mean, root rootᵀ).

    Choose it when a public or paid-for fit is at hand and privacy is scarce: any count costs the same.
    Guarantee: one selection of range 4·temperature·clip a step under substitution of one record.
    Exact for the posterior of the clipped log likelihoods. Reference: docs/theory/selection.md.
    """
    return Select(Orbit(mean, root, count, base), clip)


def dp_hidden_centre(step: Any, count: int, clip: Clip | float, base: Any = None) -> Select:
    """One private choice among ``count`` points about a hidden centre. Choose it where no fit is at hand.

    Guarantee: one selection of range 4·temperature·clip a step under substitution of one record.
    Reference: docs/theory/selection.md.
    """
    return Select(HiddenCentre(step, count, base), clip)


def metropolis(step: Any) -> Kernel:
    """Random-walk Metropolis, not private: the reference to compare with. Reference: Metropolis et al. (1953)."""
    return Kernel(_proposal(step), Metropolis())


def barker(step: Any) -> Kernel:
    """Barker's test without clipping, not private: the reference to compare with. Reference: Barker (1965)."""
    return Kernel(_proposal(step), PlainBarker())


def hmc(step: float, steps: int) -> Kernel:
    """Hamiltonian Monte Carlo, not private: the reference to compare with. Reference: Duane et al. (1987)."""
    return Kernel(PlainLeapfrog(step, steps), Metropolis())


def sgld(step: float, batch: int | None = None) -> Kernel:
    """Stochastic gradient Langevin dynamics, not private. Approximate. Reference: Welling & Teh (2011)."""
    return Kernel(PlainLangevin(step, batch), Always())


def seita(step: Any, batch: int) -> Kernel:
    """Barker's test on a batch that grows until its variance is small; not private. Reference: Seita et al. (2017)."""
    return Kernel(_proposal(step), GrowingBatch(batch))


def tuna_mh(step: Any, constants: Any, chi: float = 0.01) -> Kernel:
    """TunaMH, exact minibatch Metropolis–Hastings; not private. Reference: Zhang, Cooper & De Sa (2020)."""
    return Kernel(_proposal(step), TunaMH(constants, chi))


def published_fast_mh(step: Any, constants: Any, full_batch: bool = False, **published: Any) -> Kernel:
    """DP-Fast MH as published, for comparison. **Not private**: no guarantee is issued (docs/theory/fast-mh.md).

    Reference: Zhang & Zhang (2023), Algorithms 1 and 2.
    """
    test = PublishedFastMHFull if full_batch else PublishedFastMH
    return Kernel(_proposal(step), test(constants, **published))


def _proposal(step: Any) -> Proposal:
    return step if hasattr(step, "propose") else RandomWalk(step)
