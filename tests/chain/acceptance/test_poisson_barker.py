"""The exact minibatch test: exact on a finite space, as private as its event says, and doing the work it says."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import truncnorm

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.poisson import LEVELS, PoissonBarker
from dpmcmc.mechanisms import stream
from dpmcmc.posterior import Posterior
from dpmcmc.randomness import RandomSource
from tests.chain.acceptance.poisson_enumeration import (
    BOUND,
    LOG_PRIOR,
    LOG_TARGET,
    MODEL,
    RECORDS,
    TARGET,
    accept_probability,
    counts,
    cycle,
    places,
)

MOVES = list(itertools.permutations(range(3), 2))
RATES = [0.9, 3.6, 12.0]  # of λ, n·m is 1.2


def bits_for(test, n, steps, seed=0):
    source = RandomSource(seed)
    return {purpose: source.random_words(purpose, (steps, *shape)) for purpose, shape in test.random_words(n).items()}


@pytest.mark.parametrize("rate", RATES)
def test_detailed_balance_given_the_counts_and_on_average(rate):
    """π(θ) P(s|θ,θ') accept(θ,θ',s) is the same both ways for every s; so π is stationary. All counts enumerated."""
    a, flow = rate / 3, np.zeros((3, 3))
    for here, there in MOVES:
        sides = []
        for x, y in ((here, there), (there, here)):
            weight, log_ratio = counts(places(x, y), a, most=40)
            joint = TARGET[x] * weight * expit(log_ratio + LOG_PRIOR[y] - LOG_PRIOR[x])
            sides.append(joint)
        assert np.max(np.abs(sides[0] - sides[1])) < 1e-12 * np.max(sides[0])
        big = sides[0] > 1e-30
        assert np.max(np.abs(sides[0][big] / sides[1][big] - 1)) < 1e-12
        flow[here, there] = sides[0].sum() / 2  # each of two neighbours is proposed with probability ½
    stay = np.diag(TARGET - flow.sum(1))
    kernel = (flow + stay) / TARGET[:, None]
    assert np.all(kernel >= 0)
    assert np.max(np.abs(TARGET @ kernel - TARGET)) < 1e-12


@pytest.mark.parametrize("rate", RATES)
def test_levels_keep_the_symmetry_exactly(rate):
    """What the machine uses: w is odd in the level, φ' = m − φ, and both are what the formulas say."""
    setting = PoissonBarker(BOUND, rate)._setting(3)
    levels = np.concatenate([[0, 1, LEVELS - 1, LEVELS], np.random.default_rng(0).integers(0, LEVELS, 300)]) * 1.0
    with jax.enable_x64(True):
        up, down = np.asarray(setting.weight(jnp.asarray(levels))), np.asarray(setting.weight(jnp.asarray(-levels)))
        drops = {s: [int(d) for d in np.asarray(setting.drop(jnp.asarray(s * levels)))] for s in (1, -1)}
    assert np.array_equal(up, -down)
    mpmath.mp.dps = 40
    a, m = mpmath.mpf(rate) / 3, mpmath.mpf(BOUND)
    weight_error = setting.unit / 2 + setting.largest_weight * 2.0**-49
    keep_error = (1 + BOUND / setting.a) * 2.0**-49
    for i, level in enumerate(levels):
        for sign in (1, -1):
            phi = m / 2 * (1 - sign * mpmath.mpf(level) / (LEVELS + mpmath.mpf(1) / 2))
            w = int((up if sign > 0 else down)[i]) * mpmath.mpf(setting.unit)
            assert abs(w - mpmath.log((a + m - phi) / (a + phi))) < weight_error
            kept = 1 - mpmath.mpf(drops[sign][i]) / 2**64
            assert abs(kept / ((a + phi) / (a + m)) - 1) < keep_error


@pytest.mark.parametrize("rate", RATES[:2])
def test_accepts_as_often_as_the_enumeration_says(rate):
    test, steps = PoissonBarker(BOUND, rate), 100_000
    bits = bits_for(test, 3, steps)
    with jax.enable_x64(True):
        posterior = Posterior(MODEL, jnp.asarray(RECORDS), 1.0)

        @jax.jit
        @jax.vmap
        def accepted(b, here, there):
            public = jnp.asarray(LOG_PRIOR)[there] - jnp.asarray(LOG_PRIOR)[here]
            return test.decide(b, posterior, (), here, dp.Move(there), public).accepted

        pairs = np.array(MOVES)[np.arange(steps) % 6]
        seen = np.asarray(accepted(bits, pairs[:, 0], pairs[:, 1]))
    for i, (here, there) in enumerate(MOVES):
        p = accept_probability(places(here, there), rate / 3, LOG_PRIOR[there] - LOG_PRIOR[here])
        mine = seen[i::6]
        assert abs(mine.mean() - p) < 4.5 * np.sqrt(p * (1 - p) / len(mine))


@pytest.mark.parametrize(("n", "temperature"), [(3, 1.0), (300, 0.5)])
def test_the_statistic_is_the_sum_over_what_was_kept(n, temperature):
    """Again by hand from the same secret words, few records and many, with records beyond the bound."""
    rng = np.random.default_rng(5)
    records = rng.normal(scale=0.5, size=(n, 3))
    records[0] = [np.inf, 0.0, np.nan]
    test = PoissonBarker(0.2)
    setting, bits = test._setting(n), bits_for(test, n, 20, seed=1)
    a = 3 * 0.2
    with jax.enable_x64(True):
        posterior = Posterior(MODEL, jnp.asarray(records), temperature)
        statistics = jax.jit(jax.vmap(lambda b: test.log_ratio(b, posterior, 0, 1, jnp.float64(0.7))))(bits)
        batches = jax.jit(jax.vmap(lambda b: test.records_read(b, n)))(bits)
        streams = jax.jit(jax.vmap(lambda key: stream.words(key, 8 + setting.slots)))(bits["batch"])
        for t, batch, secret in zip(*map(np.asarray, (statistics, batches, streams)), strict=True):
            words, total, kept = [int(word) for word in secret], 0.7, 0
            for slot in range(batch):
                i, rest = divmod(words[8 + slot] * n, 2**64)
                change = temperature * (records[i, 1] - records[i, 0])
                phi = (0.2 - np.clip(change, -0.2, 0.2)) / 2
                if rest / 2**64 >= (0.2 - phi) / (a + 0.2):
                    total, kept = total + np.log((a + 0.2 - phi) / (a + phi)), kept + 1
            assert kept <= batch <= setting.slots
            assert abs(t - total) < 1e-6


@pytest.mark.parametrize(("n", "bound", "rate"), [(3, 0.4, None), (10**6, 1e-4, 500.0), (1000, 0.05, 150.0)])
def test_reads_rate_plus_n_bound_records_a_step(n, bound, rate):
    test, steps = PoissonBarker(bound, rate), 20_000
    mean = (3 * n * bound if rate is None else rate) + n * bound
    with jax.enable_x64(True):
        read = np.asarray(jax.jit(jax.vmap(lambda b: test.records_read(b, n)))(bits_for(test, n, steps)))
    assert abs(read.mean() - mean) < 4.5 * np.sqrt(mean / steps)
    assert abs(read.var() / mean - 1) < 4.5 * np.sqrt(2 / steps + 1 / (mean * steps))
    assert read.max() <= test._setting(n).slots


def test_recovers_a_posterior_whose_bound_is_true():
    """Gaussian records in [−1, 1], a mean in [−1, 1]: no log ratio exceeds 2."""
    records = np.clip(np.random.default_rng(0).normal(0.6, 0.5, 30), -1, 1)
    model = dp.Model(
        log_prior=lambda theta: jnp.where(jnp.abs(theta) <= 1, 0.0, -jnp.inf),
        log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
        init=0.0,
    )
    kernel = dp.Kernel(dp.RandomWalk(0.4), PoissonBarker(2.0))
    release = dp.sample(
        model, records, 1e9, 1e-6, method=dp.Chain(kernel, warmup=200), draws=7800, chains=4, seed=7, progress=False
    )
    assert release.receipts[0].event == privacy.Repeat(privacy.PoissonBarkerBit(30, 2.0, 180.0), 32_000)
    mean, std = records.mean(), 30**-0.5
    exact = truncnorm((-1 - mean) / std, (1 - mean) / std, loc=mean, scale=std)
    draws = release.draws["theta"][:, release.warmup :]
    assert abs(draws.mean() - exact.mean()) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / exact.var() - 1) < 0.1


def test_visits_a_finite_space_as_often_as_the_posterior_says():
    kernel = dp.Kernel(dp.Custom(cycle, name="cycle"), PoissonBarker(BOUND))
    release = dp.sample(
        MODEL, RECORDS, 1e9, 1e-6, method=dp.Chain(kernel, warmup=0), draws=10_000, chains=4, seed=3, progress=False
    )
    for state in range(3):
        visits = (release.draws["theta"] == state).astype(float)
        assert abs(visits.mean() - TARGET[state]) < 5 * float(az.mcse(visits, method="mean"))
    assert np.ptp(LOG_TARGET) > 0.3


def test_costs_what_the_full_data_test_costs_and_says_so():
    """At (1, 1e-6) and rate 3·n·bound: about as many decisions as full-data Barker with the same bound."""
    plan = dp.plan(
        MODEL, 10_000, dp.Budget(1.0, 1e-6), method=dp.Kernel(dp.Custom(cycle), PoissonBarker(0.01)), chains=1
    )
    full = privacy.max_steps(privacy.BarkerBit(0.02), 1.0, 1e-6)
    assert 0.8 * full < plan.steps <= full
    assert plan.guarantee.arithmetic < 1e-6


def test_hostile_records_neither_raise_nor_stop_the_chain():
    records = np.array([[np.nan, np.inf, -np.inf], [1e300, -1e300, 0.0], [0.1, 0.0, 0.0]])
    test = PoissonBarker(BOUND)
    bits = bits_for(test, 3, 500)
    with jax.enable_x64(True):
        posterior = Posterior(MODEL, jnp.asarray(records), 1.0)
        t = jax.jit(jax.vmap(lambda b: test.log_ratio(b, posterior, 0, 1, jnp.float64(0.0))))(bits)
        assert np.all(np.abs(np.asarray(t)) <= 100)
        outside = jax.vmap(lambda b: test.decide(b, posterior, (), 0, dp.Move(1), -jnp.inf).accepted)
        assert not np.any(jax.jit(outside)(bits))


def test_public_mistakes_are_refused():
    for wrong in ({"bound": 0.0}, {"bound": np.inf}, {"bound": 0.1, "rate": -1.0}):
        with pytest.raises(ValueError, match="must be positive"):
            PoissonBarker(**wrong)
    with pytest.raises(ValueError, match="too small for n = 1000"):
        PoissonBarker(0.1, rate=10.0).event(1000, 1.0)
    with pytest.raises(ValueError, match="use all records"):
        PoissonBarker(10.0).inexact_draws(10**8)


def test_more_records_than_an_index_tells_apart_are_refused_before_anything_is_charged():
    """A signed index of 32 bits would wrap around: some records would be drawn twice as often, and others never."""
    test = PoissonBarker(1e-6)
    assert test.event(2**31 - 1, 1.0) is not None
    with pytest.raises(ValueError, match="draws from up to 2,147,483,647 records, got 2,147,483,648"):
        test.event(2**31, 1.0)
