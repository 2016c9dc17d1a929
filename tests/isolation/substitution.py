"""Does one record change what is computed of the others? Asked of the functions that chains and releases run."""

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc.mechanisms.fixed_point import LEVELS, integer_sum
from dpmcmc.mechanisms.gaussian_sum import record_gradients
from dpmcmc.posterior import Posterior

N = 67  # vectors of four or eight and a rest
PLACES = (0, 5, N - 1)
EXTREMES = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-40, 1e-30, 0.999999, 1e8, 1e30, 3e38, -3e38, 1.7e308])
NOT_FINITE = np.array([np.inf, -np.inf, np.nan])
BEARABLE = np.array([1e-5, 0.01, 0.999999, 1.0, 7.5, 40.0])
"""For functions with loops that some numbers (gammainc of 1e308 and 1e308, exp1 of -1) never leave."""


def model_of(log_likelihood):
    return dp.Model(log_prior=lambda theta: -0.5 * theta**2, log_likelihood=log_likelihood, init=0.7)


def of_numbers(function, count):
    """A log likelihood of a record of ``count`` numbers."""
    return lambda theta, x: function(*(x[i] * (1 + 0.1 * theta) for i in range(count)))


def contributions(model, gradients=False):
    """(records, θ) → a row of numbers for each record, and the whole-number sum of its first, as a chain has them."""

    @jax.jit
    def run(records, theta):
        posterior = Posterior(model, records)
        terms = posterior.record_log_likelihoods(theta)
        rows = terms[:, None]
        if gradients:
            flat = jnp.reshape(theta, (1,))
            slopes = record_gradients(posterior, flat, lambda flat: flat[0])
            rows = jnp.concatenate([rows.astype(jnp.float64), slopes.astype(jnp.float64)], axis=1)
        return rows, integer_sum(terms, jnp.float64(0.005))

    return run


def bits(rows):
    return np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)


def substituted(records, extremes=EXTREMES):
    """The records with one of them replaced: every extreme, at the start, within and at the end."""
    held = extremes[~np.isfinite(extremes) | (np.abs(extremes) <= np.finfo(records.dtype).max)]
    for place in PLACES:
        for value in held.astype(records.dtype):
            changed = records.copy()
            changed[place] = value
            yield place, changed


def moved_by_another(run, records, theta=0.3, extremes=EXTREMES):
    """Which records' bits another one changed, and by how many sensitivities the sum moved at most."""
    with jax.enable_x64(True):
        rows, total = jax.device_get(run(jnp.asarray(records), jnp.float64(theta)))
        others, most = set(), 0.0
        for place, changed in substituted(records, extremes):
            again, sum_again = jax.device_get(run(jnp.asarray(changed), jnp.float64(theta)))
            differ = np.any(bits(rows) != bits(again), axis=1)
            others |= set(np.flatnonzero(differ)) - {place}
            most = max(most, abs(int(sum_again) - int(total)) / (2 * LEVELS))
    return others, most
