"""Covariates with declared public bounds: how a table becomes numbers in [−1, 1]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import instance, numbers, shown, text
from dpmcmc.records import numeric

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Covariates:
    """Columns of a table, each with bounds that are known beforehand and never computed from the records.

        Covariates({"age": (18, 90), "smoker": (0, 1)}).encode(table)

    Equal where names, their order and bounds are.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        instance("bounds", self.bounds, Mapping, "a mapping of names to bounds such as {'age': (18, 90)}")
        if not self.bounds:
            raise ValueError("bounds must name at least one covariate, got none")
        for name, limits in self.bounds.items():
            check_bounds(text("bounds: the name of a covariate", name), limits)
        object.__setattr__(self, "names", tuple(self.bounds))

    def encode(self, table: Any) -> np.ndarray:
        """The columns scaled by their bounds to [−1, 1], one row a record; values outside are moved to the bounds.

        Missing values stay NaN. Booleans are 0 and 1; text, dates and whatever else is no number is refused.
        """
        columns = numeric(table, self.names)
        return np.stack([scaled(columns[name], limits) for name, limits in self.bounds.items()], axis=1)

    def anywhere(self, key: Array, n: int) -> Array:
        """n rows from public knowledge only: uniform within the bounds, or at them.

        The share at the bounds, where 0/1 covariates always are, is itself uniform from record to record.
        """
        x_key, share_key, end_key = jax.random.split(key, 3)
        x = jax.random.uniform(x_key, (n, len(self.names)), minval=-1.0, maxval=1.0)
        at_bounds = jax.random.uniform(end_key, x.shape) < jax.random.uniform(share_key, (n, 1))
        return jnp.where(at_bounds, jnp.sign(x), x)


def check_bounds(name: str, limits: Bounds) -> None:
    """Bounds are two finite numbers, the lower one first."""
    must = "be two finite numbers, the lower one first"
    ends = numbers(f"bounds of {name!r}", limits, must)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise ValueError(f"bounds of {name!r} must {must}, got {shown(limits)}")


def scaled(values: Any, limits: Bounds) -> np.ndarray:
    """Values between the limits to [−1, 1], others to its ends."""
    low, high = limits
    with np.errstate(over="ignore"):  # the largest numbers of all go to the ends as well
        return np.clip((2 * np.asarray(values, dtype=np.float64) - low - high) / (high - low), -1, 1)
