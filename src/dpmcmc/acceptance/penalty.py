"""The penalty test on all records: Metropolis–Hastings with Gaussian noise, corrected for it."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import erfc, erfcx

from dpmcmc.acceptance.base import Bits, Decision, FullDataTest
from dpmcmc.mechanisms import coin
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Gaussian, PenaltyBit
from dpmcmc.proposals.base import Move

SMALLEST_STD = 0.05
LARGEST_STD = 1e3


@dataclass(frozen=True)
class Penalty(FullDataTest):
    """Accept if u < exp(t + N(0, ``std``²) − ``std``²/2).

    The noise is never released, so it is integrated out: the bit is drawn from its probability
    Φ(t/σ − σ/2) + e^t Φ(−t/σ − σ/2), one comparison and no Gaussian sampler.

    Guarantee: one :class:`~dpmcmc.privacy.PenaltyBit` a decision under substitution of one record; the chain targets
    the posterior exactly where nothing is clipped.

    Reference: Ceperley & Dewing (1999); Yıldırım & Ermiş (2019); docs/theory/accept-bit.md for the cost of its bit.
    """

    std: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not SMALLEST_STD <= self.std <= LARGEST_STD:
            raise ValueError(
                f"Penalty: std must lie in [{SMALLEST_STD}, {LARGEST_STD:g}], got {self.std!r}; with less, take Barker"
            )

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        return penalty_probabilities(t, self.std)

    def event_at(self, shift: float) -> PenaltyBit:
        return PenaltyBit(shift, self.std)


@dataclass(frozen=True)
class ProportionalPenalty(FullDataTest):
    """The penalty test with noise of ``noise_multiplier`` times what one record can move t by, whatever the move.

    Short moves get little noise and so are accepted as by Metropolis; every decision costs the same even where the clip
    varies with the move. The standard deviation is at least ``SMALLEST_STD``.

    Choose it to compare with published results, which have this form (τ of Räisä is noise_multiplier/√n), or for a
    fixed number of decisions with a clip that varies. Else take :class:`Penalty` or Barker, whose bits cost less.
    Guarantee: one :class:`~dpmcmc.privacy.Gaussian` of this noise multiplier a decision (the bit is a function of the
    noisy t), under substitution of one record; exact where nothing is clipped, as the way back has the same noise.
    Reference: Räisä (2021), Theorem 3.2; docs/theory/accept-bit.md, Lemma 3 (iv).
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        super().__post_init__()
        self.event_at(0.0)  # refuses what is no noise multiplier

    def event_at(self, shift: float) -> Gaussian:
        return Gaussian(self.noise_multiplier)

    def event(self, n: int, temperature: float) -> Gaussian:
        return Gaussian(self.noise_multiplier)

    def std(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        """The noise's standard deviation for this move: public."""
        shift = (1 + 1e-6) * self.shift(model, temperature, here, there)  # the sum may round its bound otherwise
        return jnp.maximum(self.noise_multiplier * shift, SMALLEST_STD)

    def decide(
        self, bits: Bits, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        t, there = self.statistic(posterior, cache, here, move, public)
        std = self.std(posterior.model, posterior.temperature, here, move.position)
        possible = (public > -jnp.inf) & jnp.isfinite(std)  # a bound that is no number refuses the move
        accepted = coin.flip(bits["coin"], *penalty_probabilities(t, std)) & possible
        return Decision(accepted, jnp.where(accepted, there, cache))


def penalty_probabilities(t: Array, std: Array | float) -> tuple[Array, Array]:
    """P(accept) and P(reject) of the penalty test with the noise integrated out."""
    a, half = t / std, std / 2
    accept = _normal_cdf(a - half) + jnp.exp(t) * _normal_cdf(-a - half)
    # 1 − accept = φ(x) (M(x) − M(x + σ)), x = a − σ/2, M the Mills ratio: no cancellation where it is small
    x = jnp.maximum(a - half, -1.0)
    tail = jnp.exp(-0.5 * x**2) * (erfcx(x / np.sqrt(2)) - erfcx((x + std) / np.sqrt(2))) / 2
    reject = jnp.where(a - half > -1.0, tail, 1 - accept)
    return jnp.where(accept < 0.5, accept, 1 - reject), reject


def _normal_cdf(x: Array) -> Array:
    return erfc(-x / np.sqrt(2)) / 2
