"""What is summed over records: vectors of one record each, functions of public arguments, compiled once for a model.

The same functions are used on simulated records, where they are public, and by :mod:`dpmcmc.scores.reader`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.isolation import each_record
from dpmcmc.models.base import PyTree, has
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores.matrices import triangle

Arguments = tuple[Any, Any]
Vectors = Callable[[RaveledModel, Arguments, PyTree], Array]
"""(model, public arguments, block of records) → one row a record."""

LARGEST = 20.0  # logarithm of a ratio of densities
MEAN_WEIGHT = 0.5  # of the covariates themselves, beside their products


def covariates_of(model: RaveledModel, records: PyTree) -> Array:
    """The covariates, one row a record, within [−1, 1]."""
    rows = each_record(model.model.covariates, (), records)
    return jnp.clip(jnp.asarray(rows, jnp.float64).reshape(rows.shape[0], -1), -1.0, 1.0)


def described(model: RaveledModel, records: PyTree) -> Array:
    """The covariates and, in the last column, the outcome, if the model can tell it."""
    rows = covariates_of(model, records)
    if not has(model.model, "response"):
        return rows
    outcomes = jnp.asarray(each_record(model.model.response, (), records), jnp.float64).reshape(-1, 1)
    return jnp.concatenate([rows, jnp.clip(outcomes, -1.0, 1.0)], axis=1)


def moments(model: RaveledModel, arguments: Arguments, records: PyTree) -> Array:
    """First and second moments of the covariates, less a centre and times a root."""
    centre, root = arguments
    away = (covariates_of(model, records) - centre) @ root
    where, weights = triangle(away.shape[1])
    return jnp.concatenate([MEAN_WEIGHT * away, away[:, where[0]] * away[:, where[1]] * weights], axis=1)


def scores(model: RaveledModel, arguments: Arguments, records: PyTree) -> Array:
    """∇ log p(x|θ), times a root."""
    theta, root = arguments
    return _gradients(model, theta, records) @ root.T


def curvatures(model: RaveledModel, arguments: Arguments, records: PyTree) -> Array:
    """−∇² log p(x|θ) with a root on both sides: the upper triangle. The root may have fewer rows than parameters."""
    theta, root = arguments
    where, weights = triangle(root.shape[0])

    def one(theta: Array, root: Array, record: PyTree) -> Array:
        hessian = jax.hessian(lambda flat: _log_likelihood(model, flat, record))(theta)
        return -(root @ hessian @ root.T)[where] * weights

    return each_record(one, (theta, root), records)


def own_curvatures(model: RaveledModel, arguments: Arguments, records: PyTree) -> Array:
    """The diagonal of ∇² log p(x|θ), without its sign, with some units: each row of those is the unit of one number."""
    theta, units = arguments

    def one(theta: Array, units: Array, record: PyTree) -> Array:
        return units @ jnp.abs(jnp.diagonal(jax.hessian(lambda flat: _log_likelihood(model, flat, record))(theta)))

    return each_record(one, (theta, units), records)


@lru_cache(maxsize=64)
def on_public(model: RaveledModel, vectors: Vectors) -> Any:
    """The vectors of simulated records, values that are not finite as 0."""
    return jax.jit(lambda arguments, records: jnp.nan_to_num(vectors(model, arguments, records), posinf=0, neginf=0))


@lru_cache(maxsize=64)
def information(model: RaveledModel) -> Any:
    """(θ, records) → minus the mean Hessian of the log likelihood."""

    def mean(flat: Array, records: PyTree) -> Array:
        return jnp.mean(jax.vmap(lambda record: _log_likelihood(model, flat, record))(records))

    return jax.jit(lambda flat, records: -jax.hessian(mean)(flat, records))


@lru_cache(maxsize=64)
def clipped_moments(model: RaveledModel) -> Any:
    """Mean and covariance of clipped scores at a centre, of records simulated at θ, and the mean's derivative in θ.

    ∂ E_θ[f] = E_θ[f ∇ log p(x|θ)ᵀ]: no simulation is differentiated.
    """

    def run(key: Array, theta: Array, x: Array, arguments: Arguments, clip: Array) -> tuple[Array, Array, Array]:
        centre, root = arguments
        records = _simulate(model, key, theta, x)
        features = jnp.nan_to_num(scores(model, (centre, root), records) / clip, posinf=0, neginf=0)
        features = features / jnp.maximum(jnp.linalg.norm(features, axis=1, keepdims=True), 1.0)
        away = jnp.nan_to_num(_gradients(model, theta, records), posinf=0, neginf=0)
        count = features.shape[0]
        mean = features.mean(axis=0)
        return mean, features.T @ (away - away.mean(axis=0)) / count, (features - mean).T @ (features - mean) / count

    return jax.jit(run)


@lru_cache(maxsize=64)
def bent_moments(model: RaveledModel) -> Any:
    """What is not linear in a move from the centre to θ, of the mean of clipped scores; and of its derivative.

    E_θ[f] = E_c[w f] with w = p(x|θ)/p(x|c), so E_c[(w − 1 − s_cᵀ(θ − c)) f] is left of it: small, and so is the error
    of simulating it.
    """

    def run(theta: Array, records: PyTree, arguments: Arguments, clip: Array) -> tuple[Array, Array]:
        centre, root = arguments
        features = jnp.nan_to_num(scores(model, (centre, root), records) / clip, posinf=0, neginf=0)
        features = features / jnp.maximum(jnp.linalg.norm(features, axis=1, keepdims=True), 1.0)
        here, there = (jnp.nan_to_num(_gradients(model, at, records), posinf=0, neginf=0) for at in (centre, theta))
        more = log_ratios(model, theta, centre, records)
        left = jnp.expm1(more) - here @ (theta - centre)
        count = features.shape[0]
        return left @ features / count, features.T @ (jnp.exp(more)[:, None] * there - here) / count

    return jax.jit(run)


def log_ratios(model: RaveledModel, theta: Array, centre: Array, records: PyTree) -> Array:
    """log p(x|θ)/p(x|c), within what exp can bear."""

    def one(record: PyTree) -> Array:
        return _log_likelihood(model, theta, record) - _log_likelihood(model, centre, record)

    return jnp.clip(jnp.nan_to_num(jax.vmap(one)(records)), -LARGEST, LARGEST)


@lru_cache(maxsize=64)
def simulate(model: RaveledModel) -> Any:
    """(key, θ, covariates) → records."""
    return jax.jit(lambda key, theta, x: _simulate(model, key, theta, x))


@lru_cache(maxsize=64)
def fit_of(model: RaveledModel) -> Any:
    """(θ, records, weight) → minus the log posterior of records that count as so many, and its gradient."""

    def cost(flat: Array, records: PyTree, weight: Array) -> Array:
        each = jax.vmap(lambda record: _log_likelihood(model, flat, record))(records)
        return -weight * jnp.mean(each) - model.log_prior(flat)

    return jax.jit(jax.value_and_grad(cost))


@lru_cache(maxsize=64)
def log_priors(model: RaveledModel) -> Any:
    """θ, one row a place → log priors."""
    return jax.jit(jax.vmap(model.log_prior))


@lru_cache(maxsize=64)
def prior_at(model: RaveledModel) -> Any:
    """θ → log prior, its gradient and Hessian."""

    def run(flat: Array) -> tuple[Array, Array, Array]:
        return model.log_prior(flat), jax.grad(model.log_prior)(flat), jax.hessian(model.log_prior)(flat)

    return jax.jit(run)


def _simulate(model: RaveledModel, key: Array, theta: Array, x: Array) -> PyTree:
    """Records with covariates ``x``; for a model without, as many as ``x`` has rows."""
    if has(model.model, "simulate_given"):
        return model.model.simulate_given(key, model.unravel(theta), x)
    return model.model.simulate(key, model.unravel(theta), x.shape[0])


def _log_likelihood(model: RaveledModel, flat: Array, record: PyTree) -> Array:
    return jnp.asarray(model.model.log_likelihood(model.unravel(flat), record), jnp.float64)


def _gradients(model: RaveledModel, theta: Array, records: PyTree) -> Array:
    one = jax.grad(lambda flat, record: _log_likelihood(model, flat, record))
    return each_record(one, (theta,), records)
