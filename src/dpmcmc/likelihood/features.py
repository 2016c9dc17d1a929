"""The one place where a likelihood release reads records, once checked: noisy sums of features."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.likelihood.basis import Basis, centred, features
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum, noisy_sum
from dpmcmc.mechanisms.noise import without_telling
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.raveled import RaveledModel


def release_features(
    model: RaveledModel, posterior: Posterior, basis: Basis, total: GaussianSum, key: np.ndarray
) -> np.ndarray:
    """Σᵢ clip(features of record i) over the clip radius, with Gaussian noise: ``total`` says how much.

    Guarantee: ``total.event(n)`` under the relation of ``total``, whatever the basis: it is public, and each record's
    vector is clipped to norm 1. A record with a value that is not finite counts as an average one.
    """
    width = 2 ** int(np.ceil(np.log2(max(basis.size, 8))))  # few widths, so that few programs are compiled
    projection = np.zeros((len(basis.anchors), width))
    projection[:, : basis.size] = basis.projection
    total.check_dimension(width)
    run = _compiled_features(model)

    def read() -> Array:
        scale = (total.bound, total.unit)
        return run(posterior.data, basis.anchors, basis.mean, projection, scale, jnp.asarray(key))

    return without_telling(read)[: basis.size]


@lru_cache(maxsize=64)
def _compiled_features(model: RaveledModel) -> Any:
    """One program for all stages: clip and noise are arguments."""

    def run(data: PyTree, anchors: Array, mean: Array, projection: Array, scale: Any, key: Array) -> Array:
        def of_block(records: PyTree) -> Array:
            return features(centred(model.values(anchors, records)), mean, projection)

        return noisy_sum(_noise_words(key, projection.shape[1]), data, of_block, *scale)

    return jax.jit(run)


def _noise_words(key: Array, count: int) -> Array:
    return stream.words(key, count * int(np.prod(WORDS))).reshape(count, *WORDS)
