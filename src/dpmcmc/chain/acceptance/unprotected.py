"""Tests without privacy: the references that private chains are compared with, through the same frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import NonPrivate


@dataclass(frozen=True)
class UnprotectedTest:
    """A test on all records, unclipped: t = temperature·Σ log p(xᵢ|θ')/p(xᵢ|θ) + public. Exact, and not private."""

    reason: ClassVar[str]

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        """P(accept) and P(reject) at statistic t."""
        raise NotImplementedError

    def event(self, n: int, temperature: float) -> NonPrivate:
        return NonPrivate(self.reason)

    def event_at(self, shift: float) -> NonPrivate:
        return NonPrivate(self.reason)

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        return jnp.asarray(jnp.inf)  # no bound on a record's log ratio is enforced

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"coin": coin.BITS_SHAPE}

    def inexact_draws(self, n: int) -> int:
        return 1

    def prepare(self, posterior: Posterior, position: PyTree) -> Array:
        return posterior.record_log_likelihoods(position)

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        there = posterior.record_log_likelihoods(move.position)
        t = posterior.temperature * jnp.sum(there - cache, dtype=jnp.float64) + public
        t = jnp.where(jnp.isnan(t), -jnp.inf, t)  # a ratio that is not a number refuses the move
        accepted = coin.flip(random_words["coin"], *self.probabilities(t)) & (t > -jnp.inf)
        return Decision(accepted, jnp.where(accepted, there, cache))


@dataclass(frozen=True)
class Metropolis(UnprotectedTest):
    """Accept with probability min(1, e^t): Metropolis–Hastings.

    Choose it for reference draws of a posterior from records that need no protection.
    Guarantee: none. Even with clipped records its bit has no finite cost (docs/theory/accept-bit.md, Lemma 4).
    Reference: Metropolis et al. (1953); Hastings (1970).
    """

    reason: ClassVar[str] = "the Metropolis test on all records, without clipping"

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        uphill = jnp.minimum(t, 0.0)
        return jnp.exp(uphill), -jnp.expm1(uphill)


@dataclass(frozen=True)
class PlainBarker(UnprotectedTest):
    """Accept with probability 1 / (1 + e^{−t}), with no bound on what a record contributes.

    Choose it to see what clipping costs: :class:`~dpmcmc.chain.acceptance.Barker` is the same, clipped and private.
    Guarantee: none, because one record may move t by any amount.
    Reference: Barker (1965).
    """

    reason: ClassVar[str] = "Barker's test on all records, without clipping"

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        rare = jnp.exp(-jnp.abs(t))
        likely, rare = 1 / (1 + rare), rare / (1 + rare)
        return jnp.where(t >= 0, likely, rare), jnp.where(t >= 0, rare, likely)
