"""The one place where a likelihood release reads records, once checked: noisy sums of features and descriptions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.likelihood.basis import Basis
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum
from dpmcmc.models.base import PyTree


class Flat:
    """A model over raveled parameters. Equal for equal models, so that compiled functions are shared."""

    def __init__(self, model: Any, theta: PyTree) -> None:
        leaves, tree = jax.tree.flatten(theta)
        self.model, self.tree = model, tree
        self.shapes = tuple(np.shape(leaf) for leaf in leaves)
        self.dimension = int(sum(np.prod(shape, dtype=int) for shape in self.shapes))

    def __hash__(self) -> int:
        try:
            return hash((self.model, self.tree, self.shapes))
        except TypeError:
            return id(self.model)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Flat) or (self.tree, self.shapes) != (other.tree, other.shapes):
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


@lru_cache(maxsize=64)
def _compiled(model: Flat, total: GaussianSum) -> Any:
    def run(data: PyTree, anchors: Array, mean: Array, projection: Array, key: Array) -> Array:
        def features(records: PyTree) -> Array:
            values = model.values(anchors, records)
            return (values - jnp.mean(values, axis=1, keepdims=True) - mean) @ projection

        count = projection.shape[1]
        words = stream.words(key, count * int(np.prod(WORDS))).reshape(count, *WORDS)
        return total.of_records(words, data, features)

    return jax.jit(run)


def release_description(model: Flat, data: PyTree, total: GaussianSum, key: np.ndarray) -> np.ndarray:
    """The noisy mean of ``model.describe`` over the records.

    Guarantee: ``total.event(n)`` under substitution of one record, as each record's vector is clipped to norm 1.
    """
    return np.asarray(_compiled_description(model, total)(data, jnp.asarray(key)))


@lru_cache(maxsize=16)
def _compiled_description(model: Flat, total: GaussianSum) -> Any:
    describe = jax.vmap(model.model.describe)

    def run(data: PyTree, key: Array) -> Array:
        n, count = jax.tree.leaves(data)[0].shape[0], jax.eval_shape(describe, data).shape[1]
        total.check_dimension(count)
        words = stream.words(key, count * int(np.prod(WORDS))).reshape(count, *WORDS)
        return total.of_records(words, data, describe) / n

    return jax.jit(run)


def release_features(model: Flat, data: PyTree, basis: Basis, total: GaussianSum, key: np.ndarray) -> np.ndarray:
    """Σᵢ clip(features of record i) over the clip radius, with Gaussian noise: ``total`` says how much.

    Guarantee: ``total.event(n)`` under substitution of one record, whatever the basis: it is public, and each record's
    vector is clipped to norm 1. A record with a value that is not finite counts as an average one.
    """
    width = 2 ** int(np.ceil(np.log2(max(basis.size, 8))))  # few widths, so that few programs are compiled
    projection = np.zeros((len(basis.anchors), width))
    projection[:, : basis.size] = basis.projection
    noisy = _compiled(model, total)(data, basis.anchors, basis.mean, projection, jnp.asarray(key))
    return np.asarray(noisy)[: basis.size]
