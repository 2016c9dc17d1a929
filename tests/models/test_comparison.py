"""Bayes factors of terms, from draws, against the evidence in closed form."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

import dpmcmc as dp

SCHEMA = dp.Schema(
    y=dp.Number(-10, 10), a=dp.Number(0, 4), b=dp.Number(-1, 3), plan=dp.Category(["x", "z", "w"], reference="x")
)
SIGMA = 3.0


def evidence(model, table):
    """log p(y) of a linear regression with known noise: y is normal, with the prior's part of its covariance."""
    design = np.stack(list(model.design_matrix(table).values()), axis=1)
    # the prior is for scaled columns, with the intercept where numbers are at the centre of their bounds
    columns = {column.name: column for column in model.design.columns}
    for at, name in enumerate(model.names):
        if name in columns:
            design[:, at] = (design[:, at] - columns[name].shift) / columns[name].scale
    centre, half = 0.0, 10.0
    means, stds = np.array([model.priors[name] for name in model.names]).T
    covariance = design * stds**2 @ design.T + (SIGMA / half) ** 2 * np.eye(len(design))
    y = (np.asarray(table["y"]) - centre) / half
    posterior = np.linalg.inv(design.T @ design / (SIGMA / half) ** 2 + np.diag(stds**-2.0))
    mean = posterior @ (design.T @ y / (SIGMA / half) ** 2 + means / stds**2)
    return multivariate_normal(design @ means, covariance).logpdf(y), mean, posterior


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(-1.5, 1.5))
def test_the_ratio_of_densities_is_that_of_evidences(seed, slope):
    """Of draws from the exact posterior: 200 000, whose mean and covariance move the log by less than 0.05 here."""
    rng, n = np.random.default_rng(seed), 40
    table = {"a": rng.uniform(0, 4, n), "b": rng.uniform(-1, 3, n), "plan": rng.choice(["x", "z", "w"], n)}
    table["y"] = np.clip(slope * table["b"] + SIGMA * rng.normal(size=n), -10, 10)
    full = dp.regression("y ~ a + b + plan", SCHEMA, sigma=SIGMA)
    log_full, mean, covariance = evidence(full, table)
    draws = rng.multivariate_normal(mean, covariance, 200_000, method="cholesky").T
    release = SimpleNamespace(draws={n: d[None] for n, d in zip(full.names, draws, strict=True)}, warmup=0)
    for without, formula in ((["b"], "y ~ a + plan"), (["plan"], "y ~ a + b"), (["b", "plan"], "y ~ a")):
        log_less = evidence(dp.regression(formula, SCHEMA, sigma=SIGMA), table)[0]
        assert full.log_bayes_factor(release, without) == pytest.approx(log_full - log_less, abs=0.05)


@pytest.mark.parametrize(
    ("without", "error", "says"),
    [
        (["c"], ValueError, "no term 'c'; its coefficients are a, b"),
        (["intercept"], ValueError, "no term 'intercept'"),
        ("b", TypeError, r"such as \['b'\]"),
        ([], ValueError, "at least one term"),
    ],
)
def test_terms_that_are_none_are_named(without, error, says):
    model = dp.regression("y ~ a + b", SCHEMA, sigma=SIGMA)
    release = SimpleNamespace(draws={name: np.zeros((1, 8)) for name in model.names}, warmup=0)
    with pytest.raises(error, match=says):
        model.log_bayes_factor(release, without)
