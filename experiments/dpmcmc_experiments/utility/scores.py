"""What a release is held against: the exact posterior, in units of its standard deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dpmcmc as dp


@dataclass(frozen=True)
class Moments:
    """Means and standard deviations of the posterior without privacy."""

    mean: np.ndarray
    sd: np.ndarray

    @classmethod
    def of(cls, draws: np.ndarray) -> Moments:
        return cls(draws.mean(axis=0), draws.std(axis=0))

    def errors(self, draws: np.ndarray) -> dict[str, float]:
        """Of means, in standard deviations, and of variances, relative; root mean squares over parameters."""
        mean = (draws.mean(axis=0) - self.mean) / self.sd
        variance = draws.var(axis=0, ddof=1) / self.sd**2 - 1
        return {"mean_error": float(np.sqrt(np.mean(mean**2))), "variance_error": float(np.sqrt(np.mean(variance**2)))}


def parameters(release: dp.Release) -> np.ndarray:
    """All draws of a release, (draw, parameter)."""
    columns = [values[..., None] if values.ndim == 2 else values for values in release.draws.values()]
    return np.concatenate([column.reshape(-1, column.shape[-1]) for column in columns], axis=1)


def expected(model: Any, n: int, epsilon: float, delta: float, **settings: Any) -> dict[str, float]:
    """What the plan says, before a record is read."""
    quality = dp.plan(model, n, dp.Budget(epsilon, delta), **settings).expected  # type: ignore[attr-defined]
    return {"expected_mean_error": quality.mean_error, "expected_variance_error": quality.variance_error}


def short(row: dict[str, Any]) -> dict[str, Any]:
    """Five digits: enough for every figure, small in a file."""
    return {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in row.items()}
