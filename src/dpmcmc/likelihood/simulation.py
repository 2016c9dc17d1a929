"""Public stand-ins for the records, and how well a basis holds their log likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood.basis import Basis
from dpmcmc.models.base import PyTree
from dpmcmc.raveled import RaveledModel, compiled_values

SIMULATED = 16_384
TRIALS, TRIAL_RECORDS = 8, 2048  # simulated data sets that tell what an incomplete basis misses
FARTHER = (1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)  # times as far out as the region goes
RAYS = 256
OVERTURNED = 0.25  # noise over what the log likelihood falls by, from which on it may well rise instead
SLACK = 1.5  # centres of regions are not quite where the log likelihood is highest

Simulator = Callable[[Any, PyTree, int], PyTree]
"""(key, θ, n) → n public records at θ."""


def from_public(public_data: PyTree) -> Simulator:
    """Records drawn from public ones, whatever the parameters."""
    available = jax.tree.leaves(public_data)[0].shape[0]

    def draw(key: Any, theta: PyTree, n: int) -> PyTree:
        chosen = jax.random.randint(key, (n,), 0, available)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], public_data)

    return draw


def simulate(model: RaveledModel, points: np.ndarray, simulator: Simulator, keys: Any) -> PyTree:
    """Public records like those to come: one at each of many points of the region."""
    at = points[np.asarray(jax.random.choice(keys[0], len(points), (SIMULATED,)))]

    def one(k: Any, theta: Any) -> PyTree:
        return jax.tree.map(lambda leaf: leaf[0], simulator(k, model.unravel(theta), 1))

    return jax.vmap(one)(jax.random.split(keys[1], SIMULATED), jnp.asarray(at))


def missed_nats(
    model: RaveledModel, basis: Basis, points: np.ndarray, records: float, simulator: Simulator, key: Any
) -> float:
    """How far off (root mean square, in nats) the basis is for the log likelihood of so many ``records``.

    Data sets simulated at points of the region, between anchors as at them: what components left out would have told.
    """
    where, seeds = jax.random.split(key)
    chosen = points[np.asarray(jax.random.choice(where, len(points), (TRIALS,), replace=False))]
    values, half = compiled_values(model), points[: len(points) // 2]
    off = []
    for theta, seed in zip(chosen, jax.random.split(seeds, TRIALS), strict=True):
        data = simulator(seed, model.unravel(jnp.asarray(theta)), TRIAL_RECORDS)
        at_anchors, between = (np.asarray(values(at, data)) for at in (basis.anchors, half))
        features = basis.features(at_anchors)
        weights = basis.weights(1, features.sum(axis=0) / TRIAL_RECORDS) * records
        released = np.asarray(values(half, basis.simulated)).T @ weights
        off.append(np.std(released - records / TRIAL_RECORDS * between.sum(axis=0)))
    return float(np.sqrt(np.mean(np.square(off))))


def extrapolates(model: RaveledModel, basis: Basis, points: np.ndarray, n: int, std: float) -> float:
    """How many times as far out as its region goes a released function can be used.

    Outside of its anchors noise may grow faster than the log likelihood falls, and would then make it rise. Along rays
    from the centre through points of the region, one standard deviation of the noise must stay below a quarter of the
    fall, or become a smaller part of it the farther out, as noise that grows in proportion does while the
    log likelihood falls with the square. For a normal mean it does so everywhere.
    """
    centre = points.mean(axis=0)
    rays = points[:RAYS] - centre
    moves = np.concatenate([basis.weights(n, np.zeros((1, basis.size))), basis.weights(0, std * np.eye(basis.size))])
    values = compiled_values(model)

    def released(at: np.ndarray) -> np.ndarray:
        return moves @ np.asarray(values(at, basis.simulated))

    middle = released(centre[None])

    def overturned(factor: float) -> np.ndarray:
        change = released(centre + factor * rays) - middle
        return np.linalg.norm(change[1:], axis=0) / np.maximum(-change[0], 1e-300)

    within, trusted = overturned(1.0), FARTHER[0]
    for factor in FARTHER[1:]:
        worse = overturned(factor) > np.maximum(OVERTURNED, SLACK * within / factor)
        if np.any(worse):  # where the log likelihood is not finite nothing is drawn, and comparisons are False
            return trusted
        trusted = factor
    return trusted
