"""What is refused is refused in words that say nothing of the values; every record is encoded by itself."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import dpmcmc as dp
from dpmcmc.sklearn import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor
from dpmcmc.sklearn.declared import declare

PLANTED = 73519  # no message may hold this number
X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
ONES = np.ones(50)
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1)}
LINEAR = PrivateLinearRegression(**BUDGET, y_bounds=(0, 1))
LOGISTIC = PrivateLogisticRegression(**BUDGET)
POISSON = PrivatePoissonRegressor(**BUDGET, most=5)


def planted(value, dtype=object):
    array = X.astype(dtype)
    array[7, 1] = value
    return array


BAD = {
    "text": (LINEAR, planted(f"patient {PLANTED}"), ONES, TypeError),
    "a column of texts": (LINEAR, planted(PLANTED).astype(str), ONES, ValueError),
    "a frame with text": (LINEAR, pd.DataFrame({"a": X[:, 0], "b": [str(PLANTED) + "x"] * 50}), ONES, TypeError),
    "a mapping": (LINEAR, planted({"id": PLANTED}), ONES, TypeError),
    "an integer too large": (LINEAR, planted(PLANTED * 10**400), ONES, TypeError),
    "missing": (LINEAR, planted(None), ONES, ValueError),
    "NA": (LINEAR, planted(pd.NA), ONES, TypeError),
    "NaN": (LINEAR, planted(np.nan, float), ONES, ValueError),
    "infinity": (LINEAR, planted(np.inf, float), ONES, ValueError),
    "complex": (LINEAR, X * 1j + PLANTED, ONES, ValueError),
    "one axis": (LINEAR, np.full(50, PLANTED), ONES, ValueError),
    "three axes": (LINEAR, np.full((50, 1, 1), PLANTED), ONES, ValueError),
    "ragged": (LINEAR, [[PLANTED], [PLANTED, 2]], ONES[:2], ValueError),
    "sparse": (LINEAR, sparse.csr_matrix(np.full((50, 2), PLANTED)), ONES, TypeError),
    "masked": (LINEAR, np.ma.masked_greater(np.full((50, 2), PLANTED), 2), ONES, TypeError),
    "dates": (LINEAR, np.full((50, 2), np.datetime64("2019-07-03")), ONES, ValueError),
    "other length": (LINEAR, X, ONES[1:], ValueError),
    "outcome NaN": (LINEAR, X, np.full(50, np.nan), ValueError),
    "outcome text": (LINEAR, X, np.array([f"{PLANTED} y"] * 50, dtype=object), TypeError),
    "two outcomes": (LINEAR, X, np.full((50, 2), PLANTED), ValueError),
    "a third class": (LOGISTIC, X, np.full(50, PLANTED), ValueError),
    "a third class as text": (LOGISTIC, X, np.full(50, str(PLANTED)), ValueError),
    "a class NaN": (LOGISTIC, X, np.full(50, np.nan), ValueError),
    "a class NA": (LOGISTIC, X, np.array([0, 1] * 24 + [pd.NA] * 2, dtype=object), ValueError),
    "no count": (POISSON, X, np.full(50, PLANTED + 0.5), ValueError),
    "a negative count": (POISSON, X, np.full(50, -PLANTED), ValueError),
}


@pytest.mark.parametrize(("estimator", "X", "y", "error"), BAD.values(), ids=BAD)
def test_refusals_say_nothing_of_the_values(estimator, X, y, error):
    with pytest.raises(error) as refused:
        estimator.fit(X, y)
    assert str(PLANTED) not in str(refused.value)
    assert refused.value.__cause__ is None


def test_the_length_of_a_text_is_not_told():
    with pytest.raises(ValueError, match="X has dtype str_, and must hold numbers"):
        LINEAR.fit([["a" * 4321, 1.0]] * 50, ONES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epsilon": None}, "a fit needs a budget"),
        ({"delta": None}, "a fit needs a budget"),
        ({"bounds": None}, "declare what is publicly known of the columns"),
        ({"bounds": (1, -1)}, "lower one first"),
        ({"bounds": [(0, 1)]}, "1 entries, and X has 2 columns"),
        ({"bounds": [(0, 1), (0, np.inf)]}, "finite"),
        ({"bounds": [(0, 1), "wide"]}, "two finite numbers"),
        ({"bounds": {"x0": (0, 1)}}, "nothing for the columns 'x1'"),
        ({"bounds": dp.Schema(a=dp.Number(0, 1))}, "declares 1 columns, and X has 2"),
        ({"bounds": dp.Schema(a=dp.Number(0, 1), b=dp.Category(["p", "q"]))}, "dp.regression"),
        ({"prior_std": 0}, "prior_std must be positive"),
        ({"n_draws": 0.5}, "n_draws"),
        ({"random_state": "zero"}, "random_state"),
    ],
)
def test_public_mistakes_are_named(change, says):
    with pytest.raises((TypeError, ValueError), match=says):
        PrivateLinearRegression(**BUDGET | {"y_bounds": (0, 1)} | change).fit(X, ONES)


def test_outcomes_must_be_declared():
    with pytest.raises(ValueError, match="y_bounds"):
        PrivateLinearRegression(**BUDGET).fit(X, ONES)
    for classes in ("01", (0, 1, 2), (1, 1), (0, "yes"), ()):
        with pytest.raises(ValueError, match="classes must be two labels"):
            PrivateLogisticRegression(**BUDGET, classes=classes).fit(X, ONES)


def test_bounds_may_be_given_in_any_form():
    pairs = {"age": (18.0, 90.0), "income": (0.0, 200.0)}
    names = tuple(pairs)
    assert declare((0, 1), None, 3).bounds == dict.fromkeys(("x0", "x1", "x2"), (0.0, 1.0))
    for given_bounds in (pairs, list(pairs.values()), np.array(list(pairs.values()))):
        assert declare(given_bounds, names, 2).bounds == pairs
    schema = dp.Schema(visits=dp.Number.count(9), income=dp.Number(0, 200), age=dp.Number(18, 90))
    assert declare(schema, names, 2).bounds == pairs
    assert list(declare(schema, names, 2).bounds) == list(names)  # in the order of X
    two_by_two = declare([(0, 1), (0, 2)], None, 2).bounds
    assert two_by_two == {"x0": (0.0, 1.0), "x1": (0.0, 2.0)}


numbers = st.floats(-1e300, 1e300)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(float, (6, 2), elements=numbers), hnp.arrays(float, 2, elements=numbers), st.integers(0, 5))
def test_a_record_is_encoded_by_itself_and_within_the_bounds(table, record, row):
    """Tables that differ in one record give covariates that differ in that record, whatever it holds."""
    neighbour = table.copy()
    neighbour[row] = record
    for declared in (declare((-2, 3), None, 2), declare(dp.Schema(a=dp.Number(-2, 3), b=dp.Number(-2, 3)), None, 2)):
        here, there = declared.encode(table), declared.encode(neighbour)
        others = np.arange(6) != row
        np.testing.assert_array_equal(here[others], there[others])
        assert np.all(np.abs(np.concatenate([here, there])) <= 1)
        np.testing.assert_array_equal(there[row], declared.encode(neighbour[row : row + 1])[0])


@given(st.lists(st.sampled_from(["no", "yes"]), min_size=1), st.sampled_from([object, str]))
def test_labels_are_read_one_at_a_time(labels, dtype):
    estimator = PrivateLogisticRegression(classes=("no", "yes"))
    encoded = estimator._outcomes(np.array(labels, dtype=dtype))
    np.testing.assert_array_equal(encoded, [label == "yes" for label in labels])
    np.testing.assert_array_equal(estimator.classes_, ["no", "yes"])  # also where one of them does not occur


def test_a_schema_says_what_becomes_of_missing_values():
    schema = dp.Schema(age=dp.Number(0, 100, missing=50), smoker=dp.Boolean(missing=False))
    declared = declare(schema, ("age", "smoker"), 2)
    table = pd.DataFrame({"age": [0.0, np.nan, 400.0], "smoker": pd.array([True, None, False], dtype="boolean")})
    np.testing.assert_array_equal(declared.encode(table), [[-1, 1], [0, -1], [1, -1]])
    assert PrivateLinearRegression(bounds=schema).__sklearn_tags__().input_tags.allow_nan
