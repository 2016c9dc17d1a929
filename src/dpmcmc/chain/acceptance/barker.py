"""Barker's test on all records: exact, and private without any added noise."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from dpmcmc.chain.acceptance.base import FullDataTest
from dpmcmc.privacy.events import BarkerBit


@dataclass(frozen=True)
class Barker(FullDataTest):
    """Accept with probability 1 / (1 + e^{−t}).

    Guarantee: one :class:`~dpmcmc.privacy.BarkerBit` a decision, shift²/8-zCDP, under substitution (shift 2c) or
    zero-out (shift c) of one record; the chain targets the posterior exactly where nothing is clipped.

    Reference: Barker (1965) for the test; docs/theory/accept-bit.md for the cost of its bit.
    """

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        rare = jnp.exp(-jnp.abs(t))
        likely, rare = 1 / (1 + rare), rare / (1 + rare)
        return jnp.where(t >= 0, likely, rare), jnp.where(t >= 0, rare, likely)

    def event_at(self, shift: float) -> BarkerBit:
        return BarkerBit(shift, self.relation)
