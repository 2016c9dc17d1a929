"""What the estimators share: a fit is one charged release, and everything after it is post-processing."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from dpmcmc.arguments import whole
from dpmcmc.models.formula.original import OriginalScale
from dpmcmc.models.regression import Regression
from dpmcmc.privacy import Budget
from dpmcmc.quality import NOT_USABLE
from dpmcmc.records import Schema
from dpmcmc.release import Release
from dpmcmc.sampling import sample
from dpmcmc.sklearn.arrays import rows
from dpmcmc.sklearn.declared import Declared, declare

ROWS = 1024  # predicted at once, for all draws
CHAINS = 2


class NotUsableWarning(UserWarning):
    """The release of a fit is not usable, for the reason that the warning gives."""


class NoGuaranteeWarning(UserWarning):
    """A fit that has no privacy guarantee, for the reason that the warning gives."""


class PrivateEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """A regression whose fit is one private release of the records.

    Parameters that all of them have, beside ``epsilon`` and ``delta``, the budget of one fit:

    - ``bounds``: what is publicly known of the columns of X, never computed from them: a pair (low, high) for all, a
      pair for each, a mapping of names to pairs, or a :class:`dpmcmc.Schema`. Values outside are moved to the bounds;
    - ``prior_std``: of the normal prior of each coefficient, for half the declared range of its column;
    - ``n_draws``: posterior draws, for all chains together; by default those of :func:`dpmcmc.sample`;
    - ``method``: as for :func:`dpmcmc.sample`;
    - ``random_state``: None, for secret noise. A seed makes a fit repeatable, for tests and public data: it then has
      no guarantee, and warns of that.

    After a fit: ``coef_`` and ``intercept_`` are posterior means on the scale of X (and of y, if that is a number),
    ``coef_interval_`` and ``intercept_interval_`` central 90 % intervals, the last axis being (low, high);
    ``coefficients_`` has all their draws, and prints as a table; ``release_`` is the :class:`dpmcmc.Release`, with
    guarantee, verdict and receipts, and ``model_`` its model. Predictions are averages over the posterior draws.

    Guarantee: that of ``release_``, for all attributes of the fit and all predictions for public rows, under
    substitution of one record (a row of X with its y). The number of records and the names and types of columns are
    public. Every fit spends the budget anew: the cost of fits that share records adds up.
    """

    epsilon: float | None
    delta: float | None
    bounds: Any
    prior_std: float
    n_draws: int | None
    method: Any
    random_state: Any
    coef_: Any
    intercept_: Any
    model_: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Spend the budget on one release of the records, and keep what it says."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        self._check_budget()
        self.__dict__.pop("release_", None)  # a fit that fails leaves none behind, with other columns or classes
        self._note_columns(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        declared = declare(self.bounds, None if names is None else tuple(map(str, names)), self.n_features_in_)
        outcomes = self._outcomes(y)
        model = self._model(declared)
        encoded = {"x": declared.encode(X), "y": model.encode_outcome(outcomes, "y")}
        if len(encoded["x"]) != len(outcomes):
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"X has {len(encoded['x'])}, and y has {len(outcomes)}"
            )
        release = sample(
            model,
            encoded,
            self.epsilon,
            self.delta,
            method=self.method,
            draws=None if self.n_draws is None else -(-self.n_draws // CHAINS),
            chains=CHAINS,
            seed=_seed(self.random_state),
            progress=False,
        )
        self._keep(declared, model, self._stated(release))
        _warn_of(self.release_)
        return self

    def _check_budget(self) -> None:
        if self.epsilon is None or self.delta is None:
            raise ValueError(
                "a fit needs a budget, which you decide on: give epsilon and delta, such as epsilon=1.0 and a delta "
                f"well below 1 over the number of records; got epsilon={self.epsilon!r}, delta={self.delta!r}"
            )
        Budget(self.epsilon, self.delta)
        if self.n_draws is not None:
            whole("n_draws", self.n_draws, remedy="or None for the usual number")

    def _note_columns(self, X: Any, reset: bool) -> None:
        """scikit-learn notes, or compares, the names and the number of the columns; no value is read."""
        validate_data(self, X if hasattr(X, "columns") else rows(X), reset=reset, skip_check_array=True)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if isinstance(self.bounds, Schema):
            tags.input_tags.allow_nan = all(column.missing != "refuse" for column in self.bounds.values())
        return tags

    def _stated(self, release: Release) -> Release:
        """The release, with every reason why it has no guarantee."""
        return release

    def _keep(self, declared: Declared, model: Regression, release: Release) -> None:
        self.declared_, self.model_, self.release_ = declared, model, release
        draws = self._original_draws()
        slopes = np.stack([draws[name] for name in declared.bounds])
        self.coef_, self.intercept_ = slopes.mean(axis=(1, 2)), float(draws["intercept"].mean())
        self.coef_interval_ = _interval(slopes)
        self.intercept_interval_ = _interval(draws["intercept"][None])[0]

    @property
    def coefficients_(self) -> OriginalScale:
        """Draws of intercept and slopes on the scale of X, and of y if that is a number; printed, a table of them."""
        check_is_fitted(self)
        return OriginalScale.of(self.release_, self._original_draws())

    def _draws(self) -> dict[str, np.ndarray]:
        """The draws after warm-up: name to (chain, draw)."""
        return {name: values[:, self.release_.warmup :] for name, values in self.release_.draws.items()}

    def _original_draws(self) -> dict[str, np.ndarray]:
        """η = θ₀ + Σ θⱼ (xⱼ − cⱼ)/hⱼ as intercept and slopes of x; times half the range of a real outcome."""
        draws, (centre, half) = self._draws(), self._outcome_scale()
        slopes = {name: half * draws[name] * 2 / (high - low) for name, (low, high) in self.declared_.bounds.items()}
        shift = sum(slopes[name] * (low + high) / 2 for name, (low, high) in self.declared_.bounds.items())
        return {"intercept": centre + half * draws["intercept"] - shift} | slopes

    def _average(self, X: Any, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Averages over the draws of a function of the linear predictors (row, draw), with one row for each of X."""
        check_is_fitted(self)
        self._note_columns(X, reset=False)
        x, draws = self.declared_.encode(X), self._draws()
        slopes = np.stack([draws[name].ravel() for name in self.declared_.bounds])
        parts = [of(x[at : at + ROWS] @ slopes + draws["intercept"].ravel()) for at in range(0, len(x), ROWS)]
        return np.concatenate(parts)

    def _outcome_scale(self) -> tuple[float, float]:
        """Centre and half-range by which the model scales a real outcome; nothing for others."""
        return 0.0, 1.0

    @abstractmethod
    def _outcomes(self, y: Any) -> np.ndarray:
        """y as the model's ``encode_outcome`` takes it."""

    @abstractmethod
    def _model(self, declared: Declared) -> Regression:
        """The model of the columns."""


def _warn_of(release: Release) -> None:
    """What whoever called fit must not overlook."""
    if release.guarantee is None:
        warnings.warn(f"no privacy guarantee: {release.no_guarantee}", NoGuaranteeWarning, stacklevel=3)
    if release.quality.verdict == NOT_USABLE:
        warnings.warn(f"the release is not usable. {release.quality.reason}", NotUsableWarning, stacklevel=3)


def _interval(draws: np.ndarray) -> np.ndarray:
    """Central 90 % intervals of draws (parameter, chain, draw)."""
    return np.moveaxis(np.quantile(draws, [0.05, 0.95], axis=(1, 2)), 0, -1)


def _seed(random_state: Any) -> int | None:
    """None for secret noise, or a seed: a whole number, or the next one of NumPy's generators."""
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    for draw in ("randint", "integers"):
        if hasattr(random_state, draw):
            return int(getattr(random_state, draw)(2**31 - 1))
    raise ValueError(f"random_state must be None, a whole number or a NumPy generator, got {random_state!r}")
