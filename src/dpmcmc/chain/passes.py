"""Chains on records that are elsewhere: a pass over all records for every step, of all chains at once.

A step is what the compiled scan of :mod:`dpmcmc.chain.scan` does, taken apart: moves are proposed and priced, the
source adds up whole numbers, and the coins decide. Only whole totals come from the records, and they stay here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.chain.acceptance.base import Known
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.scan import ChainState, Trace, next_spent
from dpmcmc.mechanisms.needs import drawn
from dpmcmc.mechanisms.totals import Program, total
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource


class Passes:
    """Runs chunks of steps of ``kernel`` on the records of a source; ``prices`` turns on the filter."""

    def __init__(self, kernel: Any, prices: PriceTable | None, posterior: Posterior) -> None:
        self.kernel, self.prices, self.posterior = kernel, prices, posterior
        self.program = Program(jax.vmap(partial(kernel.block_total, posterior.model), (None, None, 0)))
        self._propose, self._decide = jax.jit(self.propose), jax.jit(self.decide)

    def check(self, state: ChainState) -> None:
        """Refuse, by types and shapes alone, a step that does not keep records apart."""
        with jax.enable_x64(True):
            keys, words = self._coins(RandomSource(0), state, 1)
            asked = jax.eval_shape(self.propose, state, keys[0], jax.tree.map(lambda leaf: leaf[0], words))[1]
        self.program.check(self.posterior.types, asked)

    def run(self, state: ChainState, source: RandomSource, length: int, todo: int) -> tuple[ChainState, Trace]:
        """Run ``todo`` steps with the coins of the source's present key, which are those of ``length`` steps."""
        positions, bits = [], []
        with jax.enable_x64(True):
            keys, words = self._coins(source, state, length)
            for index in range(todo):
                now = jax.tree.map(lambda leaf: leaf[index], words)  # noqa: B023
                moves, asked, spent, pays = self._propose(state, keys[index], now)
                if not bool(pays):
                    state = state._replace(alive=np.bool_(False))
                    break
                whole = total(self.posterior.records, self.program, jax.device_get(asked))
                made, accepted = self._decide(state, now, moves, whole)
                state = jax.device_get(made._replace(spent=spent))
                positions.append(state.positions)
                bits.append(np.asarray(accepted))
        if not bits:
            empty = jax.tree.map(lambda leaf: np.asarray(leaf)[None][:0], state.positions)
            return state, Trace(empty, np.zeros((0, keys.shape[1]), bool))
        return state, Trace(jax.tree.map(lambda *leaves: np.stack(leaves), *positions), np.stack(bits))

    def propose(self, state: ChainState, keys: Array, words: dict[str, Array]) -> Any:
        """Moves, what they ask of the records, what is spent after them, and whether the budget pays for them."""
        posterior, kernel = self._without_records(), self.kernel
        now = self._states(state)
        wrapped = jax.random.wrap_key_data(jnp.asarray(keys), impl="threefry2x32")
        moves = jax.vmap(lambda k, b, s: kernel.propose(k, b, posterior, s))(wrapped, words, now)
        after, pays = next_spent(kernel, self.prices, posterior, now, moves, state.spent)
        asks = partial(kernel.asks, posterior.model, posterior.temperature)
        return moves, jax.vmap(asks)(now, moves), after, pays

    def decide(self, state: ChainState, words: dict[str, Array], moves: Any, whole: Array) -> Any:
        """All chains after the step, and which of them moved."""
        totals = whole.reshape(jax.tree.leaves(state.positions)[0].shape[0], -1)
        totals = totals[:, 0] if totals.shape[1] == 1 else totals

        def one(words: Any, now: Any, move: Any, known: Array) -> Any:
            return self.kernel.decide(words, self._without_records(known), now, move)

        later, accepted = jax.vmap(one)(words, self._states(state), moves, totals)
        return state._replace(positions=later.position, memories=later.memory), accepted

    def _states(self, state: ChainState) -> Any:
        nothing = self._without_records()
        return jax.vmap(lambda position, memory: self.kernel.init(nothing, position, memory))(
            state.positions, state.memories
        )

    def _without_records(self, known: Any = 0) -> Posterior:
        return Posterior(self.posterior.model, Known(known), self.posterior.temperature)

    def _coins(self, source: RandomSource, state: ChainState, length: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        chains = jax.tree.leaves(state.positions)[0].shape[0]
        keys = source.random_words("proposal", (length, chains, 2), np.uint32)
        return keys, drawn(source, self.kernel.random_words(self.posterior.n), (length, chains))


def check_passes(kernel: Any, source: Any) -> None:
    """Refuse kernels that need more of the records than totals over all of them."""
    if not getattr(kernel, "takes_passes", False):
        raise ValueError(
            f"{kernel.describe()} reads some of the records, or several sums of them, in a step, and "
            f"{type(source).__name__} gives totals over all: give arrays (np.load(path, mmap_mode='r') maps them from "
            "a file), or a test on all records with a proposal that reads none, such as dp.dp_barker(step, clip)"
        )
