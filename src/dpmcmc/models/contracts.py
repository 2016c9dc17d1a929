"""What every model must do, for a user's own family as for the built-in ones.

    check_model(PoissonRegression({"age": (0, 100)}))      # raises AssertionError, and says what is wrong

The checks simulate from the model; no record is needed. Each statistical one compares averages with zero at 5 standard
errors: a false alarm in two million for each average, if the seed were drawn anew.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc.models.base import ModelLike, PyTree, has

STANDARD_ERRORS = 5.0


def check_model(model: ModelLike, theta: PyTree | None = None, n: int = 20_000, seed: int = 0) -> None:
    """Everything that can be checked of ``model`` at ``theta`` (left out: a draw of the prior, or the start)."""
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), 5)
        check_start(model)
        given: Any = model
        if theta is None:
            start = model.init(keys[0]) if callable(model.init) else model.init
            theta = given.sample_prior(keys[0]) if has(model, "sample_prior") else start
        if has(model, "sample_prior"):
            check_prior_draws(model, keys[1], n)
        if has(model, "simulate"):
            records = given.simulate(keys[2], theta, n)
            check_scores(model, theta, records)
            if has(model, "log_ratio_bound"):
                check_bound(model, theta, records, keys[3])
            if has(model, "covariates"):
                check_covariates(model, theta, records, keys[4])
            if has(model, "response"):
                check_response(model, records)


def check_start(model: ModelLike) -> None:
    """The prior is positive where the model starts."""
    start = model.init(jax.random.key(0)) if callable(model.init) else model.init
    log_prior = float(model.log_prior(jax.tree.map(jnp.asarray, start)))
    assert np.isfinite(log_prior), f"log_prior(init) = {log_prior}: move init to where the prior is positive"


def check_scores(model: ModelLike, theta: PyTree, records: PyTree, source: str = "simulate") -> None:
    """Simulated records are those of the log likelihood: scores average to zero, their squares to minus the Hessian.

    Where the log likelihood of a record is multiplied by a weight w, so that its score has w² and its Hessian w, the
    squares are over w; records without weight say nothing.
    """
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, theta))

    def log_likelihood(raveled: Any, record: PyTree) -> Any:
        return model.log_likelihood(unravel(raveled), record)

    scores = np.asarray(jax.jit(jax.vmap(jax.grad(log_likelihood), (None, 0)))(flat, records))
    curvature = np.asarray(jax.jit(jax.vmap(jax.hessian(log_likelihood), (None, 0)))(flat, records))
    assert np.all(np.isfinite(scores)), "the gradient of log_likelihood is not finite at simulated records"
    _averages_to_zero(scores, "the mean score of simulated records", f"{source} and log_likelihood disagree")
    weights = np.broadcast_to(jax.vmap(model.weight)(records) if has(model, "weight") else 1.0, len(scores))  # type: ignore[attr-defined]
    once = scores / np.where(weights > 0, weights, 1.0)[:, None]
    both = once[:, :, None] * scores[:, None, :] + curvature
    _averages_to_zero(both.reshape(len(both), -1), "E[score·scoreᵀ + Hessian]", f"{source} and log_likelihood disagree")


def check_prior_draws(model: ModelLike, key: Any, n: int) -> None:
    """Draws of the prior are those of its density: its scores average to zero."""
    given: Any = model
    draws = jax.jit(jax.vmap(given.sample_prior))(jax.random.split(key, n))
    scores = jax.jit(jax.vmap(lambda theta: ravel_pytree(jax.grad(model.log_prior)(theta))[0]))(draws)
    _averages_to_zero(np.asarray(scores), "the mean score of the prior", "sample_prior and log_prior disagree")


def check_bound(model: ModelLike, theta: PyTree, records: PyTree, key: Any) -> None:
    """No simulated record's log ratio exceeds the proven bound, near or far."""
    given: Any = model
    flat, unravel = ravel_pytree(jax.tree.map(jnp.asarray, theta))
    one = jax.jit(jax.vmap(model.log_likelihood, (None, 0)))
    for scale, k in zip((0.01, 0.3, 3.0), jax.random.split(key, 3), strict=True):
        there = unravel(flat + scale * jax.random.normal(k, flat.shape))
        largest = float(jnp.max(jnp.abs(one(there, records) - one(theta, records))))
        bound = float(given.log_ratio_bound(theta, there))
        assert largest <= bound * (1 + 1e-9), f"a log ratio of {largest:.6g} exceeds log_ratio_bound = {bound:.6g}"


def check_covariates(model: ModelLike, theta: PyTree, records: PyTree, key: Any) -> None:
    """Covariates lie in [−1, 1], and records simulated with them have them, the shape of records and their law."""
    given: Any = model
    assert has(model, "simulate_given"), "covariates and simulate_given belong together; give both or neither"
    x = jax.vmap(given.covariates)(records)
    assert jnp.ndim(x) == 2, f"covariates must give a vector for each record, got shape {jnp.shape(x)[1:]}"
    largest = float(jnp.max(jnp.abs(x)))
    assert largest <= 1, f"a covariate of {largest:.6g} is outside [−1, 1]: scale it by public bounds and clip it"
    if has(model, "levels"):
        check_levels(given.levels, np.asarray(x))
    again = given.simulate_given(key, theta, x)
    shapes, expected = (jax.tree.map(jnp.shape, tree) for tree in (again, records))
    assert shapes == expected, f"simulate_given gives records of shapes {shapes}, simulate of {expected}"
    off = float(jnp.max(jnp.abs(jax.vmap(given.covariates)(again) - x)))
    assert off <= 1e-6, f"the covariates of records from simulate_given are off by {off:.3g} from those it was given"
    check_scores(model, theta, again, "simulate_given")


def check_levels(levels: Any, x: np.ndarray) -> None:
    """There is one number a covariate, and those with levels have no other values."""
    assert len(levels) == x.shape[1], f"levels has {len(levels)} numbers for {x.shape[1]} covariates; give one for each"
    for column, count in enumerate(levels):
        steps = (x[:, column] + 1) * (count - 1) / 2 if count else np.zeros(1)
        off = float(np.max(np.abs(steps - np.round(steps))))
        assert off < 1e-3, (
            f"covariate {column} has values between its {count} levels, which are evenly spaced on [−1, 1]"
        )


def check_response(model: ModelLike, records: PyTree) -> None:
    """Records made again from their covariates and responses have the same ones, where those lie in [−1, 1]."""
    given: Any = model
    assert has(model, "respond"), "response and respond belong together; give both or neither"
    x, responses = jax.vmap(given.covariates)(records), jax.vmap(given.response)(records)
    assert jnp.ndim(responses) == 1, f"response must give one number a record, got shape {jnp.shape(responses)[1:]}"
    responses = jnp.clip(responses, -1, 1)
    again = given.respond(x, responses)
    shapes, expected = (jax.tree.map(jnp.shape, tree) for tree in (again, records))
    assert shapes == expected, f"respond gives records of shapes {shapes}, simulate of {expected}"
    for name, seen, wanted in (("response", given.response, responses), ("covariates", given.covariates, x)):
        off = float(jnp.max(jnp.abs(jax.vmap(seen)(again) - wanted)))
        assert off <= 1e-6, f"the {name} of records from respond are off by {off:.3g} from those it was given"


def _averages_to_zero(values: np.ndarray, what: str, why: str) -> None:
    mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
    far = np.abs(mean) > STANDARD_ERRORS * error + 1e-9
    assert not far.any(), f"{what} is {mean[far][0]:.3g} ± {error[far][0]:.2g}, not 0: {why}"
