"""Private logistic regression as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from dpmcmc.models.logistic import LogisticRegression
from dpmcmc.models.regression import Regression
from dpmcmc.release import Release
from dpmcmc.sklearn.arrays import column
from dpmcmc.sklearn.base import PrivateEstimator
from dpmcmc.sklearn.declared import Declared

OBSERVED = "observed"


class PrivateLogisticRegression(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Bayesian logistic regression of two classes, by :class:`dpmcmc.models.LogisticRegression`.

        model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, bounds=[(18, 90)], classes=("no", "yes")).fit(X, y)

    ``classes`` declares the two labels of y, the second of which is the event; a label that is none of them is refused.
    Reading the labels from y would tell whether any record has one, so ``classes="observed"``, which does it, is for
    tests and public data: such a fit has no guarantee. Other parameters and attributes: :class:`PrivateEstimator`.

    ``predict_proba`` averages P(y = event) over the posterior draws, and ``decision_function`` is its log odds.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        classes: Any = (0, 1),
        prior_std: float = 2.5,
        n_draws: int | None = None,
        method: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.prior_std = prior_std
        self.n_draws = n_draws
        self.method = method
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _model(self, declared: Declared) -> Regression:
        return LogisticRegression(declared.bounds, self.prior_std)

    def _outcomes(self, y: Any) -> np.ndarray:
        labels = column(y)
        self.classes_ = _observed(labels) if _is_observed(self.classes) else _checked(self.classes)
        first, second = (_equal(labels, label) for label in self.classes_.tolist())
        if not np.all(first | second):
            raise ValueError(
                f"y has a label that is not one of the declared classes, {self.classes_.tolist()}: declare both with "
                "classes=(other, event), or recode y by a rule fixed beforehand"
            )
        return second.astype(np.float64)

    def _stated(self, release: Release) -> Release:
        if not _is_observed(self.classes):
            return release
        why = "the classes were read from y (classes='observed'); declare them with classes=(other, event)"
        reasons = "; and ".join(filter(None, [release.no_guarantee, why]))
        return replace(release, guarantee=None, no_guarantee=reasons)

    def _keep(self, declared: Declared, model: Regression, release: Release) -> None:
        super()._keep(declared, model, release)
        self.coef_, self.intercept_ = self.coef_[None], np.array([self.intercept_])
        self.coef_interval_, self.intercept_interval_ = self.coef_interval_[None], self.intercept_interval_[None]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        return self._average(X, _log_probabilities)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the two classes, in the order of ``classes_``, averaged over the posterior draws."""
        probabilities: np.ndarray = np.exp(self.predict_log_proba(X))
        return probabilities

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of the second class, by its averaged probability."""
        log_probabilities = self.predict_log_proba(X)
        margin: np.ndarray = log_probabilities[:, 1] - log_probabilities[:, 0]
        return margin

    def predict(self, X: Any) -> np.ndarray:
        """The more probable class."""
        more_probable = (self.decision_function(X) > 0).astype(int)
        classes: np.ndarray = self.classes_[more_probable]
        return classes


def _log_probabilities(eta: np.ndarray) -> np.ndarray:
    """Logarithms of mean P(y = 0) and mean P(y = 1) over the draws (row, draw), without cancellation."""
    count = eta.shape[1]
    return np.stack([logsumexp(log_expit(sign * eta), axis=1) - np.log(count) for sign in (-1, 1)], axis=1)


def _is_observed(classes: Any) -> bool:
    return isinstance(classes, str) and classes == OBSERVED


def _checked(classes: Any) -> np.ndarray:
    """The two declared labels."""
    labels = [] if isinstance(classes, str) else list(classes)
    array = np.asarray(labels)
    if len(labels) != 2 or array.ndim != 1 or labels[0] == labels[1] or array.tolist() != labels:
        raise ValueError(
            f"classes must be two labels of one type, such as (0, 1) or ('no', 'yes'), or 'observed', got {classes!r}"
        )
    return array


def _observed(labels: np.ndarray) -> np.ndarray:
    """The labels that occur: not private."""
    check_classification_targets(labels)
    found = np.unique(labels)
    if len(found) > 2:
        raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
    if len(found) < 2:
        raise ValueError(f"y has {len(found)} class, and two are needed: declare both with classes=")
    return found


def _equal(labels: np.ndarray, label: Any) -> np.ndarray:
    """Which labels are this one; missing values of any kind are none."""
    if labels.dtype != object:
        return np.broadcast_to(np.asarray(labels == label), labels.shape)
    return np.array([_same(other, label) for other in labels], dtype=bool)


def _same(one: Any, label: Any) -> bool:
    try:
        return bool(one == label)
    except (TypeError, ValueError):  # pandas' NA, arrays
        return False
