"""The claimed sensitivity holds in machine arithmetic, for any records in any order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.mechanisms.fixed_point import LEVELS, integer_sum, statistic

anything = st.floats(allow_nan=True, allow_infinity=True, width=32)
records = st.lists(anything, min_size=1, max_size=30)
bounds = st.floats(min_value=2.0**-23, max_value=1e6)


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


def total(terms, bound, dtype=np.float32):
    with jax.enable_x64(True):
        return int(integer_sum(jnp.asarray(np.asarray(terms, dtype)), jnp.float64(bound)))


@settings(max_examples=200, deadline=None)
@given(records, anything, bounds, st.sampled_from([np.float32, np.float64]))
def test_one_record_moves_the_sum_by_at_most_its_range(terms, other, bound, dtype):
    neighbour = [other, *terms[1:]]
    assert abs(total(terms, bound, dtype) - total(neighbour, bound, dtype)) <= 2 * LEVELS


@settings(max_examples=100, deadline=None)
@given(records, bounds, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_the_way_back_is_minus_the_way_there(terms, bound, random):
    shuffled = random.sample(terms, len(terms))
    assert total(terms, bound) == total(shuffled, bound)
    assert total([-r for r in terms], bound) == -total(terms, bound)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-0.875, 0.875, width=32), min_size=1, max_size=30), st.floats(1.0, 1e3))
def test_unclipped_sums_are_right_to_the_rounding(terms, bound):
    exact = np.sum(np.asarray(terms, np.float64))
    # half a level by rounding, and float32's relative error of scaling twice
    tolerance = len(terms) * (0.5 + 2 * 2.0**-24 * LEVELS / bound) * bound / LEVELS
    assert abs(total(terms, bound) * bound / LEVELS - exact) <= tolerance


def test_not_a_number_counts_as_zero_and_infinity_at_the_bound():
    assert total([np.nan], 0.1) == 0
    assert total([np.inf], 0.1) == LEVELS
    assert total([-np.inf], 0.1) == -LEVELS
    assert total([0.0, np.nan], 1e-45, np.float32) == 0


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-(2**50), 2**50),
    st.integers(-2 * LEVELS, 2 * LEVELS),
    st.floats(2.0**-23, 10.0),
    st.floats(-1e9, 1e9) | st.sampled_from([np.inf, -np.inf]),
)
def test_the_statistic_moves_by_at_most_the_shift(sum_here, change, bound, public):
    unit = jnp.float64(bound / LEVELS)
    t, other = (float(statistic(jnp.int64(s), unit, jnp.float64(public), 40.0)) for s in (sum_here, sum_here + change))
    assert abs(t) <= 40.0 + bound / LEVELS
    assert abs(t - other) <= 2 * bound + 40 * 2.0**-52


@settings(max_examples=200, deadline=None)
@given(
    st.integers(-(2**50), 2**50),
    st.integers(-2 * LEVELS, 2 * LEVELS),
    st.floats(2.0**-23, 10.0),
    st.floats(-1e9, 1e9) | st.sampled_from([np.inf, -np.inf]),
    st.floats(0.0, 2.0**13),
)
def test_about_a_centre_the_statistic_moves_by_at_most_the_shift(sum_here, change, bound, public, centre):
    unit, clamp = jnp.float64(bound / LEVELS), 50.0
    whole = sum_here - round(min(max(public, -1e9), 1e9) / float(unit)) + round(centre / float(unit))  # near the centre
    whole = whole if abs(whole) < 2**55 else sum_here
    t, other = (
        float(statistic(jnp.int64(s), unit, jnp.float64(public), clamp, centre)) for s in (whole, whole + change)
    )
    assert max(abs(t), abs(other)) <= clamp
    assert abs(t - other) <= 2 * bound + 3 * clamp * 2.0**-52


@pytest.mark.parametrize("bound", [2.0**-23, 1e-3, 7.0])
def test_a_centre_is_taken_off_exactly(bound):
    unit, centre = bound / LEVELS, 11250.123456789
    for away in (0.0, 1.25, -3.0):
        t = float(statistic(jnp.int64(0), jnp.float64(unit), jnp.float64(centre + away), 40.0, centre))
        assert t == pytest.approx(away, abs=unit + 1e-11)
    total = round(centre / unit)  # the records alone: no public term is rounded
    if total < 2**53:
        t = float(statistic(jnp.int64(total), jnp.float64(unit), jnp.float64(0.0), 40.0, centre))
        assert t == pytest.approx(total * unit - centre, abs=1e-11)


def test_public_terms_survive_cancellation():
    # the prior says +10⁶ and the records say −10⁶: what is left is exact to a unit
    unit = jnp.float64(0.01 / LEVELS)
    whole = -round(1e6 / float(unit))
    t = float(statistic(jnp.int64(whole), unit, jnp.float64(1e6 + 0.5), 40.0))
    assert abs(t - 0.5) < 2e-9


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_narrow_types_keep_the_sensitivity(dtype):
    sums = [
        int(integer_sum(jnp.asarray([x, 0.1, -0.2], dtype), jnp.float64(0.05))) for x in (6e4, -6e4, np.inf, np.nan)
    ]
    assert max(sums) - min(sums) <= 2 * LEVELS


def test_a_coarse_unit_stays_within_the_clamp():
    assert float(statistic(jnp.int64(7), jnp.float64(100.0), jnp.float64(0.0), 40.0)) == 40.0
