"""Problems that the tests of scores share, one size each, so that programs are compiled once; and a reader of numbers.

Runs that several tests look at are made once (:func:`release_of`).
"""

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc.privacy import GaussianFilter
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import Noisy

SIGMA = 0.3
LINEAR = dp.models.LinearRegression({"a": (-1, 1), "b": (-1, 1)}, outcome=(-1, 1), sigma=SIGMA)
BARE = dp.Model(LINEAR.log_prior, LINEAR.log_likelihood, LINEAR.init)  # the same, of which no record is simulated
LOGISTIC = dp.models.LogisticRegression({"a": (-1, 1)})
POISSON = dp.models.PoissonRegression({"a": (-1, 1)}, most=100)
MU = 0.237  # of (1, 10⁻⁶)


def linear_records(n=5000, seed=0):
    """Two covariates that go together, one of them narrow, and an outcome of the model."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-1, 1, n)
    b = np.clip(0.2 + 0.1 * a + 0.1 * rng.normal(size=n), -1, 1)
    x = np.stack([a, b], axis=1)
    return {"x": x, "y": 0.2 + x @ [0.3, -0.2] + SIGMA * rng.normal(size=n)}


def linear_posterior(data, prior_std=2.5):
    """Mean and covariance, in closed form, in the order of ``LINEAR.names``."""
    x = np.column_stack([np.ones(len(data["x"])), data["x"]])
    precision = x.T @ x / SIGMA**2 + np.eye(x.shape[1]) / prior_std**2
    return np.linalg.solve(precision, x.T @ data["y"] / SIGMA**2), np.linalg.inv(precision)


def logistic_records(n=20_000, slope=9.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return {"x": x, "y": (rng.random(n) < 1 / (1 + np.exp(-slope * x[:, 0]))).astype(float)}


def poisson_records(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return {"x": x, "y": rng.poisson(np.exp(0.5 + 0.8 * x[:, 0])).astype(float)}


def laplace_posterior(model, data):
    """Mode and covariance by Newton's method: of thousands of records, the posterior's within a tenth of its spread."""
    raveled = RaveledModel.of(model)

    def negative(theta, records):
        rows = jax.vmap(lambda record: model.log_likelihood(raveled.unravel(theta), record))(records)
        return -jnp.sum(rows) - raveled.log_prior(theta)

    slope, hessian = jax.jit(jax.grad(negative)), jax.jit(jax.hessian(negative))
    with jax.enable_x64(True):
        theta = np.asarray(raveled.ravel(model.init))
        for _ in range(40):
            step = np.linalg.solve(np.asarray(hessian(theta, data)), np.asarray(slope(theta, data)))
            theta = theta - step * min(1.0, 1 / max(np.max(np.abs(step)), 1e-12))
        return theta, np.linalg.inv(np.asarray(hessian(theta, data)))


def flat_draws(release):
    """Draws (draw, parameter) in the order of raveled parameters, which is that of the release."""
    return np.column_stack([values.reshape(values.shape[0] * values.shape[1], -1) for values in release.draws.values()])


def in_order(model, numbers):
    """Numbers by ``model.names``, in the order of raveled parameters."""
    return np.array([numbers[model.names.index(name)] for name in sorted(model.names)])


PROBLEMS = {
    "linear": (LINEAR, linear_records),
    "logistic": (LOGISTIC, logistic_records),
    "poisson": (POISSON, poisson_records),
}


@lru_cache
def release_of(name, epsilon=1.0, seed=1, temperature=None):
    model, records = PROBLEMS[name]
    return dp.sample(model, records(), epsilon, 1e-6, seed=seed, temperature=temperature, progress=False)


def counts_between(edges, x):
    """How many of each column of ``x`` lie between the edges of its row."""
    bins = edges.shape[1] + 1
    pairs = zip(edges, x.T, strict=True)
    return np.stack([np.bincount(np.searchsorted(edge, column, "right"), minlength=bins) for edge, column in pairs])


class NumbersReader:
    """A reader of public records: the same answers as :class:`dpmcmc.scores.reader.Reader` gives, from NumPy noise.

    ``noise=0`` removes the noise and keeps what is said of its size.
    """

    def __init__(self, model, data, mu, seed=0, noise=1.0):
        self.model, self.mu, self.left, self.loudness = RaveledModel.of(model), mu, 1.0, noise
        self.relation, self.noise = "substitution", 2 / mu
        with jax.enable_x64(True):
            self.data = jax.tree.map(jnp.asarray, data)
        self.n = jax.tree.leaves(self.data)[0].shape[0]
        self.rng = np.random.default_rng(seed)

    def _noisy(self, exact, sensitivity, share):
        share = min(share, self.left)
        self.left -= share
        std = float(sensitivity * max(1 / (self.mu * np.sqrt(share)), 1.0))
        return Noisy(exact + self.loudness * std * self.rng.normal(size=np.shape(exact)), std)

    def covariate_counts(self, edges, share):
        x = np.asarray(vectors.described(self.model, self.data))[:, : len(edges)]
        bins = edges.shape[1] + 1
        rows = [
            np.bincount(np.searchsorted(e, c, side="right"), minlength=bins) for e, c in zip(edges, x.T, strict=True)
        ]
        return self._noisy(np.stack(rows), np.sqrt(2 * len(edges)), share)

    def number_counts(self, kind, arguments, edges, share):
        exact = counts_between(edges, self._vectors(kind, arguments))
        return self._noisy(exact, np.sqrt(2 * len(edges)), share)

    def _vectors(self, kind, arguments):
        return np.asarray(vectors.on_public(self.model, kind)(arguments, self.data))

    def norm_counts(self, kind, arguments, edges, share):
        norms = np.linalg.norm(self._vectors(kind, arguments), axis=1)
        counts = np.bincount(np.searchsorted(edges[:-1], norms), minlength=len(edges))
        return self._noisy(counts[None], np.sqrt(2), share)

    def total(self, kind, arguments, clip, width, share):
        rows = self._vectors(kind, arguments)
        assert rows.shape[1] == width
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), clip)
        return self._noisy(rows.sum(axis=0), 2.0, share)


def rule(mu=MU, most=48):
    return GaussianFilter.of_mu(mu, most)
