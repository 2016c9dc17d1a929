"""Noise in proportion to the shift: exact with a varying clip, at a constant cost."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.penalty import ProportionalPenalty, penalty_probabilities
from dpmcmc.chain.kernel import Kernel, public_log_ratio
from dpmcmc.mechanisms import coin
from dpmcmc.posterior import Posterior
from tests.contracts.problems import gaussian_problem


def test_recovers_a_conjugate_gaussian_and_charges_a_constant():
    model, records, mean, variance = gaussian_problem()
    kernel = Kernel(dp.RandomWalk(0.35), ProportionalPenalty(dp.ModelClip(), noise_multiplier=0.1))
    release = dp.sample(
        model,
        records,
        epsilon=1e12,
        delta=1e-6,
        method=dp.Chain(kernel, warmup=200),
        draws=7800,
        chains=4,
        seed=7,
        progress=False,
    )
    draws = release.draws["theta"][:, release.warmup :]
    assert abs(draws.mean() - mean) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1
    assert release.receipts[0].event == privacy.Repeat(privacy.Gaussian(0.1), 32_000)


@pytest.mark.parametrize(("multiplier", "temperature"), [(0.5, 1.0), (3.0, 0.1), (30.0, 1.0)])
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(multiplier, temperature):
    model = dp.Model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: x * theta, init=0.0)
    test = ProportionalPenalty(dp.DistanceClip(0.3), multiplier)
    extremes = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.05]
    orders = np.array([1.5, 2.0, 8.0])
    others = np.random.default_rng(0).normal(scale=0.01, size=20)
    worst = 0.0
    with jax.enable_x64(True):

        @jax.jit
        def probabilities(records, there, public):
            posterior, here = Posterior(model, records, temperature), jnp.float64(0.0)
            move = dp.Move(there, public)
            public = public_log_ratio(posterior, here, move)
            t, _ = test.statistic(posterior, test.prepare(posterior, here), here, move, public)
            std = test.std(model, temperature, here, there)
            return jnp.maximum(jnp.stack(penalty_probabilities(t, std)), coin.RAREST)

        for there in (1.0, 0.05):
            shift = float(test.shift(model, temperature, 0.0, jnp.float64(there)))
            std = float(test.std(model, temperature, 0.0, jnp.float64(there)))
            bit = privacy.renyi(privacy.PenaltyBit(shift, std), orders)  # what the bit itself reveals
            assert np.all(bit <= privacy.renyi(test.event(21, temperature), orders) * (1 + 1e-12))
            for tilt in (-6.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0):
                public = std**2 / 2 + tilt * std
                seen = [np.asarray(probabilities(np.array([x, *others]), there, public)) for x in extremes]
                for p, q in itertools.permutations(seen, 2):
                    terms = orders * np.log(p)[:, None] + (1 - orders) * np.log(q)[:, None]
                    divergence = logsumexp(terms, axis=0) / (orders - 1)
                    assert np.all(divergence <= bit + 1e-11)
                    worst = max(worst, float(np.max(divergence / bit)))
    assert worst > 0.7


def test_a_bound_that_is_no_number_refuses_the_move():
    model = dp.Model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: x * theta, init=0.0)
    kernel = Kernel(dp.RandomWalk(1.0), ProportionalPenalty(dp.DistanceClip(1.0), 1.0))
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.array([1.0, 2.0]), 1.0)
        state = kernel.init(posterior, jnp.float64(0.0), ())
        for there in (jnp.nan, jnp.inf, 1e12):  # the last has more noise than its units hold
            for word in (0, 2**64 - 2**12):
                bits = {"coin": jnp.full(2, word, jnp.uint64)}
                assert not kernel.decide(bits, posterior, state, dp.Move(jnp.float64(there)))[1]


def test_public_mistakes_are_refused():
    with pytest.raises(ValueError, match="noise_multiplier"):
        ProportionalPenalty(1.0, -1.0)
