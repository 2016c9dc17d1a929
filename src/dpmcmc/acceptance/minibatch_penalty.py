"""The penalty test on a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpmcmc.acceptance.minibatch import MinibatchTest
from dpmcmc.acceptance.penalty import Penalty
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.batches import check
from dpmcmc.mechanisms.clip import as_clip
from dpmcmc.mechanisms.fixed_point import SMALLEST_BOUND, statistic
from dpmcmc.mechanisms.moments import levels_for, sum_and_spread, whole_terms
from dpmcmc.privacy.events import SubsampledPenaltyBit

MARGIN = 4
"""Levels kept free below the bound. They pay for rounding the variance term to whole units: at most 2 of 2·MARGIN."""

LARGEST_SUM = 2.0**24
"""Largest n·temperature·clip: up to it the variance term is right to less than half a unit before it is rounded."""


@dataclass(frozen=True)
class MinibatchPenalty(MinibatchTest):
    """Accept if u < exp(λ + N(0, ``std``²) − ``std``²/2), λ = k Σr − (k²/2) Σ(r − r̄)² + public, k = n·temperature/b.

    k Σr estimates the log ratio from ``batch`` records, each log ratio r clipped to ±``clip`` (a number), and
    s² = k² Σ(r − r̄)² its sampling variance: one penalty for the batch's own noise, one for the noise added. The latter
    is never released and is integrated out, as in :class:`~dpmcmc.acceptance.Penalty`.

    Guarantee: one :class:`~dpmcmc.privacy.SubsampledPenaltyBit` a decision under substitution of one record.
    Approximate: the penalty is exact for normal sampling noise of known variance, and s² is estimated; keep s² near 1
    or below (short steps, larger batches or a lower temperature).
    When to choose: to compare with published results; :class:`~dpmcmc.acceptance.CorrectedBarker` needs no variance
    term in its statistic and its approximation error has a bound.

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
        check(n, self.batch)
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
        """λ, clamped."""
        bound, levels = self.bound(n, temperature), levels_for(self.batch)
        total, spread = sum_and_spread(whole_terms(ratios, bound, levels, MARGIN))
        unit = n * temperature / self.batch * bound / levels  # k c / levels
        penalty = jnp.round(unit / 2 * spread).astype(jnp.int64)  # s²/2 in units
        return statistic(total - penalty, jnp.float64(unit), public, coin.CLAMP)

    def probabilities(self, ratios: Array, n: int, temperature: float, public: Array) -> tuple[Array, Array]:
        return Penalty(self.clip, self.std).probabilities(self.statistic(ratios, n, temperature, public))
