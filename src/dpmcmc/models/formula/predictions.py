"""Predictions for the rows of a table that a schema declares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpmcmc.models.predictions import Predictions
from dpmcmc.records import Category, Number, Ordered, Schema


class DeclaredRows(Predictions):
    """Rows are read by the schema."""

    schema: Schema

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """Columns of the table that the predictor depends on."""

    @abstractmethod
    def covariates_of(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray:
        """Covariates in [−1, 1] from the encoded columns of a table."""

    @abstractmethod
    def outcome_of(self, encoded: Mapping[str, np.ndarray]) -> np.ndarray: ...

    def rows_of(self, table: Any) -> np.ndarray:
        return self.covariates_of(self.schema.encode(table, only=self.inputs))

    def with_outcomes(self, table: Any, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
        if settings:
            raise TypeError(f"the formula says what the outcome is, got {', '.join(settings)}: leave it out")
        encoded = self.schema.encode(table, only=dict.fromkeys([*self.inputs, self.outcome]))
        return self.covariates_of(encoded), self.outcome_of(encoded)

    def rows_at(self, table: Any, name: str, pair: tuple[Any, Any]) -> list[np.ndarray]:
        if name not in self.inputs:
            raise ValueError(f"the model does not depend on {name!r}; there are: {', '.join(self.inputs)}")
        encoded, values = self.schema.encode(table, only=self.inputs), self._values(name, pair)
        return [self.covariates_of(encoded | {name: np.full_like(encoded[name], value)}) for value in values]

    def _values(self, name: str, pair: tuple[Any, Any]) -> np.ndarray:
        """Two values of a column as encoded; what would be moved to a bound or another level is refused."""
        column = self.schema[name]
        if isinstance(column, Category | Ordered):  # by level, whatever codes the table has
            return np.array([column.code(value) for value in pair], dtype=float)
        encoded = self.schema.encode({name: list(pair)}, only=[name])[name]
        for value, code in zip(pair, encoded, strict=True):
            if isinstance(column, Number) and float(value) != code:
                raise ValueError(f"{value!r} is no value of {name!r}, which is declared as {column.summary()[0]}")
        return encoded
