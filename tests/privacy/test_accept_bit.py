"""Accept bits: probabilities to many digits, suprema never below a dense scan. See docs/theory/accept-bit.md."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpmcmc.privacy.accept_bit import (
    barker_log_accept,
    barker_log_reject,
    barker_renyi,
    penalty_log_accept,
    penalty_log_reject,
    penalty_losses,
    penalty_renyi,
)
from dpmcmc.privacy.two_point import log_excess, renyi_two_point

ORDERS = 1 + np.geomspace(1e-3, 3e3, 14)


def exact_penalty(t, std):
    t, std = mp.mpf(t), mp.mpf(std)
    cdf = lambda z: mp.erfc(-z / mp.sqrt(2)) / 2  # noqa: E731
    return cdf(t / std - std / 2) + mp.exp(t) * cdf(-t / std - std / 2)


@pytest.mark.parametrize("std", [0.01, 0.5, 1.0, 3.0, 30.0])
def test_penalty_probabilities_against_mpmath(std):
    with mp.workdps(400):
        for z in [-30.0, -8.0, -3.0, -1.0, -0.2, 0.0, 0.1, 0.5, 1.0, 3.0, 8.0, 30.0]:
            t = z * std if abs(z) > 3 else z * std + std**2 / 2
            p = exact_penalty(t, std)
            assert float(penalty_log_accept(np.array([t]), std)[0]) == pytest.approx(float(mp.log(p)), rel=1e-10)
            assert float(penalty_log_reject(np.array([t]), std)[0]) == pytest.approx(float(mp.log(1 - p)), rel=1e-10)


@pytest.mark.parametrize(
    ("std", "shift"), [(0.01, 1e-3), (0.5, 0.02), (1.0, 1e-6), (1.0, 2.0), (3.0, 0.1), (20.0, 0.5)]
)
def test_penalty_losses_are_upper_bounds_and_close(std, shift):
    with mp.workdps(400):
        for z in [-25.0, -5.0, -1.0, 0.0, 0.3, 1.0, 5.0, 25.0]:
            t = z * std + std**2 / 2
            here, there = exact_penalty(t, std), exact_penalty(mp.mpf(t) + mp.mpf(shift), std)
            gain, loss = (float(x[0]) for x in penalty_losses(np.array([t]), shift, std))
            for bound, truth in ((gain, mp.log(there / here)), (loss, mp.log((1 - here) / (1 - there)))):
                assert truth <= bound <= truth * (1 + 1e-4)


def test_barker_probabilities():
    t = np.array([-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
    with mp.workdps(400):
        exact = [float(-mp.log1p(mp.exp(-mp.mpf(x)))) for x in t]
    np.testing.assert_allclose(barker_log_accept(t), exact, rtol=1e-14)
    np.testing.assert_allclose(barker_log_reject(-t), exact, rtol=1e-14)


@given(st.floats(1e-3, 1e4), st.floats(-20.0, 20.0))
@settings(max_examples=200, deadline=None)
def test_excess_is_an_upper_bound(excess_order, loss):
    order = 1 + excess_order
    assume(abs(loss) > 1e-12)
    with mp.workdps(80):
        truth = mp.log(mp.expm1(mp.mpf(order) * loss) - mp.mpf(order) * mp.expm1(loss))
        bound = float(log_excess(np.array([order]), np.array([loss]))[0])
        assert bound >= truth - 2e-16 * abs(truth)  # the logarithm's own rounding, covered by the caller's margin
        if order * loss < 300:
            assert bound <= truth + 1e-8


def scan(log_p, log_q, shift, orders, t):
    """The supremum over a grid, from the definition of the divergence in both directions: a lower bound."""
    out = []
    for a in orders:
        best = 0.0
        for p, q in ((t + shift, t), (t, t + shift)):
            terms = np.logaddexp(a * log_p(p) - (a - 1) * log_p(q), a * log_q(p) - (a - 1) * log_q(q))
            best = max(best, np.max(terms) / (a - 1))
        out.append(best)
    return np.array(out)


@pytest.mark.parametrize("shift", [0.01, 0.1, 1.0, 5.0, 30.0])
def test_barker_renyi_is_the_supremum(shift):
    t = np.linspace(-60, 60, 60_001)
    orders = ORDERS[(ORDERS - 1) * shift > 1e-3]
    lower = scan(barker_log_accept, barker_log_reject, shift, orders, t)
    bound = barker_renyi(shift, orders)
    noise = 1e-13 * orders / (orders - 1) * (1 + shift)
    assert np.all(bound >= lower - noise)
    assert np.all(bound <= orders * shift**2 / 8 * (1 + 1e-12))
    assert np.all(bound <= shift * (1 + 1e-12))
    reachable = orders * shift < 50
    np.testing.assert_array_less(bound[reachable], lower[reachable] * (1 + 1e-3) + 2 * noise[reachable])


@pytest.mark.parametrize(
    ("shift", "std"),
    [(0.5 / 31.6, 0.5), (1 / 31.6, 1.0), (3 / 31.6, 3.0), (1.0, 1.0), (3.0, 0.7), (0.5, 10.0), (0.01, 0.05)],
)
def test_penalty_renyi_is_never_below_a_dense_scan(shift, std):
    orders = np.array([1.2, 2.0, 5.0, 20.0, 80.0, 300.0])
    bound = penalty_renyi(shift, std, orders)
    end = orders.max() * shift + 8 * std + std**2
    t = np.linspace(-60 - orders.max() * shift, min(end, 25 * std + std**2 / 2), 40_001)
    lower = scan(lambda x: penalty_log_accept(x, std), lambda x: penalty_log_reject(x, std), shift, orders, t)
    gaussian = orders * (shift / std) ** 2 / 2
    assert np.all(bound <= gaussian * (1 + 1e-12))
    assert np.all(bound >= lower - 1e-12)
    tight = bound < 0.9 * gaussian
    assert tight.any()
    np.testing.assert_array_less(bound[tight], lower[tight] * (1 + 2e-3) + 1e-10)


@pytest.mark.parametrize("std", [0.5, 2.0])
def test_penalty_renyi_grows_with_shift_and_order(std):
    curves = np.array([penalty_renyi(shift, std, ORDERS) for shift in (0.01, 0.02, 0.1, 0.5, 2.0)])
    assert np.all(np.diff(curves, axis=0) > 0)
    assert np.all(np.diff(curves, axis=1) > -1e-4 * curves[:, 1:])


def test_wider_pairs_cost_more():
    order = np.full(4, 7.0)
    lo, hi = np.array([-0.1, -0.1, -0.3, -2.0]), np.array([0.1, 0.3, 0.3, 0.3])
    assert np.all(np.diff(renyi_two_point(order, lo, hi)) > 0)


def test_nothing_moves_nothing_leaks():
    assert np.all(barker_renyi(0.0, ORDERS) == 0)
    assert np.all(penalty_renyi(0.0, 1.0, ORDERS) == 0)
