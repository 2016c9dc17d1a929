"""Proposals: where the chain might go next, from released history alone."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from jax import Array

from dpmcmc.mechanisms.needs import Needs
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event


class Move(NamedTuple):
    """A proposed position and what the proposal will remember.

    ``log_correction`` is log q(here|there) − log q(there|here), 0 for a symmetric proposal. Whether the move was
    accepted is released, so a proposal may learn from it: it says now what it will remember in either case.
    """

    position: PyTree
    log_correction: Array | float = 0.0
    memory_if_accepted: PyTree = ()
    memory_if_rejected: PyTree = ()


class Proposal(Protocol):
    """Draws a candidate from public information: the position, its own memory of released history, and a key.

    Guarantee: no record enters, so a proposal costs nothing.
    """

    def init(self, position: PyTree) -> PyTree:
        """The memory at the start of a chain."""

    def propose(self, key: Any, position: PyTree, memory: PyTree) -> Move:
        """A move from ``position``. ``key`` is a JAX key; proposals are public, so its generator need not be secret."""


@runtime_checkable
class PrivateProposal(Protocol):
    """A proposal that reads records (noisy gradients, say): what it draws is a release, and it says what that costs."""

    def init(self, position: PyTree) -> PyTree:
        """The memory at the start of a chain."""

    def event(self, n: int, temperature: float) -> Event:
        """What every proposal costs."""

    def random_words(self, n: int) -> Needs:
        """Secret randomness one proposal needs, by purpose: the shape of 64-bit words, or batches of records."""

    def inexact_draws(self, n: int) -> int:
        """Releases of one proposal, each with a small relative error (for the arithmetic's share of the budget)."""

    def propose_privately(
        self, key: Any, random_words: dict[str, Array], posterior: Posterior, position: PyTree, memory: PyTree
    ) -> Move:
        """A move from ``position``; ``key`` is for its public randomness, ``bits`` for its noise."""
