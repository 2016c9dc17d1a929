"""The sums of the default methods under audit: each kind that is released, through the one reader of its method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, Neighbours, View
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.features import release_features
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.models import GaussianMean, LinearRegression, Model
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Gaussian, GaussianFilter
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Noisy, Reader

MU = 1.0
"""What one release is allowed: the noise is as large as the sensitivity."""

RUNS = (20_000, 1000)

RECORDS = 8
FAR = 1e6

Release = Callable[[Posterior, np.ndarray], np.ndarray]


def score_sums() -> list[Experiment]:
    """Every kind of sum and count that :class:`dpmcmc.ScoreRelease` releases."""
    free, line = _free(), _line()
    at, small = (np.zeros(2), np.eye(2)), (np.zeros(2), 0.01 * np.eye(2))
    opposite = "one record with opposite vectors beyond the clip"
    moved = "one record that leaves a bin of every column for another"
    asked: list[tuple[str, Neighbours, Callable[[Reader], Noisy], str]] = [
        ("scores", free, lambda reader: reader.total(vectors.scores, at, 1.0, 2, 1.0), opposite),
        ("curvatures", free, lambda reader: reader.total(vectors.curvatures, at, 1.0, 3, 1.0), opposite),
        ("moments of covariates", line, lambda reader: reader.total(vectors.moments, small, 1e-4, 5, 1.0), opposite),
        ("counts of covariates", line, lambda reader: reader.covariate_counts(np.zeros((3, 1)), 1.0), moved),
        ("counts of curvatures", free, lambda reader: reader.number_counts(vectors.own_curvatures, at, EDGES, 1.0), moved),
        ("counts of norms", free, lambda reader: reader.norm_counts(vectors.scores, at, np.array([1.0, 2.0]), 1.0), moved),
    ]  # fmt: skip
    return [_read_experiment(f"sums of scores: {name}", *rest) for name, *rest in asked]


EDGES = np.ones((2, 1))


def _free() -> Neighbours:
    """Log likelihoods whose score and curvature at 0 are whatever the record says."""
    model = Model(
        lambda theta: -0.5 * jnp.sum(theta**2),
        lambda theta, x: jnp.sum(x[0] * theta + 0.5 * x[1] * theta**2),
        init=np.zeros(2),
    )
    first = np.array([[[-FAR, -FAR], [-0.5, -0.5]], [[FAR, FAR], [0.5, 0.5]]])
    rest = np.zeros((RECORDS - 1, 2, 2))
    return Neighbours.of(model, *(np.concatenate([one[None], rest]) for one in first))


def _line() -> Neighbours:
    """A regression on two covariates; the record is at opposite corners, with opposite outcomes."""
    model = LinearRegression({"a": (-1, 1), "b": (-1, 1)}, outcome=(-1, 1), sigma=0.3)
    rows = np.zeros((2, RECORDS, 3))
    rows[0, 0], rows[1, 0] = -1.0, 1.0
    return Neighbours.of(model, *({"x": one[:, :2], "y": one[:, 2]} for one in rows))


def _read_experiment(
    name: str, neighbours: Neighbours, ask: Callable[[Reader], Noisy], about: str, mu: float = MU
) -> Experiment:
    rule, raveled = GaussianFilter.of_mu(mu, 1), RaveledModel.of(neighbours.models[0])

    def release(posterior: Posterior, key: np.ndarray) -> np.ndarray:
        return ask(Reader(raveled, posterior, rule, key[None])).values.ravel()

    return _experiment(name, neighbours, release, Claim(Gaussian(1 / mu)), about)


def likelihood_sums() -> list[Experiment]:
    """The sum of features that :class:`dpmcmc.LikelihoodRelease` releases at every stage."""
    model, total = GaussianMean(1), GaussianSum.of_multiplier(1.0, 1 / MU)
    raveled, rng = RaveledModel.of(model), np.random.default_rng(0)
    with jax.enable_x64(True):
        simulated = np.asarray(model.simulate(jax.random.key(0), np.zeros(1), 256))
        basis = Basis.build(raveled.values, rng.normal(size=(50, 1)), simulated, 1000.0)
    data = [np.r_[first, np.zeros(RECORDS - 1)][:, None] for first in (-FAR, FAR)]

    def release(posterior: Posterior, key: np.ndarray) -> np.ndarray:
        return release_features(raveled, posterior, basis, total, key)

    claim = Claim(total.event(RECORDS))
    about = "one record with opposite features beyond the clip"
    return [_experiment("sums of features", Neighbours.of(model, *data), release, claim, about)]


def _experiment(name: str, neighbours: Neighbours, release: Release, claim: Claim, about: str) -> Experiment:
    def run(side: int, runs: int, source: RandomSource) -> np.ndarray:
        keys = source.random_words("noise", (runs, *stream.KEY_SHAPE))
        with jax.enable_x64(True):
            posteriors = [_posterior(neighbours, one) for one in (0, 1)]
            # the same key on both: what is left is the difference of the sums, the direction that tells most
            along = release(posteriors[1], keys[0]) - release(posteriors[0], keys[0])
            along = along / np.linalg.norm(along)
            return np.array([release(posteriors[side], key) @ along for key in keys])

    return Experiment(name, run, (View("1 release", claim, lambda released: released),), RUNS, about)


def _posterior(neighbours: Neighbours, side: int) -> Any:
    return Posterior.check(neighbours.models[side], neighbours.data[side]).on_device()
