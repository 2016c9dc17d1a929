"""Problems that were written after the method's settings were fixed, and run once: a rate of failure without tuning.

Nothing may be changed for their sake. Whoever changes the method moves them to the other problems and writes new ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.structured import group_of, scaled_group
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


def patients(n: int) -> Any:
    """Twelve columns: age, four laboratory values that go together, a dose that is mostly 0, sex, a rare condition, and
    one of five clinics with one left out."""

    def table(rng: np.random.Generator) -> Table:
        age = np.clip((rng.gamma(9.0, 6.0, n) - 50) / 50, -1, 1)
        laboratory = np.clip(np.exp(correlated(rng, n, 4, 0.6, 0.5)) / 4 - 0.5, -1, 1)
        dose = np.where(rng.random(n) < 0.8, -1.0, rng.uniform(-0.8, 1.0, n))
        sex, rare = (np.where(rng.random(n) < share, 1.0, -1.0) for share in (0.55, 0.03))
        clinic = 2 * one_hot(rng.choice(5, n, p=[0.35, 0.3, 0.2, 0.1, 0.05]), 5)[:, 1:] - 1
        return as_table(np.column_stack([age, laboratory, dose, sex, rare, clinic]))

    return table


def normals(n: int, count: int, sd: float = 0.3) -> Any:
    return lambda rng: as_table(np.clip(sd * rng.standard_normal((n, count)), -1, 1))


def skewed_errors(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return 0.2 * x[:, 0] - 0.1 * x[:, 3] + 0.1 * (rng.gamma(1.5, 1.0, len(x)) - 1.5)


def with_frailty(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Counts whose rates have a lognormal factor."""
    return rng.poisson(np.exp(0.3 + 0.8 * x[:, 0] - 0.5 * x[:, 1] + 0.7 * rng.standard_normal(len(x))))


def with_two_kinds(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """A tenth of the records have the opposite effects."""
    sign = np.where(rng.random(len(x)) < 0.1, -1.0, 1.0)
    return bernoulli(rng, -0.5 + sign * (1.5 * x[:, 0] - 1.0 * x[:, 1] + x[:, 2]))


def normal_errors(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return 0.1 + 0.3 * x[:, 0] + 0.2 * x[:, 1] - 0.1 * x[:, 2] + 0.15 * rng.standard_normal(len(x))


def grouped_counts(groups: int) -> Any:
    """log rate = intercept + slope·x + τ z_g, with z_g ~ N(0, 1) and log τ ~ N(−0.7, 0.5²); the group comes last."""

    def rate(theta: dict[str, Any], x: Any) -> Any:
        effect = jnp.exp(theta["log_tau"]) * theta["z"][group_of(x[..., -1], groups)]
        return jnp.exp(jnp.clip(theta["intercept"] + theta["slope"] * x[..., 0] + effect, -10, 10))

    def log_prior(theta: dict[str, Any]) -> Any:
        spread = ((theta["log_tau"] + 0.7) / 0.5) ** 2
        return -0.5 * ((theta["intercept"] ** 2 + theta["slope"] ** 2) / 4 + spread + jnp.sum(theta["z"] ** 2))

    def log_likelihood(theta: dict[str, Any], record: dict[str, Any]) -> Any:
        mean = rate(theta, record["x"])
        return record["y"] * jnp.log(mean) - mean

    def simulate_given(key: Any, theta: dict[str, Any], x: Any) -> dict[str, Any]:
        x = jnp.asarray(x, float)
        return {"x": x, "y": jax.random.poisson(key, rate(theta, x)).astype(x.dtype)}

    def simulate(key: Any, theta: dict[str, Any], n: int) -> dict[str, Any]:
        x_key, group_key, y_key = jax.random.split(key, 3)
        group = scaled_group(jax.random.randint(group_key, (n, 1), 0, groups), groups)
        x = jax.random.uniform(x_key, (n, 1), minval=-1.0, maxval=1.0)
        return simulate_given(y_key, theta, jnp.concatenate([x, group], axis=1))

    return dp.Model(
        log_prior=log_prior,
        log_likelihood=log_likelihood,
        init={"intercept": 0.0, "slope": 0.0, "log_tau": -0.7, "z": np.zeros(groups)},
        simulate=simulate,
        covariates=lambda record: record["x"],
        simulate_given=simulate_given,
        levels=(0, groups),
    )


def from_rates(flat: Any) -> Any:
    """Raveled (intercept, log τ, slope, z) from the same with the groups' own intercepts in place of z."""
    return jnp.concatenate([flat[:3], (flat[3:] - flat[0]) / jnp.exp(flat[1])])


def _counts_by_group(name: str, about: str, n: int, shares: np.ndarray) -> Problem:
    groups = len(shares)

    def make(model: Any, rng: np.random.Generator, folder: Path | None) -> tuple[Any, dict[str, Any]]:
        theta = {"intercept": 0.4, "slope": 0.5, "log_tau": -0.9, "z": rng.standard_normal(groups)}
        x, group = rng.uniform(-1, 1, n), rng.choice(groups, n, p=shares / shares.sum())
        rate = np.exp(0.4 + 0.5 * x + np.exp(-0.9) * theta["z"][group])
        return {"x": np.column_stack([x, scaled_group(group, groups)]), "y": rng.poisson(rate).astype(float)}, theta

    return Problem(name, "hierarchical", about, lambda: grouped_counts(groups), make, from_model=True, warp=from_rates)


def problems() -> list[Problem]:
    logistic, linear = dp.models.LogisticRegression, dp.models.LinearRegression
    poisson, negative, student = (
        dp.models.PoissonRegression, dp.models.NegativeBinomialRegression, dp.models.StudentTRegression
    )  # fmt: skip
    slopes = [0.6, -0.4, 0.3, 0.2, -0.3, 0.5, 0.3, -0.5, 0.2, -0.2, 0.4, 0.3]
    return [
        from_model("new-logistic-patients", "logistic", "15 000 patients, 12 columns",
                   lambda: logistic(unit_bounds(12)), patients(15_000), [-1.0, *slopes]),
        from_model("new-logistic-seldom", "logistic", "3 % ones", lambda: logistic(unit_bounds(5)),
                   normals(30_000, 5), [-3.5, 0.8, -0.5, 0.5, 0.3, -0.8]),
        wrong_model("new-logistic-kinds", "logistic", "two kinds of records", lambda: logistic(unit_bounds(3)),
                    normals(12_000, 3, 0.5), with_two_kinds),
        from_model("new-linear-ten", "linear", "ten normal covariates, 5000 records",
                   lambda: linear(unit_bounds(10), outcome=UNIT), normals(5000, 10),
                   [0.0, 0.1, -0.1, 0.2, 0.05, -0.15, 0.1, 0.0, 0.1, -0.1, 0.2, -1.8]),
        wrong_model("new-linear-skewed", "linear", "skewed errors", lambda: linear(unit_bounds(4), outcome=UNIT),
                    normals(8000, 4), skewed_errors),
        from_model("new-poisson-patients", "poisson", "10 000 patients, 12 columns", lambda: poisson(unit_bounds(12)),
                   patients(10_000), [0.2, *np.multiply(0.6, slopes)]),
        wrong_model("new-poisson-frailty", "poisson", "rates that vary", lambda: poisson(unit_bounds(4)),
                    normals(20_000, 4, 0.5), with_frailty),
        from_model("new-nb-few", "negative binomial", "4000 records", lambda: negative(unit_bounds(3)),
                   normals(4000, 3, 0.5), [1.0, 0.5, -0.4, 0.3, 0.3]),
        wrong_model("new-student-normal", "student-t", "errors without outliers",
                    lambda: student(unit_bounds(4), outcome=UNIT), normals(6000, 4, 0.5), normal_errors),
        _counts_by_group("new-grouped-counts", "counts in 12 groups", 12_000, 1.0 / np.sqrt(np.arange(1, 13))),
    ]  # fmt: skip
