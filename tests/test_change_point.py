"""A discrete model with a user's own proposal, against exact enumeration."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp

DAYS, RATES = 12, np.array([1.0, 1.5, 2.0, 3.0])
MOST = 8  # counts are capped there by public rule


def change_point():
    """Counts per person and day; the rate changes from RATES[early] to RATES[late] at day ``change``."""

    def log_rate(theta, day):
        return jnp.log(jnp.asarray(RATES, jnp.float32))[jnp.where(day < theta["change"], theta["early"], theta["late"])]

    def log_likelihood(theta, record):
        rate = log_rate(theta, record["day"])
        return record["count"] * rate - jnp.exp(rate)

    return dp.Model(lambda theta: 0.0, log_likelihood, init={"change": 6, "early": 1, "late": 1})


def neighbour(key, theta):
    """Move one of the three by one, around the ends: symmetric."""
    which, sign = jax.random.split(key)
    which, step = jax.random.randint(which, (), 0, 3), 2 * jax.random.bernoulli(sign) - 1
    return {
        "change": (theta["change"] + step * (which == 0)) % DAYS,
        "early": (theta["early"] + step * (which == 1)) % len(RATES),
        "late": (theta["late"] + step * (which == 2)) % len(RATES),
    }


def records(n=20_000):
    rng = np.random.default_rng(5)
    day = rng.integers(DAYS, size=n)
    return {"day": day, "count": np.minimum(rng.poisson(np.where(day < 4, 1.5, 2.0)), MOST).astype(np.float32)}


def exact_marginals(data, temperature):
    states = list(itertools.product(range(DAYS), range(len(RATES)), range(len(RATES))))
    log_target = []
    for change, early, late in states:
        rate = np.where(data["day"] < change, RATES[early], RATES[late])
        log_target.append(temperature * np.sum(data["count"] * np.log(rate) - rate))
    weight = np.exp(np.array(log_target) - max(log_target))
    weight /= weight.sum()
    table = np.array(states)
    return {
        name: np.bincount(table[:, column], weights=weight, minlength=size)
        for column, (name, size) in enumerate([("change", DAYS), ("early", len(RATES)), ("late", len(RATES))])
    }


# one record's |log ratio| between neighbouring rates: |k log(λ'/λ) − (λ' − λ)| ≤ 8 log 3 − 2 at the far ends
CLIP = float(MOST * np.log(3.0) - 2.0)


@pytest.mark.slow
def test_a_private_change_point_agrees_with_exact_enumeration():
    data, temperature = records(), 0.0015
    kernel = dp.dp_barker(step=dp.Custom(neighbour, name="one of three by one"), clip=CLIP)
    run = {
        "epsilon": 10.0,
        "delta": 1e-6,
        "method": dp.Chain(kernel, warmup=500),
        "temperature": temperature,
        "progress": False,
    }
    release = dp.sample(change_point(), data, **run, draws=9500, chains=2, seed=2)
    for name, exact in exact_marginals(data, temperature).items():
        draws = release.draws[name][:, release.warmup :]
        assert draws.dtype.kind == "i"
        for value, probability in enumerate(exact):
            hits = (draws == value).astype(float)
            error = float(az.mcse(hits, method="mean")) if 0 < hits.mean() < 1 else 1e-3
            assert abs(hits.mean() - probability) < 4.5 * error  # 20 comparisons: false alarm 1.4e-4, seed fixed

    private = dp.sample(change_point(), data, **run, draws=20, chains=2)
    assert private.guarantee is not None
    assert private.guarantee.epsilon <= 10.0
