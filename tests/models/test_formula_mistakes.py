"""Regression by formula: what cannot be is refused before anything is read, by name and with the remedy."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dpmcmc as dp

SCHEMA = dp.Schema(
    count=dp.Number.count(10_000),
    amount=dp.Number(-20, 80),
    event=dp.Boolean(),
    age=dp.Number(18, 90),
    income=dp.Number(0, 200, missing=0),
    plan=dp.Category(["free", "basic", "full"], reference="basic", missing="level"),
    since=dp.Date("2000-01-01", "2020-12-31"),
)
WRONG_FORMULAS = [
    ("count ~ agee", "no column 'agee'.*did you mean 'age'"),
    ("counts ~ age", "no column 'counts'.*did you mean 'count'"),
    ("count ~ age + count", "outcome 'count' on the right side"),
    ("count ~ age:log1p(count)", "outcome 'count' on the right side"),
    ("count ~ ", "empty right side"),
    ("count ~ 1", "no column on its right side"),
    ("count ~ age - age", "twice in one place"),
    ("~ age", "has no outcome"),
    ("age + income", "has no outcome"),
    ("count + event ~ age", "has 2 outcomes"),
    ("log(count) ~ age", "'log\\(count\\)' is no declared column"),
    ("count ~ age + age", "'age' twice in one place"),
    ("count ~ plan + C(plan)", "has the term 'plan' twice"),
    ("count ~ log(age) + np.log(age)", "has the term 'log\\(age\\)' twice"),
    ("count ~ age:age", "'age' twice in one place"),
    ("count ~ age**2", "has a power of 'age'"),
    ("count ~ age +", "cannot be read"),
    ("count ~ age | plan", "not of the form .. .1.group"),
    ("count ~ 2:age", "multiplies a term by 2"),
    ("count ~ center(age)", "center is computed from all records"),
    ("count ~ scale(age)", "scale is computed from all records"),
    ("count ~ poly(age, 2)", "poly is computed from all records"),
    ("count ~ bs(age, df=4)", "bs is computed from all records"),
    ("count ~ offset(age)", "no column on its right side"),
    ("count ~ I(age / 2)", "not a declared column nor a function"),
    ("count ~ sin(age)", "not a declared column nor a function"),
    ("count ~ log(age + income)", "not a declared column nor a function"),
    ("count ~ log(agee)", "no column 'agee'"),
    ("count ~ log(income)", "declared from 0, where log is not finite.*log1p"),
    ("count ~ sqrt(amount)", "declared from -20, where sqrt is not finite"),
    ("count ~ exp(wide)", "declare narrower bounds"),
    ("count ~ huge:vast", "declare narrower bounds"),
    ("count ~ log(plan)", "'plan' is a dp.Category, and no number"),
    ("count ~ C(age)", "'age' is declared as dp.Number.*declare it as dp.Category"),
    ("count ~ C(plan, contr.sum)", "contrasts come from the declaration"),
    ("count ~ concentration", "'concentration', the name of another parameter"),
    ("count ~ log_concentration", "'log_concentration', the name of another parameter"),
    ("count ~ plan + `plan[full]`", "two coefficients called 'plan\\[full\\]'"),
]


@pytest.mark.parametrize(("formula", "message"), WRONG_FORMULAS)
def test_a_formula_that_cannot_be_is_refused_before_anything_is_read(formula, message):
    more = {"huge": dp.Number(0, 1e200), "vast": dp.Number(0, 1e200), "wide": dp.Number(0, 1000)}
    more |= {name: dp.Number(0, 1) for name in ("concentration", "log_concentration", "plan[full]")}
    with pytest.raises(ValueError, match=message):
        dp.regression(formula, SCHEMA.with_columns(more), "negative binomial")


@pytest.mark.parametrize(
    ("outcome", "family", "message"),
    [
        ("amount", "poisson", "'amount' is declared as dp.Number.*needs a count, dp.Number.count"),
        ("amount", "bernoulli", "needs two levels, dp.Boolean"),
        ("event", "gaussian", "'event' is declared as dp.Boolean.*needs a number with bounds"),
        ("plan", "bernoulli", "with the levels free, basic, full, missing.*needs two levels"),
        ("since", "gaussian", "'since' is declared as dp.Date"),
        ("count", "gamma", "no family 'gamma'; the families are 'gaussian'"),
    ],
)
def test_an_outcome_must_be_declared_as_its_family_needs(outcome, family, message):
    with pytest.raises(ValueError, match=message):
        dp.regression(f"{outcome} ~ age", SCHEMA, family)


def test_other_mistakes_are_named():
    with pytest.raises(TypeError, match=r"schema must be a dp\.Schema"):
        dp.regression("count ~ age", {"age": (0, 1)}, "poisson")
    with pytest.raises(TypeError, match="a formula is text"):
        dp.regression(3, SCHEMA)
    with pytest.raises(ValueError, match="no coefficient 'agee' to have a prior; there are: intercept, age"):
        dp.regression("count ~ age", SCHEMA, "poisson", priors={"agee": dp.Normal(0, 1)})
    with pytest.raises(ValueError, match="no coefficient 'intercept'"):
        dp.regression("count ~ 0 + age", SCHEMA, "poisson", priors={"intercept": dp.Normal(0, 1)})
    with pytest.raises(TypeError, match=r"must be dp\.Normal\(mean, std\), got 3"):
        dp.regression("count ~ age", SCHEMA, "poisson", priors={"age": 3})
    with pytest.raises(ValueError, match="std must be positive and finite, got -1"):
        dp.Normal(0, -1)
    with pytest.raises(ValueError, match="give the model that was sampled"):
        dp.regression("count ~ age", SCHEMA, "poisson").predict(
            SimpleNamespace(draws={"theta": np.zeros((1, 4))}, warmup=0), {"age": [50.0]}
        )


def test_without_formulaic_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=r"pip install 'dpmcmc\[formula\]'"):
        dp.regression("count ~ age", SCHEMA, "poisson")
