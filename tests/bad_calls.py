"""Calls with one wrong argument each, over the public interface: a table of good calls and of what is wrong for each argument.

A good call is a function and its arguments; ``wrong`` has values that no call may take for an argument of that kind.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import dpmcmc as dp
from dpmcmc.chain import acceptance, proposals

RNG = np.random.default_rng(0)
N = 40
TABLE = {"age": RNG.uniform(20, 80, N), "plan": RNG.choice(["a", "b"], N), "y": RNG.integers(0, 2, N)}
SCHEMA = dp.Schema(age=dp.Number(0, 120), plan=dp.Category(["a", "b"]), y=dp.Boolean())
MODEL = dp.regression("y ~ age + plan", SCHEMA, "bernoulli")
PLAIN = dp.models.LogisticRegression({"age": (0, 120)})
PLAIN_TABLE = {"age": TABLE["age"], "y": TABLE["y"]}
GAUSSIAN = dp.models.GaussianMean()
POINTS = RNG.normal(size=(N, 1))
KERNEL = dp.dp_barker(step=0.1, clip=0.1)
BUDGET = dp.Budget(1.0, 1e-3)
GAUSS_EVENT = dp.privacy.Gaussian(10.0)
DRAWS = RNG.normal(size=(2, 30, 1))
CLOUD = RNG.normal(size=(30, 2))

NOT_NUMBERS = ("1", None, [1.0], {}, 1 + 2j, object(), math.nan)
POSITIVE = (0, 0.0, -1.0, math.inf, -math.inf, *NOT_NUMBERS)
FINITE = (math.inf, -math.inf, *NOT_NUMBERS)
OPEN_UNIT = (0, 1, 1.5, -0.5, math.inf, *NOT_NUMBERS)
HALF_OPEN_UNIT = (0, 1.5, -0.5, math.inf, *NOT_NUMBERS)
WHOLE = (0, -3, 1.5, math.inf, True, *NOT_NUMBERS)
TEXT = (3, b"x", ["a"], object(), "no such thing", "")
TRUTH = ("yes", 2, None, [True], 0.5)
FUNCTION = (None, 3, "f", [len])
MODELS = (None, 3, "model", object(), {}, dp.Model)
METHODS = ("chain", 3, object(), [KERNEL], dp.Chain, len)
SCHEMAS = (None, {}, "schema.toml", 3, [("age", dp.Number(0, 1))], dp.Schema)
SPENT = (3, "release.npz", object(), [3], {"epsilon": 1})
SEEDS = (1.5, "1", -1, [1], math.nan, object())
CLIPS = (0, -1.0, math.inf, math.nan, "1", None, [1.0], object(), len)
SCALES = (0, -1.0, math.inf, math.nan, "1", None, object(), [], [[0.1, 0.2]], [0.1, -1.0])
BOUNDS = (
    None,
    3,
    [],
    {},
    {"age": 3},
    {"age": (1, 0)},
    {"age": (0, 0)},
    {"age": (0, math.inf)},
    {"age": (0, math.nan)},
    {"age": "0..1"},
    {3: (0, 1)},
    {"age": (0, 1, 2)},
)
INTERVALS = (None, 3, (), (1, 0), (0, 0), (0, math.inf), (math.nan, 1), "0..1", (0, 1, 2), {"low": 0})
TABLES = (None, 3, "no-such-file.csv", [], {}, object(), {"age": [1.0]}, np.zeros(3))
EVENTS = (None, 3, "gaussian", object(), [], dp.privacy.Gaussian)


@dataclass(frozen=True)
class Good:
    """A call that works, and what is wrong for each of its arguments."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    wrong: dict[str, tuple[Any, ...]]
    positional: tuple[str, ...] = ()

    def __call__(self, **changed: Any) -> Any:
        arguments = self.arguments | changed
        return self.function(*(arguments.pop(name) for name in self.positional), **arguments)


def _optional(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(value for value in values if value is not None)


def _sampling() -> Iterator[Good]:
    common = {"epsilon": POSITIVE[:-1] + (math.nan,), "delta": OPEN_UNIT, "method": METHODS, "draws": _optional(WHOLE)}
    common |= {"chains": WHOLE, "temperature": _optional(HALF_OPEN_UNIT), "spent": SPENT, "seed": SEEDS}
    budget = {"epsilon": 1.0, "delta": 1e-3, "seed": 1, "progress": False}
    yield Good(
        "sample", dp.sample, {"model": MODEL, "data": TABLE} | budget, {"model": MODELS, "data": TABLES} | common
    )
    yield Good(
        "sample plain",
        dp.sample,
        {"model": PLAIN, "data": PLAIN_TABLE} | budget,
        {"data": TABLES, "init": ("0", object())},
    )
    yield Good(
        "sample chain",
        dp.sample,
        {"model": GAUSSIAN, "data": POINTS, "method": KERNEL} | budget,
        {"data": (None, 3, [], np.zeros(0), "x", np.array(["a"]), np.full((5, 1), math.nan), {"x": [1, 2], "y": [1]})}
        | common,
    )
    yield Good(
        "dpvi",
        dp.dpvi,
        {"model": GAUSSIAN, "data": POINTS, "epsilon": 1.0, "delta": 1e-3, "seed": 1},
        {
            "model": MODELS,
            "epsilon": POSITIVE,
            "delta": OPEN_UNIT,
            "steps": WHOLE,
            "full_rank": TRUTH,
            "temperature": HALF_OPEN_UNIT,
            "clip": POSITIVE,
            "spent": SPENT,
            "seed": SEEDS,
            "data": (None, 3, [], np.array(["a"])),
        },
    )
    plans = {
        "model": MODELS,
        "n": WHOLE,
        "budget": (1.0, (1.0, 1e-3), "1", None, dp.Budget),
        "method": METHODS,
        "draws": _optional(WHOLE),
        "chains": WHOLE,
        "temperature": _optional(HALF_OPEN_UNIT),
        "spent": SPENT,
    }
    yield Good("plan", dp.plan, {"model": MODEL, "n": 40, "budget": BUDGET}, plans)
    yield Good("plan chain", dp.plan, {"model": GAUSSIAN, "n": 40, "budget": BUDGET, "method": KERNEL}, plans)
    yield Good("Budget", dp.Budget, {"epsilon": 1.0, "delta": 1e-6}, {"epsilon": POSITIVE, "delta": OPEN_UNIT})
    yield Good(
        "Chain",
        dp.Chain,
        {"kernel": KERNEL},
        {
            "kernel": (3, "barker", object(), dp.Kernel),
            "warmup": (-1, 1.5, "1", math.nan, [1]),
            "checkpoint": (3, object(), []),
        },
    )
    made = dp.plan(GAUSSIAN, N, BUDGET, method=KERNEL)
    yield Good(
        "plan.sample",
        made.sample,
        {"data": POINTS, "seed": 1, "progress": False},
        {"data": (None, 3, [], POINTS[:3], "x"), "seed": SEEDS},
    )


def _declarations() -> Iterator[Good]:
    yield Good(
        "Number",
        dp.Number,
        {"low": 0, "high": 1},
        {
            "low": FINITE + (2,),
            "high": ("1", [1.0], math.nan, -1, 0),
            "integer": TRUTH,
            "missing": ("maybe", [1], 7, math.nan),
            "outside": TEXT,
            "unit": (3, None, ["m"]),
        },
        ("low", "high"),
    )
    yield Good(
        "Category",
        dp.Category,
        {"levels": ["a", "b"]},
        {
            "levels": (None, 3, "ab", [], ["a"], ["a", "a"], [["a"], ["b"]], {"a", "b"}, [math.nan, "b"], [None, "b"]),
            "reference": ("c", 3, ["a"]),
            "unknown": ("c", 3, ["a"], None),
            "missing": ("c", 3, ["a"], None),
        },
        ("levels",),
    )
    yield Good(
        "Ordered",
        dp.Ordered,
        {"levels": ["a", "b", "c"]},
        {
            "levels": (None, 3, "abc", [], ["a"], ["a", "a"], [["a"]], {"a", "b"}, [None, "b"]),
            "unknown": ("d", 3, None),
            "missing": ("d", 3, None),
        },
        ("levels",),
    )
    yield Good(
        "Boolean",
        dp.Boolean,
        {"coding": ("no", "yes")},
        {
            "coding": (3, "ny", ["a"], ["a", "a"], ["a", "b", "c"]),
            "unknown": ("maybe", 3, None),
            "missing": ("maybe", 3, None),
        },
        ("coding",),
    )
    yield Good(
        "Date",
        dp.Date,
        {"low": "2000-01-01", "high": "2020-01-01"},
        {
            "low": (None, 3, "yesterday", "2030-01-01", math.nan, []),
            "high": (3, "tomorrow", "1990-01-01", [], math.nan),
            "outside": TEXT,
        },
        ("low", "high"),
    )
    yield Good(
        "Schema",
        dp.Schema,
        {"age": dp.Number(0, 1)},
        {"age": (None, 3, (0, 1), object(), dp.Number, "no unit 0..1", [])},
    )
    yield Good(
        "regression",
        dp.regression,
        {"formula": "y ~ age + plan", "schema": SCHEMA, "family": "bernoulli"},
        {
            "formula": (
                None,
                3,
                "",
                "y",
                "~ age",
                "y ~ nosuch",
                "nosuch ~ age",
                "y ~ age +",
                "y ~ log(",
                "y ~ y",
                "y ~ eval('1')",
                "y ~ age | plan",
                "age + plan",
                "y ~ __import__('os')",
                ["y ~ age"],
                "y ~ 0",
                "plan ~ age",
            ),
            "schema": SCHEMAS,
            "family": (3, None, "no such", "", ["gaussian"], "poisson", "gaussian", "student-t"),
            "priors": (3, "normal", {"nosuch": dp.Normal(0, 1)}, {"age": 3}, {"age": (0, 1)}, [dp.Normal(0, 1)]),
            "offset": (3, "nosuch", ["age"], "plan", ""),
            "weights": (3, "nosuch", ["age"], "plan", ""),
            "sigma": (1.0, "1"),
            "df": (4.0,),
            "nosuch": (1,),
        },
    )
    yield Good("Normal", dp.Normal, {"mean": 0.0, "std": 1.0}, {"mean": FINITE, "std": POSITIVE})
    yield Good(
        "PerUnit",
        dp.PerUnit,
        {"model": PLAIN, "unit": "person", "most": 3},
        {"model": MODELS, "unit": (3, None, "", "record", ["person"]), "most": WHOLE},
    )
    plain = {
        "prior_std": POSITIVE,
        "bounds": BOUNDS,
        "offset": (3, "", ["a"]),
        "weights": (3, "", ["a"]),
        "groups": (3, "g", {"g": 3}, {"g": []}, {"g": ["a", "a"]}, {3: ["a", "b"]}),
    }
    good = {"bounds": {"age": (0, 120)}}
    yield Good("LogisticRegression", dp.models.LogisticRegression, good, plain)
    yield Good(
        "LinearRegression",
        dp.models.LinearRegression,
        good | {"outcome": (0, 1)},
        plain | {"outcome": INTERVALS, "sigma": _optional(POSITIVE)},
    )
    yield Good("PoissonRegression", dp.models.PoissonRegression, good, plain | {"most": _optional(WHOLE)})
    yield Good(
        "NegativeBinomialRegression", dp.models.NegativeBinomialRegression, good, plain | {"most": _optional(WHOLE)}
    )
    yield Good(
        "StudentTRegression",
        dp.models.StudentTRegression,
        good | {"outcome": (0, 1)},
        plain | {"outcome": INTERVALS, "df": POSITIVE},
    )
    levels = (None, 3, "ab", [], ["a"], ["a", "a"], [["a"], ["b"]])
    yield Good(
        "OrdinalRegression",
        dp.models.OrdinalRegression,
        good | {"outcome": ["a", "b", "c"]},
        plain | {"outcome": levels},
    )
    yield Good(
        "CategoricalRegression",
        dp.models.CategoricalRegression,
        good | {"outcome": ["a", "b", "c"]},
        plain | {"outcome": levels, "reference": ("d", 3, ["a"])},
    )
    yield Good(
        "GaussianMean", dp.models.GaussianMean, {}, {"dimension": WHOLE, "noise_std": POSITIVE, "prior_std": POSITIVE}
    )
    yield Good(
        "TiedMixture",
        dp.models.TiedMixture,
        {},
        {"variance": POSITIVE, "prior_variances": (None, 3, (1.0,), (0.0, 1.0), (1.0, -1.0), "ab")},
    )
    parts = {"log_prior": lambda t: -(t**2), "log_likelihood": lambda t, x: -((x - t) ** 2), "init": np.zeros(())}
    functions = ("log_prior", "log_likelihood")
    optional = ("simulate", "sample_prior", "covariates", "simulate_given", "response", "respond", "log_ratio_bound")
    yield Good(
        "Model",
        dp.Model,
        parts,
        {name: FUNCTION for name in functions}
        | {name: _optional(FUNCTION) for name in optional}
        | {"init": (None, "0", object(), [], {}), "levels": (3, "a", [1.5], [-1])},
    )


def _kernels() -> Iterator[Good]:
    yield Good("dp_barker", dp.dp_barker, {"step": 0.1, "clip": 0.1}, {"step": SCALES, "clip": CLIPS})
    yield Good(
        "dp_penalty",
        dp.dp_penalty,
        {"step": 0.1, "clip": 0.1},
        {"step": SCALES, "clip": CLIPS, "std": _optional(POSITIVE), "noise_multiplier": _optional(POSITIVE)},
    )
    yield Good(
        "dp_barker_minibatch",
        dp.dp_barker_minibatch,
        {"step": 0.1, "bound": 0.1},
        {"step": SCALES, "bound": POSITIVE, "rate": _optional(POSITIVE)},
    )
    yield Good(
        "dp_barker_subsampled",
        dp.dp_barker_subsampled,
        {"step": 0.1, "batch": 10},
        {"step": SCALES, "batch": WHOLE, "correction": TEXT, "noise_variance": POSITIVE},
    )
    hmc = {"step": 0.1, "steps": 3, "gradient_clip": 1.0, "noise_multiplier": 1.0, "clip": 0.1}
    yield Good(
        "dp_hmc",
        dp.dp_hmc,
        hmc,
        {
            "step": POSITIVE,
            "steps": WHOLE,
            "gradient_clip": POSITIVE,
            "noise_multiplier": POSITIVE,
            "clip": CLIPS,
            "std": POSITIVE,
            "nosuch": (1,),
        },
    )
    yield Good(
        "dp_orbit",
        dp.dp_orbit,
        {"mean": np.zeros(1), "root": np.eye(1), "count": 4, "clip": 0.1},
        {
            "mean": (None, "0", object(), [math.nan]),
            "root": (None, "0", object(), [[math.nan]], np.eye(2), np.zeros((1, 1))),
            "count": WHOLE,
            "clip": CLIPS,
        },
    )
    yield Good(
        "dp_sgld",
        dp.dp_sgld,
        {"step": 0.1, "clip": 1.0},
        {"step": POSITIVE, "clip": POSITIVE, "batch": _optional(WHOLE), "variant": TEXT},
    )
    yield Good(
        "Kernel",
        dp.Kernel,
        {"proposal": dp.RandomWalk(0.1), "acceptance": dp.Barker(0.1)},
        {
            "proposal": (None, 3, "walk", object(), dp.RandomWalk, dp.Barker(0.1)),
            "acceptance": (None, 3, "barker", object(), dp.Barker, dp.RandomWalk(0.1)),
        },
    )
    yield Good("RandomWalk", dp.RandomWalk, {"scale": 0.1}, {"scale": SCALES})
    yield Good("GuidedWalk", proposals.GuidedWalk, {"scale": 0.1}, {"scale": SCALES})
    yield Good("OneComponent", proposals.OneComponent, {"scale": 0.1}, {"scale": SCALES, "cyclic": TRUTH})
    yield Good("Sphere", proposals.Sphere, {"scale": 0.1}, {"scale": SCALES})
    yield Good(
        "HiddenCentre",
        proposals.HiddenCentre,
        {"proposal": dp.RandomWalk(0.1), "count": 4},
        {"proposal": (None, 3, "walk", object(), dp.RandomWalk), "count": WHOLE},
    )
    yield Good(
        "Langevin",
        proposals.Langevin,
        {"step": 0.1, "clip": 1.0},
        {"step": POSITIVE, "clip": POSITIVE, "batch": _optional(WHOLE), "variant": TEXT},
    )
    yield Good(
        "Leapfrog",
        proposals.Leapfrog,
        {"step": 0.1, "steps": 3, "clip": 1.0, "noise_multiplier": 1.0},
        {
            "step": POSITIVE,
            "steps": WHOLE,
            "clip": POSITIVE,
            "noise_multiplier": POSITIVE,
            "reuse_gradient": TRUTH,
            "mass": ("1", object(), -1.0, math.nan, 0.0),
        },
    )
    yield Good("PlainLangevin", proposals.PlainLangevin, {"step": 0.1}, {"step": POSITIVE, "batch": _optional(WHOLE)})
    yield Good("PlainLeapfrog", proposals.PlainLeapfrog, {"step": 0.1}, {"step": POSITIVE, "steps": WHOLE})
    yield Good(
        "Custom",
        dp.Custom,
        {"function": lambda key, theta: theta},
        {"function": FUNCTION, "symmetric": TRUTH, "name": (3, None, ["a"])},
    )
    yield Good("Barker", dp.Barker, {"clip": 0.1}, {"clip": CLIPS})
    yield Good("Penalty", dp.Penalty, {"clip": 0.1}, {"clip": CLIPS, "std": POSITIVE})
    yield Good(
        "ProportionalPenalty",
        acceptance.ProportionalPenalty,
        {"clip": 0.1, "noise_multiplier": 1.0},
        {"clip": CLIPS, "noise_multiplier": POSITIVE},
    )
    yield Good(
        "MinibatchPenalty",
        acceptance.MinibatchPenalty,
        {"batch": 10, "clip": 0.1},
        {"batch": WHOLE, "clip": CLIPS, "std": POSITIVE},
    )
    yield Good(
        "CorrectedBarker",
        acceptance.CorrectedBarker,
        {"batch": 10},
        {"batch": WHOLE, "noise_variance": POSITIVE, "correction": TEXT, "clamp": POSITIVE},
    )
    yield Good(
        "PoissonBarker", acceptance.PoissonBarker, {"bound": 0.1}, {"bound": POSITIVE, "rate": _optional(POSITIVE)}
    )
    yield Good(
        "GrowingBatch",
        acceptance.GrowingBatch,
        {"batch": 10},
        {"batch": WHOLE, "noise_variance": POSITIVE, "passes": WHOLE},
    )
    yield Good(
        "TunaMH",
        acceptance.TunaMH,
        {"constants": 1.0},
        {"constants": (0, -1.0, math.nan, "1", None, [1.0]), "chi": POSITIVE},
    )
    yield Good("ConstantClip", dp.ConstantClip, {"value": 1.0}, {"value": POSITIVE})
    yield Good("DistanceClip", dp.DistanceClip, {"slope": 1.0}, {"slope": POSITIVE})


def _privacy() -> Iterator[Good]:
    p = dp.privacy
    yield Good("Gaussian", p.Gaussian, {"noise_multiplier": 1.0}, {"noise_multiplier": POSITIVE, "relation": TEXT})
    yield Good("BarkerBit", p.BarkerBit, {"shift": 1.0}, {"shift": (-1.0, math.inf, *NOT_NUMBERS)})
    yield Good(
        "PenaltyBit",
        p.PenaltyBit,
        {"shift": 1.0, "std": 1.0},
        {"shift": (-1.0, math.inf, *NOT_NUMBERS), "std": POSITIVE},
    )
    yield Good(
        "PoissonBarkerBit",
        p.PoissonBarkerBit,
        {"n": 100, "bound": 1.0, "rate": 1.0},
        {"n": WHOLE, "bound": POSITIVE, "rate": POSITIVE},
    )
    yield Good(
        "SubsampledBarkerBit",
        p.SubsampledBarkerBit,
        {"n": 100, "batch": 10},
        {"n": WHOLE, "batch": WHOLE + (101,), "noise_variance": POSITIVE, "clamp": POSITIVE},
    )
    yield Good(
        "SubsampledGaussian",
        p.SubsampledGaussian,
        {"noise_multiplier": 1.0, "n": 100, "batch": 10, "sampling": "poisson"},
        {"noise_multiplier": POSITIVE, "n": WHOLE, "batch": WHOLE + (101,), "sampling": TEXT, "relation": TEXT},
    )
    yield Good("Selection", p.Selection, {"range": 1.0}, {"range": (-1.0, math.inf, *NOT_NUMBERS)})
    yield Good(
        "Repeat",
        p.Repeat,
        {"event": GAUSS_EVENT, "count": 3},
        {"event": EVENTS, "count": (-1, 1.5, "1", None, math.nan, [1])},
    )
    yield Good("Compose", p.Compose, {"events": (GAUSS_EVENT,)}, {"events": (3, (3,), "ab", None)})
    yield Good(
        "epsilon",
        p.epsilon,
        {"event": GAUSS_EVENT, "delta": 1e-6},
        {"event": EVENTS, "delta": (-1e-3, 1.5, math.nan, "1", None, [0.1])},
    )
    yield Good(
        "delta",
        p.delta,
        {"event": GAUSS_EVENT, "epsilon": 1.0},
        {"event": EVENTS, "epsilon": (-1.0, math.nan, "1", None, [0.1])},
    )
    yield Good(
        "max_steps",
        p.max_steps,
        {"event": GAUSS_EVENT, "epsilon": 1.0, "delta": 1e-6},
        {"event": EVENTS, "epsilon": POSITIVE, "delta": OPEN_UNIT},
    )
    yield Good(
        "fits", p.fits, {"event": GAUSS_EVENT, "budget": BUDGET}, {"event": EVENTS, "budget": (None, 1.0, (1, 1e-6))}
    )
    yield Good("zcdp", p.zcdp, {"event": GAUSS_EVENT}, {"event": EVENTS})
    yield Good(
        "renyi",
        p.renyi,
        {"event": GAUSS_EVENT, "orders": 2.0},
        {"event": EVENTS, "orders": (1.0, 0.5, -1.0, math.nan, "2", None, [])},
    )
    yield Good("ZcdpFilter", p.ZcdpFilter, {"limit": 1.0}, {"limit": POSITIVE})
    yield Good(
        "GaussianFilter",
        p.GaussianFilter,
        {"limit": 1.0, "most_releases": 3},
        {"limit": POSITIVE, "most_releases": WHOLE},
    )
    yield Good(
        "RenyiFilter",
        p.RenyiFilter,
        {"order": 2.0, "limit": 1.0},
        {"order": (1.0, 0.5, math.nan, "2", None), "limit": POSITIVE},
    )


def _metrics() -> Iterator[Good]:
    m = dp.metrics
    clouds = (None, 3, "x", np.zeros((0, 2)), np.zeros(3), np.full((5, 2), math.nan), np.zeros((5, 3)))
    yield Good("mmd", m.mmd, {"x": CLOUD, "y": CLOUD}, {"x": clouds, "y": clouds, "bandwidth": _optional(POSITIVE)})
    yield Good("mmd_test", m.mmd_test, {"x": CLOUD, "y": CLOUD}, {"x": clouds, "y": clouds, "permutations": WHOLE})
    yield Good(
        "mean_error",
        m.mean_error,
        {"draws": CLOUD, "mean": np.zeros(2)},
        {"draws": clouds[:6], "mean": (None, "x", np.zeros(3))},
    )
    chances = (None, "x", [0.5, 1.5], [-0.1, 0.5], [math.nan, 0.5], [], [0.5])
    outcomes = (None, "x", [0, 2], [0.5, 1], [], [1], [math.nan, 1])
    for name in ("accuracy", "log_loss", "calibration_error"):
        yield Good(
            name,
            getattr(m, name),
            {"probabilities": np.array([0.2, 0.7]), "outcomes": np.array([0, 1])},
            {"probabilities": chances, "outcomes": outcomes},
        )
    yield Good(
        "effective_draws",
        m.effective_draws,
        {"draws": DRAWS},
        {"draws": (None, 3, "x", np.zeros(3), np.zeros((2, 0, 1)), np.full((2, 9, 1), math.nan))},
    )


def good_calls() -> list[Good]:
    """All good calls, in the order of the interface."""
    jax.config.update("jax_platforms", "cpu")
    return [*_sampling(), *_declarations(), *_kernels(), *_privacy(), *_metrics()]
