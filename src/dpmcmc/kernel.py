"""A kernel is a proposal and an acceptance test. Every algorithm is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.acceptance.base import Acceptance, Bits
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event
from dpmcmc.proposals.base import Move, Proposal


class State(NamedTuple):
    """One chain between two steps. ``cache`` holds per-record values and never leaves the compiled loop."""

    position: PyTree
    memory: PyTree
    cache: PyTree


@dataclass(frozen=True)
class Kernel:
    """One step: propose from released history, price the move, decide by one private bit.

        Kernel(RandomWalk(0.1), Barker(clip=0.05))

    Proposing and pricing read no record, so a budget that would be passed is known before the records are touched.
    """

    proposal: Proposal
    acceptance: Acceptance

    def event(self, temperature: float = 1.0) -> Event | None:
        """What every step costs, or None where the cost depends on the move (then a filter adds it up as it arises)."""
        shift = self.acceptance.constant_shift(temperature)
        return None if shift is None else self.acceptance.event(shift)

    def describe(self) -> str:
        """The kernel in a few words."""
        settings = ", ".join(f"{name} {value}" for name, value in vars(self.acceptance).items())
        return f"{type(self.acceptance).__name__} test ({settings}) with {self.proposal}"

    def init(self, posterior: Posterior, position: PyTree, memory: PyTree) -> State:
        return State(position, memory, self.acceptance.prepare(posterior, position))

    def propose(self, key: Array, state: State) -> Move:
        return self.proposal.propose(key, state.position, state.memory)

    def shift(self, posterior: Posterior, state: State, move: Move) -> Array:
        return self.acceptance.shift(posterior.model, posterior.temperature, state.position, move.position)

    def decide(self, bits: Bits, posterior: Posterior, state: State, move: Move) -> tuple[State, Array]:
        """The next state and whether the move was accepted."""
        public = public_log_ratio(posterior, state.position, move)
        decision = self.acceptance.decide(bits, posterior, state.cache, state.position, move, public)
        position, memory = jax.tree.map(
            lambda new, old: jnp.where(decision.accepted, new, old),
            (move.position, move.memory_if_accepted),
            (state.position, move.memory_if_rejected),
        )
        return State(position, memory, decision.cache), decision.accepted


def public_log_ratio(posterior: Posterior, here: PyTree, move: Move) -> Array:
    """log prior(there) − log prior(here) + log correction, in float64; −∞ for anything that is not a number."""
    there, back = posterior.model.log_prior(move.position), posterior.model.log_prior(here)
    ratio = jnp.asarray(there, jnp.float64) - back + move.log_correction
    return jnp.where(jnp.isnan(ratio), -jnp.inf, ratio)
