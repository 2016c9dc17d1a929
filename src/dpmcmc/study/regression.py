"""The model of a study: a regression by formula that carries the file it was declared in, and mistakes by key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from dpmcmc.models.formula.families import family_of
from dpmcmc.models.formula.model import FormulaRegression
from dpmcmc.models.formula.terms import Parsed, parse
from dpmcmc.models.priors import Normal
from dpmcmc.models.units import PerUnit
from dpmcmc.receipts import RECORD
from dpmcmc.records import Schema
from dpmcmc.study.places import Places

Found = TypeVar("Found")
_FORMULA = "outcome ~ columns, such as visits ~ age + plan"


@dataclass(frozen=True)
class StudyRegression(FormulaRegression):
    """A regression that knows its study: a release keeps ``study``, which is public, among its settings."""

    study: Mapping[str, Any] = field(default_factory=dict, compare=False, hash=False)


def parsed_formula(places: Places, formula: str) -> Parsed:
    """The formula as far as it can be read without the columns."""
    return _at(places, ("model", "formula"), _FORMULA, lambda: parse(formula))


def regression_of(
    places: Places, given: Mapping[str, Any], priors: Mapping[str, Any], schema: Schema, study: Mapping[str, Any]
) -> StudyRegression:
    """The model of the section [model] and [priors], built step by step, so that a mistake is found at its key."""
    formula, family = given["formula"], given["family"]
    try:
        family_of(family)
    except ValueError:
        meant = get_close_matches(family.lower(), re.findall(r"'(.*?)'", _families()), n=1)
        close = f" (is {meant[0]} meant?)" if meant else ""
        raise places.error(("model", "family"), f"there is no such family{close}", _families()) from None
    said: dict[str, Any] = {}

    def built(stated: Mapping[str, Normal]) -> StudyRegression:
        of_family: dict[str, Any] = {name: said[name] for name in ("sigma", "df") if name in said}
        return StudyRegression(
            formula, schema, family, dict(stated), said.get("offset"), said.get("weights"), of_family, study
        )

    try:
        model = built({})
    except (TypeError, ValueError) as error:
        key = "family" if "the family" in str(error) else "formula"
        raise places.error(("model", key), str(error), _families() if key == "family" else _FORMULA) from None
    for name in ("offset", "weights", "sigma", "df"):
        if name in given:
            said[name] = given[name]
            model = _at(places, ("model", name), "what the message names, or no such key", lambda: built({}))
    stated: dict[str, Normal] = {}
    for name, prior in priors.items():
        stated[name] = _prior(places, name, prior)
        _at(places, ("priors", name), ", ".join(model.original_priors), lambda: built(stated))
    return built(stated)


def _prior(places: Places, name: str, given: Any) -> Normal:
    allowed = "{mean = 0, std = 2.5}: a normal prior on the scale of the table"
    if not isinstance(given, dict):
        raise places.error(("priors", name), "a prior is a mean and a standard deviation", allowed)
    if set(given) != {"mean", "std"}:
        raise places.error(("priors", name), f"it has {', '.join(given) or 'nothing'}", allowed)
    return _at(places, ("priors", name), allowed, lambda: Normal(given["mean"], given["std"]))


def protected(places: Places, model: StudyRegression, privacy: Mapping[str, Any]) -> Any:
    """The model, with all records of a person as one where the study protects persons."""
    unit = privacy.get("protects", RECORD)
    if unit == RECORD:
        if "most" in privacy:
            raise places.error(
                ("privacy", "most"), "it is for persons with several records, and one record is protected",
                'no such key, or protects = "<the column that says whose record it is>"',
            )  # fmt: skip
        return model
    if "most" not in privacy:
        raise places.error(
            ("privacy", "protects"), "how many records of each count? There is no most = ...",
            '"record", or a column together with most = 5',
        )  # fmt: skip
    return _at(places, ("privacy", "protects"), "another column", lambda: PerUnit(model, unit, privacy["most"]))


def _at(places: Places, path: tuple[str, ...], allowed: str, make: Callable[[], Found]) -> Found:
    """What ``make`` gives; its mistakes are those of a key."""
    with mistakes_at(places, path, allowed):
        return make()
    raise AssertionError


@contextmanager
def mistakes_at(places: Places, path: tuple[str, ...], allowed: str = "") -> Any:
    """Mistakes of a block as those of a key."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise places.error(path, str(error), allowed) from None


def _families() -> str:
    try:
        family_of("?")
    except ValueError as error:
        return str(error).partition("the families are ")[2]
    raise AssertionError
