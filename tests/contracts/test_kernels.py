"""What every kernel must do: sample the right thing, report what it ran, and leak no more than it reports.

Statistical checks have fixed seeds; a bound of 4 or 5 standard errors means a false-alarm rate of 6e-5 or 6e-7 a
comparison if the seed were drawn anew.
"""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import dpmcmc as dp
from dpmcmc import chain, privacy
from dpmcmc.chain.kernel import public_log_ratio
from dpmcmc.mechanisms import coin
from dpmcmc.posterior import Posterior
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.privacy.accept_bit import (
    barker_log_accept,
    barker_log_reject,
    penalty_log_accept,
    penalty_log_reject,
)
from dpmcmc.randomness import RandomSource
from tests.contracts.kernels import KERNELS


def kernels(**flags):
    """The entries of which all the flags hold."""
    chosen = {name: e for name, e in KERNELS.items() if all(getattr(e, flag) == want for flag, want in flags.items())}
    return pytest.mark.parametrize("entry", chosen.values(), ids=chosen)


def ample(entry):
    """A budget that pays for anything; none for kernels that are not private."""
    return {"epsilon": 1e16, "delta": 1e-6} if entry.private else {}


def gaussian_problem():
    """Thirty records of a conjugate Gaussian; on [−5, 5] no log ratio exceeds 100."""
    records = np.random.default_rng(0).normal(1.0, 1.0, 30)
    model = dp.Model(
        log_prior=lambda theta: -0.5 * theta**2 / 100,
        log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
        init=1.0,
        log_ratio_bound=lambda here, there: 20 * jnp.abs(there - here),
    )
    precision = 30 + 1 / 100
    return model, records, records.sum() / precision, 1 / precision


def cycle_problem():
    """Five states on a cycle, records that prefer some to others; no log ratio exceeds 1."""
    weights = np.random.default_rng(1).uniform(-0.5, 0.5, size=(8, 5))
    model = dp.Model(
        log_prior=lambda theta: 0.1 * jnp.asarray(theta, jnp.float32),
        log_likelihood=lambda theta, record: record[theta],
        init=0,
        log_ratio_bound=lambda here, there: jnp.float64(1.0),
    )

    def step(key, theta):
        return (theta + jnp.where(jax.random.bernoulli(key), 1, 4)) % 5

    log_target = 0.1 * np.arange(5) + weights.sum(0)
    return model, weights, dp.Custom(step, name="cycle"), np.exp(log_target) / np.exp(log_target).sum()


@kernels(exact=True)
def test_recovers_a_conjugate_gaussian(entry):
    model, records, mean, variance = gaussian_problem()
    kernel = entry.make(dp.RandomWalk(0.35), 100.0)
    release = dp.sample(
        model, records, **ample(entry), kernel=kernel, steps=20_000, chains=4, warmup=200, seed=7, progress=False
    )
    draws = release.draws["theta"][:, release.warmup :]
    assert abs(draws.mean() - mean) < 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1


@kernels(exact=True, uses_proposal=True)
def test_detailed_balance_on_a_finite_space(entry):
    model, records, proposal, target = cycle_problem()
    release = dp.sample(
        model,
        records,
        **ample(entry),
        kernel=entry.make(proposal, 1.0),
        steps=20_000,
        chains=4,
        warmup=0,
        seed=3,
        progress=False,
    )
    states = release.draws["theta"]
    for state in range(5):
        visits = (states == state).astype(float)
        assert abs(visits.mean() - target[state]) < 5 * float(az.mcse(visits, method="mean"))
    flow = np.zeros((5, 5))
    np.add.at(flow, (states[:, :-1].ravel(), states[:, 1:].ravel()), 1)
    for here, there in itertools.combinations(range(5), 2):
        there_and_back = flow[here, there] + flow[there, here]
        assert abs(flow[here, there] - flow[there, here]) <= 5 * np.sqrt(there_and_back)


@kernels(one_bit=True)
def test_reports_the_event_that_it_ran(entry):
    """The receipt counts every coin that was drawn, and the coin's probability is the one the event describes."""
    model, records, proposal, _ = cycle_problem()
    kernel = entry.make(proposal, 1.0)
    release = dp.sample(model, records, **ample(entry), kernel=kernel, steps=150, chains=3, seed=1, progress=False)
    receipt = release.receipts[0]
    assert release.accepted.shape == (3, 150)
    if kernel.event(len(records)) is not None:
        assert receipt.event == privacy.Repeat(kernel.event(len(records)), 450)
    else:
        assert receipt.event is None
        assert receipt.filter is not None

    coins = 40_000
    bits = {p: RandomSource(2).random_words(p, (coins, *shape)) for p, shape in kernel.random_words(len(records)).items()}
    with jax.enable_x64(True):
        posterior = Posterior(model, jnp.asarray(records), 1.0)
        state = kernel.init(posterior, jnp.asarray(1), ())
        for there in (0, 2, 3):
            move = dp.Move(jnp.asarray(there))
            accepted = jax.vmap(lambda b, move=move: kernel.decide(b, posterior, state, move)[1])(bits)
            t = 0.1 * (there - 1) + (records[:, there] - records[:, 1]).sum()
            shift = float(kernel.shift(model, posterior.temperature, state, move))
            p = np.exp(log_probabilities(kernel.event_at(shift), t)[0])
            assert abs(float(accepted.mean()) - p) < 4.5 * np.sqrt(p * (1 - p) / coins)


@kernels()
def test_pays_for_every_chain_and_step_before_it_runs(entry):
    model, records, _, _ = gaussian_problem()
    kernel = entry.make(dp.RandomWalk(0.35), 100.0)
    release = dp.sample(model, records, **ample(entry), kernel=kernel, steps=10, chains=3, progress=False)
    assert release.accepted.shape == (3, 10)
    assert (release.guarantee is not None) == entry.private
    event = kernel.event(len(records), 1.0)
    if event is not None:
        assert release.receipts[0].event == privacy.Repeat(event, 30)


def log_probabilities(event, t):
    if isinstance(event, privacy.BarkerBit):
        return barker_log_accept(t), barker_log_reject(t)
    return penalty_log_accept(t, event.std), penalty_log_reject(t, event.std)


@kernels(one_bit=True)
@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(entry, temperature):
    """Records that are as bad as records can be: infinite, not a number, far beyond the clip."""
    model = dp.Model(
        log_prior=lambda theta: 0.0,
        log_likelihood=lambda theta, x: x * theta,
        init=0.0,
        log_ratio_bound=lambda here, there: 0.05 * jnp.abs(there - here),
    )
    kernel = entry.make(dp.RandomWalk(1.0), 0.05)
    extremes = [np.inf, -np.inf, np.nan, 1e30, -1e30, 0.05, -0.05, 0.0]
    orders = np.array([1.5, 2.0, 8.0, 32.0])
    others = np.random.default_rng(0).normal(scale=0.1, size=20)
    worst = 0.0
    with jax.enable_x64(True):

        @jax.jit
        def accept_probability(records, there, public):
            posterior = Posterior(model, records, temperature)
            state = kernel.init(posterior, jnp.float64(0.0), ())
            move = dp.Move(there, public)
            public = public_log_ratio(posterior, state.position, move)
            t, _ = kernel.acceptance.statistic(posterior, state.cache, state.position, move, public)
            probabilities = jnp.maximum(jnp.stack(kernel.acceptance.probabilities(t)), coin.RAREST)  # as the coin does
            return probabilities, kernel.shift(model, posterior.temperature, state, move)

        for there, public in itertools.product((1.0, -1.0, 0.3), (-50.0, -6.0, -2.0, -0.5, 0.0, 0.5, 2.0, 6.0, 50.0)):
            seen = [accept_probability(np.array([x, *others]), there, public) for x in extremes]
            claimed = privacy.renyi(kernel.event_at(float(seen[0][1])), orders)
            for (p, _), (q, _) in itertools.permutations(seen, 2):
                terms = orders * np.log(p)[:, None] + (1 - orders) * np.log(q)[:, None]
                divergence = logsumexp(terms, axis=0) / (orders - 1)
                assert np.all(divergence <= claimed + 1e-11)
                worst = max(worst, float(np.max(divergence / claimed)))
    assert worst > 0.7  # the search does come near the claim, so a claim that is too small would be seen


@kernels()
def test_the_same_key_gives_the_same_chain(entry):
    model, records, _, _ = gaussian_problem()
    kernel = entry.make(dp.RandomWalk(0.35), 100.0)

    def run(seed):
        return dp.sample(model, records, **ample(entry), kernel=kernel, steps=120, chains=2, seed=seed, progress=False)

    one, same, other = run(5), run(5), run(6)
    assert np.array_equal(one.draws["theta"], same.draws["theta"])
    assert not np.array_equal(one.draws["theta"], other.draws["theta"])


@kernels(one_bit=True)
def test_a_filter_stops_before_the_budget_is_passed(entry):
    """Costs that depend on the move are paid as they arise; no step runs that would pass the limit."""
    model, records, _, _ = gaussian_problem()
    kernel = entry.make(dp.RandomWalk(0.05), 100.0)
    if kernel.event(len(records)) is not None:
        kernel = dp.Kernel(
            kernel.proposal, type(kernel.acceptance)(**vars(kernel.acceptance) | {"clip": dp.ModelClip()})
        )
    plan = dp.plan(model, len(records), dp.Budget(200.0, 1e-6), kernel=kernel, chains=2, steps=3000)
    prices = PriceTable.of(kernel, plan.receipt.filter)
    source = RandomSource(4)
    state = chain.start_chains(kernel, model, records, 2, source)
    run = chain.compile_chunk(kernel, model, 1.0, prices)
    after, trace = chain.run_chunk(run, kernel, records, state, source, 3000, 3000)
    assert not after.alive
    assert 0 < len(trace.accepted) < 3000

    # again by hand from what was released: the proposals (same keys) and the positions
    keys = source.random_words("proposal", (3000, 2, 2), np.uint32)
    here, spent = np.asarray(state.positions), 0.0
    for step in range(len(trace.accepted) + 1):
        with jax.enable_x64(True):
            there = [
                float(kernel.proposal.propose(jax.random.wrap_key_data(k), jnp.asarray(h), ()).position)
                for k, h in zip(keys[step], here, strict=True)
            ]
        event_prices = [
            float(plan.receipt.filter.price(kernel.event_at(2 * 20 * abs(t - h))))
            for t, h in zip(there, here, strict=True)
        ]
        if step < len(trace.accepted):
            spent += sum(event_prices)
            here = trace.positions[step]
        else:
            assert spent <= float(after.spent) <= plan.receipt.filter.limit  # charged at least the true price
            assert float(after.spent) < 1.06 * spent
            assert float(after.spent) + 1.06 * sum(event_prices) > plan.receipt.filter.limit
