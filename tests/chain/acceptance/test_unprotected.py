"""References without privacy: exact, and never called private."""

import arviz as az
import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance import Metropolis, PlainBarker
from dpmcmc.chain.kernel import Kernel
from dpmcmc.posterior import Posterior
from tests.contracts.problems import gaussian_problem

both = pytest.mark.parametrize("test", [Metropolis(), PlainBarker()], ids=["metropolis", "barker"])


@pytest.mark.parametrize(("test", "temperature"), [(Metropolis(), 1.0), (PlainBarker(), 0.2)])
def test_recovers_a_conjugate_gaussian_without_a_budget(test, temperature):
    model, records, _, _ = gaussian_problem()
    precision = 30 * temperature + 1 / 100
    release = dp.sample(
        model,
        records,
        method=dp.Chain(Kernel(dp.RandomWalk(0.4 / np.sqrt(temperature)), test), warmup=200),
        draws=7800,
        temperature=temperature,
        chains=4,
        seed=2,
        progress=False,
    )
    draws = release.draws["theta"][:, 200:]
    assert abs(draws.mean() - temperature * records.sum() / precision) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() * precision - 1) < 0.1
    assert release.guarantee is None


@both
def test_no_budget_pays_for_it(test):
    event = Kernel(dp.RandomWalk(1.0), test).event(10, 1.0)
    assert isinstance(event, privacy.NonPrivate)
    assert float(privacy.epsilon(event, 1e-6)) == np.inf
    assert np.isinf(test.shift(None, 1.0, 0.0, 1.0))


@both
def test_records_that_are_not_numbers_refuse_the_move_and_raise_nothing(test):
    model = dp.Model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: x * theta, init=0.0)
    kernel = Kernel(dp.RandomWalk(1.0), test)
    with jax.enable_x64(True):
        for x, moves in ((np.nan, False), (-np.inf, False), (1e30, True)):
            posterior = Posterior(model, jnp.array([x, 0.0]), 1.0)
            state = kernel.init(posterior, jnp.float64(0.5), ())
            for word in (0, 2**63, 2**64 - 2**12):
                bits = {"coin": jnp.full(2, word, jnp.uint64)}
                _, accepted = kernel.decide(bits, posterior, state, dp.Move(jnp.float64(1.0)))
                assert bool(accepted) == (moves and word > 0)  # word 0 is the one coin in 2^60 that refuses a certainty


def test_metropolis_accepts_as_often_as_blackjax():
    """The same walk and target elsewhere: acceptance rates agree, both within their noise."""
    model, records, mean, variance = gaussian_problem()
    release = dp.sample(
        model,
        records,
        method=dp.Chain(Kernel(dp.RandomWalk(0.4), Metropolis()), warmup=1000),
        draws=3000,
        chains=4,
        seed=5,
        progress=False,
    )
    with jax.enable_x64(True):
        walk = blackjax.additive_step_random_walk(
            lambda theta: -0.5 * (theta - mean) ** 2 / variance, lambda key, theta: 0.4 * jax.random.normal(key)
        )

        def step(state, key):
            state, info = walk.step(key, state)
            return state, info.is_accepted

        _, other = jax.lax.scan(step, walk.init(jnp.float64(1.0)), jax.random.split(jax.random.key(0), 16_000))
    ours, theirs = release.sample_stats["accepted"].astype(float), np.asarray(other, float)[None]
    noise = np.hypot(float(az.mcse(ours, method="mean")), float(az.mcse(theirs, method="mean")))
    assert abs(ours.mean() - theirs.mean()) < 4 * noise
