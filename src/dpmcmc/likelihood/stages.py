"""From a wide public region to the posterior in a few releases, each over the region that the last one left.

A stage draws anchors from the region, builds a basis from records that the model simulates there, releases the feature
sums and samples the posterior they give. Early stages are crude and cheap: their posterior, raised to a quarter so that
it is twice as wide, is the next region. The last has most of the budget and gives the draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood import smc
from dpmcmc.likelihood.basis import Basis
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
MARGIN = 2.0  # real records may be less well caught than simulated ones

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
    unconverged_stages: int = 0  # whose particles did not get to their posterior step by step
    clipped: float = 0.0  # share of the last stage's simulated records that the clip shortens


def run_stages(task: Task, sums: Sums, key: Any) -> Draws:
    """Draws of the posterior that knows its noise. Groups come in pairs with noise ±e."""
    key, first = jax.random.split(key)
    points, confined = task.region.draw(first, PILOT_GROUPS * PILOT_PARTICLES), False
    unconverged = 0
    for stage, std in enumerate(task.noise):
        last = stage == len(task.noise) - 1
        keys = jax.random.split(jax.random.fold_in(key, stage), 6)
        points = _within_support(task, points, stage)
        basis = _basis(task, points, stage, keys)
        noisy = sums(stage, basis)
        confined |= not basis.complete
        groups, count = _particles(task, confined, last)
        half = np.asarray(jax.random.normal(keys[3], (groups // 2, basis.size)))
        imputed = noisy - std * np.stack([half, -half], axis=1).reshape(groups, -1)
        normal = Normal(points.mean(axis=0), WIDER * root_of(np.cov(points, rowvar=False).reshape(points.shape[1], -1)))
        reach, missed = _trusted(task, basis, points, normal, keys[4]) if confined else (np.inf, 0.0)
        from_prior = task.region.is_prior and stage == 0
        power = 1.0 if last else _pilot_power(task, basis, missed)
        problem = smc.Problem(
            basis.simulated,
            jnp.asarray(basis.weights(task.n, imputed)),
            jnp.asarray(task.temperature * power),
            jnp.asarray(normal.centre),
            jnp.asarray(normal.root),
            jnp.asarray(reach),
            jnp.asarray(from_prior),
        )
        begin = _beginning(task, normal, reach, from_prior, groups * count, keys[4])
        cloud, converged = smc.sample(task.model, problem, begin.reshape(groups, count, -1), keys[5])
        points = cloud.reshape(-1, cloud.shape[-1])
        unconverged += not converged
    effects = _noise_effects(task, basis, points, std, power).reshape(*cloud.shape[:2], -1)
    return Draws(cloud, effects, unconverged, basis.clipped)


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


def _trusted(task: Task, basis: Basis, points: np.ndarray, normal: Normal, key: Any) -> tuple[float, float]:
    """How far from the centre the basis is used, and how far off it is within, in nats."""
    reach = float(np.quantile(normal.distances(points), TRUSTED))
    records = task.n * task.temperature
    return reach, missed_nats(task.model, basis, points, records, task.simulate, jax.random.fold_in(key, 1))


def _pilot_power(task: Task, basis: Basis, missed: float) -> float:
    """The power of the likelihood that gives the next region: low where the basis misses much or is steep."""
    steepest = task.n * task.temperature * basis.scales[0]
    return min(PILOT_POWER, 1 / max(MARGIN * missed, 1e-300), MOST_NATS / steepest)


def _beginning(task: Task, normal: Normal, reach: float, from_prior: bool, count: int, key: Any) -> np.ndarray:
    """Where the particles begin: evenly within reach, at draws of the prior, or about the region."""
    if reach < np.inf:
        return normal.evenly(key, count, reach)
    return task.region.draw(key, count) if from_prior else normal.draw(key, count)


def _noise_effects(task: Task, basis: Basis, points: np.ndarray, std: float, power: float) -> np.ndarray:
    """What one standard deviation of each component's noise does to the log likelihood, (point, component)."""
    values = np.asarray(compiled_values(task.model)(points, basis.simulated))
    return task.temperature * power * values.T @ basis.weights(0, std * np.eye(basis.size)).T
