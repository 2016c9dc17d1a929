"""Categorical regression: outcomes with levels in no order, by multinomial logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import one_of
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.levelled import LevelRegression, check_outcome
from dpmcmc.models.regression import Theta


@dataclass(frozen=True)
class CategoricalRegression(LevelRegression):
    """Bayesian regression of a category on bounded covariates: P(y = k) ∝ e^ηₖ, where η of the reference is 0.

        model = CategoricalRegression({"age": (18, 90)}, outcome=("bus", "car", "train"))
        data = model.encode(table, outcome="travels_by")

    Every level but the reference, which is the first unless another is given, has coefficients of its own:
    ``intercept[car]``, ``age[car]``, ``intercept[train]``, ``age[train]``.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    outcome: Sequence[str | int]
    reference: str | int | None = None
    prior_std: float = 2.5
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if self.offset is not None:
            raise ValueError(f"offset={self.offset!r}: a category has a predictor for each level, and no offset")
        check_outcome(self.outcome)
        if self.reference is not None:
            one_of("reference", self.reference, tuple(self.outcome), "it is one of the levels")
        super().__post_init__()

    @property
    def predictors(self) -> tuple[str, ...]:
        return self.classes[: self._place] + self.classes[self._place + 1 :]

    @property
    def _place(self) -> int:
        """Where the reference is."""
        return 0 if self.reference is None else tuple(self.outcome).index(self.reference)

    def predictor(self, theta: Theta, x: Array) -> Array:
        """η of all levels but the reference, on the last axis."""
        return jnp.stack([self.one_predictor(theta, x, which) for which in self.predictors], axis=-1)

    def log_probabilities(self, theta: Theta, eta: Array) -> Array:
        return jax.nn.log_softmax(jnp.insert(eta, self._place, 0.0, axis=-1), axis=-1)

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        return jax.random.categorical(key, self.log_probabilities(theta, eta))
