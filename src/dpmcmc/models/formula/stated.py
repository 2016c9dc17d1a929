"""What a formula may name, and priors on the scale of the table: the usual ones, the stated ones, and both scaled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpmcmc.models.formula.design import Design, Term
from dpmcmc.models.formula.families import Family
from dpmcmc.models.priors import Normal

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
    taken = {"intercept", *family.parameters, *family.parameters.values()}
    for name, count in names.items():
        if name in taken:
            raise ValueError(
                f"the formula {formula!r} has a coefficient {name!r}, the name of another parameter of the family "
                f"{family.name!r}: rename the column"
            )
        if count > 1:
            raise ValueError(
                f"the formula {formula!r} has two coefficients called {name!r}: rename a column or a level"
            )


def check_priors(priors: Mapping[str, Any], design: Design, shapes: Mapping[str, Any]) -> None:
    """Priors are for what there is."""
    columns = [column.name for column in design.columns]
    known = dict.fromkeys(
        [*["intercept"] * design.intercept, *columns, *(column.term for column in design.columns), *shapes]
    )
    for name, prior in priors.items():
        if not isinstance(prior, Normal):
            raise TypeError(f"the prior of {name!r} must be dp.Normal(mean, std), got {prior!r}")
        if name not in known:
            raise ValueError(f"there is no coefficient {name!r} to have a prior; there are: {', '.join(known)}")


def usual_priors(
    design: Design, outcome: tuple[float, float], largest: float, shapes: Mapping[str, tuple[float, float]]
) -> dict[str, Normal]:
    """N(0, 2.5²) for half the range of each column, in units of half the outcome's range; on the scale of the table.

    Without an intercept nothing is centred: then it is for the largest value of a column, in units of the outcome's.
    """
    centre, half = outcome
    found = {"intercept": Normal(centre, USUAL_STD * half)} if design.intercept else {}
    for column in design.columns:
        std = half / column.half_range if design.intercept else largest / column.scale
        found[column.name] = Normal(0.0, USUAL_STD * std)
    return found | {name: Normal(*prior).shifted(-_logged(name, half)) for name, prior in shapes.items()}


def with_stated(usual: dict[str, Normal], priors: Mapping[str, Normal], design: Design) -> dict[str, Normal]:
    """A prior that is stated for a coefficient, or for its term, takes the place of the usual one."""
    terms = {column.name: column.term for column in design.columns}
    return {name: priors.get(name, priors.get(terms.get(name, name), prior)) for name, prior in usual.items()}


def scaled_priors(
    priors: Mapping[str, Normal], design: Design, outcome: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of the parameters that are sampled: exact, since the maps are linear."""
    centre, half = outcome
    scales = {column.name: column.scale / half for column in design.columns}
    found = {}
    for name, prior in priors.items():
        if name == "intercept":
            prior = prior.shifted(centre).times(1 / half)
        elif name in scales:
            prior = prior.times(scales[name])
        else:
            prior = prior.shifted(_logged(name, half))
        found[name] = (prior.mean, prior.std)
    return found


def _logged(name: str, half: float) -> float:
    """What the log of the outcome's scale adds to a parameter."""
    return float(np.log(half)) if name == "log_sigma" else 0.0
