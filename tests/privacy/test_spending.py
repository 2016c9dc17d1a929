"""The Gaussian filter and what is spent under it, against exact fractions. See docs/theory/filter.md."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.mechanisms.counts import Histograms
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.plain import Plain
from dpmcmc.privacy import Compose, Gaussian, GaussianFilter, Spending, ZcdpFilter, epsilon, zcdp
from dpmcmc.privacy.gaussian import gaussian_log_delta

BUDGETS = [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-3), (20.0, 1e-9)]


@pytest.mark.parametrize(("budget_epsilon", "delta"), BUDGETS)
def test_the_limit_is_the_largest_that_implies_the_budget(budget_epsilon, delta):
    rule = GaussianFilter.for_budget(budget_epsilon, delta, 5)
    assert gaussian_log_delta(math.sqrt(2 * rule.limit), budget_epsilon) <= math.log(delta)
    assert gaussian_log_delta(math.sqrt(2 * rule.limit) * (1 + 1e-9), budget_epsilon) > math.log(delta)
    assert budget_epsilon * (1 - 1e-9) < rule.epsilon(delta) <= budget_epsilon * (1 + 1e-10)
    assert rule.fits(budget_epsilon, delta)
    assert not GaussianFilter(rule.limit * (1 + 1e-12), 5).fits(budget_epsilon, delta)
    assert rule.limit > ZcdpFilter.for_budget(budget_epsilon, delta).limit
    assert rule.mu**2 / 2 >= rule.limit
    assert GaussianFilter.of_mu(rule.mu, 5).limit <= rule.limit * (1 + 2**-48)


def test_it_is_saved_as_plain_data():
    rule = GaussianFilter(0.02, 7)
    assert rule.to_dict() == {"kind": "GaussianFilter", "limit": 0.02, "most_releases": 7}
    assert Plain.from_dict(rule.to_dict()) == rule


@settings(max_examples=300, deadline=None)
@given(st.floats(1e-4, 50), st.integers(1, 30), st.lists(st.floats(0.9, 1e3), max_size=40))
def test_what_passes_is_within_the_limit_exactly_and_what_is_refused_is_not(limit, most, multipliers):
    spending, taken = Spending(GaussianFilter(limit, most)), []
    for multiplier in multipliers:
        before = (spending.spent, spending.releases)
        after = sum((1 / Fraction(m) ** 2 for m in [*taken, multiplier]), Fraction(0))
        try:
            spending.take(multiplier)
            taken.append(multiplier)
        except ValueError:
            assert (spending.spent, spending.releases) == before  # a refusal costs nothing
            assert multiplier < 1 or len(taken) == most or after > 2 * Fraction(limit) * (1 - Fraction(1, 2**40))
    exact = sum((1 / Fraction(m) ** 2 for m in taken), Fraction(0))
    assert exact <= 2 * Fraction(limit)
    assert len(taken) == spending.releases <= most
    assert min(taken, default=1) >= 1
    left = Fraction(spending.left)
    assert left <= 2 * Fraction(limit) - exact
    assert len(taken) == most or left >= (2 * Fraction(limit) - exact) - Fraction(limit) / 2**40
    if taken:
        event = Compose(tuple(Gaussian(m) for m in taken))
        assert zcdp(event) <= limit * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 3), st.lists(st.floats(0.05, 1.0), min_size=1, max_size=8), st.integers(1, 200), st.booleans())
def test_sums_and_counts_made_for_what_is_left_fit(mu, shares, columns, last):
    """Whatever is asked for by a share of what is left is paid for by the mechanism's own multiplier."""
    spending = Spending(GaussianFilter.of_mu(mu, len(shares) + 1))
    for share in [*shares, 1.0] if last else shares:
        before = spending.left
        if before < 1e-8:  # less than a mechanism could be had for
            return
        wanted = spending.multiplier(share)
        made = (GaussianSum.of_multiplier(0.3, wanted), Histograms.of_multiplier(columns, wanted))[len(shares) % 2]
        spending.take(made.noise_multiplier)
        used = before * share if wanted > 1.001 else 1.0
        assert made.noise_multiplier**-2 == pytest.approx(used, rel=5e-2)
    assert spending.spent <= mu**2


def test_all_that_passes_costs_no_more_than_the_filter_says():
    rule, rng = GaussianFilter.for_budget(1.0, 1e-6, 12), np.random.default_rng(0)
    spending, events = Spending(rule), []
    while spending.left > 0:
        events.append(Gaussian(spending.multiplier(rng.uniform(0.2, 1) if spending.releases < 11 else 1.0)))
        spending.take(events[-1].noise_multiplier)
    assert len(events) == 12
    assert 1 - 1e-6 < epsilon(Compose(tuple(events)), 1e-6) <= rule.epsilon(1e-6)
    assert spending.left == 0
    with pytest.raises(ValueError, match="only 12 releases were paid for"):
        spending.take(1e6)
    with pytest.raises(ValueError, match="nothing is left"):
        spending.multiplier()


def test_public_mistakes_are_refused():
    for limit in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="limit"):
            GaussianFilter(limit, 3)
    for most in (0, -1, 1.5):
        with pytest.raises(ValueError, match="most_releases"):
            GaussianFilter(1.0, most)
    spending = Spending(GaussianFilter(1.0, 3))
    for multiplier in (0.5, 1 - 1e-12, -2.0, math.nan, math.inf, 0.0):
        with pytest.raises(ValueError, match="at least 1 and finite"):
            spending.take(multiplier)
    for share in (0.0, 1.1, math.nan):
        with pytest.raises(ValueError, match="share"):
            spending.multiplier(share)
    spending.take(1.0)
    with pytest.raises(ValueError, match="of the 1 that are left"):
        spending.take(1.0)  # exactly what is left: refused, as sums are rounded up


def test_rounding_lets_nothing_through():
    """Limits that are the rounded cost of one release, half of them below the exact cost: as float64 they would fit."""
    below = 0
    for multiplier in np.random.default_rng(1).uniform(1, 100, size=200):
        limit = multiplier**-2 / 2
        below += 2 * Fraction(limit) < 1 / Fraction(multiplier) ** 2
        with pytest.raises(ValueError, match="that are left"):
            Spending(GaussianFilter(limit, 1)).take(multiplier)
    assert below > 50
