"""Noise in proportion to what one record can move the minibatch statistic by: a varying clip at a constant cost."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance.minibatch_penalty import MinibatchPenalty, ProportionalMinibatchPenalty, penalised_ratio
from dpmcmc.chain.acceptance.penalty import SMALLEST_STD, clamp, less_penalty, penalty_probabilities
from dpmcmc.mechanisms.coin import RAREST
from dpmcmc.mechanisms.needs import drawn
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.published.raisa2021 import theorem35_sensitivity
from dpmcmc.randomness import RandomSource
from tests.chain.acceptance.helpers import EXTREMES, ORDERS, divergence, linear
from tests.chain.acceptance.test_minibatch_penalty import anything, run


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def moved(ratios, others, bound, n, temperature, public=0.0):
    with jax.enable_x64(True):
        parts = [
            penalised_ratio(jnp.asarray(r, jnp.float64), jnp.float64(bound), n, temperature) for r in (ratios, others)
        ]
        return [float(less_penalty(*part, jnp.float64(public), 1.0)) for part in parts]


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([1, 2, 9]).flatmap(lambda b: st.lists(anything, min_size=b, max_size=b)),
    anything,
    st.sampled_from([1e-7, 1e-3, 0.1, 1.0]),
)
def test_one_record_moves_the_statistic_by_at_most_the_stated_sensitivity(terms, other, bound):
    batch = len(terms)
    here, there = moved(bound * np.array(terms), bound * np.array([other, *terms[1:]]), bound, 3 * batch, 0.5)
    test = ProportionalMinibatchPenalty(batch, dp.DistanceClip(1.0), 1.0)
    assert abs(here - there) <= float(test.sensitivity(bound, 3 * batch, 0.5)) + 3 * clamp(1.0) * 2.0**-52


@pytest.mark.parametrize("bound", [1e-3, 0.1, 2.0])
def test_the_sensitivity_is_reached_and_the_published_one_is_larger(bound):
    n, test = 16, ProportionalMinibatchPenalty(8, bound, 1.0)
    public = -8 * 2.0 * bound + 10  # keeps both ends inside the clamp
    top, bottom = moved(np.full(8, bound), np.array([-bound, *np.full(7, bound)]), bound, n, 1.0, public)
    assert top - bottom == pytest.approx(float(test.sensitivity(bound, n, 1.0)), rel=1e-6)
    published = float(test.sensitivity(bound, n, 1.0, 3.0))
    assert published == pytest.approx(theorem35_sensitivity(bound, n, 8))
    assert published > top - bottom


def law(test, temperature, n, there):
    """A function of (records, public): the bit's law over all batches for the move 0 → ``there``."""
    subsets = jnp.asarray(list(itertools.combinations(range(n), test.batch)))

    @jax.jit
    def probabilities(records, public):
        here, end = jnp.float64(0.0), jnp.float64(there)
        bound, std = (f(linear, n, temperature, here, end) for f in (test.bound, test.std))

        def one(index):
            t = less_penalty(*penalised_ratio(records[index] * end, bound, n, temperature), public, std)
            return jnp.maximum(jnp.stack(penalty_probabilities(t, std)), RAREST)

        return jnp.mean(jax.vmap(one)(subsets), axis=0)

    return lambda records, public: np.asarray(probabilities(jnp.asarray(records, jnp.float64), jnp.float64(public)))


@pytest.mark.parametrize(("n", "batch", "multiplier"), [(6, 2, 1.0), (6, 3, 0.5), (4, 4, 2.0)])
@pytest.mark.parametrize("published_noise", [False, True])
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(n, batch, multiplier, published_noise):
    temperature, slope = 0.7, 0.4
    test = ProportionalMinibatchPenalty(batch, dp.DistanceClip(slope), multiplier, published_noise)
    claimed = privacy.renyi(test.event(n, temperature), ORDERS)
    worst = 0.0
    for there in (1.0, 0.2):
        bits, std = law(test, temperature, n, there), float(test.std(linear, n, temperature, 0.0, jnp.float64(there)))
        for others in (np.full(n - 1, slope), np.full(n - 1, -slope), np.zeros(n - 1)):
            for public in (-8.0, -2.0, 0.0, std**2 / 2, std**2 / 2 + std, 3.0, 8.0):
                seen = [bits([x, *others], public) for x in [*EXTREMES, slope, -slope]]
                for p, q in itertools.permutations(seen, 2):
                    costs = divergence(p, q)
                    assert np.all(costs <= claimed + 1e-11)
                    worst = max(worst, float(np.max(costs[:3] / claimed[:3])))
    assert worst > 0.05  # the search comes within sight of the claim


def test_a_constant_clip_gives_the_test_with_constant_noise():
    n, batch, clip, multiplier = 50, 10, 0.1, 0.8
    proportional = ProportionalMinibatchPenalty(batch, clip, multiplier)
    std = float(proportional.std(linear, n, 0.5, jnp.float64(0.0), jnp.float64(1.0)))
    constant = MinibatchPenalty(batch, clip, std)
    records = np.random.default_rng(0).normal(scale=clip, size=n)
    posterior, move = Posterior(linear, jnp.asarray(records), 0.5), dp.Move(jnp.float64(1.0))
    assert std == pytest.approx(multiplier * float(proportional.sensitivity(clip, n, 0.5)), rel=1e-5)
    for seed in range(40):
        bits = {k: v[0] for k, v in drawn(RandomSource(seed), constant.random_words(n), (1,)).items()}
        one, two = (t.decide(bits, posterior, (), jnp.float64(0.0), move, 0.1) for t in (proportional, constant))
        assert bool(one.accepted) == bool(two.accepted)


def test_it_recovers_a_tempered_gaussian_within_its_error_and_charges_a_constant():
    kernel = dp.Kernel(dp.RandomWalk(0.2), ProportionalMinibatchPenalty(400, dp.DistanceClip(5.0), 2.0))
    release = run(kernel, 2000, 0.01, epsilon=1e9, delta=1e-6)
    event = privacy.SubsampledGaussian(4.0, 2000, 400, "without_replacement")
    assert release.receipts[0].event == privacy.Repeat(event, 10_000)


def test_a_short_move_keeps_the_least_noise_and_a_bound_that_is_no_number_refuses():
    test = ProportionalMinibatchPenalty(2, dp.DistanceClip(1.0), 1.0)
    posterior = Posterior(linear, jnp.array([1.0, 2.0, 3.0]), 1.0)
    assert float(test.std(linear, 3, 1.0, jnp.float64(0.0), jnp.float64(1e-9))) == SMALLEST_STD
    for there in (jnp.nan, jnp.inf):
        for word in (0, 2**64 - 2**12):
            bits = {"batch": jnp.array([0, 2]), "coin": jnp.full(2, word, jnp.uint64)}
            move = dp.Move(jnp.float64(there))
            assert not test.decide(bits, posterior, (), jnp.float64(0.0), move, jnp.float64(0.0)).accepted


def test_public_mistakes_are_refused():
    for wrong in (
        lambda: ProportionalMinibatchPenalty(True, 0.1, 1.0),
        lambda: ProportionalMinibatchPenalty(10, 0.1, -1.0),
        lambda: ProportionalMinibatchPenalty(10, 0.1, 1.0).event(9, 1.0),
    ):
        with pytest.raises((ValueError, TypeError), match=r"batch|noise_multiplier"):
            wrong()
