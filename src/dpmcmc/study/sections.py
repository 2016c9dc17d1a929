"""The sections of a study file: which keys there are, what they may hold, and what is wrong with what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from dpmcmc.privacy.relations import PROMISED
from dpmcmc.records.toml import PLACE
from dpmcmc.study.places import Places, StudyError, unfilled

Check = Callable[[Any], bool]


def _text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _between(low: float, high: float) -> Check:
    return lambda value: _number(value) and low < value < high


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _marks(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str | int) and not isinstance(each, bool) for each in value)


@dataclass(frozen=True)
class Key:
    """A key that a section may have: what it must hold, in words and as a check."""

    allowed: str
    fits: Check
    needed: bool = False


_EPSILON = "a number above 0, such as 1.0"
_DELTA = "a number between 0 and 1, such as 1e-6"
_RELATION = " or ".join(map(repr, PROMISED))

TOP = {
    "title": Key("text, which heads the report", _text),
    "table": Key('the path of a .csv or .parquet file with a header, such as "visits.csv"', _text, needed=True),
}
SECTIONS: dict[str, dict[str, Key]] = {
    "csv": {
        "separator": Key('one character such as ";" or "\\t"', _text),
        "decimal": Key('"." or ","', lambda value: value in (".", ",")),
        "dates": Key('how 2020-12-31 is written, such as "31.12.2020", "31/12/2020" or "12/31/2020"', _text),
        "encoding": Key('"utf-8", "cp1252" or "latin-1"', _text),
        "missing": Key('a list of texts or whole numbers, such as ["-99"]', _marks),
    },
    "model": {
        "formula": Key('text such as "visits ~ age + plan"', _text, needed=True),
        "family": Key('text such as "poisson"', _text, needed=True),
        "offset": Key("the name of a declared number, or a function such as log(years)", _text),
        "weights": Key("the name of a declared number that is not negative", _text),
        "sigma": Key("a number above 0, for the family gaussian", _between(0, float("inf"))),
        "df": Key("a number above 0, for the family student-t", _between(0, float("inf"))),
    },
    "privacy": {
        "protects": Key('"record", or the name of the column that says whose record it is', _text),
        "most": Key("a whole number of at least 1: how many records of a person count", _whole),
        "epsilon": Key(_EPSILON, _between(0, float("inf")), needed=True),
        "delta": Key(_DELTA, _between(0, 1), needed=True),
        "relation": Key(_RELATION, lambda value: value in PROMISED),
    },
    "ledger": {
        "file": Key('the path of a file, or "postgresql://user@host/database"', _text, needed=True),
        "dataset": Key("the name that the custodian gives to the data set", _text, needed=True),
        "epsilon": Key(_EPSILON, _between(0, float("inf")), needed=True),
        "delta": Key(_DELTA, _between(0, 1), needed=True),
        "relation": Key(_RELATION, lambda value: value in PROMISED),
    },
    "output": {
        "release": Key("the path of a new .npz file", lambda v: _text(v) and v.endswith(".npz"), needed=True),
        "report": Key("the path of a new .html file", lambda v: _text(v) and v.endswith(".html"), needed=True),
    },
}
NEEDED = ("model", "privacy", "output", "columns")
OWN = ("priors", "columns")  # sections whose keys are names of the study's own


def read(places: Places) -> dict[str, dict[str, Any]]:
    """The sections with all their keys checked, one by one; "" holds what stands before the first section."""
    content = places.content
    known = [*TOP, *SECTIONS, *OWN]
    for name, value in content.items():
        if name not in known:
            raise places.error((name,), f"there is no such key or section{_meant(name, known)}", ", ".join(known))
        if name not in TOP and not isinstance(value, dict):
            raise places.error((name,), "it is a section", f"a line [{name}] with keys below it")
    for name in NEEDED:
        if name not in content:
            raise StudyError(f"{places.source}, line 1: {name} = nothing: the section is missing; allowed: [{name}]")
    found = {"": _section(places, (), {name: content[name] for name in content if name in TOP}, TOP)}
    for name, keys in SECTIONS.items():
        if name in content:
            found[name] = _section(places, (name,), content[name], keys)
    return found | {name: content.get(name, {}) for name in OWN}


def _section(
    places: Places, path: tuple[str, ...], given: Mapping[str, Any], keys: Mapping[str, Key]
) -> dict[str, Any]:
    for name, value in given.items():
        if name not in keys:
            raise places.error((*path, name), f"there is no such key{_meant(name, keys)}", ", ".join(keys))
        if unfilled(value):
            raise places.error((*path, name), "it is still to be filled in", keys[name].allowed)
        if not keys[name].fits(value):
            raise places.error((*path, name), "that cannot be its value", keys[name].allowed)
    for name, key in keys.items():
        if key.needed and name not in given:
            raise places.error((*path, name), f"there is no {name} = {PLACE}, which is needed", key.allowed)
    return dict(given)


def _meant(name: str, known: Any) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (is {close[0]} meant?)" if close else ""
