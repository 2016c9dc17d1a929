"""How many records a clip touches. These read records: for synthetic or public data, never to be released."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.mechanisms.gaussian_sum import record_gradients
from dpmcmc.posterior import Posterior


def clip_fraction(model: Any, data: Any, clip: Any, here: np.ndarray, there: np.ndarray) -> float:
    """Share of the records' log ratios that ``clip`` changes, over the moves ``here[k]`` → ``there[k]``.

    ``here`` and ``there`` are raveled positions, (move, parameter). NOT PRIVATE: it counts records.
    """
    with jax.enable_x64(True):
        posterior = Posterior(model, jax.tree.map(jnp.asarray, data))
        _, unravel = ravel_pytree(jax.tree.map(jnp.asarray, _init(model)))

        def share(move: Any) -> Any:
            a, b = unravel(move[0]), unravel(move[1])
            ratios = posterior.record_log_likelihoods(b) - posterior.record_log_likelihoods(a)
            return jnp.mean(jnp.abs(ratios) > clip.bound(model, a, b))

        return float(np.mean(jax.jit(lambda moves: jax.lax.map(share, moves))((jnp.asarray(here), jnp.asarray(there)))))


def gradient_clip_fraction(model: Any, data: Any, norm: float, positions: np.ndarray) -> float:
    """Share of the records' gradients longer than ``norm``, over raveled positions. NOT PRIVATE: it counts records."""
    with jax.enable_x64(True):
        posterior = Posterior(model, jax.tree.map(jnp.asarray, data))
        _, unravel = ravel_pytree(jax.tree.map(jnp.asarray, _init(model)))

        def share(theta: Any) -> Any:
            return jnp.mean(jnp.linalg.norm(record_gradients(posterior, theta, unravel), axis=1) > norm)

        return float(np.mean(jax.jit(lambda all: jax.lax.map(share, all))(jnp.asarray(positions))))


def _init(model: Any) -> Any:
    return model.init(jax.random.key(0)) if callable(model.init) else model.init
