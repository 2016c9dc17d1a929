"""A kernel is a proposal and an acceptance test. Every algorithm is one."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import having
from dpmcmc.chain.acceptance.base import Acceptance, RandomWords
from dpmcmc.chain.proposals.base import Move, PrivateProposal, Proposal
from dpmcmc.mechanisms.needs import Needs
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Compose, Event
from dpmcmc.privacy.relations import SUBSTITUTION

FREE = Compose(())
"""The event of a test that reads nothing."""


class State(NamedTuple):
    """One chain between two steps. ``cache`` holds per-record values and never leaves the compiled loop."""

    position: PyTree
    memory: PyTree
    cache: PyTree


class KernelLike(Protocol):
    """What planning and running ask of a kernel. :class:`Kernel` is one; a step of another form may be another.

    ``propose`` and ``shift`` are public (unless the kernel's event says otherwise), so a budget that would be passed
    is known before the records are touched.
    """

    def event(self, n: int, temperature: float) -> Event | None:
        """What every step costs, or None where it depends on the move (then a filter adds it up as it arises)."""

    def event_at(self, shift: float) -> Event:
        """What a step with that shift costs, where :meth:`event` is None."""

    def random_words(self, n: int) -> Needs:
        """Secret randomness one step needs, by purpose: the shape of 64-bit words, or batches of records."""

    def inexact_draws(self, n: int) -> int:
        """Comparisons of one step that depend on records, each with probabilities of a small relative error."""

    def describe(self) -> str:
        """The kernel in a few words."""

    def start(self, position: PyTree) -> PyTree:
        """The memory at the start of a chain; refuses parameters that the kernel cannot move."""

    def init(self, posterior: Posterior, position: PyTree, memory: PyTree) -> State:
        """The state at the start of a chunk, with per-record values rebuilt."""

    def propose(self, key: Array, random_words: RandomWords, posterior: Posterior, state: State) -> Any:
        """The move to be decided on."""

    def shift(self, model: ModelLike, temperature: float, state: State, move: Any) -> Array:
        """How far one record can move the decision, where :meth:`event` is None."""

    def decide(self, random_words: RandomWords, posterior: Posterior, state: State, move: Any) -> tuple[State, Array]:
        """The next state, and whether the chain moved."""


@dataclass(frozen=True)
class Kernel:
    """One step: propose from released history, price the move, decide by one private bit.

        Kernel(RandomWalk(0.1), Barker(clip=0.05))

    A proposal that reads records (a :class:`~dpmcmc.chain.proposals.base.PrivateProposal`) is given the posterior and
    secret random words, and pays by an event of its own; then every step must cost the same.
    """

    proposal: Proposal | PrivateProposal
    acceptance: Acceptance

    def __post_init__(self) -> None:
        private = hasattr(self.proposal, "propose_privately")
        moves = ("init", "propose_privately" if private else "propose")
        having("Kernel: proposal", self.proposal, moves, "a proposal such as dp.RandomWalk(0.1)")
        having("Kernel: acceptance", self.acceptance, ("decide", "event"), "a test such as dp.Barker(clip=0.1)")

    def event(self, n: int, temperature: float = 1.0) -> Event | None:
        decision = self.acceptance.event(n, temperature)
        if not isinstance(self.proposal, PrivateProposal):
            return decision
        if decision is None:
            raise ValueError(
                f"{type(self.proposal).__name__} reads records to propose; give the acceptance test a constant clip"
            )
        proposal = self.proposal.event(n, temperature)
        return proposal if decision == FREE else Compose((proposal, decision))

    def event_at(self, shift: float) -> Event:
        return self.acceptance.event_at(shift)

    def under(self, relation: str) -> Kernel:
        """The same kernel, charged under another relation; refused by name where that is not proven."""
        reads = isinstance(self.proposal, PrivateProposal)
        proposal = under(self.proposal, relation) if reads else self.proposal
        return Kernel(proposal, under(self.acceptance, relation))

    def random_words(self, n: int) -> Needs:
        own: Needs = self.proposal.random_words(n) if isinstance(self.proposal, PrivateProposal) else {}
        tests = self.acceptance.random_words(n)
        shared = (own.keys() & tests.keys()) | ({"proposal", "start"} & (own.keys() | tests.keys()))
        if shared:
            raise ValueError(f"{', '.join(sorted(shared))}: random bits are for one purpose each; rename them")
        return {**own, **tests}

    def inexact_draws(self, n: int) -> int:
        own = self.proposal.inexact_draws(n) if isinstance(self.proposal, PrivateProposal) else 0
        return own + self.acceptance.inexact_draws(n)

    def describe(self) -> str:
        settings = ", ".join(f"{name} {value}" for name, value in vars(self.acceptance).items() if name != "relation")
        return f"{type(self.acceptance).__name__} test{f' ({settings})' if settings else ''} with {self.proposal}"

    def start(self, position: PyTree) -> PyTree:
        return self.proposal.init(position)

    def init(self, posterior: Posterior, position: PyTree, memory: PyTree) -> State:
        return State(position, memory, self.acceptance.prepare(posterior, position))

    def propose(self, key: Array, random_words: RandomWords, posterior: Posterior, state: State) -> Move:
        if isinstance(self.proposal, PrivateProposal):
            return self.proposal.propose_privately(key, random_words, posterior, state.position, state.memory)
        return self.proposal.propose(key, state.position, state.memory)

    def shift(self, model: ModelLike, temperature: float, state: State, move: Move) -> Array:
        return self.acceptance.shift(model, temperature, state.position, move.position)

    @property
    def takes_passes(self) -> bool:
        """Whether a step needs of the records nothing but one total over all of them."""
        return hasattr(self.acceptance, "block_total") and not isinstance(self.proposal, PrivateProposal)

    def asks(self, model: ModelLike, temperature: float, state: State, move: Move) -> PyTree:
        return self.acceptance.asks(model, temperature, state.position, move)  # type: ignore[attr-defined]

    def block_total(self, model: ModelLike, block: PyTree, count: Array, asked: PyTree) -> Array:
        return self.acceptance.block_total(model, block, count, asked)  # type: ignore[attr-defined]

    def decide(self, random_words: RandomWords, posterior: Posterior, state: State, move: Move) -> tuple[State, Array]:
        """One private bit: the next state is the move's, or the present one."""
        public = public_log_ratio(posterior, state.position, move)
        decision = self.acceptance.decide(random_words, posterior, state.cache, state.position, move, public)
        position, memory = jax.tree.map(
            lambda new, old: jnp.where(decision.accepted, new, old),
            (move.position, move.memory_if_accepted),
            (state.position, move.memory_if_rejected),
        )
        return State(position, memory, decision.cache), decision.accepted


def under(part: Any, relation: str) -> Any:
    """A kernel, test or proposal as it is charged under ``relation``.

    It says so itself by a method ``under``, or is a dataclass with a field ``relation``, on which its event and what a
    record moves depend. What says nothing is charged under substitution, and refused under anything else.
    """
    if hasattr(part, "under"):
        return part.under(relation)
    if is_dataclass(part) and any(field.name == "relation" and field.init for field in fields(part)):
        return replace(part, relation=relation)  # type: ignore[type-var]
    if relation != SUBSTITUTION:
        raise ValueError(
            f"{type(part).__name__} is not proven under {relation} of one record; take relation='substitution', or a "
            "kernel on all records that is: dp.dp_barker, dp.dp_penalty or dp.dp_orbit"
        )
    return part


def public_log_ratio(posterior: Posterior, here: PyTree, move: Move) -> Array:
    """log prior(there) − log prior(here) + log correction, in float64; −∞ for anything that is not a number."""
    there, back = posterior.model.log_prior(move.position), posterior.model.log_prior(here)
    ratio = jnp.asarray(there, jnp.float64) - back + move.log_correction
    return jnp.where(jnp.isnan(ratio), -jnp.inf, ratio)
