"""Rényi curves of events: additive, checked against enumeration, remembered."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from dpmcmc.privacy import (
    BarkerBit,
    Compose,
    Event,
    Gaussian,
    MetropolisBit,
    NonPrivate,
    PenaltyBit,
    Repeat,
    Selection,
    renyi,
)

ORDERS = np.array([1.01, 1.5, 2.0, 8.0, 64.0])


def test_composition_adds():
    bit, noise = BarkerBit(0.3), Gaussian(5.0)
    whole = renyi(Compose((Repeat(bit, 7), noise, Repeat(Repeat(noise, 2), 3))), ORDERS)
    np.testing.assert_allclose(whole, 7 * renyi(bit, ORDERS) + 7 * renyi(noise, ORDERS), rtol=1e-12)
    assert np.all(whole >= 7 * renyi(bit, ORDERS) + 7 * renyi(noise, ORDERS))


def test_known_curves():
    np.testing.assert_allclose(renyi(Gaussian(4.0), ORDERS), ORDERS / 32, rtol=1e-12)
    assert np.all(np.isinf(renyi(NonPrivate("for comparison"), ORDERS)))
    assert np.all(np.isinf(renyi(MetropolisBit(0.1), ORDERS)))
    assert np.all(renyi(MetropolisBit(0.0), ORDERS) == 0)
    assert np.all(renyi(Repeat(NonPrivate(), 0), ORDERS) == 0)
    assert np.all(renyi(Compose(()), ORDERS) == 0)


@given(st.integers(2, 6), st.floats(0.01, 4.0), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_selection_is_never_below_an_enumerated_choice(candidates, spread, seed):
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=candidates) * 3
    change = rng.uniform(0, spread, size=candidates) + rng.normal()
    change = (change - change.min()) * spread / np.ptp(change)
    log_p, log_q = (u - logsumexp(u) for u in (utility + change, utility))
    for a, bound in zip(ORDERS, renyi(Selection(spread), ORDERS), strict=True):
        assert logsumexp(a * log_p - (a - 1) * log_q) / (a - 1) <= bound + 1e-13
        assert logsumexp(a * log_q - (a - 1) * log_p) / (a - 1) <= bound + 1e-13
        assert bound <= a * spread**2 / 8 * (1 + 1e-12)


@given(st.floats(0.01, 3.0), st.floats(0.3, 3.0), st.floats(0.0, 1.0), st.floats(-5.0, 8.0))
@settings(max_examples=40, deadline=None)
def test_smaller_shifts_are_covered(shift, std, part, t):
    from dpmcmc.privacy.accept_bit import penalty_log_accept, penalty_log_reject

    points = np.array([t, t + part * shift])
    log_p, log_q = penalty_log_accept(points, std), penalty_log_reject(points, std)
    for a, bound in zip(ORDERS[1:4], renyi(PenaltyBit(shift, std), ORDERS[1:4]), strict=True):
        for i, j in ((0, 1), (1, 0)):
            value = np.logaddexp(a * log_p[i] - (a - 1) * log_p[j], a * log_q[i] - (a - 1) * log_q[j]) / (a - 1)
            assert value <= bound + 1e-12


@pytest.mark.parametrize("orders", [1.0, 0.5, [2.0, 1.0], math.inf, math.nan])
def test_bad_orders_are_refused(orders):
    with pytest.raises(ValueError, match="exceed 1"):
        renyi(BarkerBit(0.1), orders)


def test_unknown_events_are_refused():
    class Unheard(Event):
        pass

    with pytest.raises(TypeError, match="Unheard"):
        renyi(Unheard(), 2.0)


def test_answers_are_remembered_and_cannot_be_changed():
    first = renyi(PenaltyBit(0.1, 1.0), ORDERS)
    assert renyi(PenaltyBit(0.1, 1.0), ORDERS.copy()) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0
