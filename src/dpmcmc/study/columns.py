"""The columns of a study file: those that the formula needs must be declared, the others may be left as they are."""

from __future__ import annotations

import re
from typing import Any

from dpmcmc.models.formula.terms import Parsed
from dpmcmc.records import Schema
from dpmcmc.records.toml import PLACE, SETTINGS, column_of
from dpmcmc.study.places import Places, StudyError

_EXAMPLES = {
    ("number", "bounds"): "two numbers, the lower one first, such as [0, 120]",
    ("number", "missing"): 'a number within the bounds, or "refuse"',
    ("number", "unit"): 'text such as "year"',
    ("number", "integer"): "true or false",
    ("number", "outside"): '"clip" or "refuse"',
    ("date", "bounds"): "two dates without quotes, the earlier one first, such as [2000-01-01, 2020-12-31]",
    ("date", "missing"): 'a date within the bounds without quotes, such as 2000-01-01, or "refuse"',
    ("date", "outside"): '"clip" or "refuse"',
    ("category", "levels"): 'at least two different levels, such as ["a", "b"]',
    ("category", "reference"): "one of the levels",
    ("ordered", "levels"): 'at least two different levels, the lowest first, such as ["low", "high"]',
    ("boolean", "true"): 'a list such as ["yes"]',
    ("boolean", "false"): 'a list such as ["no"]',
}


def declared(places: Places, columns: dict[str, Any], needed: set[str]) -> Schema:
    """The schema of the columns that are filled in; those that are not and are not needed count as left out."""
    found = {}
    for name, settings in columns.items():
        if isinstance(settings, dict) and settings.get("type") == PLACE and name not in needed:
            continue
        found[name] = _column(places, name, settings)
    for name in sorted(needed - columns.keys()):
        close = ", ".join(columns) or "none"
        raise places.error(
            ("model", "formula"), f"it needs the column {name!r}, and there is no section [columns.{name}]", close
        )
    try:
        return Schema(found)
    except (TypeError, ValueError) as error:
        path = next((("columns", name) for name in found if repr(name) in str(error)), ("columns",))
        raise places.error(path, str(error), "another name") from None


def _column(places: Places, name: str, settings: Any) -> Any:
    path = ("columns", name)
    if not isinstance(settings, dict):
        raise places.error(path, "a column is a section of its own", f"[columns.{name}] with a type")
    try:
        return column_of(settings, "")
    except (TypeError, ValueError) as error:
        raise _located(places, path, settings, str(error)) from None


def _located(places: Places, path: tuple[str, ...], settings: dict[str, Any], said: str) -> StudyError:
    """The mistake at the setting that it speaks of: ".type = 3 is not …", "bounds must be …"."""
    if re.match(r"(: )?a bound\b", said):
        said = f"bounds must be dates: {said.removeprefix(': ')}"
    spoken = (r"^\.(\w+) = ", r"\b(\w+) must\b", r"^(?:: )?(\w+)")
    named = [found[1] for pattern in spoken if (found := re.search(pattern, said)) and found[1] in settings]
    named += [each for each in settings if re.search(rf"\b{each}\b", said)]
    setting = None if " has no " in f" {said}" or not named else named[0]
    said = re.sub(r"^\.\w+ = .*? (?=is not|is still)", "", said).removeprefix(": ").strip()
    problem, _, allowed = said.partition("; allowed: ")
    kind = settings.get("type")
    example = _EXAMPLES.get((str(kind), str(setting)), "")
    usual = ", ".join(("type", *SETTINGS[kind])) if isinstance(kind, str) and kind in SETTINGS else ", ".join(SETTINGS)
    return places.error(path if setting is None else (*path, setting), problem, allowed or example or f"see {usual}")


def names_in(parsed: Parsed, columns: dict[str, Any]) -> set[str]:
    """The columns that a formula speaks of, by what is written: declared or not."""
    texts = [parsed.outcome, *parsed.groups, *(factor for term in parsed.terms for factor in term)]
    texts += [parsed.offset] if parsed.offset is not None else []
    found = set()
    for text in texts:
        inside = re.fullmatch(r"[\w.]+\((.*)\)", text, flags=re.S)
        plain = text if text in columns or inside is None else inside[1].strip().strip("`")
        found.add(plain)
    return {name for name in found if name in columns or re.fullmatch(r"[\w. ]+", name)}
