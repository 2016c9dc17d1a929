"""No test at all: every move is taken."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.proposals.base import Move
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Compose, Event


@dataclass(frozen=True)
class Always:
    """Accept every move inside the prior's support.

    Guarantee: no record is read, so it costs nothing. What the chain targets is up to the proposal: with Langevin
    moves, the posterior in the limit of small steps.
    """

    def event(self, n: int, temperature: float) -> Event | None:
        return Compose(())

    def event_at(self, shift: float) -> Event:
        return Compose(())

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        return jnp.float64(0.0)

    def under(self, relation: str) -> Always:
        """The same: what reads no record costs nothing under any relation."""
        return self

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {}

    def inexact_draws(self, n: int) -> int:
        return 0

    def prepare(self, posterior: Posterior, position: PyTree) -> PyTree:
        return ()

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        return Decision(public > -jnp.inf, ())
