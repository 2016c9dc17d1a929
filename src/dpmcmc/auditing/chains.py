"""Chains under audit: many at once through the compiled scan that :func:`dpmcmc.sample` runs, with the real coins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.chain.kernel import KernelLike, under
from dpmcmc.chain.proposals.base import PrivateProposal
from dpmcmc.chain.scan import compile_chunk, run_chunk, start_chains
from dpmcmc.models.base import ModelLike
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import NonPrivate, Repeat
from dpmcmc.randomness import RandomSource

RUNS = (200_000, 20_000)
"""Chains on each side: in full, and quick."""

STEPS = 3
"""Steps that "a few steps" are."""

_AT_ONCE = 25_000


class Released(NamedTuple):
    """What chains release, one row each: where they start, where they are after every step, and which moves were made.

    ``keys`` are those of the proposals, which are public as well.
    """

    starts: np.ndarray
    positions: np.ndarray
    accepted: np.ndarray
    keys: np.ndarray


def experiment_of(
    name: str,
    kernel: KernelLike,
    neighbours: Neighbours,
    *,
    steps: int = STEPS,
    claim: Claim | None = None,
    about: str = "",
    outcome: Callable[[Released], np.ndarray] | None = None,
) -> Experiment:
    """One step and a few steps of a kernel on neighbouring data sets.

    ``claim`` is of one step; left out, it is the kernel's own event. ``outcome`` reads one number off the chains that
    are given, over all their steps: by default how they moved, or where they are if the proposal is a noisy release.
    """
    kernel = under(kernel, neighbours.relation) if claim is None else kernel
    stated = claim or claim_of(kernel, neighbours)
    read = outcome or (places if isinstance(getattr(kernel, "proposal", None), PrivateProposal) else moves)
    normal = read is places  # of sums with noise
    views = [View("1 step", stated, lambda released: read(first_steps(released, 1)), normal)]
    if steps > 1:
        repeated = None if stated is None or stated.event is None else Claim(Repeat(stated.event, steps))
        if stated is None or repeated is not None:
            views.append(View(f"{steps} steps", repeated, read, normal))
    chunk = compile_chunk(kernel, None)

    def run(side: int, runs: int, source: RandomSource) -> Released:
        parts = []
        posterior = Posterior.check(neighbours.models[side], neighbours.data[side])
        for start in range(0, runs, _AT_ONCE):
            parts.append(_run(chunk, kernel, posterior, min(_AT_ONCE, runs - start), steps, source))
            source.advance()
        return Released(*(np.concatenate(one) for one in zip(*parts, strict=True)))

    return Experiment(name, run, tuple(views), RUNS, about)


def _run(chunk: Any, kernel: KernelLike, posterior: Posterior, chains: int, steps: int, source: RandomSource) -> Any:
    with jax.enable_x64(True):
        on_device = posterior.on_device()
    state = start_chains(kernel, on_device, chains, source)
    keys = source.random_words("proposal", (steps, chains, 2), np.uint32)  # as run_chunk draws them
    _, trace = run_chunk(chunk, kernel, on_device, state, source, steps, steps)
    starts = _first_coordinate(state.positions, 0)
    return Released(starts, _first_coordinate(trace.positions, 1).T, trace.accepted.T, np.moveaxis(keys, 0, 1))


def _first_coordinate(positions: Any, axes: int) -> np.ndarray:
    """The first number of the parameters, by step and chain."""
    leaf = np.asarray(jax.tree.leaves(positions)[0])
    return leaf.reshape(*leaf.shape[: axes + 1], -1)[..., 0]


def first_steps(released: Released, count: int) -> Released:
    """What was released in the first steps."""
    return Released(
        released.starts, released.positions[:, :count], released.accepted[:, :count], released.keys[:, :count]
    )


def moves(released: Released) -> np.ndarray:
    """Which moves were made, and which way: a digit of 0, 1 or 2 for every step."""
    before = np.column_stack([released.starts, released.positions[:, :-1]])
    ways = np.where(released.accepted, np.where(released.positions > before, 1, 2), 0)
    moves: np.ndarray = (ways * 3 ** np.arange(ways.shape[1])).sum(axis=1).astype(np.int64)
    return moves


def signs(released: Released) -> np.ndarray:
    """On which side of zero the chains were after every step: a digit of 0 or 1."""
    signs: np.ndarray = (
        ((released.positions > 0) * 2 ** np.arange(released.positions.shape[1])).sum(axis=1).astype(np.int64)
    )
    return signs


def places(released: Released) -> np.ndarray:
    """Where the chains are in the end."""
    return released.positions[:, -1].astype(np.float64)


def claim_of(kernel: KernelLike, neighbours: Neighbours) -> Claim | None:
    """What one step claims: its event, or its first move's where the cost depends on the move; None if nothing."""
    posterior = Posterior.check(neighbours.models[0], neighbours.data[0])
    event = kernel.event(posterior.n, posterior.temperature)
    if event is None:
        event = kernel.event_at(_first_shift(kernel, posterior))
    return None if isinstance(event, NonPrivate) else Claim(event)


def _first_shift(kernel: KernelLike, posterior: Posterior) -> float:
    model: ModelLike = posterior.model
    with jax.enable_x64(True):
        position = jax.tree.map(jnp.asarray, model.init)
        state = kernel.init(posterior.on_device(), position, kernel.start(position))
        move = kernel.propose(jax.random.key(0), {}, posterior, state)
        return float(kernel.shift(model, posterior.temperature, state, move))
