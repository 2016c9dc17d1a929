"""Selection: one private choice among many candidates instead of one private bit about two."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import having
from dpmcmc.chain.acceptance.base import Known, RandomWords
from dpmcmc.chain.kernel import State
from dpmcmc.chain.proposals.candidates import Candidates, CandidateSet
from dpmcmc.mechanisms import choice
from dpmcmc.mechanisms.blocks import BLOCK, in_blocks
from dpmcmc.mechanisms.clip import Clip, as_clip
from dpmcmc.mechanisms.fixed_point import LEVELS, SMALLEST_BOUND, integer_sum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, Selection
from dpmcmc.privacy.relations import SUBSTITUTION, check_relation, reach

_AT_ONCE = 2**19  # per-record values of all candidates held at once: they fit into a processor's cache


@dataclass(frozen=True)
class Select:
    """One step: draw K candidates from released history, choose one with probability ∝ exp(utility).

        Select(Orbit(mean, root, 16), clip=3.5 * (d / n) ** 0.5)
        Select(HiddenCentre(0.1, 16), clip=0.05)

    u_k = temperature·Σ clip(log p(xᵢ|θ_k) − log p(xᵢ|base)) + log prior(θ_k) + log correction_k. ``clip`` is a number
    or a :mod:`~dpmcmc.mechanisms.clip`, whose bound for a set is the largest for any of its candidates.

    Choose it when privacy limits the number of decisions and computing does not: any number of candidates costs what
    two of the same spread cost. For an orbit take a clip of κ·√(d/n), over √temperature, with κ = 3.5: at 2.5 the
    clipped posterior of a normal mean is a third too wide (docs/theory/selection.md).

    Guarantee: one :class:`~dpmcmc.privacy.Selection` a step, range²/8-zCDP; range 4·temperature·clip under substitution
    of one record, 2·temperature·clip under zero-out. Exact where nothing is clipped; with a base and a clip that are
    fixed for the whole chain, exact for the posterior of the clipped log likelihoods
    prior(θ)·exp(temperature·Σ clip(ℓᵢ(θ) − ℓᵢ(base))), rounding included.

    Reference: McSherry & Talwar (2007), the exponential mechanism; docs/theory/selection.md.
    """

    candidates: CandidateSet
    clip: Any
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        check_relation("Select: relation", self.relation)
        made = ("draw", "count", "base")
        having("Select: candidates", self.candidates, made, "a set such as HiddenCentre(0.1, 16)")
        object.__setattr__(self, "clip", as_clip(self.clip))

    def event(self, n: int, temperature: float = 1.0) -> Event | None:
        constant = self.clip.constant
        if constant is None:
            return None
        wide = temperature * np.maximum(constant, SMALLEST_BOUND / temperature)
        return self.event_at(float(2 * reach(self.relation) * wide))

    def event_at(self, shift: float) -> Selection:
        return Selection(shift, self.relation)

    def under(self, relation: str) -> Select:
        """The same kernel, charged under another relation."""
        return replace(self, relation=relation)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"choice": choice.BITS_SHAPE}

    def inexact_draws(self, n: int) -> int:
        return choice.comparisons(self.candidates.count)

    def describe(self) -> str:
        return f"Selection (clip {self.clip}) among {self.candidates}"

    def start(self, position: PyTree) -> PyTree:
        self.candidates.check(position)
        return ()

    def init(self, posterior: Posterior, position: PyTree, memory: PyTree) -> State:
        return State(position, memory, ())

    def propose(self, key: Array, random_words: RandomWords, posterior: Posterior, state: State) -> Candidates:
        return self.candidates.draw(key, state.position)

    def shift(self, model: ModelLike, temperature: float, state: State, move: Candidates) -> Array:
        # one utility up by as much as a record moves a sum, another down
        return 2 * reach(self.relation) * (temperature * self._bound(model, temperature, state, move))

    def decide(
        self, random_words: RandomWords, posterior: Posterior, state: State, move: Candidates
    ) -> tuple[State, Array]:
        """One private choice: the next state is a candidate, the first of which is the present position."""
        chosen = choice.choose(random_words["choice"], self.probabilities(posterior, state, move))
        position = jax.tree.map(lambda leaf: leaf[chosen], move.positions)
        return State(position, state.memory, state.cache), chosen != 0

    def probabilities(self, posterior: Posterior, state: State, move: Candidates) -> Array:
        """The probability of every candidate (private). Those outside the prior's support have none."""
        bound = self._bound(posterior.model, posterior.temperature, state, move)
        unit = posterior.temperature * bound / LEVELS
        totals = self._integer_utilities(posterior, state, move, bound)
        public = jax.vmap(posterior.model.log_prior)(move.positions).astype(jnp.float64) + move.log_corrections
        allowed = (public > -jnp.inf).at[0].set(True)  # NaN is not allowed; the chain may always stay
        return choice.probabilities(totals + choice.whole_units(public, unit), unit, allowed)

    takes_passes = True

    def asks(self, model: ModelLike, temperature: float, state: State, move: Candidates) -> PyTree:
        """What a total over records that are elsewhere needs to know: public."""
        return self._base(state.position), move.positions, self._bound(model, temperature, state, move)

    def block_total(self, model: ModelLike, block: PyTree, count: Array, asked: PyTree) -> Array:
        """The clipped sum of every candidate over the first ``count`` records of a block. Private."""
        return self._totals(model, block, count, asked, BLOCK)

    def _totals(self, model: ModelLike, block: PyTree, count: Array | None, asked: PyTree, size: int) -> Array:
        """Σ clip(log p(xᵢ|θ_k) − log p(xᵢ|base)) in units, for every candidate, ``size`` records at a time."""
        base, candidates, bound = asked

        def add(records: PyTree, counted: Array) -> Array:
            few = Posterior(model, records)
            reference = few.record_log_likelihoods(base)

            def utility(candidate: PyTree) -> Array:
                ratios = few.record_log_likelihoods(candidate) - reference
                return integer_sum(jnp.where(counted, ratios, 0), bound)

            return jax.vmap(utility)(candidates)

        return in_blocks(add, block, count, size)

    def _integer_utilities(self, posterior: Posterior, state: State, move: Candidates, bound: Array) -> Array:
        if isinstance(posterior.data, Known):
            return posterior.data.total
        asked = self._base(state.position), move.positions, bound
        size = max(BLOCK, 2 ** (_AT_ONCE // self.candidates.count).bit_length() // 2)
        return self._totals(posterior.model, posterior.data, None, asked, size)

    def _bound(self, model: ModelLike, temperature: float, state: State, move: Candidates) -> Array:
        clip: Clip = self.clip
        base = self._base(state.position)
        bounds = jax.vmap(lambda candidate: clip.bound(model, base, candidate))(move.positions)
        return jnp.maximum(jnp.max(bounds), SMALLEST_BOUND / temperature)

    def _base(self, position: PyTree) -> PyTree:
        if self.candidates.base is None:
            return position
        flat, unravel = ravel_pytree(position)
        return unravel(jnp.asarray(self.candidates.base).astype(flat.dtype))
