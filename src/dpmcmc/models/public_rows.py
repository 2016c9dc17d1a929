"""Predictions of the plain regressions, for public rows with their covariates and groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np
from jax import Array

from dpmcmc.models.covariates import Covariates, scaled
from dpmcmc.models.groups import encode_groups, to_unit
from dpmcmc.models.predictions import Predictions
from dpmcmc.models.priors import Theta

PRIORS = ("prior_std", "names")  # fields that say nothing about what parameters mean


class Predicted:
    """What every regression says of public rows by a release of it: :class:`~dpmcmc.models.predictions.Predictions`."""

    def predict(self, release: Any, table: Any) -> Any:
        """The expected outcome of each row: mean, sd and 90 % interval."""
        return PublicRows(self).predict(release, table)

    def posterior_predictive(self, release: Any, table: Any, seed: int = 0) -> np.ndarray:
        """Draws (draw, row) of a new outcome for each row."""
        return PublicRows(self).posterior_predictive(release, table, seed)

    def prior_predictive(self, table: Any, draws: int = 1000, seed: int = 0) -> np.ndarray:
        """The same with parameters drawn from the prior; needs no release."""
        return PublicRows(self).prior_predictive(table, draws, seed)

    def marginal_effects(self, release: Any, table: Any, changes: Mapping[str, tuple[Any, Any]]) -> Any:
        """The average change of the expected outcome over the rows, if a column changed for all."""
        return PublicRows(self).marginal_effects(release, table, changes)

    def log_predictive_density(self, release: Any, table: Any, outcome: str) -> np.ndarray:
        """log of the mean over draws of p(outcome | parameters), for each row."""
        return PublicRows(self).log_predictive_density(release, table, outcome=outcome)

    @property
    def declaration(self) -> str:
        """All that the parameters mean, as text; their priors are no part of it."""
        declared: Any = self
        said = {one.name: _plain(getattr(self, one.name)) for one in fields(declared) if one.name not in PRIORS}
        return f"{type(self).__name__} {dict(sorted(said.items()))}"


def _plain(value: Any) -> Any:
    """Equal values as the same text: 18 and 18.0, tuples and lists, mappings in whatever order."""
    if isinstance(value, Mapping):
        return {str(name): _plain(value[name]) for name in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return float(value) if isinstance(value, Real) else value


@dataclass(frozen=True)
class PublicRows(Predictions):
    """Rows with the covariates of a regression; weights do not matter, and need not be there."""

    likelihood: Any

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        names: tuple[str, ...] = self.likelihood.names
        return names

    @property
    def outcome(self) -> str:
        return "level"

    @property
    def _numbers(self) -> dict[str, tuple[float, float]]:
        return {name: both for name, both in self.likelihood.numbers.items() if name != self.likelihood.weights}

    def rows_of(self, table: Any) -> np.ndarray:
        columns = list(Covariates(self._numbers).encode(table).T) if self._numbers else []
        groups = encode_groups(self.likelihood.groups, table)
        if self.likelihood.weights is not None:
            columns.append(np.zeros(len([*columns, *groups][0])))
        found = np.stack([*columns, *groups], axis=1)
        if np.isnan(found).any():
            raise ValueError("the rows have missing values: leave such rows out, or say what is meant by them")
        return found

    def with_outcomes(self, table: Any, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.rows_of(table), self.likelihood.read_outcome(table, settings["outcome"])

    def rows_at(self, table: Any, name: str, pair: tuple[Any, Any]) -> list[np.ndarray]:
        rows, values = self.rows_of(table), [self._unit(name, value) for value in pair]
        place = [*self.likelihood.numbers, *self.likelihood.groups].index(name)
        return [np.concatenate([rows[:, :place], np.full((len(rows), 1), v), rows[:, place + 1 :]], 1) for v in values]

    def _unit(self, name: str, value: Any) -> float:
        groups = {group: list(map(str, labels)) for group, labels in self.likelihood.groups.items()}
        if name in groups:
            if str(value) not in groups[name]:
                raise ValueError(f"{value!r} is no label of {name!r}; there are: {', '.join(groups[name])}")
            return float(to_unit(groups[name].index(str(value)), len(groups[name])))
        if name not in self._numbers:
            there = ", ".join([*self._numbers, *groups])
            raise ValueError(f"the model does not depend on {name!r}; there are: {there}")
        low, high = self._numbers[name]
        if not low <= value <= high:
            raise ValueError(f"{value!r} is no value of {name!r}, which is declared from {low:g} to {high:g}")
        return float(scaled(value, (low, high)))

    def to_family(self, theta: Theta, x: Array) -> tuple[Theta, Array]:
        return theta, self.likelihood.predictor(theta, x)

    def sample_prior(self, key: Array) -> Theta:
        theta: Theta = self.likelihood.sample_prior(key)
        return theta
