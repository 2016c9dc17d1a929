"""Private linear and Poisson regression as scikit-learn regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score

from dpmcmc.models.counts import MOST_LOG_RATE
from dpmcmc.models.linear import LinearRegression
from dpmcmc.models.poisson import PoissonRegression
from dpmcmc.models.regression import Regression
from dpmcmc.sklearn.arrays import vector
from dpmcmc.sklearn.base import PrivateEstimator
from dpmcmc.sklearn.declared import Declared, as_pair


class PrivateLinearRegression(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Bayesian linear regression of a bounded outcome, by :class:`dpmcmc.models.LinearRegression`.

        model = PrivateLinearRegression(epsilon=1.0, delta=1e-6, bounds=[(18, 90)], y_bounds=(0, 200_000)).fit(X, y)

    ``y_bounds`` are public bounds of the outcome, never computed from it; values outside are moved to them. The prior
    of a coefficient is in units of half the range of y. Other parameters and attributes: :class:`PrivateEstimator`.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        y_bounds: Any = None,
        prior_std: float = 2.5,
        n_draws: int | None = None,
        method: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.prior_std = prior_std
        self.n_draws = n_draws
        self.method = method
        self.random_state = random_state

    def _outcomes(self, y: Any) -> np.ndarray:
        return vector(y)

    def _model(self, declared: Declared) -> Regression:
        if self.y_bounds is None:
            raise ValueError("declare what is publicly known of y: y_bounds=(low, high), such as y_bounds=(0, 200_000)")
        return LinearRegression(declared.bounds, as_pair("y_bounds", self.y_bounds), self.prior_std)

    def _outcome_scale(self) -> tuple[float, float]:
        low, high = self.model_.outcome
        return (low + high) / 2, (high - low) / 2

    def predict(self, X: Any) -> np.ndarray:
        """The expected outcome of each row, averaged over the posterior draws."""
        means = self._average(X, lambda eta: eta.mean(axis=1))
        centre, half = self._outcome_scale()
        return centre + half * means


class PrivatePoissonRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Bayesian regression of counts with a log link, by :class:`dpmcmc.models.PoissonRegression`.

        model = PrivatePoissonRegressor(epsilon=1.0, delta=1e-6, bounds=[(18, 90)], most=50).fit(X, y)

    ``most`` is the largest count that is publicly known to be possible or of interest; larger ones are moved to it, so
    choose one that few records reach. Outcomes that are not counts, such as rates, are refused. Other parameters and
    attributes: :class:`PrivateEstimator`; coefficients are those of the log of the mean.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        bounds: Any = None,
        most: int | None = None,
        prior_std: float = 2.5,
        n_draws: int | None = None,
        method: Any = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.most = most
        self.prior_std = prior_std
        self.n_draws = n_draws
        self.method = method
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _outcomes(self, y: Any) -> np.ndarray:
        return vector(y)

    def _model(self, declared: Declared) -> Regression:
        return PoissonRegression(declared.bounds, self.prior_std, self.most)

    def predict(self, X: Any) -> np.ndarray:
        """The expected count of each row, averaged over the posterior draws."""
        return self._average(X, lambda eta: np.exp(np.minimum(eta, MOST_LOG_RATE)).mean(axis=1))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D², the share of the deviance that is explained, as of scikit-learn's ``PoissonRegressor``."""
        return float(d2_tweedie_score(vector(y), self.predict(X), sample_weight=sample_weight, power=1))
