"""Problems of outcomes with levels, in order or not, and of regressions by formula with groups, offsets and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import from_model, uniform, unit_bounds

N = 10_000
GROUPS = [f"g{i}" for i in range(12)]
FIRM = dp.Schema(
    sales=dp.Number(-1, 1), size=dp.Number(-1, 1), region=dp.Category(GROUPS), calls=dp.Number.count(60),
    hours=dp.Number(0.5, 8.0), share=dp.Number(0.0, 2.0),
)  # fmt: skip


def _ordinal(levels: int, count: int) -> Any:
    return lambda: dp.models.OrdinalRegression(unit_bounds(count), outcome=[f"l{i}" for i in range(levels)])


def _categorical(levels: int, count: int) -> Any:
    return lambda: dp.models.CategoricalRegression(unit_bounds(count), outcome=[f"l{i}" for i in range(levels)])


def marriages() -> Problem:
    """Happiness of marriages, in five levels: 6366 real answers."""
    columns = {"age": (15, 50), "yrs_married": (0, 30), "religious": (1, 4), "educ": (5, 25)}

    def made() -> Any:
        schema = dp.Schema({name: dp.Number(*bounds) for name, bounds in columns.items()})
        schema = schema.with_columns(rate_marriage=dp.Ordered([1, 2, 3, 4, 5]))
        return dp.regression(f"rate_marriage ~ {' + '.join(columns)}", schema, "ordinal")

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, None]:
        from statsmodels.datasets import fair

        table = fair.load_pandas().data
        return model.encode(table.assign(rate_marriage=table["rate_marriage"].astype(int))), None

    return Problem("fair-happiness", "ordinal", "happiness of marriages, 4 covariates", made, make, is_real=True)


def weighted() -> Problem:
    """Calls per hour, where records count between 0 and 2 times."""

    def made() -> Any:
        return dp.regression("calls ~ size", FIRM, "poisson", offset="log(hours)", weights="share")

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, None]:
        size, hours = rng.uniform(-1, 1, N), rng.uniform(0.5, 8.0, N)
        table = {"size": size, "hours": hours, "share": rng.uniform(0.0, 2.0, N)}
        return model.encode(table | {"calls": rng.poisson(hours * np.exp(-0.5 + 0.4 * size))}), None

    return Problem("poisson-weighted", "poisson", "an offset, and weights between 0 and 2", made, make)


def regions() -> Problem:
    """Sales in twelve regions by a linear regression; real outcomes, so that noise and spread are both unknown."""

    def made() -> Any:
        return dp.regression("sales ~ size + (1|region)", FIRM)

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, dict[str, float]]:
        theta = {"intercept": 0.1, "size": 0.2, "log_sigma": -2.0, "1|region_log_sigma": -1.8}
        z = rng.standard_normal(len(GROUPS))
        theta |= {f"1|region_z[{group}]": float(value) for group, value in zip(GROUPS, z, strict=True)}
        size, group = rng.uniform(-1, 1, N), rng.choice(len(GROUPS), N)
        noise = np.exp(-2.0) * rng.standard_normal(N)
        sales = 0.1 + 0.2 * size + np.exp(-1.8) * z[group] + noise
        return model.encode({"size": size, "region": np.array(GROUPS)[group], "sales": sales}), theta

    return Problem("linear-regions", "hierarchical", "real outcomes in 12 groups", made, make, from_model=True)


def problems() -> list[Problem]:
    ordinal, categorical = "ordinal", "categorical"
    rng = np.random.default_rng(6)
    many = np.column_stack([rng.normal(0, 0.3, 5), rng.normal(0, 0.6, (5, 2))]).ravel()
    return [
        from_model("ordinal-plain", ordinal, "10 000 records, 4 levels", _ordinal(4, 3), uniform(N, 3),
                   [0.8, 0.7, -0.5, 0.2, -0.2, 0.3]),
        from_model("ordinal-rare", ordinal, "a level that one record in a hundred has", _ordinal(3, 2), uniform(N, 2),
                   [0.5, 0.5, -0.5, 1.65]),
        from_model("ordinal-tiny", ordinal, "300 records, 4 levels", _ordinal(4, 2), uniform(300, 2),
                   [0.8, 0.7, -0.5, -0.2, 0.3]),
        marriages(),
        from_model("categorical-plain", categorical, "10 000 records, 3 levels", _categorical(3, 2), uniform(N, 2),
                   [0.3, 0.8, -0.4, -0.5, 0.5, 0.9]),
        from_model("categorical-6", categorical, "6 levels, 15 parameters", _categorical(6, 2), uniform(N, 2), many),
        weighted(),
        regions(),
    ]  # fmt: skip
