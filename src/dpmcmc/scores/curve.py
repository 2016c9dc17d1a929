"""A likelihood that is not normal over the draws: hierarchies, and noise as wide as the model bends.

A release says where the estimate without privacy is, as a displacement from its last centre c, with a normal error.
Written in the parameters that likelihood is normal only as far as the model is linear. So θ − c is replaced by

    D(θ) = G⁺ E_c[(w^a − 1) s]/a,      w = p(x|θ)/p(x|c),      G = E_c[ssᵀ],

which is θ − c nearby, and does not change where the law of a record does not. With a = 1 it is the mean score at c of
records from θ, in which noise is normal; with a = ⅓ it has the third order of the log likelihood. a is in between, as
the noise is to what records leave open.

The density of θ is then prior·exp(−½ DᵀAD + aᵀD), up to where D folds: :mod:`dpmcmc.scores.bent` draws from it.

Reference: docs/theory/score-release.md, "Likelihoods that are not normal".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.models.base import PyTree
from dpmcmc.plain import Plain
from dpmcmc.plain_trees import PlainArray, PlainTree, packed, unpacked
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors

RECORDS = 1024
AT_ONCE, SCORED_AT_ONCE = 128, 16  # parameters whose densities, and whose scores, are in memory together
WIDEST = 25.0  # variance that draws begin with, over that of the posterior
FEWEST = 5.0  # records, in effect, that tell of a parameter, below which they are too few
UNTOLD = 0.1  # precision along a direction that simulated records do not show, beyond which they are too few
SAME = 1e-7  # information over all precision, along directions that do not change the law of a record


@dataclass(frozen=True)
class Curve(Plain):
    """Simulated records at the centre of a release, in units in which its precision is standard."""

    records: PlainArray | PlainTree
    unit: PlainArray  # symmetric
    power: float

    @classmethod
    def of(cls, records: PyTree, precision: np.ndarray, power: float) -> Curve | None:
        """Of records from the centre, where the posterior has that precision; None if they cannot be kept."""
        try:
            kept = packed(jax.device_get(jax.tree.map(lambda leaf: leaf[:RECORDS], records)))
        except TypeError:
            return None
        return cls(kept, PlainArray.of(matrices.power(precision, -0.5)), power)

    def places(self, model: RaveledModel, centre: np.ndarray) -> Places:
        """What D needs of them."""
        records, unit = jax.tree.map(jnp.asarray, unpacked(self.records)), self.unit.array()
        scores = np.asarray(vectors.on_public(model, vectors.scores)((jnp.asarray(centre), jnp.asarray(unit)), records))
        values, axes = np.linalg.eigh(scores.T @ scores / len(scores))
        told = values > SAME * max(values[-1], 1e-300)
        to_told = np.where(told, axes / np.where(told, values, 1.0), 0.0)
        to_rest = np.where(told, 0.0, np.linalg.inv(unit) @ axes)
        return Places(
            jnp.asarray(centre),
            records,
            jnp.asarray(scores @ to_told),
            jnp.asarray(to_rest.T),
            jnp.asarray(np.where(told, unit @ axes, 0.0)),
            jnp.asarray(np.linalg.inv(unit) @ axes).T,
            jnp.asarray(self.power),
        )


class Places(NamedTuple):
    """Records at a centre, and coordinates: x = mean of (w^a − 1)/a·``scores`` + ``rest``·(θ − c), D = ``back``·x."""

    centre: Array
    records: PyTree
    scores: Array  # of the records; 0 in coordinates that are not D
    rest: Array
    back: Array
    linear: Array  # x is about this times θ − c
    power: Array

    def show(self, precision: np.ndarray) -> bool:
        """Whether the records show every direction along which something is known to that precision."""
        rest = np.linalg.inv(np.asarray(self.linear))[:, np.any(np.asarray(self.rest) != 0, axis=1)]
        return bool(np.all(np.sum(rest * (precision @ rest), axis=0) < UNTOLD))


def enough(model: RaveledModel, centre: np.ndarray, records: PyTree, told: np.ndarray) -> bool:
    """Whether so few simulated records tell of every parameter that is ``told`` by records: rare levels may not show.

    Counted by the fourth moments of their scores.
    """
    few = jax.tree.map(lambda leaf: leaf[:RECORDS], records)
    squares = (
        np.asarray(vectors.on_public(model, vectors.scores)((jnp.asarray(centre), jnp.eye(len(centre))), few)) ** 2
    )
    counts = squares.sum(axis=0) ** 2 / np.maximum((squares**2).sum(axis=0), 1e-300)
    return bool(np.all(counts[told] >= FEWEST))


class Density(NamedTuple):
    """prior·exp(−½ DᵀAD + aᵀD), of the parameters."""

    places: Places
    precision: Array
    weighted: Array

    @classmethod
    def of(cls, places: Places, precision: np.ndarray, weighted: np.ndarray) -> Density:
        return cls(places, jnp.asarray(precision), jnp.asarray(weighted))


def displacement(model: RaveledModel, places: Places, theta: Array) -> Array:
    """D(θ)."""
    powers = places.power * vectors.log_ratios(model, theta, places.centre, places.records)
    return places.back @ (jnp.expm1(powers) @ places.scores) / (places.power * len(powers))


def log_density(model: RaveledModel, density: Density, theta: Array) -> Array:
    """Of the parameters, up to a constant; −∞ where it is no number."""
    move = displacement(model, density.places, theta)
    value = model.log_prior(theta) + density.weighted @ move - move @ density.precision @ move / 2
    return jnp.where(jnp.isfinite(value), value, -jnp.inf)


def coordinates(model: RaveledModel, places: Places, theta: Array) -> tuple[Array, Array]:
    """x and its derivative, which takes no more than the scores at θ."""
    ratios = vectors.log_ratios(model, theta, places.centre, places.records)
    scores = jnp.nan_to_num(vectors.scores(model, (theta, jnp.eye(len(theta))), places.records))
    count, powers = len(ratios), places.power * ratios
    x = jnp.expm1(powers) @ places.scores / (places.power * count) + places.rest @ (theta - places.centre)
    slopes = jnp.where(jnp.abs(ratios) < vectors.LARGEST, jnp.exp(powers), 0.0)
    return x, places.scores.T @ (slopes[:, None] * scores) / count + places.rest


def side(places: Places, slope: Array) -> Array:
    """1 if the derivative of x has a determinant of the sign it has at c; beyond a fold no simulated record is like
    those of θ."""
    return jnp.linalg.slogdet(slope)[0] * jnp.linalg.slogdet(places.linear)[0]


def unfolded(model: RaveledModel, places: Places, theta: Array) -> Array:
    """Whether θ is not beyond a fold."""
    return side(places, coordinates(model, places, theta)[1]) > 0


@lru_cache(maxsize=16)
def compiled(model: RaveledModel) -> tuple[Any, Any]:
    """Log densities, and whether places are unfolded, of as many parameters as there are rows."""

    def values(density: Density, thetas: Array) -> Array:
        return jax.lax.map(lambda theta: log_density(model, density, theta), thetas, batch_size=AT_ONCE)

    def whole(places: Places, thetas: Array) -> Array:
        return jax.lax.map(lambda theta: unfolded(model, places, theta), thetas, batch_size=SCORED_AT_ONCE)

    return jax.jit(values), jax.jit(whole)


def power_between(share: np.ndarray) -> float:
    """The power a: ⅓ if all of what is open is left open by the records, 1 if all is noise; by the mean ``share``.

    ``share`` is (Λ⁻¹ + V)⁻¹V, with noise Λ⁻¹ and V what records leave open.
    """
    return float(np.clip(1 - 2 / 3 * np.trace(share) / len(share), 1 / 3, 1))
