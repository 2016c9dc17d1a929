"""Problems of counts: Poisson and negative binomial regressions, ordinary or of a wrong model."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.trust.base import Problem
from dpmcmc_experiments.trust.synthetic import from_model, uniform, unit_bounds, wrong_model

N = 10_000


def overdispersed(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Rates that vary among records with the same covariates: gamma with shape ½."""
    rate = np.exp(0.7 + 0.5 * x[:, 0] - 0.5 * x[:, 1])
    return rng.poisson(rng.gamma(0.5, rate / 0.5))


def zero_inflated(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """Poisson, but six in ten cannot have any."""
    rate = np.exp(1.2 + 0.5 * x[:, 0] - 0.5 * x[:, 1])
    return np.where(rng.random(len(x)) < 0.6, 0, rng.poisson(rate))


def _poisson(count: int) -> Any:
    return lambda: dp.models.PoissonRegression(unit_bounds(count))


def _negative_binomial(count: int) -> Any:
    return lambda: dp.models.NegativeBinomialRegression(unit_bounds(count))


def problems() -> list[Problem]:
    poisson, negative = "poisson", "negative binomial"
    slopes = [0.7, 0.5, -0.5, 0.2]
    return [
        from_model("poisson-plain", poisson, "10 000 records, 3 covariates", _poisson(3), uniform(N, 3), slopes),
        from_model("poisson-tiny", poisson, "200 records", _poisson(2), uniform(200, 2), slopes[:3]),
        from_model("poisson-large", poisson, "counts of about 100", _poisson(2), uniform(N, 2), [4.5, 0.5, -0.5]),
        wrong_model("poisson-overdispersed", poisson, "rates that vary beyond the covariates", _poisson(2),
                    uniform(N, 2), overdispersed),
        wrong_model("poisson-zeros", poisson, "too many zeros", _poisson(2), uniform(N, 2), zero_inflated),
        from_model("nb-plain", negative, "10 000 records, 3 covariates", _negative_binomial(3), uniform(N, 3),
                   [*slopes, 0.0]),
        from_model("nb-sparse", negative, "mean 0.1", _negative_binomial(2), uniform(N, 2), [-2.3, 0.5, -0.5, -0.5]),
        wrong_model("nb-zeros", negative, "too many zeros", _negative_binomial(2), uniform(N, 2), zero_inflated),
    ]  # fmt: skip
