"""Runs, fits and plans, by functions, estimators and loops of others."""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

import dpmcmc as dp
from tests.bad_calls.calls import (
    BUDGETS,
    HALF_OPEN_UNIT,
    METHODS,
    MODELS,
    OPEN_UNIT,
    POSITIVE,
    SEEDS,
    SPENT,
    TRUTH,
    WHOLE,
    Good,
    given,
)

RNG = np.random.default_rng(0)
N = 40
TABLE = {"age": RNG.uniform(20, 80, N), "plan": RNG.choice(["a", "b"], N), "y": RNG.integers(0, 2, N)}
SCHEMA = dp.Schema(age=dp.Number(0, 120), plan=dp.Category(["a", "b"]), y=dp.Boolean())
BUDGET = dp.Budget(1.0, 1e-3)
GAUSSIAN = dp.models.GaussianMean()
POINTS = RNG.normal(size=(N, 1))
KERNEL = dp.dp_barker(step=0.1, clip=0.1)

WRONG_RECORDS = (None, 3, [], {}, "no-such-file.csv", object(), np.array(["a"]), np.zeros(0), {"x": [1, 2], "y": [1]})
STARTS = ("0", object(), [], {}, "zero", ["a"], dp.Model)
SETTINGS = {
    "method": METHODS,
    "draws": given(WHOLE),
    "chains": WHOLE,
    "temperature": given(HALF_OPEN_UNIT),
    "init": STARTS,
    "spent": SPENT,
}
KEPT = {
    "ledger": (3, "study.db", object(), dp.Ledger, {}, [], True, BUDGET),
    "save_to": (3, object(), [], b"x.npz", True, "x", "x.csv", "no-such-folder/x.npz", ""),
}
RUN = {"epsilon": POSITIVE, "delta": OPEN_UNIT, "seed": SEEDS, "progress": TRUTH} | SETTINGS | KEPT


@cache
def regression() -> Any:
    return dp.regression("y ~ age + plan", SCHEMA, "bernoulli")


@cache
def chain_plan() -> dp.ChainPlan:
    return dp.plan(GAUSSIAN, N, BUDGET, method=KERNEL)


def _sampled() -> Iterator[Good]:
    budget = {"epsilon": 1.0, "delta": 1e-3, "seed": 1, "progress": False}
    model = regression()
    records = {"model": MODELS, "data": (*WRONG_RECORDS, np.zeros(3), TABLE, np.full((5, 1), math.nan))}
    good = {"model": model, "data": model.encode(TABLE)} | budget
    yield Good("sample", dp.sample, good, records | RUN, ("data",), True)
    points = {"model": MODELS, "data": (*WRONG_RECORDS, np.full((5, 1), math.nan), np.zeros((5, 2)))}
    good = {"model": GAUSSIAN, "data": POINTS} | budget
    yield Good("sample without covariates", dp.sample, good, points | RUN, ("data",), True)
    yield Good("sample by a chain", dp.sample, good | {"method": KERNEL}, points | RUN, ("data",), True)
    fit = {key: RUN[key] for key in ("epsilon", "delta", "seed", "spent", "ledger", "save_to")}
    fit |= {"temperature": HALF_OPEN_UNIT, "steps": WHOLE, "full_rank": TRUTH, "clip": POSITIVE}
    good = {"model": GAUSSIAN, "data": POINTS, "epsilon": 1.0, "delta": 1e-3, "seed": 1}
    yield Good("dpvi", dp.dpvi, good, points | fit, ("data",), True)


def _planned() -> Iterator[Good]:
    plan = {"model": MODELS, "n": WHOLE, "budget": (*BUDGETS, None)} | SETTINGS
    yield Good("plan", dp.plan, {"model": regression(), "n": N, "budget": BUDGET}, plan)
    yield Good("plan of a chain", dp.plan, {"model": GAUSSIAN, "n": N, "budget": BUDGET, "method": KERNEL}, plan)
    files = (3, object(), [], b"x", True)
    kernels = (3, "barker", object(), dp.Kernel, [KERNEL], dp.RandomWalk(0.1), dp.Chain())
    chain = {"kernel": kernels, "warmup": given(WHOLE[1:]), "checkpoint": files}
    yield Good("Chain", dp.Chain, {"kernel": KERNEL}, chain)
    again = {"data": (*WRONG_RECORDS, POINTS[:3]), "seed": SEEDS, "ledger": KEPT["ledger"]}
    good = {"data": POINTS, "seed": 1, "progress": False}
    yield Good("ChainPlan.sample", lambda **given: chain_plan().sample(**given), good, again | KEPT, ("data",), True)
    yield Good(
        "as_sampling_algorithm",
        lambda **given: dp.blackjax.as_sampling_algorithm(**({"plan": chain_plan()} | given)),
        {"data": POINTS, "seed": 1},
        again | {"plan": (None, 3, "plan", object(), BUDGET, dp.ChainPlan)},
        ("data",),
    )
    yield Good("coarsened", dp.coarsened, {"beta": 100.0, "n": 1000}, {"beta": POSITIVE, "n": WHOLE})
    yield Good("Budget", dp.Budget, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": POSITIVE, "delta": OPEN_UNIT})


def _estimators() -> Iterator[Good]:
    def fit(estimator: Any) -> Any:
        return lambda X, y, **given: estimator(**given).fit(X, y)

    x, y = TABLE["age"][:, None], TABLE["y"]
    bounds = (3, "0..1", [], (1, 0), (0, math.inf), [(0, 1), (0, 1)], {"other": (0, 1)}, [(1, 0)], None)
    common = {"epsilon": POSITIVE, "delta": OPEN_UNIT, "bounds": bounds, "prior_std": POSITIVE}
    common |= {"n_draws": given(WHOLE), "method": METHODS, "random_state": (1.5, "1", -1, [1], object())}
    common |= {"X": (None, 3, "x", [], x[:, 0], x[:3]), "y": (None, 3, "y", [], y[:3], ["a"] * N)}
    good = {"X": x, "y": y, "epsilon": 1.0, "delta": 1e-3, "bounds": [(0, 120)], "random_state": 1}
    s = dp.sklearn
    yield Good("PrivateLogisticRegression", fit(s.PrivateLogisticRegression), good, common, runs=True)
    linear = {"y_bounds": (3, "0..1", (), (1, 0), (0, math.inf), None)}
    yield Good(
        "PrivateLinearRegression",
        fit(s.PrivateLinearRegression),
        good | {"y_bounds": (0, 1)},
        common | linear,
        runs=True,
    )
    most = {"most": given(WHOLE)}
    yield Good("PrivatePoissonRegressor", fit(s.PrivatePoissonRegressor), good, common | most, runs=True)


def calls() -> Iterator[Good]:
    yield from _sampled()
    yield from _planned()
    yield from _estimators()
