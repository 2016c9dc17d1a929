"""The public finite set that posterior draws are chosen from."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import shown, whole
from dpmcmc.mechanisms.choice import MOST_CANDIDATES
from dpmcmc.models.base import ModelLike, PyTree, has
from dpmcmc.posterior import start


def check_candidates(model: ModelLike, given: Any) -> int | PyTree:
    """How many to draw from the prior, or the set itself, with real parameters in float64."""
    if isinstance(given, int | np.integer):
        whole("PosteriorDraws: candidates", given, 2, MOST_CANDIDATES)
        if not has(model, "sample_prior"):
            raise ValueError(
                f"candidates={given} are to be drawn from the prior, and the model has no sample_prior; give it one, "
                "or give the candidates themselves: parameters like model.init with a leading axis"
            )
        return int(given)
    with jax.enable_x64(True):
        like = start(model, jax.random.key(0))
        if str(jax.tree.structure(given)) != str(jax.tree.structure(like)):
            raise ValueError(
                "PosteriorDraws: candidates must be a number of draws from the prior, or parameters like model.init "
                f"with a leading axis, one entry a candidate; got {shown(given)}"
            )
        made = jax.tree.map(lambda leaf, one: np.asarray(leaf).astype(one.dtype), given, like)
    count = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(made)}
    shapes = jax.tree.map(lambda leaf: np.shape(leaf)[1:], made), jax.tree.map(jnp.shape, like)
    if len(count) != 1 or count == {()} or shapes[0] != shapes[1]:
        raise ValueError(
            f"PosteriorDraws: candidates must have one common leading axis, then the shapes of model.init, {shapes[1]}"
        )
    whole("PosteriorDraws: candidates", next(iter(count))[0], 2, MOST_CANDIDATES)
    if not np.any(np.asarray(_log_priors(model, made)) > -np.inf):
        raise ValueError("PosteriorDraws: no candidate lies in the support of the prior; choose others")
    return made


def size_of(candidates: int | PyTree) -> int:
    return candidates if isinstance(candidates, int) else int(jax.tree.leaves(candidates)[0].shape[0])


def candidate_set(model: ModelLike, candidates: int | PyTree, key: Array) -> tuple[PyTree, Array]:
    """The set, and the public log weight of each: drawn from the prior they weigh alike, a given set by the prior.

    A weight of −∞ or NaN excludes a candidate.
    """
    if not isinstance(candidates, int):
        return candidates, _log_priors(model, candidates)
    drawn = jax.vmap(model.sample_prior)(jax.random.split(key, candidates))  # type: ignore[attr-defined]
    like = start(model, jax.random.key(0))
    return jax.tree.map(lambda leaf, one: leaf.astype(one.dtype), drawn, like), jnp.zeros(candidates)


def _log_priors(model: ModelLike, candidates: PyTree) -> Array:
    with jax.enable_x64(True):
        found: Array = jax.vmap(model.log_prior)(jax.tree.map(jnp.asarray, candidates)).astype(jnp.float64)
        return found
