"""A small problem on which every count can be enumerated, and the test written out over all of them."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit
from scipy.stats import poisson

import dpmcmc as dp
from dpmcmc.acceptance.poisson import LEVELS

BOUND = 0.4
GRID = BOUND / (LEVELS + 0.5)  # what one level of a log ratio is worth
LOG_PRIOR = np.array([0.0, 0.3, -0.2])

_LEVELS_OF_RECORDS = np.random.default_rng(3).integers(-LEVELS // 2, LEVELS // 2, size=(3, 3))
RECORDS = _LEVELS_OF_RECORDS * GRID
"""Log likelihoods of three records (rows) in three states, on the grid, so that rounding changes nothing."""

MODEL = dp.Model(
    log_prior=lambda theta: jnp.asarray(LOG_PRIOR)[theta],
    log_likelihood=lambda theta, record: record[theta],
    init=0,
)

LOG_TARGET = LOG_PRIOR + RECORDS.sum(0)
TARGET = np.exp(LOG_TARGET) / np.exp(LOG_TARGET).sum()


def cycle(key, theta):
    return (theta + jnp.where(jax.random.bernoulli(key), 1, 2)) % 3


def places(here, there, bound=BOUND, records=RECORDS):
    """φ of every record for a move."""
    return (bound - (records[:, there] - records[:, here])) / 2


def counts(phis, a, most):
    """All count vectors, the probability of each, and Σ s w."""
    s = np.arange(most + 1)
    grids = np.meshgrid(*[s] * len(phis), indexing="ij")
    weight, log_ratio = np.ones_like(grids[0], float), np.zeros_like(grids[0], float)
    for grid, phi in zip(grids, phis, strict=True):
        weight = weight * poisson.pmf(grid, a + phi)
        log_ratio = log_ratio + grid * np.log((a + BOUND - phi) / (a + phi))
    return weight, log_ratio


def accept_probability(phis, a, public, test=expit, most=40):
    weight, log_ratio = counts(phis, a, most)
    assert 1 - weight.sum() < 1e-13
    return float((weight * test(log_ratio + public)).sum())


def metropolis(t):
    return np.exp(np.minimum(t, 0))
