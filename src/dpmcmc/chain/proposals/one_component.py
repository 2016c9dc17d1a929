"""Random walks that move one parameter at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import truth
from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.random_walk import RandomWalk, check_real
from dpmcmc.models.base import PyTree


@dataclass(frozen=True)
class OneComponent:
    """θ'_j = θ_j + scale_j·z for one component j of the raveled parameters, z standard normal.

    j is drawn anew each step, or, ``cyclic``, goes round. ``scale`` is a number or one number per parameter.

    Exactness: given j the walk is symmetric, so the acceptance test leaves the posterior as it is; j does not depend
    on the position, so a mixture (random j) or a sequence (cyclic j) of such steps does too. The sequence is not
    reversible as a whole.

    Choose it where a clip grows with the distance moved and components have very different scales.
    Reference: Räisä (2021), one component updates (there with random j).
    """

    scale: Any
    cyclic: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", component_scales(self.scale))
        truth("OneComponent: cyclic", self.cyclic)

    def __str__(self) -> str:
        return f"a random walk of one component at a time{', in turn' if self.cyclic else ''}"

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "OneComponent")
        RandomWalk(self.scale).init(position)
        return jnp.int32(0) if self.cyclic else ()

    def propose(self, key: Array, position: PyTree, memory: PyTree) -> Move:
        flat, unravel = ravel_pytree(position)
        which, step = jax.random.split(key)
        j = memory if self.cyclic else jax.random.randint(which, (), 0, len(flat))
        scale = jnp.broadcast_to(jnp.asarray(self.scale, flat.dtype), flat.shape)
        after = (memory + 1) % len(flat) if self.cyclic else ()
        return Move(unravel(flat.at[j].add(scale[j] * jax.random.normal(step, (), flat.dtype))), 0.0, after, after)


def component_scales(scale: Any) -> Any:
    """A scale in its frozen form, if it is a number or one number per parameter."""
    found = RandomWalk(scale).scale
    if np.ndim(found) > 1:
        raise ValueError(f"scale must be a number or one number per parameter, got shape {np.shape(found)}")
    return found
