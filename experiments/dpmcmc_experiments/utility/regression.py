"""Logistic regression on two public data sets: errors of the default method, coverage, and predictions.

``adult.data`` and ``adult.test`` (a census extract: income above 50 000) are read from ``--data``; the RAND health
insurance data (any doctor visit in a year) come with statsmodels, one record in five held out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Check, Settings, rng_of, seed_of
from dpmcmc_experiments.utility.scores import Moments, expected, short

EPSILONS = (1.0, 3.0)
RUNS, SIMULATIONS = 10, {"rand": 20, "adult": 10}
LEVEL = 0.9
COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
CENSUS = {
    "age": (17, 90),
    "years": (1, 16),
    "hours": (0, 99),
    "male": (0, 1),
    "married": (0, 1),
    "white": (0, 1),
    "government": (0, 1),
    "gained": (0, 1),
}
HEALTH = {"lncoins": (0.0, 4.6152), "disea": (0.0, 25.0), "hlthg": (0.0, 1.0)}
Problem = tuple[Any, dict[str, np.ndarray], dict[str, np.ndarray]]


def adult(folder: Path) -> Problem:
    """Model, 32 561 records, and 16 281 held out."""
    model = dp.models.LogisticRegression(CENSUS)

    def read(name: str, skip: int) -> dict[str, np.ndarray]:
        table = pd.read_csv(folder / name, names=COLUMNS, skipinitialspace=True, skiprows=skip)
        made = table[["age", "years", "hours"]].assign(
            male=table["sex"] == "Male",
            married=table["marital"].str.startswith("Married-civ"),
            white=table["race"] == "White",
            government=table["workclass"].str.contains("gov"),
            gained=table["gain"] > 0,
            rich=table["income"].str.startswith(">50"),
        )
        return model.encode(made.astype(float), "rich")

    return model, read("adult.data", 0), read("adult.test", 1)


def rand() -> Problem:
    """Model, 16 152 records, and 4038 held out."""
    from statsmodels.datasets import randhie

    model = dp.models.LogisticRegression(HEALTH)
    table = randhie.load_pandas().data
    records = model.encode(table.assign(visit=table["mdvis"] > 0), "visit")
    held = rng_of("rand").permutation(len(table)) < len(table) // 5
    return model, {k: v[~held] for k, v in records.items()}, {k: v[held] for k, v in records.items()}


def design(data: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([np.ones(len(data["y"])), data["x"]]).astype(np.float64)


def laplace(model: Any, data: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Mode of the posterior and inverse Hessian there, coefficients in the order of ``model.names``."""
    x, y = design(data), np.asarray(data["y"], np.float64)
    prior = np.eye(x.shape[1]) / model.prior_std**2
    theta = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ theta))
        hessian = (x.T * (p * (1 - p))) @ x + prior
        theta = theta + np.linalg.solve(hessian, x.T @ (y - p) - prior @ theta)
    return theta, np.linalg.inv(hessian)


def exact_draws(model: Any, data: dict[str, np.ndarray], count: int = 4000) -> np.ndarray:
    """Draws of the posterior without privacy, by importance from the Laplace approximation."""
    mean, covariance = laplace(model, data)
    rng = rng_of("laplace")
    draws = rng.multivariate_normal(mean, 1.1 * covariance, 2 * count)
    x, y = design(data), np.asarray(data["y"], np.float64)
    log_likelihood = np.concatenate(
        [y @ (eta := x @ part.T) - np.logaddexp(0, eta).sum(axis=0) for part in np.array_split(draws, 40)]
    )
    away = draws - mean
    proposal = -0.5 * np.einsum("ij,jk,ik->i", away, np.linalg.inv(1.1 * covariance), away)
    weights = log_likelihood - 0.5 * np.sum(draws**2, axis=1) / model.prior_std**2 - proposal
    weights = np.exp(weights - weights.max())
    return draws[rng.choice(len(draws), count, p=weights / weights.sum())]


def coefficients(model: Any, release: dp.Release) -> np.ndarray:
    return np.column_stack([release.draws[name].ravel() for name in model.names])


def loss(draws: np.ndarray, data: dict[str, np.ndarray]) -> float:
    """Log loss of the predictive probabilities."""
    some = draws[:: max(1, len(draws) // 200)]
    probabilities = np.mean(1 / (1 + np.exp(-design(data) @ some.T)), axis=1)
    return dp.metrics.log_loss(probabilities, data["y"])


def problem(name: str, settings: Settings) -> Problem:
    if name == "rand":
        return rand()
    if settings.data is None:
        raise FileNotFoundError("the census extract is read from a folder: give --data with adult.data and adult.test")
    return adult(settings.data)


def names(settings: Settings) -> list[str]:
    return ["rand"] if settings.data is None or not (settings.data / "adult.data").exists() else ["rand", "adult"]


def cells(settings: Settings) -> list[Cell]:
    if settings.quick:
        return [released("rand", 1.0, settings, runs=1)]
    pairs = [(name, epsilon) for name in names(settings) for epsilon in EPSILONS]
    found = [released(name, epsilon, settings) for name, epsilon in pairs]
    found += [_simulated(name, epsilon, settings) for name, epsilon in pairs]
    return found + [_foreseen(name, epsilon, settings) for name, epsilon in pairs]


def released(name: str, epsilon: float, settings: Settings, runs: int = RUNS) -> Cell:
    """Releases from the real records, held against the posterior without privacy and against held-out records."""

    def rows() -> list[dict[str, Any]]:
        model, data, held = problem(name, settings)
        exact, n = exact_draws(model, data), len(data["y"])
        moments, best = Moments.of(exact), loss(exact, held)
        found = []
        for run in range(runs):
            seed = seed_of("regression", name, epsilon, run)
            draws = coefficients(model, dp.sample(model, data, epsilon, 0.1 / n, seed=seed, progress=False))
            off = np.abs(draws.mean(axis=0) - moments.mean) / moments.sd
            named = {"data": name, "kind": "real", "epsilon": epsilon, "run": run}
            scores = moments.errors(draws) | {"off": float(off.mean()), "log_loss": loss(draws, held) / best - 1}
            found.append(short(named | scores))
        return found

    return Cell(f"regression-{name}-{epsilon:g}" + ("-quick" if settings.quick else ""), rows)


def _foreseen(name: str, epsilon: float, settings: Settings) -> Cell:
    """What the plan says before a record is read."""

    def rows() -> list[dict[str, Any]]:
        model, data, _ = problem(name, settings)
        n = len(data["y"])
        named = {"data": name, "kind": "foreseen", "epsilon": epsilon}
        return [short(named | expected(model, n, epsilon, 0.1 / n))]

    return Cell(f"regression-{name}-{epsilon:g}-foreseen", rows)


def _simulated(name: str, epsilon: float, settings: Settings) -> Cell:
    """Outcomes simulated at known coefficients, the real covariates: do intervals cover the coefficients?"""

    def rows() -> list[dict[str, Any]]:
        model, data, _ = problem(name, settings)
        truth, covariance = laplace(model, data)
        n, x = len(data["y"]), design(data)
        found = []
        for run in range(SIMULATIONS[name]):
            rng = rng_of("coverage", name, epsilon, run)
            theta = rng.multivariate_normal(truth, covariance)
            y = (rng.random(n) < 1 / (1 + np.exp(-x @ theta))).astype(np.float32)
            seed = seed_of("coverage", name, epsilon, run)
            release = dp.sample(model, data | {"y": y}, epsilon, 0.1 / n, seed=seed, progress=False)
            draws = coefficients(model, release)
            low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
            covered = float(np.mean((low <= theta) & (theta <= high)))
            found.append(short({"data": name, "kind": "simulated", "epsilon": epsilon, "run": run, "covered": covered}))
        return found

    return Cell(f"coverage-{name}-{epsilon:g}", rows)


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    checks = []
    real = rows[rows["kind"] == "real"].groupby(["data", "epsilon"])
    off = real["off"].mean()
    listed = ", ".join(f"{name} ε = {epsilon:g}: {value:.2f}" for (name, epsilon), value in off.items())
    checks.append(Check("posterior means are off by less than one standard deviation", listed, bool((off < 1).all())))
    if settings.quick:
        return checks
    worse = real["log_loss"].mean().xs(3.0, level="epsilon")
    listed = ", ".join(f"{name}: {value:+.2%}" for name, value in worse.items())
    checks.append(Check("log loss on held-out records at ε = 3 within 1 %", listed, bool((worse < 0.01).all())))
    covered = rows[rows["kind"] == "simulated"].groupby(["data", "epsilon"])["covered"].agg(["mean", "std", "size"])
    covered["error"] = covered["std"] / np.sqrt(covered["size"])
    listed = ", ".join(f"{r.Index[0]} ε = {r.Index[1]:g}: {r.mean:.1%} ± {r.error:.1%}" for r in covered.itertuples())
    honest = bool((covered["mean"] + 2 * covered["error"] >= LEVEL).all())
    return [*checks, Check("90 % intervals cover 90 % of the coefficients, within two standard errors", listed, honest)]
