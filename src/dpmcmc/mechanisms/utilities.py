"""Utilities of a public set of candidates in whole numbers: what the exponential mechanism chooses by.

Reference: docs/theory/one-sample.md.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.mechanisms.blocks import block_of, in_blocks
from dpmcmc.mechanisms.fixed_point import integer_sum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior

LARGEST = 1e300
"""A log likelihood of ±∞ counts as one of this size, so that the others of the record are told apart from it."""


def whole_utilities(model: ModelLike, block: PyTree, count: Array, asked: tuple[PyTree, Any]) -> Array:
    """Σᵢ max(ℓᵢ(θ_k) − topᵢ, −2·half) + half in units of half/LEVELS, for every candidate k, over ``count`` records.

    topᵢ is the largest of record i's own log likelihoods over the candidates. ``asked`` is (candidates, half): public.

    Guarantee: every term lies within ±LEVELS, so one record moves every utility by at most 2·LEVELS, whatever the
    model. Private.
    """
    candidates, half = asked
    size, half = jax.tree.leaves(candidates)[0].shape[0], jnp.asarray(half, jnp.float64)

    def add(records: PyTree, counted: Array) -> Array:
        values = jax.vmap(Posterior(model, records).record_log_likelihoods)(candidates)
        terms = jnp.where(counted, below_top(values) + half, 0.0)
        return jax.vmap(integer_sum, (0, None))(terms, half)

    return in_blocks(add, block, count, block_of(size))


def below_top(values: Array) -> Array:
    """Each record's values (candidate, record) less the largest of them; NaN stays NaN.

    What is subtracted from all of a record's values at once changes no probability of the choice.
    """
    values = jnp.clip(values.astype(jnp.float64), -LARGEST, LARGEST)  # keeps NaN
    return values - jnp.max(jnp.where(jnp.isnan(values), -jnp.inf, values), axis=0)
