"""Ordinal regression: outcomes with ordered levels, by cumulative logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.covariates import Bounds
from dpmcmc.models.levelled import LevelRegression
from dpmcmc.models.regression import Theta, exp_to

LOG_GAP_STD = 1.0
MOST_LOG_GAP = 20.0  # beyond which nothing lies between two thresholds: continued linearly
SMALL_LOG_GAP = -15.0  # below which log(1 − e^−gap) is log gap − gap/2 to rounding


@dataclass(frozen=True)
class OrdinalRegression(LevelRegression):
    """Bayesian regression of ordered levels on bounded covariates: P(y > k) = 1/(1 + e^(cₖ − η)), with c₀ = 0.

        model = OrdinalRegression({"age": (18, 90)}, outcome=("poor", "fair", "good"))
        data = model.encode(table, outcome="health")

    The intercept is minus the first threshold, and the others follow at positive distances, whose logs are the
    parameters ``log_gap[fair|good]``, …: thresholds are in order whatever the parameters. Their priors are around
    what makes all levels equally likely where covariates are at the centre of their bounds, N(·, ``prior_std``²) for
    the intercept and N(·, 1) for the log gaps.

    Reference: McCullagh (1980), Regression models for ordinal data, JRSS B 42.
    """

    bounds: Mapping[str, Bounds] = field(hash=False)
    outcome: Sequence[str | int]
    prior_std: float = 2.5
    names: tuple[str, ...] = field(init=False)

    @property
    def intercept_mean(self) -> float:
        return float(np.log(len(self.outcome) - 1))

    @property
    def shape_priors(self) -> dict[str, tuple[float, float]]:
        below = np.arange(1, len(self.outcome)) / len(self.outcome)
        gaps = np.diff(np.log(below / (1 - below)))
        return {name: (float(np.log(gap)), LOG_GAP_STD) for name, gap in zip(self._gap_names, gaps, strict=True)}

    @property
    def _gap_names(self) -> list[str]:
        return [f"log_gap[{pair}]" for pair in self._pairs[1:]]

    @property
    def _pairs(self) -> list[str]:
        return [f"{low}|{high}" for low, high in pairwise(self.classes)]

    def log_probabilities(self, theta: Theta, eta: Array) -> Array:
        """Of level k: log(σ(η − cₖ₋₁) − σ(η − cₖ)), where σ(a) − σ(b) = σ(a) σ(−b) (1 − e^(b − a)) loses no digits."""
        log_gaps = self._log_gaps(theta)
        away = eta[..., None] - self._thresholds(log_gaps)
        nothing = jnp.zeros_like(away[..., :1])
        above = jnp.concatenate([nothing, jax.nn.log_sigmoid(away)], axis=-1)
        below = jnp.concatenate([jax.nn.log_sigmoid(-away), nothing], axis=-1)
        small, large = jnp.minimum(log_gaps, SMALL_LOG_GAP), jnp.maximum(log_gaps, SMALL_LOG_GAP)
        of_gap = jnp.where(
            log_gaps < SMALL_LOG_GAP,
            small - jnp.exp(small) / 2,
            jnp.log(-jnp.expm1(-exp_to(large, MOST_LOG_GAP))),
        )
        return above + below + jnp.concatenate([jnp.zeros(1), of_gap, jnp.zeros(1)])

    def _log_gaps(self, theta: Theta) -> Array:
        return jnp.stack([theta[name] for name in self._gap_names])

    def _thresholds(self, log_gaps: Array) -> Array:
        """0 = c₀ < c₁ < …"""
        return jnp.concatenate([jnp.zeros(1), jnp.cumsum(exp_to(log_gaps, MOST_LOG_GAP))])

    def draw(self, key: Array, theta: Theta, eta: Array) -> Array:
        latent = eta + jax.random.logistic(key, eta.shape)
        return jnp.sum(latent[..., None] > self._thresholds(self._log_gaps(theta)), axis=-1)

    def shown(self, coefficients: dict[str, Any], theta: Mapping[str, Any]) -> dict[str, Any]:
        """Thresholds in the place of the intercept: P(y ≤ k) = 1/(1 + e^(η − thresholdₖ))."""
        others = {name: value for name, value in coefficients.items() if name != "intercept"}
        at = -np.asarray(coefficients["intercept"])
        thresholds = {f"threshold[{self._pairs[0]}]": at}
        for pair, name in zip(self._pairs[1:], self._gap_names, strict=True):
            at = at + np.exp(np.asarray(theta[name]))
            thresholds[f"threshold[{pair}]"] = at
        return thresholds | others
