"""The arguments of a NumPyro model that hold records: columns of a declared table, as the model takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.records import Boolean, Column, Number


@dataclass(frozen=True)
class Argument:
    """An argument with an entry for each record: a declared column, or several side by side.

    A record holds it as float64. The model is given booleans for ``dp.Boolean``, whole numbers for levels (positions in
    their ``labels``) and for whole numbers, and real numbers for others; columns side by side have the widest of these.
    """

    name: str
    columns: tuple[tuple[str, Column], ...]
    stacked: bool = False

    @property
    def levels(self) -> tuple[int, ...]:
        """How many values each column has, 0 for numbers."""
        return tuple(column.n_levels for _, column in self.columns)

    @cached_property
    def dtype(self) -> type:
        return max((_kind(column) for _, column in self.columns), key=(bool, int, float).index)

    @cached_property
    def _centre_and_half(self) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.array([column.bounds for _, column in self.columns]).T
        return (low + high) / 2, np.where(high > low, (high - low) / 2, 1.0)

    def encode(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        """Records' entries from the encoded columns of a table."""
        values = np.stack([encoded[name] for name, _ in self.columns], axis=-1)
        return values if self.stacked else values[..., 0]

    def given(self, values: Any) -> Array:
        """Entries as the model takes them."""
        entries = jnp.asarray(values, float)
        if self.dtype is float:
            return entries
        whole = jnp.round(entries)
        return whole > 0 if self.dtype is bool else whole.astype(int)

    def to_units(self, values: Any) -> Array:
        """Entries as vectors within [−1, 1], by the declared bounds."""
        centre, half = self._centre_and_half
        columns = jnp.asarray(values, float)
        return ((columns if self.stacked else columns[..., None]) - centre) / half

    def from_units(self, units: Any) -> Array:
        """The entries that have these vectors; what lies outside the declared bounds is moved to them."""
        centre, half = self._centre_and_half
        values = centre + half * jnp.clip(jnp.asarray(units, float), -1, 1)
        whole = np.array([_kind(column) is not float for _, column in self.columns])
        values = jnp.where(whole, jnp.round(values), values)
        return values if self.stacked else values[..., 0]

    def within(self, values: Any) -> Array:
        """Entries that the model simulated: whole ones are moved to the bounds, as real ones are; others stay."""
        values = jnp.asarray(values, float)
        centre, half = self._centre_and_half
        low, high = (centre - half, centre + half) if self.stacked else ((centre - half)[0], (centre + half)[0])
        return values if self.dtype is float else jnp.clip(values, low, high)

    def anywhere(self, uniforms: Any) -> Array:
        """Entries from public knowledge alone, by ``uniforms`` (record, column, 3): any level, and numbers within the
        bounds or at them. The share at the bounds is itself uniform from record to record."""
        where, share, at_end = jnp.moveaxis(jnp.asarray(uniforms, float), -1, 0)
        levels = np.array(self.levels)
        numbers = jnp.where(at_end < share[:, :1], jnp.sign(where - 0.5), 2 * where - 1)
        positions = 2 * jnp.floor(where * levels) / np.maximum(levels - 1, 1) - 1
        return self.from_units(jnp.where(levels > 0, positions, numbers))


def _kind(column: Column) -> type:
    if isinstance(column, Boolean) and column.n_levels == 2:
        return bool
    return int if column.n_levels or (isinstance(column, Number) and column.integer) else float


Records = dict[str, Any]


@dataclass(frozen=True)
class Arguments:
    """All arguments of a model: those that hold records, and public constants."""

    per_record: tuple[Argument, ...]
    constants: Mapping[str, Any]

    def __getitem__(self, name: str) -> Argument:
        return next(argument for argument in self.per_record if argument.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(argument.name for argument in self.per_record)

    def given(self, records: Records) -> dict[str, Any]:
        """What the model is called with, for these records."""
        return {argument.name: argument.given(records[argument.name]) for argument in self.per_record} | dict(
            self.constants
        )

    def encode(self, encoded: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {argument.name: argument.encode(encoded) for argument in self.per_record}

    def columns(self) -> list[str]:
        """The columns of the table that are needed."""
        return list(dict.fromkeys(name for argument in self.per_record for name, _ in argument.columns))

    def anywhere(self, key: Array, n: int) -> Records:
        """n records from public knowledge alone, outcomes included."""
        return self.by(jax.random.uniform(key, (n, self._width, 3), float))

    def public(self, n: int) -> Records:
        """The same n records whenever it is asked."""
        records: Records = jax.device_get(self.by(np.random.default_rng(n).random((n, self._width, 3))))
        return records

    @property
    def _width(self) -> int:
        return sum(len(argument.columns) for argument in self.per_record)

    def by(self, uniforms: Any) -> Records:
        """The records that uniform numbers (record, column, 3) stand for."""
        ends = np.cumsum([len(argument.columns) for argument in self.per_record])
        parts = jnp.split(jnp.asarray(uniforms), ends[:-1], axis=1)
        return {arg.name: arg.anywhere(part) for arg, part in zip(self.per_record, parts, strict=True)}


def to_units(arguments: Sequence[Argument], records: Records) -> Array:
    """The entries of these arguments as one vector a record."""
    return jnp.concatenate([argument.to_units(records[argument.name]) for argument in arguments], axis=-1)


def from_units(arguments: Sequence[Argument], units: Array) -> Records:
    """The entries that these vectors stand for."""
    ends = np.cumsum([len(argument.columns) for argument in arguments])
    parts = jnp.split(units, ends[:-1], axis=-1)
    return {argument.name: argument.from_units(part) for argument, part in zip(arguments, parts, strict=True)}
