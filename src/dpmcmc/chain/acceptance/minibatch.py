"""What all tests on a batch share: a fresh batch, its log ratios, one coin."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import whole
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.batches import Batches
from dpmcmc.mechanisms.needs import Need
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event


@dataclass(frozen=True)
class MinibatchTest:
    """A test on ``batch`` records, drawn afresh without replacement for every decision.

    The bit is Bernoulli(``probabilities``(log ratios of the batch)[0]); noise that a paper adds is integrated out.
    Nothing is kept between decisions, and only the batch is read.
    """

    batch: int

    def __post_init__(self) -> None:
        whole(f"{type(self).__name__}: batch", self.batch)

    def probabilities(self, ratios: Array, n: int, temperature: float, public: Array) -> tuple[Array, Array]:
        """P(accept) and P(reject) given the log ratios of the batch, each to a small relative error."""
        raise NotImplementedError

    def event_at(self, shift: float) -> Event:
        raise TypeError(f"every decision of {type(self).__name__} costs the same: ask event(n, temperature)")

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        raise TypeError(f"every decision of {type(self).__name__} costs the same: ask event(n, temperature)")

    def random_words(self, n: int) -> dict[str, Need]:
        return {"batch": Batches(n, self.batch), "coin": coin.BITS_SHAPE}

    def inexact_draws(self, n: int) -> int:
        return 1

    def prepare(self, posterior: Posterior, position: PyTree) -> PyTree:
        return ()

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        ratios = batch_log_ratios(posterior, random_words["batch"], here, move.position)
        accept, reject = self.probabilities(ratios, posterior.n, posterior.temperature, public)
        # outside the prior's support the move is refused whatever the records say
        return Decision(coin.flip(random_words["coin"], accept, reject) & (public > -jnp.inf), ())


def batch_log_ratios(posterior: Posterior, index: Array, here: PyTree, there: PyTree) -> Array:
    """log p(xᵢ|there) − log p(xᵢ|here) for the records at ``index``: private, and only handed to a mechanism."""
    batch = Posterior(posterior.model, records_at(posterior.data, index), posterior.temperature)
    return batch.record_log_likelihoods(there) - batch.record_log_likelihoods(here)


def records_at(data: PyTree, index: Array) -> PyTree:
    """The records at ``index``, all of which are below n. Rows are gathered once, and not again for every product."""
    rows = jax.tree.map(lambda leaf: leaf.at[index].get(mode="promise_in_bounds"), data)
    return jax.tree.map(lambda leaf: jax.lax.optimization_barrier(leaf) if leaf.ndim > 1 else leaf, rows)
