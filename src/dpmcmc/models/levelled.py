"""What regressions of an outcome with declared levels share: reading it, and its levels as numbers in [−1, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import shown
from dpmcmc.models.groups import from_unit, to_unit
from dpmcmc.models.regression import Regression, Theta
from dpmcmc.records import Category, Schema

FEWEST = 3


def check_outcome(outcome: Any) -> None:
    """Levels of an outcome: three or more, none twice."""
    if not isinstance(outcome, Sequence) or isinstance(outcome, str) or len(outcome) < FEWEST:
        raise ValueError(
            f"outcome must list at least {FEWEST} levels (for two use LogisticRegression), got {shown(outcome)}"
        )
    Category(list(outcome))  # raises if a level is there twice, or is none


class LevelRegression(Regression):
    """y is the position of a level in ``outcome``, of which there are at least three."""

    outcome: Sequence[str | int]

    def __post_init__(self) -> None:
        check_outcome(self.outcome)
        object.__setattr__(self, "outcome", tuple(self.outcome))
        super().__post_init__()

    @property
    def classes(self) -> tuple[str, ...]:
        return tuple(map(str, self.outcome))

    def read_outcome(self, table: Any, name: str) -> np.ndarray:
        """Positions of levels; missing and other values are refused, with a fixed message."""
        return Schema({name: Category(list(self.outcome))}).encode(table)[name]

    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        return values

    def outcome_to_unit(self, y: Array) -> Array:
        unit: Array = to_unit(y, len(self.outcome))
        return unit

    def outcome_from_unit(self, unit: Array) -> Array:
        return from_unit(unit, len(self.outcome)).astype(unit.dtype)

    def log_probabilities(self, theta: Theta, eta: Array) -> Array:
        """Of each level, on the last axis."""
        raise NotImplementedError

    def log_density(self, theta: Theta, eta: Array, y: Array) -> Array:
        each = self.log_probabilities(theta, eta)
        return jnp.sum(jnp.where(jnp.arange(len(self.outcome)) == y, each, 0.0))

    def expected(self, theta: Theta, eta: Array) -> Array:
        """The probability of each level, on the last axis."""
        return jnp.exp(self.log_probabilities(theta, eta))
