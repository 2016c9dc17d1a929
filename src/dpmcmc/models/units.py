"""Privacy of persons, or other units, with several records each: a model for which one record is a person."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import text, whole
from dpmcmc.models.base import PyTree, WithInit, check_model_like, has
from dpmcmc.records import check_columns, identities, identities_of

ROWS, COUNTS = "rows", "counts"
RECORD = "record"  # the unit of all other models


@dataclass(frozen=True)
class PerUnit:
    """``model`` with all records of a person protected together, and not each by itself.

        people = dp.PerUnit(model, "person", most=5)
        release = dp.sample(people, people.encode(table), epsilon=1.0, delta=1e-6)

    ``unit`` is the column that says whose record it is, and what a guarantee calls it. Of a person with more than
    ``most`` records, so many count, chosen by chance. Parameters, priors and likelihood are those of ``model``: records
    are independent given the parameters, those of one person too.

    A record of this model is a person: ``{"rows": records (most, …), "counts": 1 or 0 for each of them}``, in random
    order, the rows that do not count being copies of the first. So whatever is proven for one record holds for a
    person: log likelihoods, scores and curvatures are summed over a person's rows *before* they are clipped, in every
    method, and persons are what is subsampled. The number of persons is public, how many records each has is not.

    Reference: docs/theory/units.md.
    """

    model: Any
    unit: str
    most: int

    def __post_init__(self) -> None:
        if isinstance(self.model, PerUnit | WithInit):
            raise TypeError(f"PerUnit takes the model of one record, and init= is given to dp.sample; got {self.model}")
        check_model_like("PerUnit: model", self.model)
        text("PerUnit: unit", self.unit, "it is the name of the column that says whose record it is")
        if self.unit.strip().casefold() == RECORD:
            raise ValueError(
                f"unit cannot be called {self.unit!r}, as guarantees for single records are: rename the column"
            )
        whole("PerUnit: most", self.most, remedy="it is the number of records of a person that count")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "model":
            raise AttributeError(name)
        return getattr(self.model, name)

    # records

    def encode(self, table: Any, *arguments: Any, seed: int | None = None, **settings: Any) -> dict[str, PyTree]:
        """Persons from a table with a record in each row, read as ``model.encode`` does; settings are for that.

        ``seed`` is that of :meth:`group`.
        """
        table = check_columns(table, (self.unit,))
        records = self.model.encode(table, *arguments, **settings)
        return self.group(records, identities(table, self.unit), seed)

    def group(self, records: PyTree, of: Any, seed: int | None = None) -> dict[str, PyTree]:
        """Persons from records of ``model``; ``of`` says whose each is, by numbers or text.

        The same ``seed`` chooses the same rows again, as a chain that is resumed needs it.

        Guarantee: for every seed, which rows of a person count and in which order depends on how many that person has
        and on the seed, and not on anybody else.
        """
        if seed is not None:
            whole("seed", seed, 0)
        persons, codes = np.unique(identities_of(of, self.unit), return_inverse=True)
        if {np.shape(leaf)[0] for leaf in jax.tree.leaves(records)} != {len(codes)}:
            raise ValueError(
                f"records and identities ({self.unit!r}) differ in number: of must have one for each record, and has "
                f"{len(codes)}"
            )
        held = np.bincount(codes)
        by_person = np.argsort(codes, kind="stable")
        first = np.cumsum(held) - held
        number = np.arange(len(codes)) - np.repeat(first, held)  # which of the person's own records it is
        chance = _chances(persons[codes[by_person]], number, seed)
        ordered = by_person[np.lexsort((chance, codes[by_person]))]
        place = np.arange(self.most)
        counts = place < held[:, None]
        rows = ordered[first[:, None] + np.where(counts, place, 0)]
        return {ROWS: jax.tree.map(lambda leaf: np.asarray(leaf)[rows], records), COUNTS: counts.astype(np.float64)}

    # the model of a person

    @property
    def init(self) -> PyTree:
        return self.model.init

    def log_prior(self, theta: PyTree) -> Any:
        return self.model.log_prior(theta)

    def log_likelihood(self, theta: PyTree, record: PyTree) -> Array:
        """Σ log p(row|θ) over the person's rows."""
        each = jax.vmap(lambda row: self.model.log_likelihood(theta, row))(record[ROWS])
        return jnp.sum(jnp.where(record[COUNTS] > 0, each, 0))

    @property
    def log_ratio_bound(self) -> Callable[[PyTree, PyTree], Any] | None:
        """As many times that of one record as a person may have."""
        if not has(self.model, "log_ratio_bound"):
            return None
        bound = self.model.log_ratio_bound
        return lambda theta, theta_new: self.most * bound(theta, theta_new)

    # what persons look like: one of their rows, and how many they have

    @property
    def covariates(self) -> Callable[[PyTree], Array] | None:
        """The covariates of the first row, which is any of the person's, and how many rows there are."""
        return self._covariates if has(self.model, "simulate") and self._described else None

    @property
    def _described(self) -> bool:
        return has(self.model, "covariates") or self.most > 1

    def _covariates(self, record: PyTree) -> Array:
        row = jax.tree.map(lambda leaf: leaf[0], record[ROWS])
        own = jnp.ravel(self.model.covariates(row)) if has(self.model, "covariates") else jnp.zeros(0)
        return jnp.append(own, self._as_unit(jnp.sum(record[COUNTS]))) if self.most > 1 else own

    def _as_unit(self, count: Array) -> Array:
        """1 to ``most`` as −1 to 1."""
        return 2 * (count - 1) / (self.most - 1) - 1

    @cached_property
    def levels(self) -> tuple[int, ...] | None:
        if self.covariates is None:
            return None
        own = tuple(self.model.levels) if has(self.model, "levels") else (0,) * self._width
        return (*own, self.most) if self.most > 1 else own

    @property
    def _width(self) -> int:
        if not has(self.model, "covariates"):
            return 0

        def one(key: Array) -> Array:
            init = self.model.init(key) if callable(self.model.init) else self.model.init
            x: Array = jax.vmap(self.model.covariates)(self.model.simulate(key, init, 1))
            return x

        return int(np.prod(jax.eval_shape(one, jax.random.key(0)).shape[1:], dtype=int))

    @property
    def simulate(self) -> Callable[[Array, PyTree, int], PyTree] | None:
        """n persons from public knowledge only: any number of rows, of like covariates."""
        return self._simulate if has(self.model, "simulate") else None

    def _simulate(self, key: Array, theta: PyTree, n: int) -> PyTree:
        x_key, count_key, key = jax.random.split(key, 3)
        x = jnp.zeros((n, 0))
        if has(self.model, "covariates"):
            x = jax.vmap(lambda row: jnp.ravel(self.model.covariates(row)))(self.model.simulate(x_key, theta, n))
        if self.most > 1:
            counts = jax.random.randint(count_key, (n, 1), 1, self.most + 1)
            x = jnp.concatenate([x, self._as_unit(counts).astype(x.dtype)], axis=1)
        return self._simulate_given(key, theta, x)

    @property
    def simulate_given(self) -> Callable[[Array, PyTree, Array], PyTree] | None:
        """Persons whose rows all have the covariates of one row of ``x``, and as many of them as its last number says.

        Where a person's covariates change, the information of all persons is the same; norms of scores may not be, and
        those of the real persons are counted.
        """
        return self._simulate_given if self.covariates is not None else None

    def _simulate_given(self, key: Array, theta: PyTree, x: Array) -> PyTree:
        def rows(key: Array) -> PyTree:
            if has(self.model, "covariates"):
                return self.model.simulate_given(key, theta, self._own(x))
            return self.model.simulate(key, theta, x.shape[0])

        drawn = jax.vmap(rows, out_axes=1)(jax.random.split(key, self.most))
        return {ROWS: drawn, COUNTS: self._counts(x)}

    def _own(self, x: Array) -> Array:
        return x[:, :-1] if self.most > 1 else x

    def _counts(self, x: Array) -> Array:
        if self.most == 1:
            return jnp.ones((x.shape[0], 1))
        count = jnp.clip(jnp.round((x[:, -1:] + 1) / 2 * (self.most - 1)) + 1, 1, self.most)
        return (jnp.arange(self.most) < count).astype(float)

    @property
    def response(self) -> Callable[[PyTree], Array] | None:
        """The outcome of the first row."""
        if not has(self.model, "response"):
            return None
        return lambda record: self.model.response(jax.tree.map(lambda leaf: leaf[0], record[ROWS]))

    @property
    def respond(self) -> Callable[[Array, Array], PyTree] | None:
        """Persons with these outcomes, the same in all of their rows."""
        return self._respond if has(self.model, "respond") else None

    def _respond(self, x: Array, responses: Array) -> PyTree:
        rows = self.model.respond(self._own(x), responses)
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf[:, None], self.most, axis=1), rows)
        return {ROWS: repeated, COUNTS: self._counts(x)}

    @property
    def sample_prior(self) -> Callable[[Array], PyTree] | None:
        return getattr(self.model, "sample_prior", None)


def _chances(persons: np.ndarray, numbers: np.ndarray, seed: int | None) -> np.ndarray:
    """A number for each record that looks random, from the seed, its person and which of their records it is."""
    key = secrets.token_bytes(32) if seed is None else hashlib.blake2b(repr(int(seed)).encode()).digest()[:32]
    texts = (f"{number} {person}".encode() for person, number in zip(persons.tolist(), numbers.tolist(), strict=True))
    found = b"".join(hashlib.blake2b(text, digest_size=8, key=key).digest() for text in texts)
    return np.frombuffer(found, dtype=np.uint64)


def unit_of(model: Any) -> str:
    """Whom a guarantee about one record of this model protects: that record, or a person with all of theirs."""
    inner = model.model if isinstance(model, WithInit) else model
    return inner.unit if isinstance(inner, PerUnit) else RECORD
