"""Gaussian random walks, and a proposal from a user's own function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import function, numbers, shown, text, truth
from dpmcmc.chain.proposals.base import Move
from dpmcmc.models.base import PyTree


@dataclass(frozen=True)
class RandomWalk:
    """θ' = θ + scale·z, z standard normal, over the raveled parameters.

    ``scale`` is a number, one number per parameter, or a square matrix A (then θ' = θ + A z, with covariance A Aᵀ).
    Parameters must be real; for integer ones use :class:`Custom`.
    """

    scale: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", nested_tuple(scales("RandomWalk: scale", self.scale)))

    def __str__(self) -> str:
        scale = np.asarray(self.scale)
        return f"a random walk of scale {self.scale:.4g}" if scale.ndim == 0 else "a preconditioned random walk"

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "RandomWalk")
        size, scale = sum(leaf.size for leaf in jax.tree.leaves(position)), np.asarray(self.scale)
        if scale.ndim and scale.shape[0] != size:
            raise ValueError(f"scale has {scale.shape[0]} entries for {size} parameters")
        return ()

    def propose(self, key: Array, position: PyTree, memory: PyTree) -> Move:
        flat, unravel = ravel_pytree(position)
        scale = jnp.asarray(self.scale, flat.dtype)
        z = jax.random.normal(key, flat.shape, flat.dtype)
        return Move(unravel(flat + (scale @ z if scale.ndim == 2 else scale * z)))


@dataclass(frozen=True)
class Custom:
    """A proposal from a function ``f(key, position)``.

    With ``symmetric`` (the default) the function returns a position, and there and back must be equally likely;
    otherwise it returns (position, log_correction), log q(here|there) − log q(there|here). ``name`` is for the release.

    Only the position and the key may enter: a function that closes over the records voids every guarantee.
    """

    function: Callable[[Array, PyTree], Any]
    symmetric: bool = True
    name: str = "custom"

    def __post_init__(self) -> None:
        function("Custom: function", self.function)
        truth("Custom: symmetric", self.symmetric)
        text("Custom: name", self.name)

    def init(self, position: PyTree) -> PyTree:
        return ()

    def propose(self, key: Array, position: PyTree, memory: PyTree) -> Move:
        proposed, log_correction = (
            (self.function(key, position), 0.0) if self.symmetric else self.function(key, position)
        )
        return Move(jax.tree.map(lambda new, old: jnp.asarray(new, old.dtype), proposed, position), log_correction)

    def __repr__(self) -> str:
        return f"Custom({self.name})"

    def __str__(self) -> str:
        return f"the user's proposal ({self.name})"


def scales(what: str, given: Any) -> np.ndarray:
    """The scale of a walk: a positive number, one for each parameter, or a square matrix."""
    scale = numbers(what, given, "be a positive number, a vector of such or a square matrix")
    if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
        raise ValueError(f"{what} must be a number, a vector or a square matrix, got shape {scale.shape}")
    if not np.any(scale) or (scale.ndim < 2 and np.any(scale <= 0)):
        raise ValueError(f"{what} must be finite and positive, got {shown(given)}")
    return scale


def check_real(position: PyTree, walk: str) -> None:
    """Refuse parameters that a walk cannot move."""
    if any(not jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in jax.tree.leaves(position)):
        raise TypeError(
            f"{walk} moves real parameters only and this model has integer ones; give a proposal of your own: "
            "dp.Custom(lambda key, theta: ...)"
        )


def nested_tuple(array: np.ndarray) -> Any:
    """An array as something frozen and comparable."""
    return tuple(map(nested_tuple, array)) if array.ndim else float(array)
