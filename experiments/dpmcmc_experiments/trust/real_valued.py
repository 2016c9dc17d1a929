"""Problems of real outcomes, scaled to [−1, 1]: linear and Student t regressions, ordinary, badly scaled, or wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import UNIT, Table, from_model, uniform, unit_bounds, wrong_model
from dpmcmc_experiments.trust.zero_one import LEVELS, all_levels, spending, wide, years

N = 20_000
SHELL_RECORDS, ROBUST_RECORDS = 4177, 3477
SHELLS = {
    "length": (0.0, 1.0),
    "diameter": (0.0, 1.0),
    "height": (0.0, 1.5),
    "whole": (0.0, 3.0),
    "shucked": (0.0, 1.5),
    "viscera": (0.0, 1.0),
    "shell": (0.0, 1.5),
}


def shells(rng: np.random.Generator) -> Table:
    """Lengths and weights of shells that all follow from one size, with a little of their own."""

    def own(spread: float) -> np.ndarray:
        return np.exp(spread * rng.standard_normal(SHELL_RECORDS))

    length = np.clip(0.52 + 0.12 * rng.standard_normal(SHELL_RECORDS), 0.08, 0.82)
    weight = 5.0 * length**3 * own(0.1)
    return {
        "length": length,
        "diameter": 0.78 * length * own(0.03),
        "height": 0.27 * length * own(0.1),
        "whole": weight,
        "shucked": 0.43 * weight * own(0.12),
        "viscera": 0.22 * weight * own(0.12),
        "shell": 0.28 * weight * own(0.12),
    }


def with_lopsided_errors(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return -0.2 + 0.15 * x[:, 0] - 0.1 * x[:, 1] + 0.1 * rng.lognormal(0.0, 0.6, len(x))


def with_t2_errors(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return 0.2 * x[:, 0] - 0.1 * x[:, 1] + 0.05 * rng.standard_t(2, len(x))


def with_slopes_in_own_units(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return 0.1 + 1000.0 * (0.3 * x[:, 0] - 0.2 * x[:, 1]) + 0.2 * rng.standard_normal(len(x))


def with_gross_errors(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Three outcomes in a hundred anywhere."""
    y = 0.3 * x[:, 0] - 0.2 * x[:, 1] + 0.05 * rng.standard_normal(len(x))
    return np.where(rng.random(len(x)) < 0.03, rng.uniform(-1, 1, len(x)), y)


def _linear(bounds: dict[str, tuple[float, float]]) -> Any:
    return lambda: dp.models.LinearRegression(bounds, outcome=UNIT)


def _robust(count: int) -> Any:
    return lambda: dp.models.StudentTRegression(unit_bounds(count), outcome=UNIT)


def _tiny(rng: np.random.Generator) -> list[float]:
    return [*(0.1 * rng.standard_normal(3)), -1.8]


def problems() -> list[Problem]:
    dummy, wide_bounds, rich = (0.0, 1.0), (-1000.0, 1000.0), (0.0, 1000.0)
    category = {"x1": UNIT} | {f"x{i + 2}": dummy for i in range(LEVELS)}
    many = [*np.random.default_rng(31).normal(0, 0.04, 31), -2.0]
    plain = _linear(unit_bounds(3))

    def linear(name: str, about: str, model: Any, table: Any, truth: Any) -> Problem:
        return from_model(f"linear-{name}", "linear", about, model, table, truth)

    def robust(name: str, about: str, count: int, n: int, truth: Any) -> Problem:
        return from_model(f"student-{name}", "student-t", about, _robust(count), uniform(n, count), truth)

    return [
        linear("plain", "5000 records, 3 covariates", plain, uniform(5000, 3), [0.1, 0.25, -0.15, 0.1, -2.2]),
        linear("shells", "7 measurements of one size, 4177 records", _linear(SHELLS), shells,
               [0.1, 0.1, 0.2, 0.3, 0.4, -0.5, -0.2, 0.3, -2.0]),
        linear("lognormal", "lognormal covariates within wide bounds", _linear({"x1": rich, "x2": rich}), spending,
               [0.3, 0.2, -0.2, -2.2]),
        linear("year", "years 2000 to 2020 with bounds 0 to 10 000", _linear({"year": (0.0, 10_000.0), "x": UNIT}),
               years, [0.6, 1.0, 0.2, -2.0]),
        linear("tiny-60", "60 records", _linear(unit_bounds(2)), uniform(60, 2), _tiny),
        linear("tiny-200", "200 records", _linear(unit_bounds(2)), uniform(200, 2), _tiny),
        linear("30", "30 covariates", _linear(unit_bounds(30)), uniform(N, 30), many),
        linear("all-levels", "a column for every level of a category", _linear(category), all_levels,
               [0.0, 0.2, 0.1, -0.1, 0.0, 0.1, -2.2]),
        wrong_model("linear-t2", "linear", "errors of a t distribution with 2 degrees of freedom",
                    _linear(unit_bounds(2)), uniform(N, 2), with_t2_errors),
        wrong_model("linear-lopsided", "linear", "lognormal errors", _linear(unit_bounds(3)), uniform(10_000, 3),
                    with_lopsided_errors),
        wrong_model("linear-wide-bounds", "linear", "bounds a thousand times too wide: the prior forbids the slopes",
                    _linear({"x1": wide_bounds, "x2": wide_bounds}), wide, with_slopes_in_own_units),
        robust("plain", "3477 records, 4 covariates", 4, ROBUST_RECORDS, [0.1, 0.3, -0.2, 0.1, 0.0, -3.0]),
        robust("tiny-200", "200 records", 2, 200, [0.1, 0.3, -0.2, -3.0]),
        wrong_model("student-gross", "student-t", "3 % of the outcomes anywhere", _robust(2), uniform(5000, 2),
                    with_gross_errors),
    ]  # fmt: skip
