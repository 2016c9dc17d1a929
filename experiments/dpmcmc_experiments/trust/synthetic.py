"""How records of a regression are made: covariates within declared bounds, outcomes from the model or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem

Table = dict[str, np.ndarray]
MakeTable = Callable[[np.random.Generator], Table]
Outcome = Callable[[np.random.Generator, np.ndarray], np.ndarray]  # from the scaled covariates, on the encoded scale
UNIT = (-1.0, 1.0)


def names_of(count: int) -> list[str]:
    return [f"x{i + 1}" for i in range(count)]


def unit_bounds(count: int) -> dict[str, tuple[float, float]]:
    return dict.fromkeys(names_of(count), UNIT)


def as_table(values: np.ndarray) -> Table:
    """Columns x1, x2, … of a matrix."""
    return dict(zip(names_of(values.shape[1]), values.T, strict=True))


def uniform(n: int, count: int) -> MakeTable:
    return lambda rng: as_table(rng.uniform(-1, 1, (n, count)))


def from_model(
    name: str,
    family: str,
    about: str,
    make_model: Callable[[], Any],
    table: MakeTable,
    truth: Sequence[float] | Callable[[np.random.Generator], Sequence[float]],
) -> Problem:
    """Outcomes drawn from the model at ``truth``, values in the order of ``model.names``; few may reach a bound."""

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, dict[str, float]]:
        x = dp.models.Covariates(model.bounds).encode(table(rng))
        values = truth(rng) if callable(truth) else truth
        theta = dict(zip(model.names, map(float, values), strict=True))
        return {"x": x, "y": within_bounds(family, drawn_outcomes(model, theta, x, rng))}, theta

    return Problem(name, family, about, make_model, make, from_model=True)


def wrong_model(
    name: str, family: str, about: str, make_model: Callable[[], Any], table: MakeTable, outcome: Outcome
) -> Problem:
    """Outcomes that the model cannot draw."""

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, None]:
        x = dp.models.Covariates(model.bounds).encode(table(rng))
        return {"x": x, "y": within_bounds(family, np.asarray(outcome(rng, x), np.float64))}, None

    return Problem(name, family, about, make_model, make)


def within_bounds(family: str, y: np.ndarray) -> np.ndarray:
    """Real outcomes moved within [−1, 1], as a table's would be."""
    return np.clip(y, *UNIT) if family in ("linear", "student-t") else y


def drawn_outcomes(model: Any, theta: dict[str, float], x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Outcomes of the seven families, apart from the library's own simulation."""
    m = dp.models
    if isinstance(model, m.CategoricalRegression):  # the level with the largest utility, with Gumbel noise
        utility = np.zeros((len(x), len(model.outcome)))
        for at, level in enumerate(model.outcome[1:], start=1):
            utility[:, at] = theta[f"intercept[{level}]"] + x @ [theta[f"{name}[{level}]"] for name in model.bounds]
        return np.argmax(utility + rng.gumbel(size=utility.shape), axis=1).astype(np.float64)
    eta = theta["intercept"] + x @ np.array([theta[name] for name in model.bounds])
    if isinstance(model, m.OrdinalRegression):
        gaps = [np.exp(value) for name, value in theta.items() if name.startswith("log_gap[")]
        return np.searchsorted(np.cumsum([0.0, *gaps]), eta + rng.logistic(size=len(x))).astype(np.float64)
    if isinstance(model, m.LogisticRegression):
        return bernoulli(rng, eta)
    if isinstance(model, m.PoissonRegression):
        return rng.poisson(np.exp(eta)).astype(np.float64)
    if isinstance(model, m.NegativeBinomialRegression):
        r = np.exp(theta["log_concentration"])
        return rng.poisson(rng.gamma(r, np.exp(eta) / r)).astype(np.float64)
    sigma = np.exp(theta["log_sigma"]) if "log_sigma" in theta else 2 * model.sigma / np.ptp(model.outcome)
    if isinstance(model, m.StudentTRegression):
        return eta + sigma * rng.standard_t(model.df, len(eta))
    assert isinstance(model, m.LinearRegression)
    return eta + sigma * rng.standard_normal(len(eta))


def bernoulli(rng: np.random.Generator, logit: np.ndarray) -> np.ndarray:
    return (rng.random(len(logit)) < 1 / (1 + np.exp(-logit))).astype(np.float64)


def one_hot(level: np.ndarray, levels: int) -> np.ndarray:
    return (level[:, None] == np.arange(levels)).astype(np.float64)


def correlated(rng: np.random.Generator, n: int, count: int, rho: float, sd: float) -> np.ndarray:
    """Normal columns with correlation ``rho`` between any two."""
    common, own = rng.standard_normal((n, 1)), rng.standard_normal((n, count))
    return sd * (np.sqrt(rho) * common + np.sqrt(1 - rho) * own)
