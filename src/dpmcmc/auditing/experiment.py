"""An experiment: a mechanism that is run on two neighbouring data sets, and what is looked at in what it releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from dpmcmc.auditing.claims import Claim
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.privacy.relations import SUBSTITUTION, ZERO_OUT, reach
from dpmcmc.randomness import RandomSource


@dataclass(frozen=True)
class Neighbours:
    """Two data sets that differ in one record, with the model that each is sampled with.

    They have one size under substitution. Under zero-out the second is the first with an empty slot: the list of the
    other records, as nothing is what an empty slot adds to a sum over records. The models are one and the same, unless
    it is the model that is suspected of carrying records.
    """

    models: tuple[ModelLike, ModelLike]
    data: tuple[PyTree, PyTree]
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        one, other = (jax.tree.leaves(side) for side in self.data)
        if reach(self.relation) == 1:
            if not _slot_emptied(one, other):
                raise ValueError("neighbours under zero-out: the second data set must be the first without one record")
            return
        if len(one[0]) != len(other[0]):
            raise ValueError(
                f"neighbours have as many records as each other, got {len(one[0])} records and {len(other[0])}"
            )
        differ = np.zeros(len(one[0]), bool)
        for first, second in zip(one, other, strict=True):
            differ |= np.any(np.reshape(np.asarray(first) != np.asarray(second), (len(differ), -1)), axis=1)
        if differ.sum() != 1:
            raise ValueError(f"neighbours differ in one record, these differ in {differ.sum()} records")

    @classmethod
    def of(cls, model: ModelLike, one: PyTree, other: PyTree) -> Neighbours:
        return cls((model, model), (one, other))

    def emptied(self) -> Neighbours:
        """The second data set, and the same with the first slot empty."""
        there = self.data[1]
        gone = jax.tree.map(lambda leaf: leaf[1:], there)
        return Neighbours((self.models[1], self.models[1]), (there, gone), ZERO_OUT)


def _slot_emptied(one: list[Any], other: list[Any]) -> bool:
    slots = range(len(one[0]))
    return any(
        all(np.array_equal(np.delete(np.asarray(a), slot, 0), b) for a, b in zip(one, other, strict=True))
        for slot in slots
    )


@dataclass(frozen=True)
class View:
    """What an adversary looks at: one number per run. Whole numbers are kinds of outcomes, real ones are ordered.

    ``claim`` bounds what it may tell; None where nothing is claimed. Of outcomes that are ``normal`` on both sides, μ
    is estimated too.
    """

    name: str
    claim: Claim | None
    outcome: Callable[[Any], np.ndarray]
    normal: bool = False


@dataclass(frozen=True)
class Experiment:
    """``run(side, runs, source)`` is what the mechanism releases in so many independent runs on one of the data sets.

    ``runs`` are those of each side: in full, and when it must be quick. ``source`` makes the random words of a run from
    a seed.
    """

    name: str
    run: Callable[[int, int, RandomSource], Any]
    views: tuple[View, ...]
    runs: tuple[int, int]
    about: str = ""
    source: Callable[[int], RandomSource] = RandomSource

    def outcomes(self, runs: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """By view, the outcomes on each side. The sides have different coins."""
        released = [self.run(side, runs, self.source(2 * seed + side)) for side in (0, 1)]
        return [(np.asarray(view.outcome(released[0])), np.asarray(view.outcome(released[1]))) for view in self.views]
