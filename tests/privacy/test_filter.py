"""Filters: what passes stays within the budget, whoever chooses the costs. See docs/theory/filter.md."""

import math

import numpy as np
import pytest
from scipy.special import expit

from dpmcmc.privacy import (
    BarkerBit,
    Compose,
    CurveFilter,
    Filter,
    Gaussian,
    NonPrivate,
    PenaltyBit,
    RenyiFilter,
    Repeat,
    Selection,
    SubsampledBarkerBit,
    ZcdpFilter,
    best_order,
    max_steps,
    renyi,
    zcdp,
)

ORDERS = 1 + np.geomspace(1e-3, 1e5, 40)


@pytest.mark.parametrize(
    "event",
    [
        BarkerBit(0.3),
        BarkerBit(6.0),
        Selection(1.0),
        Gaussian(3.0),
        PenaltyBit(0.2, 0.8),
        Compose((Repeat(Gaussian(9.0), 3), BarkerBit(0.1))),
    ],
)
def test_zcdp_bounds_every_order(event):
    assert np.all(renyi(event, ORDERS) <= zcdp(event) * ORDERS * (1 + 1e-12))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
def test_limits_imply_the_budget(epsilon):
    assert ZcdpFilter.for_budget(epsilon, 1e-6).epsilon(1e-6) <= epsilon * (1 + 1e-10)
    assert RenyiFilter.for_budget(epsilon, 1e-6, BarkerBit(0.01)).epsilon(1e-6) <= epsilon * (1 + 1e-10)


def test_constant_costs_reach_what_the_conversion_allows():
    meter, steps = Filter.for_budget(1.0, 1e-6, typical=BarkerBit(0.04)), 0
    while meter.charge(BarkerBit(0.04)):
        steps += 1
    assert steps == 123
    meter, steps = Filter.for_budget(1.0, 1e-6), 0
    while meter.charge(BarkerBit(0.04)):
        steps += 1
    assert steps == 121


def test_refusal_costs_nothing_and_a_smaller_event_may_follow():
    meter = Filter(ZcdpFilter(1.0))
    assert meter.charge(Gaussian(1.0))
    spent = meter.spent
    assert not meter.charge(Gaussian(0.9))
    assert meter.spent == spent
    assert meter.charge(Gaussian(2.0))
    assert not meter.charge(NonPrivate())
    assert math.isinf(ZcdpFilter(1.0).price(SubsampledBarkerBit(1000, 10)))


def test_all_kept_orders_must_fit():
    both = CurveFilter((RenyiFilter(2.0, 1.0), RenyiFilter(50.0, 10.0)))
    meter = Filter(both)
    assert meter.charge(Gaussian(2.0))  # 0.25 and 6.25
    assert not meter.charge(Gaussian(2.0))  # order 2 would fit, order 50 would not
    assert both.epsilon(1e-6) == min(one.epsilon(1e-6) for one in both.filters)


def true_delta(spent, depth, limit, epsilon, shifts, ts):
    """The largest δ(ε) an adversary reaches who picks shift and t at every node and obeys Σ shift²/8 ≤ limit."""
    best = max(0.0, -math.expm1(epsilon))
    if depth == 0:
        return best
    for shift in shifts:
        after = spent + shift**2 / 8
        if after > limit:
            continue
        for t in ts:
            p, q = expit(t + shift), expit(t)
            value = p * true_delta(after, depth - 1, limit, epsilon - math.log(p / q), shifts, ts)
            value += (1 - p) * true_delta(after, depth - 1, limit, epsilon - math.log((1 - p) / (1 - q)), shifts, ts)
            best = max(best, value)
    return best


@pytest.mark.parametrize("epsilon", [0.2, 0.8, 1.5])
def test_adaptive_adversary_stays_within_the_filter(epsilon):
    limit = 0.13
    spec = ZcdpFilter(limit)
    shifts, ts = (0.35, 0.7, 1.0), (-1.5, -0.7, -0.3, 0.2)
    truth = true_delta(0.0, 3, limit, epsilon, shifts, ts)
    low, high = 1e-12, 1 - 1e-9
    for _ in range(60):  # the δ that the filter's guarantee gives at this ε
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spec.epsilon(middle) <= epsilon else (middle, high)
    assert truth <= high


def test_best_order_allows_most_steps():
    event = PenaltyBit(0.1, 1.0)
    order = best_order(event, 1.0, 1e-6)
    fixed = RenyiFilter.for_budget(1.0, 1e-6, order=order)
    assert math.floor(fixed.limit / fixed.price(event)) == max_steps(event, 1.0, 1e-6)


def test_bad_parameters():
    for order in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(ValueError, match="order"):
            RenyiFilter(order, 1.0)
    for limit in (0.0, -1.0, math.inf):
        with pytest.raises(ValueError, match="limit"):
            ZcdpFilter(limit)
        with pytest.raises(ValueError, match="limit"):
            RenyiFilter(2.0, limit)
    with pytest.raises(ValueError, match="either"):
        RenyiFilter.for_budget(1.0, 1e-6)
    with pytest.raises(ValueError, match="nothing to spend"):
        RenyiFilter.for_budget(1.0, 1e-6, order=1.01)
    with pytest.raises(ValueError, match="at least one"):
        CurveFilter(())
    with pytest.raises(ValueError, match="no order"):
        best_order(NonPrivate(), 1.0, 1e-6)
