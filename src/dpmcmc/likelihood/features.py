"""The one place where a likelihood release reads records, once checked: noisy sums of features and of summaries."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.likelihood.basis import Basis, centred, features
from dpmcmc.likelihood.raveled import RaveledModel
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior


def release_summary(model: RaveledModel, posterior: Posterior, total: GaussianSum, key: np.ndarray) -> np.ndarray:
    """The noisy mean of ``model.record_summary`` over the records.

    Guarantee: ``total.event(n)`` under substitution of one record, as each record's vector is clipped to norm 1.
    """
    return np.asarray(_compiled_summary(model, total)(posterior.data, jnp.asarray(key)))


def release_features(
    model: RaveledModel, posterior: Posterior, basis: Basis, total: GaussianSum, key: np.ndarray
) -> np.ndarray:
    """Σᵢ clip(features of record i) over the clip radius, with Gaussian noise: ``total`` says how much.

    Guarantee: ``total.event(n)`` under substitution of one record, whatever the basis: it is public, and each record's
    vector is clipped to norm 1. A record with a value that is not finite counts as an average one.
    """
    width = 2 ** int(np.ceil(np.log2(max(basis.size, 8))))  # few widths, so that few programs are compiled
    projection = np.zeros((len(basis.anchors), width))
    projection[:, : basis.size] = basis.projection
    noisy = _compiled_features(model, total)(posterior.data, basis.anchors, basis.mean, projection, jnp.asarray(key))
    return np.asarray(noisy)[: basis.size]


@lru_cache(maxsize=64)
def _compiled_features(model: RaveledModel, total: GaussianSum) -> Any:
    def run(data: PyTree, anchors: Array, mean: Array, projection: Array, key: Array) -> Array:
        def of_block(records: PyTree) -> Array:
            return features(centred(model.values(anchors, records)), mean, projection)

        return total.of_records(_noise_words(key, projection.shape[1]), data, of_block)

    return jax.jit(run)


@lru_cache(maxsize=16)
def _compiled_summary(model: RaveledModel, total: GaussianSum) -> Any:
    summary = jax.vmap(model.model.record_summary)

    def run(data: PyTree, key: Array) -> Array:
        n, count = jax.tree.leaves(data)[0].shape[0], jax.eval_shape(summary, data).shape[1]
        total.check_dimension(count)
        return total.of_records(_noise_words(key, count), data, summary) / n

    return jax.jit(run)


def _noise_words(key: Array, count: int) -> Array:
    return stream.words(key, count * int(np.prod(WORDS))).reshape(count, *WORDS)
