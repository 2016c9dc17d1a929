"""Events, what they cost, filters, and distances between samples."""

import math
from collections.abc import Iterator

import numpy as np

import dpmcmc as dp
from dpmcmc import metrics as m
from dpmcmc import privacy as p
from tests.bad_calls.calls import (
    ABOVE_ONE,
    BUDGETS,
    COUNT,
    EVENTS,
    FUNCTION,
    NOT_NEGATIVE,
    OPEN_UNIT,
    POSITIVE,
    TEXT,
    WHOLE,
    Good,
    given,
)

EVENT = p.Gaussian(10.0)
BIT = p.BarkerBit(0.1)
RNG = np.random.default_rng(0)
CLOUD = RNG.normal(size=(30, 2))
CHAINS = RNG.normal(size=(2, 30, 1))


def _events() -> Iterator[Good]:
    relation = {"relation": (*TEXT, None)}
    yield Good("Gaussian", p.Gaussian, {"noise_multiplier": 1.0}, {"noise_multiplier": POSITIVE} | relation)
    yield Good("BarkerBit", p.BarkerBit, {"shift": 1.0}, {"shift": NOT_NEGATIVE})
    yield Good("MetropolisBit", p.MetropolisBit, {"shift": 1.0}, {"shift": NOT_NEGATIVE})
    yield Good("PenaltyBit", p.PenaltyBit, {"shift": 1.0, "std": 1.0}, {"shift": NOT_NEGATIVE, "std": POSITIVE})
    poisson = {"n": WHOLE, "bound": POSITIVE, "rate": POSITIVE}
    yield Good("PoissonBarkerBit", p.PoissonBarkerBit, {"n": 100, "bound": 1.0, "rate": 1.0}, poisson)
    batch = {"n": WHOLE, "batch": (*WHOLE, 101)}
    barker = batch | {"noise_variance": (*POSITIVE, 1.0), "clamp": POSITIVE}
    yield Good("SubsampledBarkerBit", p.SubsampledBarkerBit, {"n": 100, "batch": 10}, barker)
    penalty = batch | {"bound": POSITIVE, "std": POSITIVE, "temperature": POSITIVE}
    good = {"n": 100, "batch": 10, "bound": 1.0, "std": 1.0}
    yield Good("SubsampledPenaltyBit", p.SubsampledPenaltyBit, good, penalty)
    gaussian = batch | relation | {"noise_multiplier": POSITIVE, "sampling": (*TEXT, None)}
    good = {"noise_multiplier": 1.0, "n": 100, "batch": 10, "sampling": "poisson"}
    yield Good("SubsampledGaussian", p.SubsampledGaussian, good, gaussian)
    yield Good("Selection", p.Selection, {"range": 1.0}, {"range": NOT_NEGATIVE})
    yield Good("Repeat", p.Repeat, {"event": EVENT, "count": 3}, {"event": EVENTS, "count": COUNT})
    several = (3, (3,), "ab", None, (EVENT, 3), EVENT, (EVENT, p.Gaussian(1.0, "add_remove")))
    yield Good("Compose", p.Compose, {"events": (EVENT,)}, {"events": several})


def _costs() -> Iterator[Good]:
    event = {"event": EVENTS}
    delta = (-1e-3, 1.5, 1.0, math.nan, "1", None, [0.1], True)
    yield Good("epsilon", p.epsilon, {"event": EVENT, "delta": 1e-6}, event | {"delta": (*delta, 0)})
    yield Good("delta", p.delta, {"event": EVENT, "epsilon": 1.0}, event | {"epsilon": NOT_NEGATIVE})
    steps = event | {"epsilon": NOT_NEGATIVE, "delta": (*delta, 0)}
    yield Good("max_steps", p.max_steps, {"event": EVENT, "epsilon": 1.0, "delta": 1e-6}, steps)
    yield Good("fits", p.fits, {"event": EVENT, "budget": dp.Budget(1.0, 1e-3)}, event | {"budget": (*BUDGETS, None)})
    yield Good("zcdp", p.zcdp, {"event": EVENT}, event)
    yield Good("pure", p.pure, {"event": BIT}, event)
    yield Good("parts", p.parts, {"event": EVENT}, event)
    orders = (1.0, 0.5, -1.0, math.inf, math.nan, "2", None, {}, object(), 1 + 2j, True, [2.0, 1.0], [[2.0]], [], ["2"])
    yield Good("renyi", p.renyi, {"event": EVENT, "orders": 2.0}, event | {"orders": orders})
    brackets = (None, 3, "ab", (1.0,), (0.0, 1.0), (2.0, 1.0), (1.0, math.inf), (1.0, math.nan), (1.0, 2.0, 3.0))
    good = {"make": p.Gaussian, "budget": dp.Budget(1.0, 1e-6), "bracket": (1.0, 100.0)}
    wrong = {"make": FUNCTION, "budget": (*BUDGETS, None), "bracket": brackets, "tolerance": POSITIVE}
    yield Good("calibrate", p.calibrate, good, wrong)
    budget = {"epsilon": NOT_NEGATIVE, "delta": OPEN_UNIT}
    yield Good("zcdp_limit", p.zcdp_limit, {"epsilon": 1.0, "delta": 1e-6}, budget)
    good = {"epsilon": 1.0, "delta": 1e-6, "order": 2.0}
    yield Good("renyi_limit", p.renyi_limit, good, budget | {"order": ABOVE_ONE})


def _filters() -> Iterator[Good]:
    limit, budget = {"limit": POSITIVE}, {"epsilon": NOT_NEGATIVE, "delta": OPEN_UNIT}
    good = {"epsilon": 1.0, "delta": 1e-6}
    yield Good("ZcdpFilter", p.ZcdpFilter, {"limit": 1.0}, limit)
    yield Good("ZcdpFilter.for_budget", p.ZcdpFilter.for_budget, good, budget)
    gaussian = limit | {"most_releases": WHOLE}
    yield Good("GaussianFilter", p.GaussianFilter, {"limit": 1.0, "most_releases": 3}, gaussian)
    of_budget = budget | {"most_releases": WHOLE}
    yield Good("GaussianFilter.for_budget", p.GaussianFilter.for_budget, good | {"most_releases": 3}, of_budget)
    yield Good("RenyiFilter", p.RenyiFilter, {"order": 2.0, "limit": 1.0}, limit | {"order": ABOVE_ONE})
    of_budget = budget | {"order": ABOVE_ONE}
    yield Good("RenyiFilter.for_budget", p.RenyiFilter.for_budget, good | {"order": 20.0}, of_budget)
    one = p.RenyiFilter(2.0, 1.0)
    yield Good("CurveFilter", p.CurveFilter, {"filters": (one,)}, {"filters": (None, 3, (), (3,), "ab", one)})


def _metrics() -> Iterator[Good]:
    clouds = (None, 3, "x", np.zeros((0, 2)), np.zeros(3), np.full((5, 2), math.nan), np.zeros((5, 3)), [["a", "b"]])
    both, good = {"x": clouds, "y": clouds}, {"x": CLOUD, "y": CLOUD}
    yield Good("mmd", m.mmd, good, both | {"bandwidth": given(POSITIVE)})
    yield Good("mmd_test", m.mmd_test, good | {"permutations": 9}, both | {"permutations": WHOLE})
    yield Good("mmd_raisa", m.mmd_raisa, good, both)
    yield Good("median_bandwidth", m.median_bandwidth, good, both | {"points": WHOLE})
    boxes = (None, 3, (), ((0, 1),), ((0, 1), (1, 0)), "ab", ((0, 1), (0, math.inf)))
    kl = both | {"bounds": boxes, "bins": WHOLE, "floor": POSITIVE}
    yield Good("symmetric_kl", m.symmetric_kl, good | {"bounds": ((-5, 5), (-5, 5))}, kl)
    tables = (None, 3, "x", np.zeros((0, 2)), np.zeros(3), np.full((5, 2), math.nan), np.zeros((5, 3)))
    mean = {"draws": tables, "mean": (None, "x", np.zeros(3), [math.nan, 0.0])}
    yield Good("mean_error", m.mean_error, {"draws": CLOUD, "mean": np.zeros(2)}, mean)
    covariance = {"draws": tables, "covariance": (None, "x", np.eye(3), 1.0)}
    yield Good("covariance_error", m.covariance_error, {"draws": CLOUD, "covariance": np.eye(2)}, covariance)
    chains = (None, 3, "x", np.zeros(3), np.zeros((2, 0, 1)), np.full((2, 9, 1), math.nan), np.zeros((3, 4)))
    yield Good("effective_draws", m.effective_draws, {"draws": CHAINS}, {"draws": chains})
    yield Good("largest_r_hat", m.largest_r_hat, {"draws": CHAINS}, {"draws": chains})
    yield Good("running_moments", m.running_moments, {"draws": CLOUD}, {"draws": (None, "x", [], [math.nan], {})})
    chances = (None, "x", [0.5, 1.5], [-0.1, 0.5], [math.nan, 0.5], [], [0.5], 0.5, [[0.2, 0.7]])
    outcomes = (None, "x", [0, 2], [0.5, 1], [], [1], [math.nan, 1], 1, ["a", "b"])
    for name in ("accuracy", "log_loss", "calibration_error"):
        good = {"probabilities": np.array([0.2, 0.7]), "outcomes": np.array([0, 1])}
        more = {"bins": WHOLE} if name == "calibration_error" else {}
        yield Good(name, getattr(m, name), good, {"probabilities": chances, "outcomes": outcomes} | more)


def calls() -> Iterator[Good]:
    yield from _events()
    yield from _costs()
    yield from _filters()
    yield from _metrics()
