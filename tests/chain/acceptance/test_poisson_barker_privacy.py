"""The exact minibatch test gives away no more than its event says, in the arithmetic that runs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, logsumexp

from dpmcmc import privacy
from dpmcmc.chain.acceptance.poisson import PoissonBarker, probabilities
from dpmcmc.mechanisms import coin
from tests.chain.acceptance.poisson_enumeration import BOUND

RATES = [0.9, 3.6, 12.0]  # of λ, n·m is 1.2
ORDERS = np.array([1.05, 2.0, 10.0, 50.0, 500.0])


@pytest.mark.parametrize("rate", RATES)
def test_worst_neighbours_differ_by_no_more_than_the_event_claims(rate):
    """The machine's thinning and weights, all counts enumerated; records as bad as records can be."""
    test = PoissonBarker(BOUND, rate)
    setting, claimed = test._setting(3), privacy.renyi(test.event(3, 1.0), ORDERS)
    extremes = np.array([np.inf, -np.inf, np.nan, 1e30, BOUND, -BOUND, 0.0, 0.1])
    with jax.enable_x64(True):
        level = jnp.unique(test._level(jnp.asarray(extremes)))
        assert len(level) == 4  # the bound either way, 0.1 and nothing: nothing else gets through
        bit = jax.jit(probabilities)
        keep = 1 - np.asarray(setting.drop(level)).astype(float) / 2.0**64
        weight = np.asarray(setting.weight(level)) * setting.unit
    s = np.arange(60)

    def accept(record, others, public):
        law, t = np.ones(1), np.array([public])
        for x in (record, *others):
            mean = (setting.a + BOUND) * keep[x]
            pmf = np.exp(s * np.log(mean) - mean - np.cumsum(np.log(np.maximum(s, 1))))
            law, t = np.outer(law, pmf).ravel(), np.add.outer(t, s * weight[x]).ravel()
        p, q = bit(np.clip(t, -100, 100))
        return np.log([law @ np.asarray(p), law @ np.asarray(q)])

    worst = 0.0
    with jax.enable_x64(True):
        for others, public in itertools.product([(0,), (3,), (1,)], [-60.0, -20.0, -3.0, 0.0, 3.0, 20.0, 60.0]):
            seen = [accept(x, others, public) for x in range(4)]
            for p, q in itertools.permutations(seen, 2):
                terms = ORDERS * p[:, None] + (1 - ORDERS) * q[:, None]
                divergence = logsumexp(terms, axis=0) / (ORDERS - 1)
                assert np.all(divergence <= claimed + 1e-11)
                worst = max(worst, float(np.max(divergence / claimed)))
    assert 0.7 < worst < 1


def test_a_record_may_be_evaluated_differently_in_every_slot():
    """Slots that disagree on φ (rounding differs between lanes) stay between all slots at φ = 0 and all at φ = m."""
    rng, a, m = np.random.default_rng(2), 0.7072 * BOUND, BOUND
    for _ in range(200):
        slots, t = rng.integers(1, 9), rng.normal(scale=4)
        chance = rng.uniform()  # that a slot draws the record

        def accept(phis, t=t, chance=chance):
            law, at = np.ones(1), np.array([t])
            for phi in phis:
                kept = chance * (a + phi) / (a + m)
                law = np.outer(law, [1 - kept, kept]).ravel()
                at = np.add.outer(at, [0.0, np.log((a + m - phi) / (a + phi))]).ravel()
            return law @ expit(at)

        mixed = accept(rng.choice([0, m, rng.uniform(0, m)], size=slots))
        assert accept([m] * slots) - 1e-14 <= mixed <= accept([0.0] * slots) + 1e-14


def test_probabilities_are_never_below_the_rarest_and_close_to_logistic():
    with jax.enable_x64(True):
        half = np.linspace(0, 100, 2001)
        t = np.concatenate([-half[::-1], half])
        accept, reject = map(np.asarray, probabilities(jnp.asarray(t)))
    assert np.min(np.minimum(accept, reject)) >= coin.RAREST
    small = np.abs(t) < 20
    assert np.max(np.abs(np.log(accept / expit(t)))[small]) < 1e-8
    assert np.array_equal(accept, reject[::-1])
