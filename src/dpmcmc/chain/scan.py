"""Chains as compiled scans: a chunk of steps at a time, all chains at once.

Between chunks only public things exist on the host: positions, proposal memories, the sum spent, and the key of the
coins still to come. Per-record values are rebuilt at the start of each chunk, so a resumed run repeats exactly the
arithmetic of an uninterrupted one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.chain.kernel import KernelLike, State
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.mechanisms.needs import Ahead, drawn, kinds
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior, start
from dpmcmc.randomness import RandomSource

_AT_ONCE = 2**15
"""Records times chains that are decided on together: few records, many chains. Else one chain after the other: their
per-record values stay in the cache."""

_ONE_THREAD = 2**12
"""The largest batch that one thread works on."""


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
        at_once = max(1, _AT_ONCE // int(min(posterior.n, _batch(kernel))))
        chains = jax.vmap(lambda position, memory: kernel.init(posterior, position, memory))(
            state.positions, state.memories
        )

        def step(carry: tuple[State, Array, Array], random: Any) -> Any:
            now, spent, alive = carry
            index, step_keys, step_words = random
            moves = jax.vmap(lambda k, b, s: kernel.propose(k, b, posterior, s))(_keys(step_keys), step_words, now)
            after, pays = next_spent(kernel, prices, posterior, now, moves, spent)
            runs = alive & pays & (index < todo)
            later, accepted = jax.lax.map(
                lambda given: kernel.decide(given[0], posterior, *given[1:]),
                (step_words, now, moves),
                batch_size=at_once if at_once > 1 else None,
            )
            now = jax.tree.map(lambda new, old: jnp.where(runs, new, old), later, now)
            alive = alive & (pays | (index >= todo))
            return (now, jnp.where(runs, after, spent), alive), (now.position, accepted, runs)

        steps = jnp.arange(keys.shape[0])
        (chains, spent, alive), trace = jax.lax.scan(
            step, (chains, state.spent, state.alive), (steps, keys, random_words)
        )
        return ChainState(chains.position, chains.memory, spent, alive), trace

    return jax.jit(run, compiler_options=_options(kernel))


def _batch(kernel: KernelLike) -> float:
    """How many records a step reads, if it reads a batch of a fixed size."""
    size: float = getattr(getattr(kernel, "acceptance", None), "batch", math.inf)
    return size


def _options(kernel: KernelLike) -> dict[str, Any]:
    """On a processor, likelihoods are worth the widest vectors that it has.

    And a step on a small batch is a few microseconds of work, which XLA must not share out between threads.
    """
    if jax.default_backend() != "cpu":
        return {}
    small = _batch(kernel) <= _ONE_THREAD
    alone = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"} if small else {}
    return {"xla_cpu_prefer_vector_width": 512, **alone}


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
        random_words = kinds(kernel.random_words(posterior.n), (length, chains))
        jax.eval_shape(chunk, posterior, state, keys, random_words, length)


def run_chunk(
    chunk: Callable[..., Any],
    kernel: KernelLike,
    posterior: Posterior,
    state: ChainState,
    source: RandomSource,
    length: int,
    todo: int,
    ahead: Ahead | None = None,
) -> tuple[ChainState, Trace]:
    """Run ``todo`` of a chunk's ``length`` steps with the coins of the source's present key.

    With ``ahead``, those of the next key are made meanwhile.
    """
    lead, needs = (length, jax.tree.leaves(state.positions)[0].shape[0]), kernel.random_words(posterior.n)
    with jax.enable_x64(True):
        keys = source.random_words("proposal", (*lead, 2), np.uint32)
        random_words = drawn(source, needs, lead) if ahead is None else ahead.take(source, needs, lead)
        running = chunk(posterior, state, keys, random_words, todo)
        if ahead is not None:
            ahead.prepare(source, needs, lead)
        state, (positions, accepted, ran) = jax.device_get(running)
    count = int(np.sum(ran))
    return state, Trace(jax.tree.map(lambda leaf: leaf[:count], positions), accepted[:count])


def _keys(raw: Any) -> Array:
    return jax.random.wrap_key_data(jnp.asarray(raw), impl="threefry2x32")
