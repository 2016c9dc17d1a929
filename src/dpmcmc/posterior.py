"""The posterior: the only object that holds records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import positive, whole, within
from dpmcmc.isolation import NotIsolated, check_isolated, each_record
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.models.units import RECORD, unit_of
from dpmcmc.sources import MOST_RECORDS, Arrays, Records, is_records, opened, streamed
from dpmcmc.sources.finite import check_finite


def coarsened(beta: float, n: int) -> float:
    """The temperature β/(β + n) of a coarsened posterior: n records count as N₀ = nβ/(β + n), which is below β.

    For a model that is known to be only roughly right: the posterior given that the records are within an Exp(β) of
    relative entropy of what the model could have produced is approximately this tempered one. ``n`` is public.

    Reference: Miller & Dunson (2018), "Robust Bayesian inference via coarsening"; Heikkilä et al. (2019), sections 2.3
    and 3.2, for private chains.
    """
    temperature: float = positive("beta", beta) / (beta + whole("n", n))
    return temperature


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """A model, its records and a temperature: log π(θ) = log prior(θ) + temperature·Σ log p(xᵢ|θ) + const.

    ``data`` are arrays, or a source of records that are elsewhere (:mod:`dpmcmc.sources`). With arrays it is a pytree
    whose leaves are the records: it goes whole into the compiled function of a chain, and only a mechanism takes it
    apart. Everything else reads ``records``, block by block.

    ``temperature`` below 1 raises the likelihood to that power (the records count as temperature·n). Construct with
    :meth:`check` to have public mistakes refused before any record is used.
    """

    model: ModelLike
    data: PyTree | Records
    temperature: float = 1.0

    @cached_property
    def records(self) -> Records:
        """The records as a source, which gives nothing but totals."""
        return self.data if is_records(self.data) else Arrays(self.data)

    @property
    def types(self) -> PyTree:
        """Shapes and types of one record: public."""
        if is_records(self.data):
            return self.data.types
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), self.data)

    def on_device(self) -> Posterior:
        """The same with its records as JAX arrays: copies, since a program could see a mapped file change.

        NumPy copies them: JAX does so later, while this goes on.
        """
        posterior: Posterior = jax.tree.map(
            lambda leaf: leaf if isinstance(leaf, jax.Array) else jnp.asarray(np.array(leaf)), self
        )
        return posterior

    @property
    def n(self) -> int:
        return self.data.n if is_records(self.data) else jax.tree.leaves(self.data)[0].shape[0]

    def record_log_likelihoods(self, theta: PyTree) -> Array:
        """log p(xᵢ|θ) for every record: private, and only ever handed to a mechanism.

        Computed in the precision of the records: real parameters are rounded to it first, so that records held in
        single precision, at half the memory and time, are not converted at every step.

        Guarantee: each is a function of its own record and θ, as compiled (docs/theory/isolation.md).
        """
        densities: Array = each_record(self.model.log_likelihood, (in_precision_of(self.data, theta),), self.data)
        return densities

    def __repr__(self) -> str:
        return (
            f"Posterior({type(self.model).__name__}, n={self.n}, temperature={self.temperature:g}, records not shown)"
        )

    def __reduce__(self) -> Any:
        raise TypeError("a Posterior holds private records and cannot be pickled; save the Release instead")

    @classmethod
    def check(cls, model: ModelLike, data: PyTree, temperature: float = 1.0) -> Posterior:
        """The posterior, after every public mistake that can be seen has been refused."""
        check_temperature(temperature)
        check_whole_units(model, data)
        posterior = cls(model, check_data(opened(data, model)), float(temperature))
        check_model(model, posterior.types)
        return posterior


class _Public:
    """The model and temperature of a posterior, equal only to themselves: what a compiled program is made for."""

    def __init__(self, model: ModelLike, temperature: float) -> None:
        self.model, self.temperature = model, temperature

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Public) and self.model is other.model and self.temperature == other.temperature

    def __hash__(self) -> int:
        return hash((id(self.model), self.temperature))


jax.tree_util.register_pytree_node(
    Posterior,
    lambda posterior: ((posterior.data,), _Public(posterior.model, posterior.temperature)),
    lambda public, leaves: Posterior(public.model, leaves[0], public.temperature),
)


def check_temperature(temperature: float) -> None:
    within("temperature", temperature, 0, 1, "(]", "1 is the ordinary posterior")


def check_whole_units(model: ModelLike, data: Any) -> None:
    """Refuse persons that are grouped a part of a table at a time: one of them would be several, each protected alone.

    Reference: docs/theory/units.md.
    """
    unit = unit_of(model)
    if unit != RECORD and streamed(data):
        raise TypeError(
            f"the guarantee is for all records of one {unit!r}, and they may be anywhere in a table that is read in "
            "parts (a path, dp.Files, dp.OnRay, a Ray data set), so persons cannot be read block by block: group them "
            "once, model.encode(table), and give the arrays, in memory or mapped from files"
        )


def start(model: ModelLike, key: Any) -> PyTree:
    """The public starting point, drawn with ``key`` if the model draws it. Real parameters are float64, always.

    Their type, and so that of all draws, must not depend on the records: one 1.5 among whole numbers is enough to
    change the type of a column.
    """
    init = model.init(key) if callable(model.init) else model.init
    leaves = jax.tree.leaves(init)
    if not leaves:
        raise ValueError(f"model.init has no parameters: {init!r}")

    def cast(leaf: Any) -> Array:
        array = jnp.asarray(leaf)
        return array.astype(jnp.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree.map(cast, init)


def in_precision_of(data: PyTree, theta: PyTree) -> PyTree:
    """Real parameters in the widest real type of the records; as they are, if no record holds a real number.

    Types of records are public (docs/sharp-edges.md). Never below single precision.
    """
    real = [leaf.dtype for leaf in jax.tree.leaves(data) if jnp.issubdtype(leaf.dtype, jnp.floating)]
    if not real:
        return theta
    widest = jnp.result_type(jnp.float32, *real)
    given = jax.tree.map(jnp.asarray, theta)
    return jax.tree.map(lambda leaf: leaf.astype(widest) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf, given)


def check_data(data: PyTree) -> PyTree | Records:
    """Records as arrays with one common leading axis, or their source; all numbers finite."""
    if is_records(data):
        if not getattr(data, "checked", False):
            check_finite(data)  # a table in text is counted by the way
            _check_number(data.n)
            data.checked = True
        return data
    if hasattr(data, "to_dict") and hasattr(data, "columns"):  # a data frame is a mapping of its columns
        data = {str(name): _column(data[name]) for name in data.columns}
    named, tree = jax.tree_util.tree_flatten_with_path(data)
    if not named:
        raise ValueError("the data hold no arrays; give an array or a pytree of arrays with a common leading axis")
    arrays = {}
    for path, leaf in named:
        array = leaf if isinstance(leaf, jax.Array) else np.asarray(leaf)
        name = f"data{jax.tree_util.keystr(path)}"
        if array.dtype == object or array.dtype.kind in "USMmOV":
            raise TypeError(f"{name} has dtype {array.dtype}; records must be numbers: encode them first")
        if array.ndim == 0:
            raise ValueError(f"{name} is a single number; records need a leading axis, one entry per record")
        arrays[name] = array
    lengths = {name: array.shape[0] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise ValueError(f"the arrays disagree on the number of records ({listed}); the first axis must be common")
    _check_number(next(iter(lengths.values())))
    made = jax.tree_util.tree_unflatten(tree, list(arrays.values()))
    check_finite(Arrays(made))
    return made


def _check_number(n: int) -> None:
    if n == 0:
        raise ValueError("the data are empty: 0 records")
    if n > MOST_RECORDS:
        raise ValueError(f"totals of up to {MOST_RECORDS:,} records fit into 64 bits, got {n:,}; take a subset of them")


def _column(values: Any) -> np.ndarray:
    """A column of a data frame; numbers and booleans are float64, as the type that they have there may be due to the
    value of one record."""
    array = np.asarray(values)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else array


def _check_record(model: ModelLike, theta: PyTree, record: PyTree) -> None:
    """A model that simulates records says what one looks like; broadcasting would hide a record of another shape."""
    simulate = getattr(model, "simulate", None)
    if simulate is None:
        return
    key = jax.random.key(0)
    try:
        made = jax.eval_shape(lambda key, theta: simulate(key, theta, 1), key, theta)  # much faster than simulating
    except Exception:  # a simulator that cannot be traced
        made = simulate(key, theta, 1)
    expected = jax.tree.map(lambda leaf: np.shape(leaf)[1:], made)
    found = jax.tree.map(lambda leaf: leaf.shape, record)
    if expected != found:
        raise ValueError(
            f"a record has shape {found}, but the model simulates records of shape {expected}; reshape or encode the "
            "data"
        )


def check_model(model: ModelLike, record: PyTree) -> None:
    """The log likelihood gives one real number per record, of that record alone, and the prior allows the start.
    ``record`` is the shapes and types of one."""
    with jax.enable_x64(True):
        theta = start(model, jax.random.key(0))
        _check_record(model, theta, record)
        try:
            of_record = check_isolated(model.log_likelihood, theta, record)
        except NotIsolated:
            raise
        except (KeyError, IndexError, TypeError, ValueError) as error:
            shapes = jax.tree.map(lambda leaf: leaf.shape, record)
            raise ValueError(
                f"log_likelihood fails on one of these records, of shape {shapes}: {type(error).__name__}: {error}. "
                "Are they encoded as the model expects (model.encode(table, ...))?"
            ) from error
        for name, shape in (("log_likelihood", of_record), ("log_prior", jax.eval_shape(model.log_prior, theta))):
            if not hasattr(shape, "shape") or shape.shape != ():
                got = getattr(shape, "shape", type(shape).__name__)
                raise ValueError(
                    f"{name} must return one number (shape ()), got shape {got}; "
                    + (
                        "write it for a single record and sum over its entries"
                        if name == "log_likelihood"
                        else "sum it"
                    )
                )
            if not jnp.issubdtype(shape.dtype, jnp.floating):
                raise TypeError(f"{name} must return a real floating number, got dtype {shape.dtype}")
        log_prior = float(jax.jit(model.log_prior)(theta))
    if not math.isfinite(log_prior):
        raise ValueError(
            f"log_prior(init) = {log_prior}: the starting point lies outside the prior's support; "
            f"choose an init where the prior is positive"
        )
