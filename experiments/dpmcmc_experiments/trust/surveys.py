"""Tables like those of surveys, right and wrong models of them."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import (
    UNIT,
    Table,
    as_table,
    bernoulli,
    correlated,
    from_model,
    one_hot,
    unit_bounds,
    wrong_model,
)


def survey(n: int) -> Any:
    """Age, a skewed income, three dummies and a region of four levels with one left out."""

    def table(rng: np.random.Generator) -> Table:
        age = rng.beta(2, 3, n) * 2 - 1
        income = np.clip(np.exp(0.8 * rng.standard_normal(n) - 2.5) * 2 - 1, -1, 1)
        dummies = [np.where(rng.random(n) < share, 1.0, -1.0) for share in (0.5, 0.15, 0.05)]
        region = 2 * one_hot(rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1]), 4)[:, 1:] - 1
        return as_table(np.column_stack([age, income, *dummies, region]))

    return table


def clustered(n: int, count: int) -> Any:
    """Two clusters of correlated covariates."""

    def table(rng: np.random.Generator) -> Table:
        centre = np.where(rng.random((n, 1)) < 0.3, 0.5, -0.3)
        return as_table(np.clip(centre + correlated(rng, n, count, 0.5, 0.15), -1, 1))

    return table


def with_growing_spread(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Errors whose spread depends on a covariate."""
    return 0.3 * x[:, 0] - 0.2 * x[:, 1] + 0.1 * np.exp(0.7 * x[:, 0]) * rng.standard_normal(len(x))


def with_a_threshold(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """A logit that jumps."""
    return bernoulli(rng, -1.0 + 2.0 * (x[:, 0] > 0.2) - 0.5 * x[:, 1])


def with_rare_bursts(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Counts that are ten times as large in one record of fifty."""
    rate = np.exp(0.5 + 0.4 * x[:, 0] + 0.3 * x[:, 2])
    return rng.poisson(np.where(rng.random(len(x)) < 0.02, 10.0, 1.0) * rate)


def problems() -> list[Problem]:
    logistic, linear = dp.models.LogisticRegression, dp.models.LinearRegression
    poisson, negative, student = (
        dp.models.PoissonRegression, dp.models.NegativeBinomialRegression, dp.models.StudentTRegression
    )  # fmt: skip
    slopes = [0.3, -0.5, 0.8, 0.4, -0.3, 0.6, 0.2, -0.4]
    return [
        from_model("survey-logistic", "logistic", "12 000 persons, 8 columns", lambda: logistic(unit_bounds(8)),
                   survey(12_000), [-0.8, *slopes]),
        from_model("survey-steep", "logistic", "large effects, two clusters", lambda: logistic(unit_bounds(3)),
                   clustered(8000, 3), [0.5, 4.0, -3.0, 2.0]),
        wrong_model("survey-jump", "logistic", "a threshold", lambda: logistic(unit_bounds(4)),
                    clustered(20_000, 4), with_a_threshold),
        from_model("survey-linear", "linear", "6000 persons, 8 columns",
                   lambda: linear(unit_bounds(8), outcome=UNIT), survey(6000), [0.05, *np.multiply(0.2, slopes), -2.0]),
        from_model("survey-exact", "linear", "hardly any error", lambda: linear(unit_bounds(5), outcome=UNIT),
                   clustered(10_000, 5), [0.0, 0.2, -0.1, 0.15, 0.1, -0.2, -4.0]),
        wrong_model("survey-spread", "linear", "errors that grow", lambda: linear(unit_bounds(3), outcome=UNIT),
                    clustered(10_000, 3), with_growing_spread),
        from_model("survey-poisson", "poisson", "12 000 persons, 8 columns", lambda: poisson(unit_bounds(8)),
                   survey(12_000), [0.4, *np.multiply(0.5, slopes)]),
        wrong_model("survey-bursts", "poisson", "bursts", lambda: poisson(unit_bounds(3)), clustered(15_000, 3),
                    with_rare_bursts),
        from_model("survey-nb", "negative binomial", "15 000 persons, 8 columns", lambda: negative(unit_bounds(8)),
                   survey(15_000), [0.8, *np.multiply(0.5, slopes), 0.5]),
        from_model("survey-student", "student-t", "8000 persons, 8 columns",
                   lambda: student(unit_bounds(8), outcome=UNIT), survey(8000), [0.0, *np.multiply(0.2, slopes), -3.0]),
    ]  # fmt: skip
