"""Penalty tests with much noise: good moves, whose log ratio is far beyond that of any other test, are accepted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain.acceptance.minibatch_penalty import MinibatchPenalty, ProportionalMinibatchPenalty
from dpmcmc.chain.acceptance.penalty import Penalty, ProportionalPenalty
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.accept_bit import penalty_log_accept
from tests.chain.acceptance.helpers import linear

N = 50
CLIP = 20.0


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def penalty_tests(std):
    """All penalty tests, each with noise of ``std`` for a move of length 1."""
    moved = 2 * CLIP + 2 * (N - 1) / N * CLIP**2  # what one record can do to the statistic of a batch of all
    return {
        "constant": Penalty(CLIP, std),
        "proportional": ProportionalPenalty(dp.DistanceClip(CLIP), std / (2 * CLIP)),
        "minibatch": MinibatchPenalty(N, CLIP, std),
        "minibatch, proportional": ProportionalMinibatchPenalty(N, dp.DistanceClip(CLIP), std / moved),
    }


def acceptance_rate(test, count=2000):
    """A function of (log_ratio, public): P(accept) where they are the records' and the public share of t, to 1/count.

    Coins are spread evenly. Records are alike, so the variance of a batch is 0 and a batch of all is all the records.
    """
    words = (np.arange(count, dtype=np.uint64) * np.uint64(2**64 // count)) + np.uint64(2**63 // count)
    rest = {} if "batch" not in test.random_words(N) else {"batch": jnp.arange(N)}

    @jax.jit
    def rate(log_ratio, public):
        posterior, here, move = Posterior(linear, jnp.full(N, log_ratio / N), 1.0), jnp.float64(0.0), jnp.float64(1.0)
        cache = test.prepare(posterior, here)

        def accepted(word):
            bits = rest | {"coin": jnp.stack([word, word])}
            return test.decide(bits, posterior, cache, here, dp.Move(move), public).accepted

        return jnp.mean(jax.vmap(accepted)(jnp.asarray(words)))

    return lambda log_ratio, public=0.0: float(rate(jnp.float64(log_ratio), jnp.float64(public)))


@pytest.mark.parametrize("name", penalty_tests(20.0))
@pytest.mark.parametrize(("std", "tilts"), [(20.0, (-1.0, 0.0, 0.5, 2.0, 8.0)), (9.0, (-1.0, 1.0)), (40.0, (-0.3,))])
def test_the_acceptance_probability_is_the_exact_one(name, std, tilts):
    rate = acceptance_rate(penalty_tests(std)[name])
    for tilt in tilts:
        t = std**2 / 2 + tilt * std
        exact = float(np.exp(penalty_log_accept(np.array([t]), std)[0]))
        for public in (0.0, 0.7 * t):  # from the records alone, and mostly from the prior
            assert rate(t - public, public) == pytest.approx(exact, abs=2e-3)


@pytest.mark.parametrize("name", penalty_tests(20.0))
def test_a_move_to_far_better_or_far_worse_is_sure(name):
    rate = acceptance_rate(penalty_tests(20.0)[name])
    assert [rate(900.0), rate(0.0), rate(-900.0)] == [1, 0, 0]


def test_detailed_balance_holds_at_every_noise():
    for std in (0.05, 1.0, 5.0, 8.0):
        test = Penalty(1.0, std)
        t = np.linspace(0.0, 20.0, 81)
        forth, back = (np.asarray(test.probabilities(jnp.asarray(s * t - std**2 / 2))[0]) for s in (1, -1))
        np.testing.assert_allclose(np.log(forth) - np.log(back), t, atol=1e-11)  # p(t) = e^t p(−t)


def test_a_chain_comes_home_from_far_away_and_then_samples_the_posterior():
    # steps are long or short; far away long ones have noise of 20 and log ratios of thousands, and are accepted
    records = np.random.default_rng(0).normal(1.0, 1.0, 30)
    model = dp.Model(
        log_prior=lambda theta: -0.5 * theta**2 / 1e6, log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2, init=0.0
    )

    def step(key, theta):
        which, size = jax.random.split(key)
        return theta + jnp.where(jax.random.bernoulli(which), 0.25, 20.0) * jax.random.normal(size)

    kernel = dp.Kernel(dp.Custom(step, name="long or short"), ProportionalPenalty(dp.DistanceClip(2000.0), 2.5e-4))
    release = dp.sample(
        model,
        records,
        epsilon=1e16,
        delta=1e-6,
        method=dp.Chain(kernel, warmup=0),
        draws=8000,
        chains=4,
        seed=3,
        init=-900.0,
        progress=False,
    )
    draws = np.asarray(release.draws["theta"])
    assert np.all(np.abs(draws[:, 2000:] - 1) < 3)
    assert abs(draws[:, 2000:].mean() - records.mean()) < 0.02
    assert abs(draws[:, 2000:].var() * 30 - 1) < 0.15
