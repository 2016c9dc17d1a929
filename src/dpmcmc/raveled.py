"""A model over one vector of parameters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.base import ModelLike, PyTree, WithInit
from dpmcmc.posterior import start


class RaveledModel:
    """A model over raveled parameters. Equal for equal models, so that compiled functions are shared."""

    def __init__(self, model: Any, theta: PyTree) -> None:
        leaves, tree = jax.tree.flatten(theta)
        self.model, self.tree = model, tree
        self.shapes = tuple(np.shape(leaf) for leaf in leaves)
        self.dimension = int(sum(np.prod(shape, dtype=int) for shape in self.shapes))

    @classmethod
    def of(cls, model: ModelLike) -> RaveledModel:
        """The model whatever its start, so that programs are compiled once for all starts."""
        inner = model.model if isinstance(model, WithInit) else model
        with jax.enable_x64(True):
            return cls(inner, start(model, jax.random.key(0), np.dtype(np.float64)))

    def __hash__(self) -> int:
        try:
            return hash((self.model, self.tree, self.shapes))
        except TypeError:
            return id(self.model)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaveledModel) or (self.tree, self.shapes) != (other.tree, other.shapes):
            return False
        return self.model is other.model or (type(self.model) is type(other.model) and self.model == other.model)

    def unravel(self, flat: Array) -> PyTree:
        ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in self.shapes])
        parts = [part.reshape(s) for part, s in zip(jnp.split(flat, ends[:-1]), self.shapes, strict=True)]
        return jax.tree.unflatten(self.tree, parts)

    def ravel(self, theta: PyTree) -> Array:
        return jnp.concatenate([jnp.ravel(jnp.asarray(leaf, jnp.float64)) for leaf in jax.tree.leaves(theta)])

    def log_prior(self, flat: Array) -> Array:
        return jnp.asarray(self.model.log_prior(self.unravel(flat)), jnp.float64)

    def values(self, anchors: Array, records: PyTree) -> Array:
        """log p(record|anchor) in float64, one row a record."""
        thetas = jax.vmap(self.unravel)(jnp.asarray(anchors))
        one = jax.vmap(self.model.log_likelihood, in_axes=(0, None))
        return jax.vmap(one, in_axes=(None, 0))(thetas, records).astype(jnp.float64)


@lru_cache(maxsize=16)
def compiled_values(model: RaveledModel) -> Any:
    """:meth:`RaveledModel.values`, compiled once for equal models."""
    return jax.jit(model.values)
