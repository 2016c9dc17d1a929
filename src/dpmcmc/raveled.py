"""A model over one vector of parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.isolation import digest_of, each_record, has_rules, traced
from dpmcmc.models.base import ModelLike, PyTree, WithInit, has
from dpmcmc.posterior import start


class RaveledModel:
    """A model over raveled parameters. Equal for equal models that compute the same, so compiled functions are shared.

    ``program`` says what the model computed when this was made: an object whose attribute was changed since then is
    another model.
    """

    def __init__(self, model: Any, theta: PyTree, records: PyTree | None = None) -> None:
        leaves, tree = jax.tree.flatten(theta)
        self.program = program_of(model, theta, records)
        self.model, self.tree = model, tree
        self.shapes = tuple(np.shape(leaf) for leaf in leaves)
        self.dimension = int(sum(np.prod(shape, dtype=int) for shape in self.shapes))

    @classmethod
    def of(cls, model: ModelLike, records: PyTree | None = None) -> RaveledModel:
        """The model whatever its start, so that programs are compiled once for all starts.

        ``records`` are those whose log likelihood will be asked for, if they are known (their types alone are used):
        else such as the model simulates.
        """
        inner = model.model if isinstance(model, WithInit) else model
        with jax.enable_x64(True):
            return cls(inner, start(model, jax.random.key(0)), records)

    def __hash__(self) -> int:
        try:
            return hash((self.model, self.program, self.tree, self.shapes))
        except TypeError:
            return hash((id(self.model), self.program))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RaveledModel):
            return False
        if (self.program, self.tree, self.shapes) != (other.program, other.tree, other.shapes):
            return False
        return self.model is other.model or (type(self.model) is type(other.model) and self.model == other.model)

    def unravel(self, flat: Array) -> PyTree:
        ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in self.shapes])
        parts = [part.reshape(s) for part, s in zip(jnp.split(flat, ends[:-1]), self.shapes, strict=True)]
        return jax.tree.unflatten(self.tree, parts)

    def ravel(self, theta: PyTree) -> Array:
        return jnp.concatenate([jnp.ravel(jnp.asarray(leaf, jnp.float64)) for leaf in jax.tree.leaves(theta)])

    def flat(self, theta: PyTree) -> np.ndarray:
        """:meth:`ravel`, of numbers: nothing is compiled."""
        return np.concatenate([np.ravel(np.asarray(leaf, np.float64)) for leaf in jax.tree.leaves(theta)])

    def positions(self, draws: np.ndarray) -> PyTree:
        """Parameters by rows of numbers (..., parameter)."""
        ends = np.cumsum([int(np.prod(shape, dtype=int)) for shape in self.shapes])
        pairs = zip(np.split(draws, ends[:-1], axis=-1), self.shapes, strict=True)
        return jax.tree.unflatten(self.tree, [part.reshape(*draws.shape[:-1], *shape) for part, shape in pairs])

    def log_prior(self, flat: Array) -> Array:
        return jnp.asarray(self.model.log_prior(self.unravel(flat)), jnp.float64)

    def values(self, anchors: Array, records: PyTree) -> Array:
        """log p(record|anchor) in float64, one row a record."""
        thetas = jax.vmap(self.unravel)(jnp.asarray(anchors))
        one = jax.vmap(self.model.log_likelihood, in_axes=(0, None))
        values: Array = each_record(one, (thetas,), records).astype(jnp.float64)
        return values


@lru_cache(maxsize=16)
def compiled_values(model: RaveledModel) -> Any:
    """:meth:`RaveledModel.values`, compiled once for equal models."""
    return jax.jit(model.values)


def program_of(model: Any, theta: PyTree, records: PyTree | None = None) -> Any:
    """What a model computes now: a digest of its programs, or an object of its own where they cannot be told.

    Rules for derivatives that log likelihood and prior bring along are part of it, as these are differentiated.
    """
    digests = []
    try:
        for function, arguments in _functions(model, theta, records):
            program, _ = traced(function, *arguments)
            digests.append(digest_of(program))
            if has_rules(program) and function in (model.log_likelihood, model.log_prior):
                digests += _of_derivatives(function, *arguments)
    except Exception:  # NotTold, or a function that cannot be traced: refused where it is used, with a reason
        return object()
    return tuple(digests)


def _functions(model: Any, theta: PyTree, records: PyTree | None) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The functions of a model that compiled programs are made of, each with arguments of the right types."""
    key = jax.random.key(0)
    yield model.log_prior, (theta,)
    if has(model, "sample_prior"):
        yield model.sample_prior, (key,)
    if has(model, "simulate"):
        yield lambda key, theta: model.simulate(key, theta, 1), (key, theta)
        simulated = jax.eval_shape(lambda key, theta: model.simulate(key, theta, 1), key, theta)
        records = simulated if records is None else records
    if records is None:
        return
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), records)
    yield model.log_likelihood, (theta, one)
    for name in ("covariates", "response", "weight"):
        if has(model, name):
            yield getattr(model, name), (one,)
    if has(model, "simulate_given"):
        x = jax.eval_shape(lambda record: jnp.ravel(jnp.asarray(model.covariates(record), jnp.float64))[None], one)
        yield model.simulate_given, (key, theta, x)


def _of_derivatives(function: Any, theta: PyTree, *record: PyTree) -> list[bytes]:
    """Digests of scores and curvatures, as far as there are any: a rule may be for one kind of derivative only."""

    def real(theta: PyTree, *record: PyTree) -> Array:
        return jnp.asarray(function(theta, *record), jnp.float64)

    digests = []
    for derivative in (jax.jacfwd, jax.grad, jax.hessian):
        with contextlib.suppress(TypeError):
            digests.append(digest_of(traced(derivative(real), theta, *record)[0]))
    return digests
