"""A small problem on which every count can be enumerated, and the test written out over all of them."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit
from scipy.stats import poisson

import dpmcmc as dp
from dpmcmc.chain.acceptance.poisson import LEVELS

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


def places(here, there, bound=BOUND):
    """φ of every record for a move; ``bound`` is one number or one per record."""
    return (bound - (RECORDS[:, there] - RECORDS[:, here])) / 2


def counts(phis, a, most, bound=BOUND):
    """Every count vector up to ``most``: its probability and Σ s w. ``a`` and ``bound`` may differ by record."""
    s, size = np.arange(most + 1), len(phis)
    weight, log_ratio = np.ones((1,) * size), np.zeros((1,) * size)
    for i, (phi, base, m) in enumerate(zip(phis, np.broadcast_to(a, size), np.broadcast_to(bound, size), strict=True)):
        mine = s.reshape([-1 if j == i else 1 for j in range(size)])
        weight = weight * poisson.pmf(mine, base + phi)
        log_ratio = log_ratio + mine * np.log((base + m - phi) / (base + phi))
    assert 1 - weight.sum() < 1e-13
    return weight, log_ratio


def accept_probability(phis, a, public, test=expit, most=40, bound=BOUND):
    weight, log_ratio = counts(phis, a, most, bound)
    return float((weight * test(log_ratio + public)).sum())


def metropolis(t):
    return np.exp(np.minimum(t, 0))
