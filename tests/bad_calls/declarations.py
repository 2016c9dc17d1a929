"""Declared tables, models and formulas."""

import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from tests.bad_calls.calls import (
    BOUNDS,
    FINITE,
    FUNCTION,
    LEVELS,
    MODELS,
    NAMES,
    PAIRS,
    POSITIVE,
    SCHEMAS,
    TEXT,
    TRUTH,
    WHOLE,
    Good,
    given,
)
from tests.bad_calls.sampling import SCHEMA, STARTS, TABLE, regression

FORMULAS = (
    *(None, 3, "", "y", "~ age", "age + plan", ["y ~ age"], b"y ~ age"),
    *("y ~ nosuch", "nosuch ~ age", "y ~ y", "y ~ age + y", "y ~ 0", "y ~ age | plan", "y ~ (age|plan)", "y ~ (1|age)"),
    *(
        "y ~ age +",
        "y ~ log(",
        "y ~ log(age",
        "y ~ age)",
        "y ~~ age",
        "y ~ age ~ plan",
        "y ~ age ** plan",
        "y ~ age @ 2",
    ),
    *("y ~ eval('1')", "y ~ __import__('os')", "y ~ np.log(age)", "y ~ log(plan)", "y ~ poly(age, 2)", "log(y) ~ age"),
)
TABLES = (
    None,
    3,
    "no-such-file.csv",
    [],
    {},
    object(),
    {"age": [1.0]},
    np.zeros(3),
    {**TABLE, "age": TABLE["age"][:3]},
)


def _load(path: Any) -> dp.Schema:
    """The schema of a file; that of a file made for the purpose if the path is empty."""
    if path != "":
        return dp.Schema.load(path)
    with tempfile.TemporaryDirectory() as folder:
        return dp.Schema.load(SCHEMA.save(Path(folder) / "schema.toml"))


def _columns() -> Iterator[Good]:
    rules = ("maybe", [1], 7, math.nan, None, "level", True)
    number = {"low": (*FINITE, 2), "high": ("1", [1.0], math.nan, -1, 0, None, math.inf), "integer": TRUTH}
    number |= {"missing": rules, "outside": (*TEXT, None), "unit": (3, None, ["m"], b"m")}
    yield Good("Number", dp.Number, {"low": 0, "high": 1}, number)
    rules = (["a"], None, True, math.nan)
    levels = {"levels": LEVELS, "unknown": rules, "missing": (*rules, "d", 3)}
    abc = {"levels": ["a", "b", "c"]}
    yield Good("Category", dp.Category, abc, levels | {"reference": ("d", 3, ["a"], True, "")})
    yield Good("Ordered", dp.Ordered, abc, levels)
    codings = (3, "ny", ["a"], {"yes": 1, "no": 0}, {"yes": True}, {"yes": True, "no": True}, {None: True, "no": False})
    rules = ("maybe", 3, None, ["no"], "")
    boolean = {"coding": codings, "unknown": rules, "missing": rules}
    yield Good("Boolean", dp.Boolean, {"coding": {"yes": True, "no": False}}, boolean)
    days = (3, "yesterday", math.nan, [], "", "2000-13-01", b"2000-01-01", True)
    date = {"low": (*days, None, "2030-01-01"), "high": (*days, None, "1990-01-01"), "missing": days}
    yield Good("Date", dp.Date, {"low": "2000-01-01", "high": "2020-01-01"}, date | {"outside": (*TEXT, None)})
    columns = (None, 3, (0, 1), object(), dp.Number, "0 to 1", "1..0", "", [], {"low": 0, "high": 1})
    yield Good("Schema", dp.Schema, {"age": dp.Number(0, 1)}, {"age": columns, "_hidden": (dp.Number(0, 1),)})
    names = ("age", 3, None, ["nosuch"], [3], [None])
    yield Good("Schema.subset", SCHEMA.subset, {"names": ["age"]}, {"names": names})
    yield Good("Schema.encode", lambda table: SCHEMA.encode(table), {"table": TABLE}, {"table": TABLES})
    paths = (None, 3, "no-such-file.toml", [], object(), ".", b"schema.toml")
    yield Good("Schema.load", _load, {"path": ""}, {"path": paths})


def _formulas() -> Iterator[Good]:
    priors = (
        3,
        "normal",
        {"nosuch": dp.Normal(0, 1)},
        {"age": 3},
        {"age": (0, 1)},
        [dp.Normal(0, 1)],
        {3: dp.Normal(0, 1)},
    )
    columns = (3, "nosuch", ["age"], "plan", "", "y", "log(nosuch)")
    families = (3, None, "no such", "", ["gaussian"], "poisson", "gaussian", "student-t", "ordinal", "categorical")
    wrong: dict[str, tuple[Any, ...]] = {"formula": FORMULAS, "schema": SCHEMAS, "family": families, "priors": priors}
    wrong |= {"offset": columns, "weights": columns, "sigma": (1.0, "1"), "df": (4.0,), "nosuch": (1,)}
    good = {"formula": "y ~ age + plan", "schema": SCHEMA, "family": "bernoulli"}
    yield Good("regression", dp.regression, good, wrong)
    yield Good("FormulaRegression.encode", regression().encode, {"table": TABLE}, {"table": TABLES})
    real = dp.Schema(age=dp.Number(0, 120), income=dp.Number(0, 9))
    good = {"formula": "income ~ age", "schema": real}
    yield Good("regression, gaussian", dp.regression, good, {"sigma": given(POSITIVE), "df": (4.0,)})
    student = good | {"family": "student-t"}
    yield Good("regression, student-t", dp.regression, student, {"df": POSITIVE, "sigma": (1.0,)})
    yield Good("Normal", dp.Normal, {"mean": 0.0, "std": 1.0}, {"mean": FINITE, "std": POSITIVE})


def _models() -> Iterator[Good]:
    m = dp.models
    labels = (3, "g", {"g": 3}, {"g": []}, {"g": "ab"}, {"g": ["a", "a"]}, {3: ["a", "b"]}, {"age": ["a", "b"]}, None)
    plain = {"prior_std": POSITIVE, "bounds": BOUNDS, "offset": NAMES, "weights": NAMES, "groups": labels}
    good: dict[str, Any] = {"bounds": {"age": (0, 120)}}
    yield Good("LogisticRegression", m.LogisticRegression, good, plain)
    real = {"outcome": PAIRS} | plain
    yield Good("LinearRegression", m.LinearRegression, good | {"outcome": (0, 1)}, real | {"sigma": given(POSITIVE)})
    yield Good("StudentTRegression", m.StudentTRegression, good | {"outcome": (0, 1)}, real | {"df": POSITIVE})
    counts = plain | {"most": given(WHOLE)}
    yield Good("PoissonRegression", m.PoissonRegression, good, counts)
    yield Good("NegativeBinomialRegression", m.NegativeBinomialRegression, good, counts)
    levelled, abc = plain | {"outcome": LEVELS}, good | {"outcome": ["a", "b", "c"]}
    yield Good("OrdinalRegression", m.OrdinalRegression, abc, levelled)
    yield Good("CategoricalRegression", m.CategoricalRegression, abc, levelled | {"reference": ("d", 3, ["a"], True)})
    plain_model = m.LogisticRegression({"age": (0, 120)})
    encode = {"table": TABLES, "outcome": (3, None, "", "nosuch", ["y"])}
    yield Good("LogisticRegression.encode", plain_model.encode, {"table": TABLE, "outcome": "y"}, encode)
    yield Good("GaussianMean", m.GaussianMean, {}, {"dimension": WHOLE, "noise_std": POSITIVE, "prior_std": POSITIVE})
    pairs = (None, 3, (1.0,), (0.0, 1.0), (1.0, -1.0), "ab", (1.0, math.nan), (1.0, 1.0, 1.0))
    yield Good("TiedMixture", m.TiedMixture, {}, {"variance": POSITIVE, "prior_variances": pairs})
    units = {"model": (*MODELS, dp.PerUnit(plain_model, "p", 2)), "unit": (*NAMES, None, "record"), "most": WHOLE}
    yield Good("PerUnit", dp.PerUnit, {"model": plain_model, "unit": "person", "most": 3}, units)
    yield Good("Covariates", m.Covariates, good, {"bounds": BOUNDS})


def _own_models() -> Iterator[Good]:
    parts = {"log_prior": lambda t: -(t**2), "log_likelihood": lambda t, x: -((x - t) ** 2), "init": np.zeros(())}
    optional = ("simulate", "sample_prior", "covariates", "simulate_given", "response", "respond", "log_ratio_bound")
    wrong: dict[str, tuple[Any, ...]] = {name: FUNCTION for name in ("log_prior", "log_likelihood")}
    wrong |= {name: given(FUNCTION) for name in optional} | {
        "init": (*STARTS, None),
        "levels": (3, "a", [1.5], [-1], [1]),
    }
    yield Good("Model", dp.Model, parts, wrong)
    wrong = {"init": STARTS, "model": MODELS}
    model = dp.Model(**parts)
    yield Good("WithInit", dp.models.WithInit, {"model": model, "init": 0.0}, wrong)


def _numpyro() -> Iterator[Good]:
    import numpyro
    import numpyro.distributions as dist

    def waiting(age: Any, wait: Any = None) -> None:
        slope = numpyro.sample("slope", dist.Normal(0, 1))
        with numpyro.plate("records", len(age)):
            numpyro.sample("wait", dist.Normal(slope * age, 1.0), obs=wait)

    schema = dp.Schema(age=dp.Number(18, 90), wait=dp.Number(0, 60))
    wrong = {"model": FUNCTION, "schema": SCHEMAS, "plate": (3, None, "", "nosuch", ["records"])}
    wrong |= {"stacked": (3, "x", [], {"age": 3}, {"age": ["nosuch"]}, {"nosuch": ["age"]})}
    wrong |= {"constants": (3, "x", [], {"nosuch": 3})}
    yield Good("from_numpyro", dp.from_numpyro, {"model": waiting, "schema": schema}, wrong)


def calls() -> Iterator[Good]:
    yield from _columns()
    yield from _formulas()
    yield from _models()
    yield from _own_models()
    yield from _numpyro()
