"""The penalty test on a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import positive, truth
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.acceptance.minibatch import MinibatchTest, batch_log_ratios
from dpmcmc.chain.acceptance.penalty import SMALLEST_STD, Penalty, in_range, less_penalty, penalty_probabilities
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.batches import Batches
from dpmcmc.mechanisms.clip import as_clip
from dpmcmc.mechanisms.fixed_point import SMALLEST_BOUND
from dpmcmc.mechanisms.moments import levels_for, sum_and_spread, whole_terms
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import SubsampledGaussian, SubsampledPenaltyBit

MARGIN = 4
"""Levels kept free below the bound. They pay for rounding the variance term to whole units: at most 2 of 2·MARGIN."""

LARGEST_SUM = 2.0**24
"""Largest n·temperature·clip: up to it the variance term is right to less than half a unit before it is rounded."""


@dataclass(frozen=True)
class MinibatchPenalty(MinibatchTest):
    """Accept if u < exp(λ + N(0, ``std``²) − ``std``²/2), λ = k Σr − (k²/2) Σ(r − r̄)² + public, k = n·temperature/b.

    k Σr estimates the log ratio from ``batch`` records, each log ratio r clipped to ±``clip`` (a number), and
    s² = k² Σ(r − r̄)² its sampling variance: one penalty for the batch's own noise, one for the noise added. The latter
    is never released and is integrated out, as in :class:`~dpmcmc.chain.acceptance.Penalty`.

    Guarantee: one :class:`~dpmcmc.privacy.SubsampledPenaltyBit` a decision under substitution of one record.
    Approximate: the penalty is exact for normal sampling noise of known variance, and s² is estimated; keep s² near 1
    or below (short steps, larger batches or a lower temperature).
    When to choose: to compare with published results; :class:`~dpmcmc.chain.acceptance.CorrectedBarker` needs no
    variance term in its statistic and its approximation error has a bound.

    Arithmetic: λ is a whole number of units u = kc/levels. The integers of single records stay ``MARGIN`` levels below
    the bound, so that with the variance term rounded to units one record still moves λ by no more than the event's
    2kc + 2k²c²(b−1)/b.

    Reference: Räisä (2021), Theorem 3.5; Ceperley & Dewing (1999); docs/theory/subsampling.md.
    """

    clip: Any
    std: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clip", as_clip(self.clip))
        Penalty(self.clip, self.std)  # refuses a std that it cannot compute with
        if self.clip.constant is None:
            raise ValueError(f"MinibatchPenalty: clip must be a number, the same for all moves; got {self.clip}")

    def bound(self, n: int, temperature: float) -> float:
        """The clip in use: ``clip``, raised where a unit would underflow the clamp of the decision."""
        Batches(n, self.batch)  # refuses sizes that cannot be drawn
        bound = max(float(self.clip.constant), SMALLEST_BOUND * self.batch / (n * temperature))
        if n * temperature * bound > LARGEST_SUM:
            raise ValueError(
                f"MinibatchPenalty: {n} records at temperature {temperature:g} with clip {bound:g} allow a log ratio "
                f"of {n * temperature * bound:.3g}, beyond {LARGEST_SUM:g}; choose a clip of at most "
                f"{LARGEST_SUM / (n * temperature):.3g}"
            )
        return bound

    def event(self, n: int, temperature: float) -> SubsampledPenaltyBit:
        return SubsampledPenaltyBit(n, self.batch, self.bound(n, temperature), self.std, temperature)

    def statistic(self, ratios: Array, n: int, temperature: float, public: Array) -> Array:
        """λ − σ²/2, clamped."""
        return less_penalty(*penalised_ratio(ratios, self.bound(n, temperature), n, temperature), public, self.std)

    def probabilities(self, ratios: Array, n: int, temperature: float, public: Array) -> tuple[Array, Array]:
        return Penalty(self.clip, self.std).probabilities(self.statistic(ratios, n, temperature, public))


@dataclass(frozen=True)
class ProportionalMinibatchPenalty(MinibatchTest):
    """The minibatch penalty test with noise of ``noise_multiplier`` times what one record can move λ by.

    λ and its two penalties are those of :class:`MinibatchPenalty`, but the ``clip`` c may vary with the move, and the
    noise with it: its standard deviation is ``noise_multiplier``·(2kc + 2k²c²(b−1)/b), at least ``SMALLEST_STD``. Short
    moves get little noise, and every decision costs the same.

    ``published_noise`` scales the noise by the published sensitivity, which has a 3 in place of the second 2: more
    noise for the same guarantee. τ of Räisä is then noise_multiplier².

    Guarantee: one :class:`~dpmcmc.privacy.SubsampledGaussian` a decision, batches without replacement, of 2·
    ``noise_multiplier`` relative to half of λ's range (the bit is a function of the noisy λ), under substitution of one
    record. Approximate as :class:`MinibatchPenalty` is. Clips are kept within the range where λ is exact in units.
    When to choose: to compare with published results, which have this form. The bit of :class:`MinibatchPenalty` costs
    less than the noisy λ.

    Reference: Räisä (2021), Theorem 3.5; docs/theory/subsampling.md.
    """

    clip: Any
    noise_multiplier: float
    published_noise: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "clip", as_clip(self.clip))
        positive("ProportionalMinibatchPenalty: noise_multiplier", self.noise_multiplier)
        truth("ProportionalMinibatchPenalty: published_noise", self.published_noise)

    def event(self, n: int, temperature: float) -> SubsampledGaussian:
        Batches(n, self.batch)  # refuses sizes that cannot be drawn
        return SubsampledGaussian(2 * self.noise_multiplier, n, self.batch, "without_replacement")

    def bound(self, model: ModelLike, n: int, temperature: float, here: PyTree, there: PyTree) -> Array:
        """The clip in use for a move: public."""
        least = SMALLEST_BOUND * self.batch / (n * temperature)
        bound = self.clip.bound(model, here, there)
        within = jnp.clip(bound, least, max(LARGEST_SUM / (n * temperature), least))
        return jnp.where(jnp.isfinite(bound), within, jnp.nan)

    def sensitivity(self, bound: Array, n: int, temperature: float, constant: float = 2.0) -> Array:
        """How far one record can move λ when log ratios lie within ±``bound``."""
        scaled = n * temperature / self.batch * bound
        return 2 * scaled + constant * (self.batch - 1) / self.batch * scaled**2

    def std(self, model: ModelLike, n: int, temperature: float, here: PyTree, there: PyTree) -> Array:
        """The noise's standard deviation for this move: public."""
        bound = self.bound(model, n, temperature, here, there)
        moved = self.sensitivity(bound, n, temperature, 3.0 if self.published_noise else 2.0)
        std = jnp.maximum(self.noise_multiplier * (1 + 1e-6) * moved, SMALLEST_STD)  # the sum may round otherwise
        return in_range(std, unit_of(bound, n, temperature, self.batch))

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        model, n, temperature, there = posterior.model, posterior.n, posterior.temperature, move.position
        ratios = batch_log_ratios(posterior, random_words["batch"], here, there)
        bound, std = self.bound(model, n, temperature, here, there), self.std(model, n, temperature, here, there)
        t = less_penalty(*penalised_ratio(ratios, bound, n, temperature), public, std)
        possible = (public > -jnp.inf) & jnp.isfinite(std)  # a NaN bound refuses the move
        return Decision(coin.flip(random_words["coin"], *penalty_probabilities(t, std)) & possible, ())


def penalised_ratio(ratios: Array, bound: Array | float, n: int, temperature: float) -> tuple[Array, Array]:
    """k Σr − (k²/2) Σ(r − r̄)² of a batch, log ratios clipped at ±``bound``: a whole number of units, and the unit."""
    batch = ratios.shape[-1]
    levels = levels_for(batch)
    total, spread = sum_and_spread(whole_terms(ratios, bound, levels, MARGIN))
    unit = unit_of(bound, n, temperature, batch)
    penalty = jnp.round(unit / 2 * spread).astype(jnp.int64)  # s²/2 in units
    return total - penalty, unit


def unit_of(bound: Array | float, n: int, temperature: float, batch: int) -> Array:
    """The unit of λ, k c / levels."""
    return jnp.float64(n * temperature / batch * bound / levels_for(batch))
