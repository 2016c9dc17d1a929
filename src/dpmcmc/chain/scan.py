"""Chains as compiled scans: a chunk of steps at a time, all chains at once.

Between chunks only public things exist on the host: positions, proposal memories, the sum spent, and the key of the
coins still to come. Per-record values are rebuilt at the start of each chunk, so a resumed run repeats exactly the
arithmetic of an uninterrupted one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.chain.kernel import KernelLike, State
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior, start
from dpmcmc.randomness import RandomSource


class ChainState(NamedTuple):
    """All chains between two chunks: public, every part of it."""

    positions: PyTree
    memories: PyTree
    spent: Any
    alive: Any


@dataclass(frozen=True)
class Trace:
    """What a chunk released: positions and accept bits, by step and chain; only the steps that ran."""

    positions: PyTree
    accepted: np.ndarray


def chunk_length(steps: int) -> int:
    """Steps compiled as one: about fifty chunks a run, of 50 to 2000 steps."""
    return min(max(50, -(-steps // 50)), 2000, steps)


def start_chains(kernel: KernelLike, posterior: Posterior, chains: int, source: RandomSource) -> ChainState:
    """All chains at the model's public starting point (each at its own, if the model draws it)."""
    with jax.enable_x64(True):
        keys = _keys(source.random_words("start", (chains, 2), np.uint32))
        first = start(posterior.model, keys[0])
        kernel.start(first)  # a proposal that does not fit the parameters says so here
        if callable(posterior.model.init):
            others = [start(posterior.model, key) for key in keys[1:]]
            positions = jax.tree.map(lambda *leaves: jnp.stack(leaves), first, *others)
        else:
            positions = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape)), first)
        memories = jax.vmap(kernel.start)(positions)
        return ChainState(positions, memories, np.float64(0.0), np.bool_(True))


def compile_chunk(kernel: KernelLike, prices: PriceTable | None) -> Callable[..., tuple[ChainState, Any]]:
    """The function that runs one chunk; ``prices`` turns on the filter."""

    def run(posterior: Posterior, state: ChainState, keys: Array, random_words: dict[str, Array], todo: Array) -> Any:
        chains = jax.vmap(lambda position, memory: kernel.init(posterior, position, memory))(
            state.positions, state.memories
        )

        def step(carry: tuple[State, Array, Array], random: Any) -> Any:
            now, spent, alive = carry
            index, step_keys, step_words = random
            moves = jax.vmap(lambda k, b, s: kernel.propose(k, b, posterior, s))(_keys(step_keys), step_words, now)
            after, pays = next_spent(kernel, prices, posterior, now, moves, spent)
            runs = alive & pays & (index < todo)
            later, accepted = jax.vmap(lambda b, s, m: kernel.decide(b, posterior, s, m))(step_words, now, moves)
            now = jax.tree.map(lambda new, old: jnp.where(runs, new, old), later, now)
            alive = alive & (pays | (index >= todo))
            return (now, jnp.where(runs, after, spent), alive), (now.position, accepted, runs)

        steps = jnp.arange(keys.shape[0])
        (chains, spent, alive), trace = jax.lax.scan(
            step, (chains, state.spent, state.alive), (steps, keys, random_words)
        )
        return ChainState(chains.position, chains.memory, spent, alive), trace

    return jax.jit(run)


def next_spent(
    kernel: KernelLike, prices: PriceTable | None, posterior: Posterior, now: State, moves: Any, spent: Array
) -> tuple[Array, Array]:
    """What is spent after a step of all chains together, and whether it fits: before any record is read."""
    if prices is None:
        return spent, jnp.asarray(True)
    model, temperature = posterior.model, posterior.temperature
    shifts = jax.vmap(lambda s, m: kernel.shift(model, temperature, s, m))(now, moves)
    price = prices(shifts * (1 + 1e-6))  # the test may evaluate its bound in other roundings
    after = (spent + jnp.sum(price)) * (1 + 2**-50)
    return after, after <= prices.limit


def check_chunk(
    chunk: Callable[..., Any], kernel: KernelLike, posterior: Posterior, state: ChainState, length: int
) -> None:
    """Refuse, by types and shapes alone, a step that does not keep records apart. What is traced here is what runs."""
    chains = jax.tree.leaves(state.positions)[0].shape[0]
    with jax.enable_x64(True):
        keys = jax.ShapeDtypeStruct((length, chains, 2), np.uint32)
        random_words = {
            purpose: jax.ShapeDtypeStruct((length, chains, *shape), np.uint64)
            for purpose, shape in kernel.random_words(posterior.n).items()
        }
        jax.eval_shape(chunk, posterior, state, keys, random_words, length)


def run_chunk(
    chunk: Callable[..., Any],
    kernel: KernelLike,
    posterior: Posterior,
    state: ChainState,
    source: RandomSource,
    length: int,
    todo: int,
) -> tuple[ChainState, Trace]:
    """Run ``todo`` of a chunk's ``length`` steps with the coins of the source's present key."""
    chains, n = jax.tree.leaves(state.positions)[0].shape[0], posterior.n
    with jax.enable_x64(True):
        keys = source.random_words("proposal", (length, chains, 2), np.uint32)
        random_words = {
            purpose: source.random_words(purpose, (length, chains, *shape))
            for purpose, shape in kernel.random_words(n).items()
        }
        state, (positions, accepted, ran) = jax.device_get(chunk(posterior, state, keys, random_words, todo))
    count = int(np.sum(ran))
    return state, Trace(jax.tree.map(lambda leaf: leaf[:count], positions), accepted[:count])


def _keys(raw: Any) -> Array:
    return jax.random.wrap_key_data(jnp.asarray(raw), impl="threefry2x32")
