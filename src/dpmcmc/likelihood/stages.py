"""From a wide public region to the posterior in a few releases, each over the region that the last one left.

A stage draws anchors from the region, builds a basis from records that the model simulates there, releases the feature
sums and samples the posterior they give. Early stages are crude and cheap: their posterior, raised to a quarter so that
it is twice as wide, is the next region; where it left its own, the next region holds both. The last has most of the
budget and gives the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood import smc
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.checks import Edge, LikelihoodChecks, Stage, at_clip, check
from dpmcmc.likelihood.regions import Normal, Region, root_of
from dpmcmc.likelihood.simulation import Simulator, missed_nats, simulate
from dpmcmc.raveled import RaveledModel, compiled_values

ANCHORS = 256
GROUPS, LEAST_PARTICLES = 32, 64
PILOT_GROUPS, PILOT_PARTICLES = 8, 192  # few and large, so that none is lost on the way from a wide region
WIDER = 1.5  # the normal that a stage's particles begin from, over the last stage's region
PILOT_POWER = 0.25  # of the posterior that is the next stage's region
MOST_NATS = 1e4  # a pilot's likelihood spans over its region: about a hundred times narrower, no more at a time
TRUSTED = 0.95  # share of the region within which an incomplete basis is used at all
MOST_BEYOND = 0.5  # share of a pilot's draws outside of its region from which on the next region holds both
MARGIN = 2.0  # real records may be less well caught than simulated ones

NUMERICAL = (np.linalg.LinAlgError, ArithmeticError, ValueError)
"""Failures that end a run once sums are released, and do not lose them."""

Sums = Callable[[int, Basis], np.ndarray]
"""(stage, basis) → noisy sums of the records' features over the clip."""


class Task(NamedTuple):
    """What all stages share: everything is public."""

    model: RaveledModel
    region: Region
    n: int
    temperature: float
    simulate: Simulator
    noise: tuple[float, ...]  # of each stage, standard deviations over the clip
    particles: int  # of each group of the last stage, at least

    @property
    def records(self) -> float:
        """How many records the likelihood counts."""
        return self.temperature * self.n


class Draws(NamedTuple):
    """Draws of the posterior by group, and what one standard deviation of each noise does to their log likelihood."""

    theta: np.ndarray  # (group, particle, parameter)
    effects: np.ndarray  # (group, particle, component)
    last: Stage
    weights: np.ndarray  # (group, record) of the last stage's simulated records
    checks: LikelihoodChecks
    unconverged_stages: int = 0  # whose particles did not get to their posterior step by step
    failed: bool = False  # whether arithmetic ended the run before its last draws


class Sampled(NamedTuple):
    """Particles of a stage."""

    cloud: np.ndarray  # (group, particle, parameter)
    weights: np.ndarray  # (group, record)
    converged: bool


def run_stages(task: Task, sums: Sums, key: Any) -> Draws:
    """Draws of the posterior that knows its noise. Groups come in pairs with noise ±e.

    A numerical failure once sums are released ends the run, and what they are is kept.
    """
    key, first = jax.random.split(key)
    points, confined = task.region.draw(first, PILOT_GROUPS * PILOT_PARTICLES), False
    stages: list[Stage] = []
    unconverged = widened = 0
    for index in range(len(task.noise)):
        keys = jax.random.split(jax.random.fold_in(key, index), 6)
        try:
            stages.append(_release(task, sums, points, (index, confined), keys))
            confined = stages[-1].confined
            found = _sample(task, stages[-1], index, keys)
        except NUMERICAL:
            if not stages:
                raise
            return _failed(task, stages, points, unconverged, keys[3])
        unconverged += not found.converged
        left = stages[-1].beyond(found.cloud) > MOST_BEYOND
        new = found.cloud.reshape(-1, points.shape[1])
        if left and index < len(task.noise) - 1:  # the next region holds both, as either may be right
            widened, new = widened + 1, np.concatenate([new, points])
        points = new
    effects = _noise_effects(task, stages[-1], points).reshape(*found.cloud.shape[:2], -1)
    checks = check(task.model, stages, found.cloud, task.n, task.temperature, widened)
    return Draws(found.cloud, effects, stages[-1], found.weights, checks, unconverged)


def _release(task: Task, sums: Sums, points: np.ndarray, state: tuple[int, bool], keys: Any) -> Stage:
    """The sums of a stage over the region that ``points`` were drawn from. ``state``: its number, and whether an
    earlier basis was incomplete."""
    index, confined = state
    points = _within_support(task, points, index)
    basis = _basis(task, points, index, keys)
    confined |= not basis.complete
    normal = Normal(points.mean(axis=0), WIDER * root_of(np.cov(points, rowvar=False).reshape(points.shape[1], -1)))
    distances = normal.distances(points)
    edge = Edge.of(distances, TRUSTED if confined else 1.0)
    reach, missed = _trusted(task, basis, points, distances, keys[4]) if confined else (np.inf, 0.0)
    power = 1.0 if index == len(task.noise) - 1 else _pilot_power(task, basis, missed)
    return Stage(basis, sums(index, basis), task.noise[index], normal, edge, reach, confined, missed, power)


def _sample(task: Task, stage: Stage, index: int, keys: Any) -> Sampled:
    """Particles of the posterior that a stage's sums give."""
    groups, count = _particles(task, stage.confined, index == len(task.noise) - 1)
    from_prior = task.region.is_prior and index == 0
    weights = imputed_weights(stage, task.n, groups, keys[3])
    problem = smc.Problem(
        stage.basis.simulated,
        jnp.asarray(weights),
        jnp.asarray(task.temperature * stage.power),
        jnp.asarray(stage.normal.centre),
        jnp.asarray(stage.normal.root),
        jnp.asarray(stage.reach),
        jnp.asarray(from_prior),
        jnp.asarray(stage.confined),
    )
    begin = _beginning(task, stage, from_prior, groups * count, keys[4])
    cloud, converged = smc.sample(task.model, problem, begin.reshape(groups, count, -1), keys[5])
    if not np.all(np.isfinite(cloud)):
        raise FloatingPointError("the sampler's particles are not finite")
    return Sampled(cloud, weights, converged)


def imputed_weights(stage: Stage, n: int, groups: int, key: Any) -> np.ndarray:
    """Weights of the simulated records, (group, record): each pair of groups takes one draw ±e off the sums."""
    half = np.asarray(jax.random.normal(key, (groups // 2, stage.basis.size)))
    noise = stage.std * np.stack([half, -half], axis=1).reshape(groups, -1)
    return stage.basis.weights(n, stage.sums - noise)


def _failed(task: Task, stages: list[Stage], points: np.ndarray, unconverged: int, key: Any) -> Draws:
    """What is left of a run that arithmetic ended: its last sums, and the region in place of draws."""
    theta = np.resize(points, (GROUPS, max(task.particles, LEAST_PARTICLES), points.shape[1]))
    nothing = LikelihoodChecks(0.0, 1.0, 1.0, at_clip(stages[-1], task.n), 0)
    weights = imputed_weights(stages[-1], task.n, GROUPS, key)
    return Draws(theta, np.zeros((*theta.shape[:2], 1)), stages[-1], weights, nothing, unconverged, failed=True)


def _within_support(task: Task, points: np.ndarray, stage: int) -> np.ndarray:
    points = points[np.isfinite(np.asarray(jax.vmap(task.model.log_prior)(jnp.asarray(points))))]
    if len(points) < ANCHORS:
        raise ValueError(f"the region of stage {stage + 1} is mostly outside the prior's support; give another init=")
    return points


def _basis(task: Task, points: np.ndarray, stage: int, keys: Any) -> Basis:
    """Functions for the log likelihood over the region that ``points`` were drawn from."""
    anchors = points[np.asarray(jax.random.choice(keys[0], len(points), (ANCHORS,), replace=False))]
    records = simulate(task.model, points, task.simulate, keys[1:3])
    return Basis.build(compiled_values(task.model), anchors, records, task.records, task.noise[stage] / 2)


def _particles(task: Task, confined: bool, last: bool) -> tuple[int, int]:
    """Groups, and particles in each."""
    if last:
        return GROUPS, max(task.particles, LEAST_PARTICLES)
    return (GROUPS, LEAST_PARTICLES) if confined else (PILOT_GROUPS, PILOT_PARTICLES)


def _trusted(task: Task, basis: Basis, points: np.ndarray, distances: np.ndarray, key: Any) -> tuple[float, float]:
    """How far from the centre the basis is used, and how far off it is within, in nats."""
    reach = float(np.quantile(distances, TRUSTED))
    records = task.n * task.temperature
    return reach, missed_nats(task.model, basis, points, records, task.simulate, jax.random.fold_in(key, 1))


def _pilot_power(task: Task, basis: Basis, missed: float) -> float:
    """The power of the likelihood that gives the next region: low where the basis misses much or is steep."""
    steepest = task.n * task.temperature * basis.scales[0]
    return min(PILOT_POWER, 1 / max(MARGIN * missed, 1e-300), MOST_NATS / steepest)


def _beginning(task: Task, stage: Stage, from_prior: bool, count: int, key: Any) -> np.ndarray:
    """Where the particles begin: evenly within reach, at draws of the prior, or about the region."""
    if stage.confined:
        return stage.normal.evenly(key, count, stage.reach)
    return task.region.draw(key, count) if from_prior else stage.normal.draw(key, count)


def _noise_effects(task: Task, stage: Stage, points: np.ndarray) -> np.ndarray:
    """What one standard deviation of each component's noise does to the log likelihood, (point, component)."""
    values = np.asarray(compiled_values(task.model)(points, stage.basis.simulated))
    moves = stage.basis.weights(0, stage.std * np.eye(stage.basis.size))
    return task.temperature * stage.power * values.T @ moves.T
