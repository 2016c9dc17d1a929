"""Steps of one length: a random walk on spheres."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.random_walk import RandomWalk, check_real
from dpmcmc.models.base import PyTree


@dataclass(frozen=True)
class Sphere:
    """θ' = θ + √d·scale·u, u uniform on the unit sphere: a random walk whose steps all have the same length.

    ``scale`` is as for :class:`RandomWalk`, whose root mean square step it shares; with a matrix A the steps lie on
    the ellipsoid {A v : ‖v‖ = √d}. The longest possible move is known beforehand, so a bound that grows with the
    distance is the same at every step. Symmetric. Needs two parameters or more: on a line it would walk on a lattice.
    """

    scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", RandomWalk(self.scale).scale)

    def __str__(self) -> str:
        return f"steps on a sphere of scale {self.scale:.4g}" if np.ndim(self.scale) == 0 else "steps on an ellipsoid"

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "Sphere")
        if sum(leaf.size for leaf in jax.tree.leaves(position)) < 2:
            raise ValueError("Sphere needs two parameters or more: with one it walks on a lattice; take RandomWalk")
        return RandomWalk(self.scale).init(position)

    def propose(self, key: Array, position: PyTree, memory: PyTree) -> Move:
        flat, unravel = ravel_pytree(position)
        scale = jnp.asarray(self.scale, flat.dtype)
        z = jax.random.normal(key, flat.shape, flat.dtype)
        v = z * jnp.sqrt(len(flat) / jnp.sum(z**2))
        return Move(unravel(flat + (scale @ v if scale.ndim == 2 else scale * v)))
