"""Public bounds on what one record may contribute to a log ratio.

A bound is a function of the two positions, public and symmetric in them; records never enter. If it really bounds
every record's log ratio, clipping at it changes nothing and the chain is exact; if it does not, the chain is still
private.

    ConstantClip(0.05)            the same bound at every step: a constant cost
    DistanceClip(2.0)             2‖θ' − θ‖, or in a metric F: 2 (δᵀFδ)^½; short moves are cheap
    ModelClip()                   what the model itself proves (``log_ratio_bound``): exact
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import numbers, positive


class Clip(Protocol):
    """A public bound on |log p(x|there) − log p(x|here)| for one record."""

    @property
    def constant(self) -> float | None:
        """The bound, if it is the same for all moves."""

    def bound(self, model: Any, here: Any, there: Any) -> Array:
        """The bound for a move, symmetric in its ends."""


@dataclass(frozen=True)
class ConstantClip:
    """The same bound for every move."""

    value: float

    def __post_init__(self) -> None:
        positive("clip: value", self.value)

    def __str__(self) -> str:
        return f"{self.value:.4g}"

    @property
    def constant(self) -> float | None:
        return float(self.value)

    def bound(self, model: Any, here: Any, there: Any) -> Array:
        return jnp.float64(self.value)


@dataclass(frozen=True)
class DistanceClip:
    """``slope`` times the distance of the move, Euclidean or in a public ``metric`` (a matrix over the raveled θ)."""

    slope: float
    metric: Any = None

    def __post_init__(self) -> None:
        positive("clip: slope", self.slope)
        if self.metric is not None:
            matrix = numbers("clip: metric", self.metric)
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
                raise ValueError(f"clip metric must be a finite square matrix, got shape {matrix.shape}")
            object.__setattr__(self, "metric", tuple(map(tuple, matrix.tolist())))

    def __str__(self) -> str:
        return f"{self.slope:.4g} × distance{'' if self.metric is None else ' in a metric'}"

    @property
    def constant(self) -> float | None:
        return None

    def bound(self, model: Any, here: Any, there: Any) -> Array:
        step = (ravel_pytree(there)[0] - ravel_pytree(here)[0]).astype(jnp.float64)
        square = step @ step if self.metric is None else step @ (jnp.asarray(self.metric, jnp.float64) @ step)
        return self.slope * jnp.sqrt(jnp.maximum(square, 0.0))


@dataclass(frozen=True)
class ModelClip:
    """The bound that the model proves for every possible record: ``model.log_ratio_bound(here, there)``."""

    def __str__(self) -> str:
        return "at the model's own bound"

    @property
    def constant(self) -> float | None:
        return None

    def bound(self, model: Any, here: Any, there: Any) -> Array:
        proven = getattr(model, "log_ratio_bound", None)
        if proven is None:
            raise ValueError(
                f"{type(model).__name__} states no log_ratio_bound(theta, theta_new); give one, or clip at a number"
            )
        there_and_back = jnp.maximum(jnp.asarray(proven(here, there)), jnp.asarray(proven(there, here)))
        return there_and_back.astype(jnp.float64)


def as_clip(clip: Clip | float) -> Clip:
    """A clip from a clip or a number."""
    if hasattr(clip, "bound") and hasattr(clip, "constant") and not isinstance(clip, type):
        return clip
    remedy = "or a bound: dp.DistanceClip(slope), dp.ModelClip()"
    return ConstantClip(float(positive("clip", clip, remedy)))
