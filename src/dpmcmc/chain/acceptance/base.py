"""Acceptance tests: one private bit from all records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.mechanisms.blocks import in_blocks
from dpmcmc.mechanisms.clip import Clip, as_clip
from dpmcmc.mechanisms.fixed_point import LEVELS, SMALLEST_BOUND, integer_sum, statistic
from dpmcmc.mechanisms.needs import Needs
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event
from dpmcmc.privacy.relations import SUBSTITUTION, check_relation, reach

RandomWords = dict[str, Array]


class Decision(NamedTuple):
    """The bit, which is released, and the per-record cache that goes with it, which never leaves the loop."""

    accepted: Array
    cache: PyTree


class Known(NamedTuple):
    """A total over records that are elsewhere, in the place of the records: private."""

    total: Array


class Acceptance(Protocol):
    """Decides on a move. What it reveals of the records is its event and nothing else.

    Where decisions differ in cost, ``shift`` is public and known *before* any record is read: how far one record can
    move the decision statistic.
    """

    def event(self, n: int, temperature: float) -> Event | None:
        """What every decision costs, or None where it depends on the move."""

    def event_at(self, shift: float) -> Event:
        """What a decision with that shift costs (asked only where :meth:`event` is None)."""

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        """The largest change of the statistic between neighbours, for this move."""

    def random_words(self, n: int) -> Needs:
        """Secret randomness one decision needs, by purpose: the shape of 64-bit words, or batches of records."""

    def inexact_draws(self, n: int) -> int:
        """Comparisons that depend on records in one decision (for the arithmetic's share of the budget)."""

    def prepare(self, posterior: Posterior, position: PyTree) -> PyTree:
        """What to keep about the present position (private)."""

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        """Accept or reject. ``public`` is the log prior ratio plus the proposal's correction."""


@dataclass(frozen=True)
class FullDataTest:
    """A test on all records whose bit has a known probability at every value of t.

    t = temperature·Σ clip(log p(xᵢ|θ') − log p(xᵢ|θ)) + public, and the bit is Bernoulli(``probabilities``(t)[0]). A
    test with noise takes t less a public number, its ``statistic``. ``relation`` is set by the budget that pays for it.
    """

    clip: Any
    relation: str = field(default=SUBSTITUTION, kw_only=True)

    def __post_init__(self) -> None:
        check_relation(f"{type(self).__name__}: relation", self.relation)
        object.__setattr__(self, "clip", as_clip(self.clip))

    def probabilities(self, t: Array) -> tuple[Array, Array]:
        """P(accept) and P(reject) at the statistic, each to a small relative error where it is the rarer."""
        raise NotImplementedError

    def event_at(self, shift: float) -> Event:
        """The event of one decision."""
        raise NotImplementedError

    def event(self, n: int, temperature: float) -> Event | None:
        constant = self.clip.constant
        if constant is None:
            return None
        return self.event_at(
            float(reach(self.relation) * temperature * np.maximum(constant, SMALLEST_BOUND / temperature))
        )

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"coin": coin.BITS_SHAPE}

    def inexact_draws(self, n: int) -> int:
        return 1

    def bound(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        clip: Clip = self.clip
        return jnp.maximum(clip.bound(model, here, there), SMALLEST_BOUND / temperature)

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        # one record: from −c to c, or from nothing to c
        return reach(self.relation) * temperature * self.bound(model, temperature, here, there)

    def prepare(self, posterior: Posterior, position: PyTree) -> Array:
        return jnp.zeros(0) if isinstance(posterior.data, Known) else posterior.record_log_likelihoods(position)

    def asks(self, model: ModelLike, temperature: float, here: PyTree, move: Move) -> PyTree:
        """What a total over records that are elsewhere needs to know: public."""
        return here, move.position, self.bound(model, temperature, here, move.position)

    def block_total(self, model: ModelLike, block: PyTree, count: Array, asked: PyTree) -> Array:
        """The clipped sum in whole units over the first ``count`` records of a block. Private."""
        here, there, bound = asked

        def add(records: PyTree, counted: Array) -> Array:
            few = Posterior(model, records)
            ratios = few.record_log_likelihoods(there) - few.record_log_likelihoods(here)
            return integer_sum(jnp.where(counted, ratios, 0), bound)

        return in_blocks(add, block, count)

    def total(self, posterior: Posterior, cache: Array, here: PyTree, move: Move) -> tuple[Array, Array, Array]:
        """The clipped sum in whole units, the unit, and the per-record log likelihoods at the proposed position."""
        bound = self.bound(posterior.model, posterior.temperature, here, move.position)
        unit = posterior.temperature * bound / LEVELS
        if isinstance(posterior.data, Known):
            return posterior.data.total, unit, cache
        there = posterior.record_log_likelihoods(move.position)
        return integer_sum(there - cache, bound), unit, there

    def statistic(
        self, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> tuple[Array, Array]:
        """t, clamped, and the per-record log likelihoods at the proposed position."""
        total, unit, there = self.total(posterior, cache, here, move)
        return statistic(total, unit, public, coin.CLAMP), there

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        t, there = self.statistic(posterior, cache, here, move, public)
        # outside the prior's support the move is refused whatever the records say
        accepted = coin.flip(random_words["coin"], *self.probabilities(t)) & (public > -jnp.inf)
        return Decision(accepted, jnp.where(accepted, there, cache))
