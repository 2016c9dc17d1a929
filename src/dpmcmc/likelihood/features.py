"""The one place where a likelihood release reads records, once checked: noisy sums of features."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from jax import Array

from dpmcmc.likelihood.basis import Basis, centred, features
from dpmcmc.mechanisms.gaussian_sum import GaussianSum, whole_total
from dpmcmc.mechanisms.totals import Program, noisy_total
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
    asked = (np.asarray(basis.anchors), np.asarray(basis.mean), projection, total.bound, total.unit)
    return noisy_total(posterior.records, _compiled_features(model), asked, key, total.unit)[: basis.size]


@lru_cache(maxsize=64)
def _compiled_features(model: RaveledModel) -> Program:
    """One program for all stages: clip and noise are arguments."""

    def run(block: PyTree, count: Array, asked: tuple[Any, ...]) -> Array:
        anchors, mean, projection, bound, unit = asked

        def of_few(records: PyTree) -> Array:
            return features(centred(model.values(anchors, records)), mean, projection)

        return whole_total(block, of_few, bound, unit, count)

    return Program(run)
