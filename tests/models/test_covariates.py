"""Covariates: scaled by public bounds, never by the records, and any values at all end up in [−1, 1]."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpmcmc.models import Covariates

BOUNDS = {"a": (0, 4), "b": (-1.0, 1.0)}


def test_bounds_go_to_the_ends_and_values_outside_with_them():
    table = {"a": [0, 1, 4, 9, -np.inf], "b": [-1.0, 0.5, 1.0, 3.0, -2.0], "other": [0] * 5}
    x = Covariates(BOUNDS).encode(table)
    assert x.dtype == np.float64
    np.testing.assert_array_equal(x, [[-1, -1], [-0.5, 0.5], [1, 1], [1, 1], [-1, -1]])


@given(arrays(np.float64, 5), st.floats(-1e100, 1e100), st.floats(1e-3, 1e100))
def test_one_value_is_scaled_without_regard_to_the_others(values, low, width):
    bounds = Covariates({"a": (low, low + max(width, abs(low)))})
    x = bounds.encode({"a": values})
    assert np.all((np.abs(x[:, 0]) <= 1) | np.isnan(values))
    assert np.array_equal(np.isnan(x[:, 0]), np.isnan(values))
    np.testing.assert_array_equal(x, np.concatenate([bounds.encode({"a": values[i : i + 1]}) for i in range(5)]))


def test_public_rows_are_within_the_bounds_and_often_at_them():
    x = np.asarray(Covariates(BOUNDS).anywhere(jax.random.key(0), 10_000))
    assert x.shape == (10_000, 2)
    assert np.all(np.abs(x) <= 1)
    at_bounds = (np.abs(x) == 1).mean(axis=1)
    assert abs(at_bounds.mean() - 0.5) < 4.5 * at_bounds.std() / 100


@pytest.mark.parametrize(
    ("bounds", "says"),
    [({}, "at least one covariate"), ({"a": (1, 1)}, r"'a'.*\(1, 1\)"), ({"a": (0, np.inf)}, r"'a'.*inf")],
)
def test_bounds_that_do_not_bound_are_refused(bounds, says):
    with pytest.raises(ValueError, match=says):
        Covariates(bounds)


def test_missing_columns_are_all_named():
    with pytest.raises(ValueError, match="no column 'a', 'b'"):
        Covariates(BOUNDS).encode({"c": [1.0]})


def test_equal_where_names_order_and_bounds_are():
    assert Covariates(BOUNDS) == Covariates(dict(BOUNDS))
    assert hash(Covariates(BOUNDS)) == hash(Covariates(dict(BOUNDS)))
    assert Covariates(BOUNDS) != Covariates(dict(reversed(BOUNDS.items())))
    assert Covariates(BOUNDS) != Covariates(BOUNDS | {"a": (0, 5)})
