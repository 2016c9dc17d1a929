"""Conversions: CKS20 at real orders, limits that invert it. See docs/theory/conversion.md."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.privacy import renyi_limit, zcdp_limit
from dpmcmc.privacy.convert import delta_at, delta_from_renyi, epsilon_at, epsilon_from_renyi
from dpmcmc.privacy.gaussian import gaussian_epsilon


def cks20(order, bound, epsilon):
    a = mp.mpf(order)
    return mp.exp((a - 1) * (mp.mpf(bound) - mp.mpf(epsilon))) * (1 - 1 / a) ** a / (a - 1)


@given(st.floats(1e-4, 1e5), st.floats(1e-6, 50.0), st.floats(0.0, 50.0))
@settings(max_examples=150, deadline=None)
def test_both_ways_round_up_and_agree_with_the_formula(excess, bound, epsilon):
    order = 1 + excess
    with mp.workdps(50):
        exact = min(mp.mpf(1), cks20(order, bound, epsilon))
    value = float(delta_at(np.array([order]), np.array([bound]), epsilon)[0])
    assert value >= exact or (value == 0 and exact < 1e-300)
    assert value <= exact * (1 + 1e-7) + mp.mpf(10) ** -290
    if 1e-200 < value < 1:
        back = float(epsilon_at(np.array([order]), np.array([bound]), value)[0])
        with mp.workdps(50):
            assert cks20(order, bound, back) <= value
        limit = float(renyi_limit(epsilon, value, order))
        with mp.workdps(50):
            assert cks20(order, limit, epsilon) <= value
        assert limit == pytest.approx(bound, rel=1e-6, abs=1e-9 * (1 + 1 / excess))


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-6), (0.1, 1e-9), (1.0, 1e-6), (10.0, 1e-5), (1e6, 1e-6)])
def test_zcdp_limit_is_sound_and_tight(epsilon, delta):
    rho = zcdp_limit(epsilon, delta)
    assert epsilon_from_renyi(lambda orders: rho * orders, delta)[0] <= epsilon * (1 + 1e-10)
    assert epsilon_from_renyi(lambda orders: 1.0001 * rho * orders, delta)[0] > epsilon
    assert delta_from_renyi(lambda orders: rho * orders, epsilon)[0] <= delta * (1 + 1e-6)
    assert gaussian_epsilon(math.sqrt(2 * rho), delta) < epsilon  # a Gaussian of that ρ costs less than the conversion


def test_fine_scan_finds_no_better_order():
    orders = 1 + np.geomspace(1e-2, 1e4, 200_000)
    assert epsilon_from_renyi(lambda a: 0.02 * a, 1e-6)[0] <= epsilon_at(orders, 0.02 * orders, 1e-6).min() * (1 + 1e-5)


def test_bad_parameters():
    one = np.array([2.0])
    for order in (1.0, 0.3, math.nan, math.inf):
        with pytest.raises(ValueError, match="exceed 1"):
            renyi_limit(1.0, 1e-6, order)
    for delta in (0.0, 1.0, -1e-3, math.nan):
        with pytest.raises(ValueError, match="delta"):
            epsilon_at(one, one, delta)
    for epsilon in (-0.1, math.inf, math.nan):
        with pytest.raises(ValueError, match="epsilon"):
            delta_at(one, one, epsilon)
    assert delta_at(one, np.array([math.inf]), 1.0)[0] == 1.0
