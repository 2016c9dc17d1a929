"""The sums of the default methods under audit: each kind that is released, through the one reader of its method."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.features import release_features
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import NOISE_STD, WORDS, GaussianSum, discrete_gaussian
from dpmcmc.mechanisms.noise import with_noise
from dpmcmc.models import GaussianMean, LinearRegression, Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import SUBSTITUTION, ZERO_OUT, Gaussian, GaussianFilter
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Noisy, Reader

MU = 1.0
"""What one release is allowed: the noise is as large as the sensitivity."""

RUNS = (200_000, 20_000)

RECORDS = 8
FAR = 1e6

CHECKED = 3
"""Runs of each side that are made by the method itself and compared, before the others are made at once."""

Release = Callable[[Posterior, np.ndarray], Noisy]

ABOUT = {
    SUBSTITUTION: (
        "one record with opposite vectors beyond the clip",
        "one record that leaves a bin of every column for another",
    ),
    ZERO_OUT: ("one record with a vector beyond the clip, or an empty slot", "one record, or an empty slot"),
}
"""Of sums, and of counts."""


def score_sums(relation: str = SUBSTITUTION) -> list[Experiment]:
    """Every kind of sum and count that :class:`dpmcmc.ScoreRelease` releases."""
    free, there, line = (_under(relation, one) for one in (_free(-FAR, FAR), _free(0.0, FAR), _line()))
    with jax.enable_x64(True):
        at, small = (jnp.zeros(2), jnp.eye(2)), (jnp.zeros(2), 0.01 * jnp.eye(2))
    edges, two = np.ones((2, 1)), np.array([1.0, 2.0])
    opposite, moved = ABOUT[relation]
    return [
        _read("scores", free, lambda reader: reader.total(vectors.scores, at, 1.0, 2, 1.0), opposite),
        _read("curvatures", free, lambda reader: reader.total(vectors.curvatures, at, 1.0, 3, 1.0), opposite),
        _read("moments", line, lambda reader: reader.total(vectors.moments, small, 1e-4, 5, 1.0), opposite),
        _read("counts of covariates", line, lambda reader: reader.covariate_counts(np.zeros((3, 1)), 1.0), moved),
        _read(
            "counts of curvatures",
            there,
            lambda reader: reader.number_counts(vectors.own_curvatures, at, edges, 1.0),
            moved,
        ),
        _read("counts of norms", there, lambda reader: reader.norm_counts(vectors.scores, at, two, 1.0), moved),
    ]


def _under(relation: str, neighbours: Neighbours) -> Neighbours:
    return neighbours if relation == SUBSTITUTION else neighbours.emptied()


def _free(one: float, other: float) -> Neighbours:
    """Log likelihoods whose score and curvature at 0 are what the record says, in each of two coordinates."""
    model = Model(
        lambda theta: -0.5 * jnp.sum(theta**2),
        lambda theta, x: jnp.sum(x * (theta + 0.5 * theta**2)),
        init=np.zeros(2),
    )
    rest = np.zeros((RECORDS - 1, 2))
    return Neighbours.of(model, *(np.concatenate([np.full((1, 2), first), rest]) for first in (one, other)))


def _line() -> Neighbours:
    """A regression on two covariates; the record is at opposite corners, with opposite outcomes."""
    model = LinearRegression({"a": (-1, 1), "b": (-1, 1)}, outcome=(-1, 1), sigma=0.3)
    rows = np.zeros((2, RECORDS, 3))
    rows[0, 0], rows[1, 0] = -1.0, 1.0
    return Neighbours.of(model, *({"x": one[:, :2], "y": one[:, 2]} for one in rows))


def _read(name: str, neighbours: Neighbours, ask: Callable[[Reader], Noisy], about: str) -> Experiment:
    relation = neighbours.relation
    rule, raveled = GaussianFilter.of_mu(MU, 1, relation), RaveledModel.of(neighbours.models[0])

    def release(posterior: Posterior, key: np.ndarray) -> Noisy:
        return ask(Reader(raveled, posterior, rule, key[None]))

    return sum_experiment(f"sums of scores: {name}", neighbours, release, Claim(Gaussian(1 / MU, relation)), about)


def likelihood_sums(relation: str = SUBSTITUTION) -> list[Experiment]:
    """The sum of features that :class:`dpmcmc.LikelihoodRelease` releases at every stage."""
    model, total = GaussianMean(1), GaussianSum.of_multiplier(1.0, 1 / MU, relation)
    raveled, rng = RaveledModel.of(model), np.random.default_rng(0)
    with jax.enable_x64(True):
        simulated = np.asarray(model.simulate(jax.random.key(0), jnp.zeros(1), 256))
        basis = Basis.build(raveled.values, rng.normal(size=(50, 1)), simulated, 1000.0)
    data = [np.r_[first, np.zeros(RECORDS - 1)][:, None] for first in (-FAR, FAR)]

    def release(posterior: Posterior, key: np.ndarray) -> Noisy:
        return Noisy(release_features(raveled, posterior, basis, total, key), total.std)

    claim = Claim(total.event(RECORDS))
    about = ABOUT[relation][0].replace("vector", "feature")
    return [sum_experiment("sums of features", _under(relation, Neighbours.of(model, *data)), release, claim, about)]


def sum_experiment(name: str, neighbours: Neighbours, release: Release, claim: Claim, about: str) -> Experiment:
    """Releases of one sum with noise, seen along the direction in which the two data sets' sums differ."""

    def run(side: int, runs: int, source: RandomSource) -> np.ndarray:
        keys = source.random_words("noise", (runs, *stream.KEY_SHAPE))
        with jax.enable_x64(True):
            first, second = (Posterior.check(neighbours.models[one], neighbours.data[one]) for one in (0, 1))
            # the same key on both: what is left is the difference of the sums, the direction that tells most
            away = release(second, keys[0]).values.ravel() - release(first, keys[0]).values.ravel()
            along = away / max(float(np.linalg.norm(away)), 1e-300)
            values: np.ndarray = many(release, (first, second)[side], keys) @ along
            return values

    return Experiment(name, run, (View("1 release", claim, lambda released: released, normal=True),), RUNS, about)


def many(release: Release, posterior: Posterior, keys: np.ndarray) -> np.ndarray:
    """``release`` with each of the keys, one row each.

    The sum over records is the same whole number in every run, and what the first run released, less its noise, is
    that number. The other runs add their noise to it in a compiled twin of
    :func:`~dpmcmc.mechanisms.noise.with_noise`, all at once. The first runs are also made one by one; if one of them is
    not the same to the last bit, all are.
    """
    once = release(posterior, keys[0])
    size, unit = once.values.size, once.std / NOISE_STD
    noise = with_noise(keys[0], np.zeros(size, np.int64), 1.0)
    whole = jnp.asarray(np.rint(once.values.ravel() / unit) - noise, jnp.int64)
    made = np.concatenate(
        [np.asarray(_noisy(jnp.asarray(keys[at : at + _AT_ONCE]), whole, unit)) for at in range(0, len(keys), _AT_ONCE)]
    )
    alone = np.stack([release(posterior, key).values.ravel() for key in keys[:CHECKED]])
    if np.array_equal(made[:CHECKED], alone):
        return made
    return np.stack([release(posterior, key).values.ravel() for key in keys])


_AT_ONCE = 20_000


@jax.jit
def _noisy(keys: Array, whole: Array, unit: float) -> Array:
    def one(key: Array) -> Array:
        words = stream.words(key, whole.size * int(np.prod(WORDS))).reshape(whole.size, *WORDS)
        answer: Array = (whole + discrete_gaussian(words)).astype(jnp.float64) * unit
        return answer

    noisy: Array = jax.vmap(one)(keys)
    return noisy
