"""Kernels and their parts, private and not."""

import math
from collections.abc import Iterator

import numpy as np

import dpmcmc as dp
from dpmcmc import algorithms as a
from tests.bad_calls.calls import (
    CLIPS,
    FUNCTION,
    NAMES,
    OPEN_UNIT,
    POSITIVE,
    SCALES,
    STEPS,
    TEXT,
    TRUTH,
    WHOLE,
    Good,
    given,
)

POINTS = (None, "0", object(), [math.nan], ["a"], [])
ROOTS = (None, "0", object(), [[math.nan]], np.eye(2), np.zeros((1, 1)), [0.0], [])
CONSTANTS = (0, -1.0, math.nan, "1", None, [1.0], math.inf, True, float)


def _recipes() -> Iterator[Good]:
    walk = {"step": STEPS, "clip": CLIPS}
    good = {"step": 0.1, "clip": 0.1}
    yield Good("dp_barker", dp.dp_barker, good, walk)
    noise = {"std": given(POSITIVE), "noise_multiplier": given(POSITIVE)}
    yield Good("dp_penalty", dp.dp_penalty, good, walk | noise)
    one = walk | {"step": SCALES, "std": POSITIVE}
    yield Good("dp_penalty_one_component", a.dp_penalty_one_component, good, one)
    yield Good("dp_penalty_guided", a.dp_penalty_guided, good, one)
    batch = {"batch": WHOLE}
    yield Good("dp_penalty_minibatch", a.dp_penalty_minibatch, good | {"batch": 10}, walk | batch | {"std": POSITIVE})
    minibatch = {"step": STEPS, "bound": POSITIVE, "rate": given(POSITIVE)}
    yield Good("dp_barker_minibatch", dp.dp_barker_minibatch, {"step": 0.1, "bound": 0.1}, minibatch)
    subsampled = {"step": STEPS, "correction": (*TEXT, None), "noise_variance": (*POSITIVE, 1.0)} | batch
    yield Good("dp_barker_subsampled", dp.dp_barker_subsampled, {"step": 0.1, "batch": 10}, subsampled)
    hmc = {"step": 0.1, "steps": 3, "gradient_clip": 1.0, "noise_multiplier": 1.0, "clip": 0.1}
    wrong = {"step": POSITIVE, "steps": WHOLE, "gradient_clip": POSITIVE, "noise_multiplier": (*POSITIVE, 0.01)}
    yield Good("dp_hmc", dp.dp_hmc, hmc, wrong | {"clip": CLIPS, "std": POSITIVE, "mass": (-1.0, "1")})
    orbit = {"mean": np.zeros(1), "root": np.eye(1), "count": 4, "clip": 0.1}
    counts = {"count": (*WHOLE, 1, 2, 10**9), "clip": CLIPS, "base": given(POINTS)}
    yield Good("dp_orbit", dp.dp_orbit, orbit, {"mean": POINTS, "root": ROOTS} | counts)
    hidden = {"step": 0.1, "count": 4, "clip": 0.1}
    yield Good("dp_hidden_centre", a.dp_hidden_centre, hidden, {"step": STEPS} | counts)
    langevin = {"step": POSITIVE, "clip": POSITIVE, "batch": given(WHOLE), "variant": (*TEXT, None)}
    yield Good("dp_sgld", dp.dp_sgld, {"step": 0.1, "clip": 1.0}, langevin)


def _references() -> Iterator[Good]:
    yield Good("metropolis", a.metropolis, {"step": 0.1}, {"step": STEPS})
    yield Good("barker", a.barker, {"step": 0.1}, {"step": STEPS})
    yield Good("hmc", a.hmc, {"step": 0.1, "steps": 3}, {"step": POSITIVE, "steps": WHOLE})
    yield Good("sgld", a.sgld, {"step": 0.1}, {"step": POSITIVE, "batch": given(WHOLE)})
    yield Good("seita", a.seita, {"step": 0.1, "batch": 10}, {"step": STEPS, "batch": (*WHOLE, 1)})
    tuna = {"step": STEPS, "constants": CONSTANTS, "chi": given(POSITIVE), "rate": given(POSITIVE)}
    yield Good("tuna_mh", a.tuna_mh, {"step": 0.1, "constants": 1.0}, tuna)
    published = {"step": STEPS, "constants": CONSTANTS, "epsilon": POSITIVE, "delta": OPEN_UNIT, "variant": TEXT}
    published |= {"rate": POSITIVE, "largest_batch": POSITIVE, "full_batch": TRUTH}
    yield Good("published_fast_mh", a.published_fast_mh, {"step": 0.1, "constants": 1.0}, published)


def _proposals() -> Iterator[Good]:
    p, scale = dp.proposals, {"scale": 0.1}
    yield Good("RandomWalk", dp.RandomWalk, scale, {"scale": SCALES})
    yield Good("GuidedWalk", p.GuidedWalk, scale, {"scale": (*SCALES, np.eye(2))})
    yield Good("OneComponent", p.OneComponent, scale, {"scale": (*SCALES, np.eye(2)), "cyclic": TRUTH})
    yield Good("Sphere", p.Sphere, scale, {"scale": SCALES})
    public = (None, "walk", object(), dp.RandomWalk, p.PlainLeapfrog(0.1), -1.0)
    hidden = {"proposal": public, "count": (*WHOLE, 2), "base": given(POINTS)}
    yield Good("HiddenCentre", p.HiddenCentre, {"proposal": dp.RandomWalk(0.1), "count": 4}, hidden)
    langevin = {"step": POSITIVE, "clip": POSITIVE, "batch": given(WHOLE), "variant": (*TEXT, None)}
    yield Good("Langevin", p.Langevin, {"step": 0.1, "clip": 1.0}, langevin)
    masses = ("1", object(), -1.0, math.nan, 0.0, [0.0], [-1.0, 1.0], [[1.0, 2.0]], [[0.0, 1.0], [0.0, 1.0]], [])
    leap = {"step": POSITIVE, "steps": WHOLE, "clip": POSITIVE, "noise_multiplier": POSITIVE, "mass": masses}
    good = {"step": 0.1, "steps": 3, "clip": 1.0, "noise_multiplier": 1.0}
    yield Good("Leapfrog", p.Leapfrog, good, leap | {"reuse_gradient": TRUTH})
    yield Good("PlainLangevin", p.PlainLangevin, {"step": 0.1}, {"step": POSITIVE, "batch": given(WHOLE)})
    yield Good("PlainLeapfrog", p.PlainLeapfrog, {"step": 0.1}, {"step": POSITIVE, "steps": WHOLE})
    custom = {"function": FUNCTION, "symmetric": TRUTH, "name": (*NAMES, None)}
    yield Good("Custom", dp.Custom, {"function": lambda key, theta: theta}, custom)
    parts = {"proposal": (None, 3, "walk", object(), dp.RandomWalk, dp.Barker(0.1))}
    parts |= {"acceptance": (None, 3, "barker", object(), dp.Barker, dp.RandomWalk(0.1))}
    yield Good("Kernel", dp.Kernel, {"proposal": dp.RandomWalk(0.1), "acceptance": dp.Barker(0.1)}, parts)


def _tests() -> Iterator[Good]:
    t, clip, batch = dp.acceptance, {"clip": 0.1}, {"batch": WHOLE}
    yield Good("Barker", dp.Barker, clip, {"clip": CLIPS})
    yield Good("Penalty", dp.Penalty, clip, {"clip": CLIPS, "std": (*POSITIVE, 1e9, 1e-9)})
    multiplier = {"clip": CLIPS, "noise_multiplier": POSITIVE}
    yield Good("ProportionalPenalty", t.ProportionalPenalty, clip | {"noise_multiplier": 1.0}, multiplier)
    penalty = {"clip": (*CLIPS, dp.ModelClip()), "std": POSITIVE} | batch
    yield Good("MinibatchPenalty", t.MinibatchPenalty, {"batch": 10, "clip": 0.1}, penalty)
    good = {"batch": 10, "clip": 0.1, "noise_multiplier": 1.0}
    wrong = multiplier | batch | {"published_noise": TRUTH}
    yield Good("ProportionalMinibatchPenalty", t.ProportionalMinibatchPenalty, good, wrong)
    corrected = {"noise_variance": POSITIVE, "correction": (*TEXT, None), "clamp": (*POSITIVE, 41)} | batch
    yield Good("CorrectedBarker", t.CorrectedBarker, {"batch": 10}, corrected)
    yield Good("PoissonBarker", t.PoissonBarker, {"bound": 0.1}, {"bound": POSITIVE, "rate": given(POSITIVE)})
    growing = {"batch": (*WHOLE, 1), "noise_variance": (*POSITIVE, 0.5), "passes": WHOLE}
    yield Good("GrowingBatch", t.GrowingBatch, {"batch": 10}, growing)
    yield Good(
        "TunaMH",
        t.TunaMH,
        {"constants": 1.0},
        {"constants": CONSTANTS, "chi": given(POSITIVE), "rate": given(POSITIVE)},
    )
    yield Good("ConstantClip", dp.ConstantClip, {"value": 1.0}, {"value": POSITIVE})
    metrics = ("1", 3, object(), [1.0], [[math.nan]], [[1.0, 2.0]], [])
    yield Good("DistanceClip", dp.DistanceClip, {"slope": 1.0}, {"slope": POSITIVE, "metric": metrics})


def calls() -> Iterator[Good]:
    yield from _recipes()
    yield from _references()
    yield from _proposals()
    yield from _tests()
