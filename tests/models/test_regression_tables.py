"""Tables become records of a regression: outcomes are checked and scaled, and mistakes are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpmcmc.models import (
    LinearRegression,
    LogisticRegression,
    NegativeBinomialRegression,
    PoissonRegression,
    StudentTRegression,
)

AGE = {"age": (0, 100)}


def encoded(model, outcomes):
    return model.encode({"age": np.full(len(outcomes), 75.0), "y": outcomes}, outcome="y")


@pytest.mark.parametrize("model", [LinearRegression(AGE, (0, 10)), StudentTRegression(AGE, (0, 10))])
def test_a_real_outcome_is_scaled_by_its_bounds_and_moved_to_them(model):
    records = encoded(model, [0.0, 2.5, 10.0, 1e9, -np.inf, np.nan])
    np.testing.assert_array_equal(records["y"], [-1, -0.5, 1, 1, -1, np.nan])
    np.testing.assert_array_equal(records["x"], np.full((6, 1), 0.5))
    assert records["x"].dtype == records["y"].dtype == np.float64


@pytest.mark.parametrize("family", [PoissonRegression, NegativeBinomialRegression])
@pytest.mark.parametrize("wrong", [-1, 0.5, -np.inf])
def test_an_outcome_that_is_no_count_is_refused(family, wrong):
    with pytest.raises(ValueError, match="'y' must be a count: 0, 1, 2"):
        encoded(family(AGE), [1.0, wrong])


@given(st.lists(st.one_of(st.integers(0, 10**6), st.just(np.nan)), min_size=1), st.integers(1, 1000))
def test_counts_above_the_limit_are_moved_to_it(counts, most):
    values = np.array(counts, dtype=float)
    np.testing.assert_array_equal(encoded(PoissonRegression(AGE), values)["y"], values)
    for family in (PoissonRegression, NegativeBinomialRegression):
        np.testing.assert_array_equal(encoded(family(AGE, most=most), values)["y"], np.minimum(values, most))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LogisticRegression({}), "at least one covariate"),
        (lambda: LogisticRegression(AGE, prior_std=0.0), "prior_std.*0.0"),
        (lambda: LogisticRegression({"intercept": (0, 1)}), "cannot be called 'intercept'"),
        (lambda: LinearRegression({"log_sigma": (0, 1)}, (0, 1)), "cannot be called 'log_sigma'"),
        (lambda: StudentTRegression({"log_sigma": (0, 1)}, (0, 1)), "cannot be called 'log_sigma'"),
        (lambda: NegativeBinomialRegression({"log_concentration": (0, 1)}), "cannot be called 'log_concentration'"),
        (lambda: LinearRegression(AGE, (1, 1)), r"'outcome'.*\(1, 1\)"),
        (lambda: LinearRegression(AGE, (0, 1), sigma=-1.0), "sigma.*-1.0"),
        (lambda: StudentTRegression(AGE, (0, 1), df=0.0), "df.*0.0"),
        (lambda: PoissonRegression(AGE, most=0), "most.*got 0"),
        (lambda: NegativeBinomialRegression(AGE, most=2.5), "most.*2.5"),
    ],
)
def test_bad_settings_name_the_value(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_another_models_parameter_is_an_ordinary_name():
    assert PoissonRegression({"log_sigma": (0, 1)}).names == ("intercept", "log_sigma")
    assert LinearRegression({"log_sigma": (0, 1)}, (0, 1), sigma=0.1).names == ("intercept", "log_sigma")


def test_missing_columns_are_all_named():
    with pytest.raises(ValueError, match="no column 'age', 'visits'"):
        PoissonRegression(AGE).encode({"y": [1]}, outcome="visits")


SECRET = "7.31 secret"


@pytest.mark.parametrize("column", ["age", "y"])
@pytest.mark.parametrize(
    ("cells", "says"),
    {
        "text": (np.array([SECRET, "1"]), "stored as text"),
        "objects": (np.array([SECRET, 1.0], dtype=object), "not all of its cells are numbers or booleans"),
        "mixed": ([1.0, None, SECRET], "not all of its cells are numbers or booleans"),
        "datetimes": (np.array(["2001-02-03", "2004-05-06"], dtype="datetime64[D]"), "dates"),
        "durations": (np.array([1, 2], dtype="timedelta64[D]"), "convert it"),
        "complex": (np.array([1j, 2]), "convert it"),
        "two columns": (np.zeros((2, 2)), "2 dimensions"),
        "one number": (7.31, "give an array"),
    }.values(),
)
def test_what_is_no_column_of_numbers_is_refused_without_its_values(column, cells, says):
    count = len(cells) if hasattr(cells, "__len__") else 2
    table = {"age": np.zeros(count), "y": np.zeros(count)} | {column: cells}
    with pytest.raises(TypeError, match=says) as refused:
        LogisticRegression(AGE).encode(table, outcome="y")
    assert repr(column) in str(refused.value)
    assert SECRET not in str(refused.value)
    assert "7.31" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_booleans_are_zero_and_one_and_masked_cells_are_missing():
    table = {"age": np.ma.array([0.0, 50.0, 100.0], mask=[False, False, True]), "y": np.array([True, False, True])}
    records = LogisticRegression(AGE).encode(table, outcome="y")
    np.testing.assert_array_equal(records["x"][:, 0], [-1, 0, np.nan])
    np.testing.assert_array_equal(records["y"], [1, 0, 1])


def test_columns_of_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="different lengths"):
        LogisticRegression(AGE).encode({"age": np.zeros(3), "y": np.zeros(2)}, outcome="y")
