"""Programs compiled ahead, beside the first releases: only time depends on it.

Everything here is made up: covariates that mean nothing, and no records at all.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from dpmcmc.mechanisms import stream
from dpmcmc.posterior import start
from dpmcmc.privacy import GaussianFilter
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import radius, vectors
from dpmcmc.scores.foresight import SimulatedRecords
from dpmcmc.scores.picture import picture
from dpmcmc.scores.reader import Reader
from dpmcmc.sources import block_rows, like

RELEASES = 4


class NoRecords:
    """A source of no records: what is asked of it is compiled, and is 0."""

    n, temperature = 1, 1.0

    def __init__(self, types: Any) -> None:
        self.types, self.records = types, self

    def total(self, program: Any, arguments: Any = ()) -> np.ndarray:
        nothing = like(self.types, block_rows(self.types))
        return program(jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), nothing), 0, arguments)


@lru_cache(maxsize=64)
def simulations_ahead(raveled: RaveledModel, many: int, covariates: int) -> None:
    """Run once what the stages will on ``many`` simulated records.

    Whatever goes wrong here does so again, and is told, where it matters.
    """
    with suppress(Exception), jax.enable_x64(True):
        key = jax.random.key(0)
        foresight = SimulatedRecords(raveled, key, np.random.default_rng(0).uniform(-1, 1, (many, covariates)))
        theta = raveled.flat(start(raveled.model, key))
        identity = np.eye(len(theta))
        here = picture(foresight.at(theta), identity, many)
        foresight.clipped(here, theta, 1.0)
        foresight.curved((theta, theta), identity).numbers(identity)
        foresight.bent(here, theta, 1.0)


@lru_cache(maxsize=64)
def reads_ahead(raveled: RaveledModel, types: Types) -> None:
    """Run once what the stages will ask of records; as :func:`simulations_ahead`."""
    with suppress(Exception), jax.enable_x64(True):
        theta = raveled.flat(start(raveled.model, jax.random.key(0)))
        rule = GaussianFilter.of_mu(1.0, RELEASES)
        keys = np.zeros((RELEASES, *stream.KEY_SHAPE), np.uint64)
        reader = Reader(raveled, NoRecords(types.of), rule, keys)  # type: ignore[arg-type]
        arguments, size = (theta, np.eye(len(theta))), len(theta)
        edges = radius.norm_edges(np.ones(2))
        for kind, width in ((vectors.scores, size), (vectors.curvatures, size * (size + 1) // 2)):
            reader.norm_counts(kind, arguments, edges, 1 / RELEASES)
            reader.total(kind, arguments, 1.0, width, 1 / RELEASES)


class Types:
    """Types of a record, that can be looked up."""

    def __init__(self, of: Any) -> None:
        leaves, tree = jax.tree.flatten(of)
        self.of, self._key = of, (tree, tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Types) and self._key == other._key
