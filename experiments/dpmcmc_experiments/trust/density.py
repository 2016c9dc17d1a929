"""A problem's log posterior as compiled functions of raveled parameters, in double precision. Not private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc_experiments.trust.base import Problem

BLOCK = 16  # parameter vectors evaluated at once


@dataclass(frozen=True, eq=False)
class Density:
    """Functions of (θ, records), θ raveled; compiled once for records of one shape.

    ``traced`` is the log posterior for use inside other compiled functions; ``hessian`` is of the log posterior;
    ``scores`` are gradients of the log likelihood, record by record; ``log_posteriors`` takes many θ, row by row.
    """

    start: np.ndarray
    unravel: Callable[[Any], Any]
    traced: Callable[[Any, Any], Any]
    log_posterior: Callable[[np.ndarray, Any], float]
    gradient: Callable[[np.ndarray, Any], np.ndarray]
    hessian: Callable[[np.ndarray, Any], np.ndarray]
    scores: Callable[[np.ndarray, Any], np.ndarray]
    log_posteriors: Callable[[np.ndarray, Any], np.ndarray]


@lru_cache(maxsize=8)
def density(problem: Problem, warped: bool = False) -> Density:
    """The log posterior of a problem; ``warped``, that of what ``problem.warp`` makes the parameters of."""
    model = problem.model
    init = model.init(jax.random.key(0)) if callable(model.init) else model.init
    with jax.enable_x64(True):
        start, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), init))

    def record_log_likelihood(theta: Any, record: Any) -> Any:
        return model.log_likelihood(unravel(theta), record)

    def traced(theta: Any, records: Any) -> Any:
        volume = 0.0
        if warped:
            assert problem.warp is not None
            volume = jnp.linalg.slogdet(jax.jacfwd(problem.warp)(theta))[1]
            theta = problem.warp(theta)
        terms = jax.vmap(record_log_likelihood, (None, 0))(theta, records)
        return jnp.sum(terms) + model.log_prior(unravel(theta)) + volume

    def hessian(theta: Any, records: Any) -> Any:
        """Column by column: the memory of one gradient, whatever the dimension."""
        gradient = jax.grad(traced)
        columns = jax.lax.map(
            lambda direction: jax.jvp(lambda t: gradient(t, records), (theta,), (direction,))[1], jnp.eye(len(theta))
        )
        return (columns + columns.T) / 2

    def log_posteriors(thetas: Any, records: Any) -> Any:
        return jax.lax.map(lambda theta: traced(theta, records), thetas, batch_size=BLOCK)

    scores = jax.vmap(jax.grad(record_log_likelihood), (None, 0))
    single = {"log_posterior": traced, "gradient": jax.grad(traced), "hessian": hessian}
    compiled = {name: in_double(function) for name, function in single.items()}
    return Density(
        np.asarray(start),
        unravel,
        traced,
        scores=in_double(scores),
        log_posteriors=in_double(log_posteriors),
        **compiled,
    )


def in_double(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``function`` compiled, its arguments and values in double precision."""
    compiled = jax.jit(function)

    def run(theta: Any, records: Any) -> Any:
        with jax.enable_x64(True):
            held = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), records)
            return np.asarray(compiled(jnp.asarray(theta, jnp.float64), held))

    return run
