"""Guided walks: keep going in a direction that was accepted, turn back when refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.one_component import component_scales
from dpmcmc.chain.proposals.random_walk import RandomWalk, check_real
from dpmcmc.models.base import PyTree


@dataclass(frozen=True)
class GuidedWalk:
    """θ'_j = θ_j + p_j·scale_j·|z| for one component j, with a remembered direction p_j = ±1 for each.

    The direction is kept if the move is accepted and turned round if it is rejected; j is drawn anew each step.
    ``scale`` is a number or one number per parameter. Directions are a function of released accept bits, so they are
    public. They start at +1, which like any starting point is forgotten.

    Exactness: the target of (θ, p) is π(θ) times uniform directions. Write q_p for the law of the proposal; a step
    back against the direction is as likely as one along it, q_p(θ'|θ) = q_{−p}(θ|θ'). The step is (i) propose
    (θ', −p), accept with probability a(t), t = log π(θ')/π(θ), else stay at (θ, p); then (ii) turn p_j round in either
    case. (i) is reversible, π(θ) q_p(θ'|θ) a(t) = π(θ') q_{−p}(θ|θ') a(−t), for every test with a(t) = e^t a(−t):
    Metropolis, Barker (e^t/(1+e^t)) and penalty (the two terms of Φ(t/σ − σ/2) + e^t Φ(−t/σ − σ/2) change places).
    (ii) leaves the target as it is. So does their sequence, which is not reversible: hence the longer strides.

    Choose it where moves must be short to be cheap: it does not retrace its steps as a random walk does. With tests
    that accept about half of even the shortest moves (Barker) the strides are short and the gain small.
    Reference: Gustafson (1998); Räisä (2021), guided walk with one component updates.
    """

    scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", component_scales(self.scale))

    def __str__(self) -> str:
        return "a guided walk of one component at a time"

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "GuidedWalk")
        RandomWalk(self.scale).init(position)
        return jnp.ones(sum(leaf.size for leaf in jax.tree.leaves(position)), jnp.int8)

    def propose(self, key: Array, position: PyTree, memory: PyTree) -> Move:
        flat, unravel = ravel_pytree(position)
        which, step = jax.random.split(key)
        j = jax.random.randint(which, (), 0, len(flat))
        scale = jnp.broadcast_to(jnp.asarray(self.scale, flat.dtype), flat.shape)
        length = scale[j] * jnp.abs(jax.random.normal(step, (), flat.dtype))
        there = unravel(flat.at[j].add(memory[j] * length))
        return Move(there, 0.0, memory_if_accepted=memory, memory_if_rejected=memory.at[j].multiply(-1))
