"""Estimators: what they say is the release on the scale of the table, and predictions are averages over its draws."""

import pickle
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpmcmc as dp
from dpmcmc.scores import run
from dpmcmc.sklearn import (
    NoGuaranteeWarning,
    NotUsableWarning,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePoissonRegressor,
)

N = 20_000
BOUNDS = {"age": (18, 90), "income": (0, 200)}
RNG = np.random.default_rng(0)
X = pd.DataFrame({name: RNG.uniform(*limits, N) for name, limits in BOUNDS.items()})
ETA = -1 + 0.03 * X["age"] - 0.01 * X["income"]
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "n_draws": 200}
CLASSES = np.array(["no", "yes"])
CASES = {
    "logistic": (PrivateLogisticRegression(**BUDGET, classes=("no", "yes")), CLASSES[RNG.binomial(1, expit(ETA))]),
    "linear": (PrivateLinearRegression(**BUDGET, y_bounds=(-10, 20)), RNG.normal(ETA)),
    "poisson": (PrivatePoissonRegressor(**BUDGET, most=50), RNG.poisson(np.exp(ETA))),
}
EACH = [pytest.param(name, marks=[] if name == "logistic" else pytest.mark.slow) for name in CASES]
CHEAP = {"method": dp.dp_barker(step=0.2, clip=0.01), "n_draws": 20}


@lru_cache
def fitted(name):
    """One fit with a seed, on the same covariates for all; and its outcomes."""
    estimator, y = CASES[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "MANY", 2048)
        with pytest.warns() as caught:
            made = clone(estimator).set_params(random_state=1).fit(X, y)
    assert [warning.category for warning in caught] == [NoGuaranteeWarning]  # for the seed; and it is usable
    assert caught[0].filename == __file__
    return made, y


@pytest.mark.parametrize("name", EACH)
def test_a_fit_is_a_release(name):
    made, _ = fitted(name)
    assert "(1, 1e-06)-differentially private under substitution of one record" in made.release_.no_guarantee
    assert made.release_.quality.verdict in ("usable", "wide")
    assert made.release_.draws["age"].size == 200
    assert list(made.feature_names_in_) == list(BOUNDS)
    assert made.n_features_in_ == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", EACH)
def test_coefficients_are_on_the_scale_of_the_table(name):
    """Within 6 standard deviations of the truth each, noise included: 9 numbers, false alarms below 1e-7."""
    made, _ = fitted(name)
    draws = made.coefficients_.draws
    slopes = np.stack([draws[column].ravel() for column in BOUNDS])
    flat = name != "logistic"
    assert made.coef_.shape == ((2,) if flat else (1, 2))
    assert made.coef_interval_.shape == (*made.coef_.shape, 2)
    np.testing.assert_allclose(made.coef_.ravel(), slopes.mean(axis=1))
    np.testing.assert_allclose(np.ravel(made.intercept_), draws["intercept"].mean())
    assert np.all(made.coef_interval_[..., 0] < made.coef_)
    assert np.all(made.coef_ < made.coef_interval_[..., 1])
    for truth, found in zip((0.03, -0.01, -1.0), (*slopes, draws["intercept"].ravel()), strict=True):
        assert abs(found.mean() - truth) < 6 * found.std()
        assert found.std() < 0.5 * abs(truth)
    assert "age" in str(made.coefficients_)


def predictors(made, rows):
    """η (row, draw), by the coefficients on the scale of the table."""
    draws = made.coefficients_.draws
    return draws["intercept"].ravel() + sum(np.outer(rows[name], draws[name]) for name in BOUNDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_predictions_are_averages_over_the_draws(name):
    made, y = fitted(name)
    rows, eta = X[:3000], predictors(made, X[:3000])
    if name == "linear":
        np.testing.assert_allclose(made.predict(rows), eta.mean(axis=1))
        np.testing.assert_allclose(made.predict(rows), rows @ made.coef_ + made.intercept_)
    elif name == "poisson":
        np.testing.assert_allclose(made.predict(rows), np.exp(eta).mean(axis=1))
        found = made.score(rows, y[:3000])
        np.testing.assert_allclose(found, d2_tweedie_score(y[:3000], made.predict(rows), power=1))
    else:
        p = expit(eta).mean(axis=1)
        np.testing.assert_allclose(made.predict_proba(rows), np.stack([1 - p, p], axis=1))
        np.testing.assert_allclose(np.exp(made.predict_log_proba(rows)), made.predict_proba(rows))
        np.testing.assert_allclose(made.decision_function(rows), np.log(p / (1 - p)))
        np.testing.assert_array_equal(made.predict(rows), np.where(p > 0.5, "yes", "no"))
    outside = pd.DataFrame({"age": [1000.0], "income": [-5.0]})
    at_bounds = pd.DataFrame({"age": [90.0], "income": [0.0]})
    np.testing.assert_array_equal(made.predict(outside), made.predict(at_bounds))


@pytest.mark.slow
def test_what_was_fitted_does_not_follow_parameters_set_later():
    made = pickle.loads(pickle.dumps(fitted("linear")[0]))
    before = made.predict(X[:5])
    made.set_params(bounds=(0, 1), y_bounds=(0, 1))
    np.testing.assert_array_equal(made.predict(X[:5]), before)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        made.fit(X.assign(age=np.nan), X["age"])
    with pytest.raises(NotFittedError):
        made.predict(X[:5])  # a fit that failed leaves no mixture of two


SMALL, LABELS = X[:200], (np.arange(200) % 2)


@pytest.mark.filterwarnings("ignore::dpmcmc.sklearn.NotUsableWarning")
def test_a_seed_takes_the_guarantee_and_says_so():
    estimator = PrivateLogisticRegression(**BUDGET | CHEAP, random_state=0)
    with pytest.warns(NoGuaranteeWarning, match="seed="):
        estimator.fit(SMALL, LABELS)
    assert estimator.release_.guarantee is None


@pytest.mark.filterwarnings("ignore::dpmcmc.sklearn.NotUsableWarning")
def test_classes_read_from_the_outcomes_take_the_guarantee():
    estimator = PrivateLogisticRegression(**BUDGET | CHEAP, classes="observed")
    with pytest.warns(NoGuaranteeWarning, match="the classes were read from y"):
        estimator.fit(SMALL, np.where(LABELS, "a", "b"))
    assert estimator.release_.guarantee is None
    np.testing.assert_array_equal(estimator.classes_, ["a", "b"])


def test_a_verdict_of_not_usable_is_a_warning_with_its_reason():
    """Ten decisions of each chain are never enough draws."""
    estimator = PrivateLogisticRegression(**BUDGET | CHEAP)
    with pytest.warns(NotUsableWarning) as caught:
        estimator.fit(SMALL, np.zeros(200))  # one class alone: declared classes need not occur
    assert estimator.release_.quality.verdict == "not usable"
    assert any(estimator.release_.quality.reason in str(warning.message) for warning in caught)
    assert 0 < estimator.release_.guarantee.epsilon <= 1
    assert estimator.release_.guarantee.relation == "substitution"
    np.testing.assert_array_equal(estimator.classes_, [0, 1])


@pytest.mark.filterwarnings("ignore::dpmcmc.sklearn.NotUsableWarning")
def test_a_fit_keeps_no_record():
    kept = pickle.dumps(PrivateLogisticRegression(**BUDGET | CHEAP).fit(SMALL, LABELS))
    encoded = dp.models.Covariates(BOUNDS).encode(SMALL)
    for table in (SMALL.to_numpy(), encoded):
        assert not any(value.tobytes() in kept for value in table.ravel())


@pytest.mark.filterwarnings("ignore::dpmcmc.sklearn.NotUsableWarning")
def test_pipelines_and_cross_validation_run_one_release_for_each_fit(monkeypatch):
    from dpmcmc.sklearn import base

    real, epsilons = base.sample, []
    monkeypatch.setattr(base, "sample", lambda *given, **more: epsilons.append(given[2]) or real(*given, **more))
    pipeline = make_pipeline(FunctionTransformer(), PrivateLogisticRegression(**BUDGET | CHEAP))
    scores = cross_val_score(pipeline, SMALL, LABELS, cv=KFold(2), error_score="raise")
    assert np.all((scores >= 0) & (scores <= 1))
    assert epsilons == [1.0, 1.0]
