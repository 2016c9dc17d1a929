"""The penalty test on all records: Metropolis–Hastings with Gaussian noise, corrected for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import erfc, erfcx

from dpmcmc.arguments import positive, within
from dpmcmc.chain.acceptance.base import Decision, FullDataTest, RandomWords
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.fixed_point import LEVELS, MOST_UNITS, statistic
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Gaussian, PenaltyBit
from dpmcmc.privacy.relations import reach

SMALLEST_STD = 0.05

LARGEST_STD = 150.0
"""Up to it σ²/2 and the clamp are held in units of the smallest clip bound."""

SERIES_FROM = 20.0
SERIES = tuple((-1.0) ** k * math.prod(range(1, 2 * k, 2)) for k in range(8, -1, -1))
"""x·M(x) = Σ_k (−1)^k (2k − 1)!! x^(−2k): from x = 20 the first term left out is below 2e-16."""


@dataclass(frozen=True)
class Penalty(FullDataTest):
    """Accept if u < exp(t + N(0, ``std``²) − ``std``²/2).

    The noise is never released, so it is integrated out: the bit is drawn from its probability
    Φ(t/σ − σ/2) + e^t Φ(−t/σ − σ/2), one comparison and no Gaussian sampler.

    Guarantee: one :class:`~dpmcmc.privacy.PenaltyBit` a decision under substitution or zero-out of one record; the
    chain targets the posterior exactly where nothing is clipped.

    Reference: Ceperley & Dewing (1999); Yıldırım & Ermiş (2019); docs/theory/accept-bit.md for the cost of its bit.
    """

    std: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        within("Penalty: std", self.std, SMALLEST_STD, LARGEST_STD, remedy="with less, take Barker")

    def statistic(
        self, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> tuple[Array, Array]:
        """t − σ²/2, clamped, and the per-record log likelihoods at the proposed position."""
        total, unit, there = self.total(posterior, cache, here, move)
        return less_penalty(total, unit, public, self.std), there

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        return penalty_probabilities(t, self.std)

    def event_at(self, shift: float) -> PenaltyBit:
        return PenaltyBit(shift, self.std, self.relation)


@dataclass(frozen=True)
class ProportionalPenalty(FullDataTest):
    """The penalty test with noise of ``noise_multiplier`` times what one record can move t by, whatever the move.

    Short moves get little noise and so are accepted as by Metropolis; every decision costs the same even where the clip
    varies with the move. The standard deviation is at least ``SMALLEST_STD``.

    Choose it to compare with published results, which have this form (τ of Räisä is noise_multiplier/√n), or for a
    fixed number of decisions with a clip that varies. Else take :class:`Penalty` or Barker, whose bits cost less.
    Guarantee: one :class:`~dpmcmc.privacy.Gaussian` of this noise multiplier a decision (the bit is a function of the
    noisy t), under substitution or zero-out of one record; exact where nothing is clipped, as the way back has the same
    noise.
    Reference: Räisä (2021), Theorem 3.2; docs/theory/accept-bit.md, Lemma 3 (iv).
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ProportionalPenalty: noise_multiplier", self.noise_multiplier)

    def event_at(self, shift: float) -> Gaussian:
        return Gaussian(self.noise_multiplier, self.relation)

    def event(self, n: int, temperature: float) -> Gaussian:
        return Gaussian(self.noise_multiplier, self.relation)

    def std(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        """The noise's standard deviation for this move: public."""
        shift = self.shift(model, temperature, here, there)
        std = jnp.maximum(self.noise_multiplier * (1 + 1e-6) * shift, SMALLEST_STD)  # the sum may round otherwise
        return in_range(std, shift / (reach(self.relation) * LEVELS))

    def statistic(
        self, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> tuple[Array, Array]:
        """t − σ²/2, clamped, and the per-record log likelihoods at the proposed position."""
        total, unit, there = self.total(posterior, cache, here, move)
        std = self.std(posterior.model, posterior.temperature, here, move.position)
        return less_penalty(total, unit, public, std), there

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        t, there = self.statistic(posterior, cache, here, move, public)
        std = self.std(posterior.model, posterior.temperature, here, move.position)
        possible = (public > -jnp.inf) & jnp.isfinite(std)  # a NaN bound refuses the move
        accepted = coin.flip(random_words["coin"], *penalty_probabilities(t, std)) & possible
        return Decision(accepted, jnp.where(accepted, there, cache))


def clamp(std: Array | float) -> Array | float:
    """t − σ²/2 is clamped to ± this: there the rarer outcome is rarer than ``coin.RAREST``, so the bit stays the same.

    Above, P(reject) < Φ(−10); below, P(accept) ≤ e^t ≤ e⁻⁴² if σ ≤ 20, and < 2φ(10) else.
    """
    return 42.0 + 10.0 * std


def less_penalty(total: Array, unit: Array, public: Array, std: Array | float) -> Array:
    """t − σ²/2 with t = unit·total + public, clamped; as much as t depends on one record, this does."""
    return statistic(total, unit, public, clamp(std), centre=0.5 * std**2)


def in_range(std: Array, unit: Array) -> Array:
    """``std``, or NaN (which refuses the move) where σ²/2 and the clamp are more than a whole number of units holds."""
    return jnp.where(0.5 * std**2 + clamp(std) <= MOST_UNITS / 2 * unit, std, jnp.nan)


def penalty_probabilities(t: Array, std: Array | float) -> tuple[Array, Array]:
    """P(accept) and P(reject) of the penalty test, its noise integrated out; ``t`` is the log ratio less σ²/2.

    With x = t/σ, y = x + σ and Mills ratio M: Φ(x) + φ(x) M(y) and φ(x) (M(x) − M(y)), where nothing large cancels.
    """
    x = t / std
    y = x + std
    density, mills_y = jnp.exp(-0.5 * x**2) / np.sqrt(2 * np.pi), mills(jnp.maximum(y, -1.0))
    behind = jnp.exp(jnp.minimum(t + 0.5 * std**2, 0.0)) * _normal_cdf(-y)  # the same as φ(x) M(y)
    accept = _normal_cdf(x) + jnp.where(y > -1.0, density * mills_y, behind)
    reject = jnp.where(x > -1.0, density * (mills(jnp.maximum(x, -1.0)) - mills_y), 1 - accept)
    return jnp.where(accept < 0.5, accept, 1 - reject), reject


def mills(x: Array) -> Array:
    """M(x) = (1 − Φ(x))/φ(x) for x ≥ −1; from ``SERIES_FROM`` by its series, as JAX's erfcx is 0 about x = 37.6."""
    series = jnp.polyval(jnp.asarray(SERIES), 1 / jnp.maximum(x, SERIES_FROM) ** 2) / jnp.maximum(x, SERIES_FROM)
    return jnp.where(x < SERIES_FROM, np.sqrt(np.pi / 2) * erfcx(jnp.minimum(x, SERIES_FROM) / np.sqrt(2)), series)


def _normal_cdf(x: Array) -> Array:
    return erfc(-x / np.sqrt(2)) / 2
