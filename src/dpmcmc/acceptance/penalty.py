"""The penalty test on all records: Metropolis–Hastings with Gaussian noise, corrected for it."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import erfc, erfcx

from dpmcmc.acceptance.base import FullDataTest
from dpmcmc.privacy.events import PenaltyBit

SMALLEST_STD = 0.05


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
        if not (SMALLEST_STD <= self.std < np.inf):
            raise ValueError(
                f"Penalty: std must be at least {SMALLEST_STD} and finite, got {self.std!r}; for less noise take Barker"
            )

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        a, half = t / self.std, self.std / 2
        accept = _normal_cdf(a - half) + jnp.exp(t) * _normal_cdf(-a - half)
        # 1 − accept = φ(x) (M(x) − M(x + σ)), x = a − σ/2, M the Mills ratio: no cancellation where it is small
        x = jnp.maximum(a - half, -1.0)
        tail = jnp.exp(-0.5 * x**2) * (erfcx(x / np.sqrt(2)) - erfcx((x + self.std) / np.sqrt(2))) / 2
        reject = jnp.where(a - half > -1.0, tail, 1 - accept)
        return jnp.where(accept < 0.5, accept, 1 - reject), reject

    def event_at(self, shift: float) -> PenaltyBit:
        return PenaltyBit(shift, self.std)


def _normal_cdf(x: Array) -> Array:
    return erfc(-x / np.sqrt(2)) / 2
