"""What a formula may name, and priors on the scale of the table: the usual ones, the stated ones, and both scaled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpmcmc.models.formula.design import Design, Term
from dpmcmc.models.formula.families import Family
from dpmcmc.models.groups import group_priors, log_spread
from dpmcmc.models.priors import Normal
from dpmcmc.models.regression import Regression

USUAL_STD = 2.5


def check_terms(terms: Sequence[Term], outcome: str, formula: str) -> None:
    """No term twice, nor the outcome among them."""
    for term in terms:
        if any(factor.column == outcome for factor in term):
            raise ValueError(f"the formula {formula!r} has its outcome {outcome!r} on the right side too: leave it out")
        names = [factor.name for factor in term]
        if len(set(names)) < len(names):
            raise ValueError(
                f"the term {':'.join(names)!r} of the formula {formula!r} has a factor twice: leave one out"
            )
    counts = Counter(frozenset(factor.name for factor in term) for term in terms)
    twice = [sorted(names) for names, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"the formula {formula!r} has the term {':'.join(twice[0])!r} twice: leave one out")


def check_names(design: Design, family: Family, formula: str) -> None:
    """Names of coefficients differ, from each other and from the other parameters' of the family."""
    names = Counter([column.name for column in design.columns])
    for name, count in names.items():
        if name in ("intercept", *family.taken):
            raise ValueError(
                f"the formula {formula!r} has a coefficient {name!r}, the name of another parameter of the family "
                f"{family.name!r}: rename the column"
            )
        if count > 1:
            raise ValueError(
                f"the formula {formula!r} has two coefficients called {name!r}: rename a column or a level"
            )


def check_priors(priors: Mapping[str, Any], design: Design, likelihood: Regression) -> None:
    """Priors are for what there is, by its own name or by that of its column or term."""
    known = dict.fromkeys(name for names in _called(design, likelihood).values() for name in names)
    for name, prior in priors.items():
        if not isinstance(prior, Normal):
            raise TypeError(f"the prior of {name!r} must be dp.Normal(mean, std), got {prior!r}")
        if name not in known:
            raise ValueError(f"there is no coefficient {name!r} to have a prior; there are: {', '.join(known)}")


def _called(design: Design, likelihood: Regression) -> dict[str, tuple[str, ...]]:
    """Each parameter with the names by which a prior can be stated for it, its own first."""
    each = [("intercept", "intercept")] if design.intercept else []
    each += [(column.name, column.term) for column in design.columns]
    each += [(log_spread(group), log_spread(group)) for group in likelihood.groups]
    found = {
        likelihood.coefficient(name, which): (likelihood.coefficient(name, which), name, term)
        for which in likelihood.predictors
        for name, term in each
    }
    return found | {name: (name,) for name in likelihood.shape_priors}


def usual_priors(design: Design, likelihood: Regression, largest: float) -> dict[str, Normal]:
    """N(0, 2.5²) for half the range of each column, in units of half the outcome's range; on the scale of the table.

    Without an intercept nothing is centred: then it is for the largest value of a column, in units of the outcome's.
    """
    centre, half = likelihood.outcome_scale
    each = {"intercept": Normal(centre + half * likelihood.intercept_mean, USUAL_STD * half)}
    each = each if design.intercept else {}
    for column in design.columns:
        std = half / column.half_range if design.intercept else largest / column.scale
        each[column.name] = Normal(0.0, USUAL_STD * std)
    others = group_priors(likelihood.groups)
    each |= {name: Normal(*prior).shifted(-_logged(name, likelihood)) for name, prior in others.items()}
    found = {likelihood.coefficient(name, which): each[name] for which in likelihood.predictors for name in each}
    shapes = likelihood.shape_priors
    return found | {name: Normal(*prior).shifted(-_logged(name, likelihood)) for name, prior in shapes.items()}


def with_stated(
    usual: dict[str, Normal], priors: Mapping[str, Normal], design: Design, likelihood: Regression
) -> dict[str, Normal]:
    """A prior that is stated for a coefficient, or for its column or term, takes the place of the usual one."""
    called = _called(design, likelihood)

    def stated(parameter: str, prior: Normal) -> Normal:
        return next((priors[name] for name in called.get(parameter, ()) if name in priors), prior)

    return {parameter: stated(parameter, prior) for parameter, prior in usual.items()}


def scaled_priors(
    priors: Mapping[str, Normal], design: Design, likelihood: Regression
) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of the parameters that are sampled: exact, since the maps are linear."""
    centre, half = likelihood.outcome_scale
    scales = {
        likelihood.coefficient(column.name, which): column.scale / half
        for which in likelihood.predictors
        for column in design.columns
    }
    intercepts = {likelihood.coefficient("intercept", which) for which in likelihood.predictors}
    found = {}
    for name, prior in priors.items():
        if name in intercepts:
            prior = prior.shifted(centre).times(1 / half)
        elif name in scales:
            prior = prior.times(scales[name])
        else:
            prior = prior.shifted(_logged(name, likelihood))
        found[name] = (prior.mean, prior.std)
    return found


def _logged(name: str, likelihood: Regression) -> float:
    """What the log of the outcome's scale adds to a parameter."""
    logs = {"log_sigma", *map(log_spread, likelihood.groups)}
    return float(np.log(likelihood.outcome_scale[1])) if name in logs else 0.0
