"""The families by name: what their outcome must be declared as, which model it is, and the scale of its mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dpmcmc.arguments import text
from dpmcmc.models.categorical import CategoricalRegression
from dpmcmc.models.covariates import Bounds
from dpmcmc.models.formula.factors import Factor
from dpmcmc.models.levelled import FEWEST
from dpmcmc.models.linear import LinearRegression
from dpmcmc.models.logistic import LogisticRegression
from dpmcmc.models.negative_binomial import NegativeBinomialRegression
from dpmcmc.models.ordinal import OrdinalRegression
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
    build: Callable[..., Regression]  # of bounds and the outcome's column, with what else there is by name
    taken: tuple[str, ...] = ()  # names of parameters beside coefficients
    settings: tuple[str, ...] = ()  # that a user can give
    real: bool = False  # whether the outcome has a scale
    needs_intercept: bool = False


def _is_real(column: Any) -> bool:
    return isinstance(column, Number)


def _is_count(column: Any) -> bool:
    return isinstance(column, Number) and column.integer and column.low == 0


def _is_event(column: Any) -> bool:
    return isinstance(column, Boolean | Category | Ordered) and column.n_levels == 2


def _is_ordered(column: Any) -> bool:
    """Levels that rules for missing or other values add have no place in the order."""
    return isinstance(column, Ordered) and len(column.declared) == column.n_levels >= FEWEST


def _is_category(column: Any) -> bool:
    return isinstance(column, Category) and column.n_levels >= FEWEST


_REAL = "a number with bounds, dp.Number(low, high)"
_COUNT = "a count, dp.Number.count(most)"
_EVENT = "two levels, dp.Boolean() or a dp.Category of two levels, of which the one that is no reference is the event"
_ORDERED = "at least three levels in order, dp.Ordered(levels), to which no rule for missing or other values adds one"
_CATEGORY = "at least three levels, dp.Category(levels)"


def _linear(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return LinearRegression(bounds, y.bounds, **given)


def _student_t(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return StudentTRegression(bounds, y.bounds, **given)


def _logistic(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return LogisticRegression(bounds, **given)


def _poisson(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return PoissonRegression(bounds, most=int(y.high), **given)


def _negative_binomial(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return NegativeBinomialRegression(bounds, most=int(y.high), **given)


def _ordinal(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return OrdinalRegression(bounds, y.labels, **given)


def _categorical(bounds: Mapping[str, Bounds], y: Any, **given: Any) -> Regression:
    return CategoricalRegression(bounds, y.labels, reference=str(y.reference), **given)


_SIGMA, _CONCENTRATION = ("log_sigma", "sigma"), ("log_concentration", "concentration")

_FAMILIES = (
    Family("gaussian", _REAL, _is_real, _linear, _SIGMA, settings=("sigma",), real=True),
    Family("student-t", _REAL, _is_real, _student_t, _SIGMA, settings=("df",), real=True),
    Family("bernoulli", _EVENT, _is_event, _logistic),
    Family("ordinal", _ORDERED, _is_ordered, _ordinal, needs_intercept=True),
    Family("categorical", _CATEGORY, _is_category, _categorical),
    Family("poisson", _COUNT, _is_count, _poisson),
    Family("negative binomial", _COUNT, _is_count, _negative_binomial, _CONCENTRATION),
)
_OTHER_NAMES = {
    "linear": "gaussian",
    "normal": "gaussian",
    "logistic": "bernoulli",
    "t": "student-t",
    "negativebinomial": "negative binomial",
    "cumulative": "ordinal",
    "multinomial": "categorical",
}


def family_of(name: str) -> Family:
    """The family by its name, or by another name that it has."""
    known = {family.name: family for family in _FAMILIES}
    plain = text("family", name).lower().replace("_", " ")
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


def check_settings(family: Family, settings: Mapping[str, Any], intercept: bool, formula: str) -> None:
    """Settings are those of the family, and there is an intercept where thresholds need one."""
    for name in settings:
        if name not in family.settings:
            offered = f"has only {', '.join(family.settings)}" if family.settings else "has no settings"
            raise TypeError(f"the family {family.name!r} {offered}, got {name}={settings[name]!r}: leave it out")
    if family.needs_intercept and not intercept:
        raise ValueError(
            f"the formula {formula!r} has no intercept, whose place the thresholds of the family {family.name!r} take "
            "anyway: leave out the 0 or - 1"
        )
