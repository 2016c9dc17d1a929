"""What the tests of batch tests share: enumeration of all batches, divergences of bits, a tempered Gaussian."""

from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc.chain.acceptance.minibatch import batch_log_ratios
from dpmcmc.mechanisms.coin import RAREST
from dpmcmc.mechanisms.needs import drawn
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource

EXTREMES = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.0]
ORDERS = np.array([1.05, 1.5, 2.0, 8.0, 32.0])

linear = dp.Model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: x * theta, init=0.0)
"""log p(x|1) − log p(x|0) = x, so that a record may be any log ratio."""


def enumerated(test, temperature, n):
    """A function of (records, public): accept and reject probability over all batches, as the coin takes them."""
    subsets = jnp.asarray(list(combinations(range(n), test.batch)))

    @jax.jit
    def law(records, public):
        posterior = Posterior(linear, records, temperature)

        def one(index):
            ratios = batch_log_ratios(posterior, index, jnp.float64(0.0), jnp.float64(1.0))
            return jnp.maximum(jnp.stack(test.probabilities(ratios, n, temperature, public)), RAREST)

        return jnp.mean(jax.vmap(one)(subsets), axis=0)

    return lambda records, public: np.asarray(law(jnp.asarray(records, jnp.float64), jnp.float64(public)))


def frequency(test, temperature, records, public, coins=20_000):
    """How often ``decide`` accepts, and its number of draws."""
    bits = drawn(RandomSource(3), test.random_words(len(records)), (coins,))
    posterior = Posterior(linear, jnp.asarray(records, jnp.float64), temperature)
    move = dp.Move(jnp.float64(1.0))

    def decide(b):
        return test.decide(b, posterior, (), jnp.float64(0.0), move, jnp.float64(public)).accepted

    return float(np.mean(jax.jit(jax.vmap(decide))(bits))), coins


def divergence(p, q, orders=ORDERS):
    """D_α of two bits given as (accept, reject)."""
    terms = orders * np.log(p)[:, None] + (1 - orders) * np.log(q)[:, None]
    return np.logaddexp(terms[0], terms[1]) / (orders - 1)


def gaussian(n, temperature):
    """Records, model, and mean and variance of the tempered posterior."""
    records = np.random.default_rng(0).normal(1.0, 1.0, n)
    model = dp.Model(
        log_prior=lambda theta: -0.5 * theta**2 / 100,
        log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
        init=1.0,
    )
    precision = temperature * n + 1 / 100
    return model, records, temperature * records.sum() / precision, 1 / precision
