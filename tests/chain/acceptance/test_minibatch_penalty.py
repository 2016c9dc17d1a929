"""The minibatch penalty test and the growing batch: what they compute, what they leak, what they sample."""

import itertools

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.minibatch_penalty import MinibatchPenalty
from dpmcmc.chain.acceptance.penalty import clamp
from dpmcmc.chain.acceptance.seita import GrowingBatch
from dpmcmc.privacy.accept_bit import penalty_log_accept, penalty_log_reject
from dpmcmc.privacy.subsampling import penalty_shift
from tests.chain.acceptance.helpers import EXTREMES, ORDERS, divergence, enumerated, frequency, gaussian


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def statistic(test, n, temperature, ratios, public=0.0):
    with jax.enable_x64(True):
        return float(test.statistic(jnp.asarray(ratios, jnp.float64), n, temperature, jnp.float64(public)))


anything = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([1.0, -1.0])


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([1, 2, 9]).flatmap(lambda b: st.lists(anything, min_size=b, max_size=b)),
    anything,
    st.sampled_from([1e-7, 1e-3, 0.1, 1.0]),
)
def test_one_record_moves_the_statistic_by_at_most_the_events_shift(terms, other, clip):
    batch = len(terms)
    test, n = MinibatchPenalty(batch, clip), 3 * batch
    event = test.event(n, 0.5)
    here, there = (statistic(test, n, 0.5, event.bound * np.array(x)) for x in (terms, [other, *terms[1:]]))
    assert abs(here - there) <= penalty_shift(event) + 3 * clamp(test.std) * 2.0**-52


@pytest.mark.parametrize("clip", [1e-3, 0.1, 2.0])
def test_the_shift_is_reached(clip):
    test, n, k = MinibatchPenalty(8, clip), 16, 2.0
    top, bottom = np.full(8, clip), np.array([-clip, *np.full(7, clip)])
    public = -8 * k * clip + 10  # keeps both ends inside the clamp
    moved = statistic(test, n, 1.0, top, public) - statistic(test, n, 1.0, bottom, public)
    assert moved == pytest.approx(penalty_shift(test.event(n, 1.0)), rel=1e-6)


def definition(event, ratios, public):
    """(accept, reject) of the event on one batch, written from its docstring."""
    weight = event.n * event.temperature
    sampling_variance = weight**2 * np.var(ratios) / event.batch
    t = weight * np.mean(ratios) - sampling_variance / 2 + public
    return np.exp([penalty_log_accept(t, event.std), penalty_log_reject(t, event.std)])


@pytest.mark.parametrize(("n", "batch", "clip", "std"), [(6, 3, 0.2, 1.0), (5, 2, 0.5, 0.4), (4, 4, 0.3, 2.0)])
def test_the_decision_is_the_events_on_all_batches(n, batch, clip, std):
    temperature = 0.6
    test = MinibatchPenalty(batch, clip, std)
    event = test.event(n, temperature)
    assert event == privacy.SubsampledPenaltyBit(n, batch, clip, std, temperature)
    records = np.random.default_rng(2).normal(scale=clip, size=n)  # some are clipped
    law = enumerated(test, temperature, n)
    for public in (-3.0, 2.0, 0.4):
        batches = [np.clip(records, -clip, clip)[list(s)] for s in itertools.combinations(range(n), batch)]
        p = np.mean([definition(event, ratios, public) for ratios in batches], axis=0)
        np.testing.assert_allclose(law(records, public), p, rtol=2e-5)  # rounding to levels
    rate, coins = frequency(test, temperature, records, public)
    assert abs(rate - p[0]) < 4.5 * np.sqrt(p[0] * p[1] / coins)


@pytest.mark.parametrize(
    ("n", "batch", "clip", "std", "temperature"),
    [(6, 2, 0.1, 1.0, 1.0), (6, 3, 0.5, 0.7, 0.5), (4, 4, 0.02, 2.0, 1.0), (5, 2, 2.0, 1.0, 1.0)],
)
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(n, batch, clip, std, temperature):
    test = MinibatchPenalty(batch, clip, std)
    claimed = privacy.renyi(test.event(n, temperature), ORDERS)
    law = enumerated(test, temperature, n)
    rng, worst = np.random.default_rng(0), 0.0
    for others in (np.full(n - 1, clip), np.full(n - 1, -clip), clip * rng.choice([-1, 1], n - 1), np.zeros(n - 1)):
        for public in (-50.0, -8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0, 50.0):
            seen = [law([x, *others], public) for x in [*EXTREMES, clip, -clip]]
            for p, q in itertools.permutations(seen, 2):
                costs = divergence(p, q)
                assert np.all(costs <= claimed + 1e-11)
                worst = max(worst, float(np.max(costs[:3] / claimed[:3])))
    assert worst > 0.15 or clip > 1  # the search comes near the claim, where a record cannot turn the bit over alone


def run(kernel, n, temperature, **budget):
    model, records, mean, variance = gaussian(n, temperature)
    release = dp.sample(
        model,
        records,
        method=dp.Chain(kernel, warmup=100),
        draws=2400,
        chains=4,
        temperature=temperature,
        seed=1,
        progress=False,
        **budget,
    )
    draws = release.draws["theta"][:, release.warmup :]
    # approximate targets: a tenth of a standard deviation, a tenth of the variance, and the Monte Carlo error
    assert abs(draws.mean() - mean) < 0.1 * np.sqrt(variance) + 4 * float(az.mcse(draws, method="mean"))
    assert abs(draws.var() / variance - 1) < 0.1 + 4 * np.sqrt(2 / float(az.ess(draws)))
    return release


@pytest.mark.slow
def test_minibatch_penalty_recovers_a_tempered_gaussian_within_its_error():
    run(dp.Kernel(dp.RandomWalk(0.2), MinibatchPenalty(400, clip=2.0, std=1.0)), 2000, 0.01, epsilon=1e9, delta=1e-6)


@pytest.mark.slow
def test_a_growing_batch_recovers_a_tempered_gaussian_and_is_not_private():
    kernel = dp.Kernel(dp.RandomWalk(0.2), GrowingBatch(20))
    release = run(kernel, 2000, 0.01)
    assert release.guarantee is None
    assert np.all(np.isinf(privacy.renyi(kernel.event(2000), [2.0])))


def test_public_mistakes_are_refused():
    for wrong in (
        lambda: MinibatchPenalty(True, 0.1),
        lambda: MinibatchPenalty(10, 0.1, std=0.0),
        lambda: MinibatchPenalty(10, dp.DistanceClip(1.0)),
        lambda: MinibatchPenalty(10, 1.0).event(10**8, 1.0),
        lambda: MinibatchPenalty(10, 1.0).event(9, 1.0),
        lambda: GrowingBatch(1),
        lambda: GrowingBatch(10, noise_variance=0.5),
    ):
        with pytest.raises((ValueError, TypeError), match=r"batch|std|clip|variance"):
            wrong()
