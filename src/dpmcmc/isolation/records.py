"""A function of one record, for many records at a time: none of them changes what is computed of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from dpmcmc.isolation.primitives import KNOWN, MATRICES, ONE_AT_A_TIME, RANDOM, REMEDIES
from dpmcmc.isolation.walk import equations

PyTree = Any


class NotIsolated(ValueError):
    """A function of one record uses something that cannot be kept from seeing other records."""


def each_record(function: Callable[..., PyTree], public: tuple[PyTree, ...], records: PyTree) -> PyTree:
    """``function(*public, record)`` for every record, one row each: ``jax.vmap`` that keeps records apart.

    ``records`` are arrays with a common leading axis. The function is traced for one record; what runs is that very
    program, for all records at once where every primitive in it keeps them apart, and one record after the other where
    one does not. It must not close over records. :class:`NotIsolated` is raised from shapes and types alone, when the
    function is traced.

    Guarantee: as compiled, bit for bit, a row is a function of its own record, the public values, the number of records
    and its place among them. Reference: docs/theory/isolation.md.
    """
    one = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), records)
    program, tree = traced(function, *public, one)
    apart = kept_apart(program)
    run = jaxpr_as_fun(program)
    given, rows = jax.tree.leaves(public), jax.tree.leaves(records)

    def of_record(given: list[Any], record: list[Any]) -> list[Any]:
        return run(*given, *record)

    made = jax.vmap(of_record, (None, 0))(given, rows) if apart else _one_after_another(of_record, given, rows)
    return jax.tree.unflatten(tree, made)


def _one_after_another(of_record: Callable[..., Any], public: list[Any], records: list[Any]) -> Any:
    """A row for every record, one at a time: also where the whole is under a ``jax.vmap``, of chains or candidates.

    Chains with batches of their own would otherwise go through these side by side, a record of each at a time.
    """

    def rows(public: list[Any], records: list[Any]) -> Any:
        return jax.lax.map(lambda record: of_record(public, record), records)

    alone = jax.custom_batching.custom_vmap(rows)

    @alone.def_vmap
    def several(size: int, batched: Any, public: list[Any], records: list[Any]) -> Any:
        if any(batched[1]):  # records of their own
            leaves, own = [*public, *records], [*batched[0], *batched[1]]

            def one(at: Any) -> Any:
                picked = [leaf[at] if each else leaf for leaf, each in zip(leaves, own, strict=True)]
                return alone(picked[: len(public)], picked[len(public) :])

            made = jax.lax.map(one, jax.numpy.arange(size))
        else:
            side_by_side = jax.vmap(of_record, ([0 if each else None for each in batched[0]], None))
            found = _one_after_another(side_by_side, public, records)
            made = jax.tree.map(lambda leaf: jax.numpy.moveaxis(leaf, 1, 0), found)
        return made, jax.tree.map(lambda _: True, made)

    return _differentiable(alone, rows)(public, records)


def _differentiable(function: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, with the derivatives of ``plain``, which computes the same. They are asked for from outside where
    nothing is protected; all others are taken inside, of one record."""

    def slope(given: Any, along: Any) -> Any:
        leaves, tree = jax.tree.flatten(given)
        ways = jax.tree.leaves(along, is_leaf=lambda way: isinstance(way, SymbolicZero))
        moved = [at for at, way in enumerate(ways) if not isinstance(way, SymbolicZero)]

        def of_moved(*some: Any) -> Any:
            new = dict(zip(moved, some, strict=True))
            return plain(*jax.tree.unflatten(tree, [new.get(at, leaf) for at, leaf in enumerate(leaves)]))

        return jax.jvp(of_moved, [leaves[at] for at in moved], [ways[at] for at in moved])

    found: Any = jax.custom_jvp(function)
    found.defjvp(slope, symbolic_zeros=True)
    return found


def check_isolated(function: Callable[..., PyTree], *arguments: PyTree) -> PyTree:
    """Shapes and types of ``function(*arguments)``, the last of which is one record; refused as in each_record.

    Arguments may be shapes and types alone.
    """
    program, tree = traced(function, *arguments)
    kept_apart(program)
    return jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in program.out_avals])


def traced(function: Callable[..., PyTree], *arguments: PyTree) -> tuple[ClosedJaxpr, Any]:
    """The program of a function as it is now, and the structure of its result.

    JAX remembers programs by their functions; a new function each time makes sure that what a function closes over is
    looked up again.
    """
    program, shape = jax.make_jaxpr(lambda *given: function(*given), return_shape=True)(*arguments)
    if any(equation.primitive.name == "custom_lin" for equation in equations(program)):
        raise TypeError("a rule for derivatives in reverse mode (jax.custom_vjp) has none in forward mode")
    return program, jax.tree.structure(shape)


def kept_apart(program: ClosedJaxpr) -> bool:
    """Whether a program of one record may be run for all at once; refused if it may not be run at all."""
    apart = True
    for equation in equations(program):
        name = equation.primitive.name
        if name not in KNOWN:
            raise NotIsolated(_refusal(name))
        if name in RANDOM and not all(_is_threefry(variable) for variable in (*equation.invars, *equation.outvars)):
            raise NotIsolated(_refusal("rng_bit_generator"))
        apart &= name not in ONE_AT_A_TIME and (name not in MATRICES or jax.default_backend() == "cpu")
    return apart


def _is_threefry(variable: Any) -> bool:
    kind = variable.aval.dtype
    return not jax.dtypes.issubdtype(kind, jax.dtypes.prng_key) or str(kind) == "key<fry>"


def _refusal(name: str) -> str:
    reason = REMEDIES.get(name, "it is not known to keep records apart when all are computed at once")
    return (
        f"a function of a record (log_likelihood, covariates, ...) uses JAX's primitive {name!r}, and {reason}. Write "
        "it with other functions of jax.numpy, jax.scipy or jax.lax (docs/theory/isolation.md lists what is allowed)"
    )
