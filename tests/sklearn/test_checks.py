"""scikit-learn's own checks of estimators; the exceptions are those that the guide lists, and no others."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from dpmcmc.scores import run
from dpmcmc.sklearn import PrivateLinearRegression, PrivateLogisticRegression, PrivatePoissonRegressor

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scikit-learn.md"
FRACTIONS = "gives outcomes that are not whole numbers, and only counts are accepted"
NOT_COUNTS = {
    "check_n_features_in_after_fitting": FRACTIONS,
    "check_regressors_train": FRACTIONS,
    "check_regressor_data_not_an_array": FRACTIONS,
    "check_regressors_no_decision_function": FRACTIONS,
    "check_fit_idempotent": FRACTIONS,
    "check_fit_check_is_fitted": FRACTIONS,
    "check_n_features_in": FRACTIONS,
}
SETTINGS = {"epsilon": 100.0, "delta": 1e-6, "bounds": (-5, 5), "n_draws": 64}


class PrivatePoissonOfRounded(PrivatePoissonRegressor):
    """Fits outcomes rounded to counts, so that the checks with other outcomes can run."""

    def fit(self, X, y):
        return super().fit(X, np.round(np.asarray(y)))


CASES = [
    (PrivateLogisticRegression(classes="observed", **SETTINGS), {}),
    (PrivateLinearRegression(y_bounds=(-5, 5), **SETTINGS), {}),
    (PrivatePoissonRegressor(most=20, **SETTINGS), NOT_COUNTS),
]
FITTING = {
    "check_positive_only_tag_during_fit",
    "check_estimators_dtypes",
    "check_dtype_object",
    "check_pipeline_consistency",
    "check_estimators_nan_inf",
    "check_fit_score_takes_y",
    "check_estimators_overwrite_params",
    "check_dont_overwrite_parameters",
    "check_estimators_fit_returns_self",
    "check_readonly_memmap_input",
    "check_n_features_in_after_fitting",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_supervised_y_2d",
    "check_decision_proba_consistency",
    "check_regressors_train",
    "check_regressor_data_not_an_array",
    "check_regressors_no_decision_function",
    "check_regressors_int",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_fit2d_1sample",
    "check_fit2d_1feature",
    "check_dict_unchanged",
    "check_fit_idempotent",
    "check_fit_check_is_fitted",
    "check_n_features_in",
    "check_fit2d_predict1d",
}
"""Checks that make releases, each of which takes seconds: left to the slow suite."""


def name_of(check):
    return check.func.__name__ if hasattr(check, "func") else check.__name__


def cases(fitting):
    for estimator, exceptions in CASES:
        for number, (made, check) in enumerate(estimator_checks_generator(estimator, legacy=True)):
            name = name_of(check)
            if name not in exceptions and (name in FITTING) == fitting:
                yield pytest.param(made, check, id=f"{type(estimator).__name__}-{number}-{name}")


@pytest.fixture(autouse=True)
def _light(monkeypatch):
    """Fewer simulated records: the checks are about the estimator, and their fits have hardly any noise."""
    monkeypatch.setattr(run, "MANY", 2048)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(cases(fitting=False)))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("estimator", "check"), list(cases(fitting=True)))
def test_scikit_learns_checks_that_fit(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", NOT_COUNTS)
@pytest.mark.filterwarnings("ignore")
def test_the_exceptions_are_exceptions_for_the_reason_that_is_given(name):
    for estimator, check in estimator_checks_generator(CASES[2][0], legacy=True):
        if name_of(check) == name:
            with pytest.raises(ValueError, match="must be a count"):
                check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_COUNTS)
@pytest.mark.filterwarnings("ignore")
def test_with_counts_the_exceptions_pass(name):
    rounded = PrivatePoissonOfRounded(most=20, **SETTINGS)
    for estimator, check in estimator_checks_generator(rounded, legacy=True):
        if name_of(check) == name:
            check(estimator)


def test_the_guide_lists_the_exceptions():
    listed = set(re.findall(r"`(check_\w+)`", GUIDE.read_text()))
    assert listed == set(NOT_COUNTS)
    assert FRACTIONS in GUIDE.read_text()
