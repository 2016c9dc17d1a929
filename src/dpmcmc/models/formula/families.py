"""The families by name: what their outcome must be declared as, which model it is, and the scale of its mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.models.covariates import Bounds
from dpmcmc.models.formula.factors import Factor
from dpmcmc.models.linear import LinearRegression
from dpmcmc.models.logistic import LogisticRegression
from dpmcmc.models.negative_binomial import NegativeBinomialRegression
from dpmcmc.models.poisson import PoissonRegression
from dpmcmc.models.regression import Regression
from dpmcmc.models.student_t import StudentTRegression
from dpmcmc.records import Boolean, Category, Number, Ordered, Schema

UNIT: Bounds = (-1.0, 1.0)  # of the columns that a family is given


@dataclass(frozen=True)
class Family:
    """A kind of outcome: ``declared`` says how it must be declared, and ``build`` makes the model of a column."""

    name: str
    declared: str
    fits: Callable[[Any], bool]
    build: Callable[[Mapping[str, Bounds], Any], Regression]
    mean: Callable[[np.ndarray], np.ndarray]
    parameters: Mapping[str, str]  # what a parameter becomes on the original scale
    real: bool = False  # whether the outcome has a scale


def _is_real(column: Any) -> bool:
    return isinstance(column, Number)


def _is_count(column: Any) -> bool:
    return isinstance(column, Number) and column.integer and column.low == 0


def _is_event(column: Any) -> bool:
    return isinstance(column, Boolean | Category | Ordered) and column.n_levels == 2


def _sigmoid(eta: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(eta / 2))


def _exp(eta: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(eta, 700))


def _same(eta: np.ndarray) -> np.ndarray:
    return eta


_REAL = "a number with bounds, dp.Number(low, high)"
_COUNT = "a count, dp.Number.count(most)"
_EVENT = "two levels, dp.Boolean() or a dp.Category of two levels, of which the one that is no reference is the event"
_SIGMA = {"log_sigma": "sigma"}
_CONCENTRATION = {"log_concentration": "concentration"}

_FAMILIES = (
    Family("gaussian", _REAL, _is_real, lambda b, y: LinearRegression(b, y.bounds), _same, _SIGMA, True),
    Family("student-t", _REAL, _is_real, lambda b, y: StudentTRegression(b, y.bounds), _same, _SIGMA, True),
    Family("bernoulli", _EVENT, _is_event, lambda b, y: LogisticRegression(b), _sigmoid, {}),
    Family("poisson", _COUNT, _is_count, lambda b, y: PoissonRegression(b, most=int(y.high)), _exp, {}),
    Family(
        "negative binomial",
        _COUNT,
        _is_count,
        lambda b, y: NegativeBinomialRegression(b, most=int(y.high)),
        _exp,
        _CONCENTRATION,
    ),
)
_OTHER_NAMES = {
    "linear": "gaussian",
    "normal": "gaussian",
    "logistic": "bernoulli",
    "t": "student-t",
    "negativebinomial": "negative binomial",
}


def family_of(name: str) -> Family:
    """The family by its name, or by another name that it has."""
    known = {family.name: family for family in _FAMILIES}
    plain = name.lower().replace("_", " ") if isinstance(name, str) else name
    plain = _OTHER_NAMES.get(plain, plain)
    found = known.get(plain) or known.get(str(plain).replace(" ", "-"))
    if found is None:
        listed = ", ".join(map(repr, [*known, *_OTHER_NAMES]))
        raise ValueError(f"there is no family {name!r}; the families are {listed}")
    return found


def check_outcome(family: Family, outcome: str, schema: Schema) -> None:
    """The outcome is declared, as what the family needs."""
    if outcome not in schema:
        if "(" in outcome:
            raise ValueError(
                f"the outcome {outcome!r} is no declared column: compute it before, and declare it with its own bounds"
            )
        schema.subset([outcome])  # raises, and says which columns there are
    column = schema[outcome]
    if not family.fits(column):
        values = column.summary()[0]
        levels = f", with the levels {', '.join(column.labels)}" if column.labels else f", {values}"
        raise ValueError(
            f"the outcome {outcome!r} is declared as dp.{type(column).__name__}{levels}; the family {family.name!r} "
            f"needs {family.declared}: declare it as that, or choose another family"
        )


def event(outcome: str, column: Any) -> Factor:
    """The outcome of two levels as a factor, whose one covariate is the event."""
    reference = getattr(column, "reference", column.labels[0])
    return Factor(outcome, outcome, (0.0, 1.0), column.labels, str(reference))
