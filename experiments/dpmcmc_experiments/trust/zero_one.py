"""Problems of 0/1 outcomes: ordinary, rare, nearly separated, with leverage, badly scaled, or of a wrong model."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import (
    Table,
    as_table,
    bernoulli,
    correlated,
    from_model,
    one_hot,
    uniform,
    unit_bounds,
    wrong_model,
)

N = 20_000
WIDE, FAR_YEARS = 1000.0, (0.0, 10_000.0)
SPENDING = (0.0, 1000.0)
LEVELS = 4


def leverage(rng: np.random.Generator) -> Table:
    """One record in a hundred at a bound, the others near 0."""
    far = rng.random(N) < 0.01
    return as_table(np.where(far, rng.choice([-1.0, 1.0], N), 0.05 * rng.standard_normal(N))[:, None])


def rare_dummies(rng: np.random.Generator) -> Table:
    return {
        "x1": rng.uniform(-1, 1, N),
        "x2": (rng.random(N) < 0.01).astype(float),
        "x3": (rng.random(N) < 0.002).astype(float),
    }


def near_twins(rng: np.random.Generator) -> Table:
    return as_table(correlated(rng, N, 3, 0.99, 0.35))


def spending(rng: np.random.Generator) -> Table:
    """Two lognormal columns, most of them far below a bound that few reach."""
    return as_table(np.minimum(rng.lognormal(3.0, 1.2, (N, 2)), SPENDING[1]))


def wide(rng: np.random.Generator) -> Table:
    return as_table(rng.uniform(-1, 1, (N, 2)))


def years(rng: np.random.Generator) -> Table:
    return {"year": rng.integers(2000, 2021, N).astype(float), "x": rng.uniform(-1, 1, N)}


def constant_column(rng: np.random.Generator) -> Table:
    return {"x1": rng.uniform(-1, 1, N), "x2": np.full(N, 0.5)}


def all_levels(rng: np.random.Generator) -> Table:
    """A number, and a column for every level of a category: they add up to a constant."""
    level = rng.choice(LEVELS, N, p=[0.4, 0.3, 0.2, 0.1])
    return as_table(np.column_stack([rng.uniform(-1, 1, N), one_hot(level, LEVELS)]))


def with_interaction(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return bernoulli(rng, 0.5 * x[:, 0] - 0.5 * x[:, 1] + 2.5 * x[:, 0] * x[:, 1])


def with_slopes_in_own_units(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return bernoulli(rng, -0.5 + WIDE * (x[:, 0] - x[:, 1]))


def _logistic(**bounds: tuple[float, float]) -> Any:
    return lambda: dp.models.LogisticRegression(bounds)


def _unit(count: int) -> Any:
    return _logistic(**unit_bounds(count))


def _prior(count: int) -> Any:
    """The truth drawn from the prior, as few records do not outweigh it."""
    return lambda rng: 2.5 * rng.standard_normal(count)


def problems() -> list[Problem]:
    dummy, wide_bounds = (0.0, 1.0), (-WIDE, WIDE)
    category = {"x1": (-1.0, 1.0)} | {f"x{i + 2}": dummy for i in range(LEVELS)}
    many = np.random.default_rng(30).normal(0, 0.5, 31)

    def drawn(name: str, about: str, model: Any, table: Any, truth: Any) -> Problem:
        return from_model(f"logistic-{name}", "logistic", about, model, table, truth)

    return [
        drawn("plain", "5000 records, 3 covariates", _unit(3), uniform(5000, 3), [-0.5, 1.0, -1.0, 0.5]),
        drawn("separated", "slope 9: nearly separated", _unit(1), uniform(N, 1), [0.0, 9.0]),
        drawn("leverage", "1 % of records at a bound, slope 8", _unit(1), leverage, [0.0, 8.0]),
        drawn("ones-012", "0.12 % ones among 100 000", _unit(2), uniform(100_000, 2), [-6.87, 0.7, -0.5]),
        drawn("ones-08", "0.8 % ones among 20 000", _unit(2), uniform(N, 2), [-4.95, 0.7, -0.5]),
        drawn("rare-dummies", "dummies of 1 % and 0.2 %", _logistic(x1=(-1.0, 1.0), x2=dummy, x3=dummy),
              rare_dummies, [0.3, 1.0, 0.5, 0.5]),
        drawn("correlated", "three covariates, correlations 0.99", _unit(3), near_twins, [0.0, 1.0, -0.5, 0.5]),
        drawn("lognormal", "lognormal covariates within wide bounds", _logistic(x1=SPENDING, x2=SPENDING), spending,
              [2.2, 2.0, 1.0]),
        drawn("year", "years 2000 to 2020 with bounds 0 to 10 000", _logistic(year=FAR_YEARS, x=(-1.0, 1.0)), years,
              [-0.5, -2.0, 1.0]),
        drawn("tiny-60", "60 records", _unit(2), uniform(60, 2), _prior(3)),
        drawn("tiny-200", "200 records", _unit(2), uniform(200, 2), _prior(3)),
        drawn("30", "30 covariates", _unit(30), uniform(N, 30), many),
        drawn("constant-column", "a covariate that does not vary", _unit(2), constant_column, [0.2, 1.0, 0.5]),
        drawn("all-levels", "a column for every level of a category", _logistic(**category), all_levels,
              [0.0, 1.0, 0.5, -0.5, 0.0, 0.5]),
        wrong_model("logistic-wide-bounds", "logistic",
                    "bounds a thousand times too wide: the prior forbids the slopes",
                    _logistic(x1=wide_bounds, x2=wide_bounds), wide, with_slopes_in_own_units),
        wrong_model("logistic-constant", "logistic", "every outcome is 0", _unit(2), uniform(5000, 2),
                    lambda rng, x: np.zeros(len(x))),
        wrong_model("logistic-interaction", "logistic", "an interaction that the model lacks", _unit(2), uniform(N, 2),
                    with_interaction),
    ]  # fmt: skip
