"""Declared columns as TOML text, and back."""

from __future__ import annotations

import datetime
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from dpmcmc.records.columns import REFUSE, Column
from dpmcmc.records.dates import Date
from dpmcmc.records.levels import Boolean, Category, Ordered
from dpmcmc.records.numbers import Number

PLACE = "..."
"""What stands in a skeleton where something has to be filled in."""

SETTINGS = {
    "number": ("bounds", "unit", "integer", "missing", "outside"),
    "category": ("levels", "reference", "unknown", "missing"),
    "ordered": ("levels", "unknown", "missing"),
    "boolean": ("true", "false", "unknown", "missing"),
    "date": ("bounds", "missing", "outside"),
}
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")  # keys of TOML are text: those of codes that all are this are numbers
_NEEDED = {"number": "bounds", "category": "levels", "ordered": "levels", "date": "bounds"}
_USUAL = {"unit": "", "integer": False, "missing": REFUSE, "unknown": REFUSE, "outside": "clip"}

_DEEP = "it is nested too deeply"


def written(columns: Mapping[str, Column]) -> str:
    """One table for each column; settings that have their usual value are left out."""
    return "\n".join(f"[columns.{key(name)}]\n{_settings(column)}" for name, column in columns.items())


def _settings(column: Column) -> str:
    given = {"type": column.type_name} | {name: _setting(column, name) for name in SETTINGS[column.type_name]}
    kept = {name: value for name, value in given.items() if value != _USUAL.get(name, [])}
    return "".join(f"{name} = {literal(value)}\n" for name, value in kept.items())


def _setting(column: Any, name: str) -> Any:
    if name == "bounds":
        return [column.low, column.high]
    if name == "levels" and column.is_coded:
        texts = [value for value in column.values if isinstance(value, str)]
        return column.levels if texts and all(map(_WHOLE.fullmatch, texts)) else column.coding
    if name in ("true", "false"):
        return [value for value, meaning in column.coding if meaning == (name == "true")]
    return getattr(column, name)


def key(name: str) -> str:
    """A name as a TOML key, quoted where it has to be."""
    plain = name.isascii() and name.replace("_", "a").replace("-", "a").isalnum()
    return name if plain else literal(name)


def literal(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):  # JSON's escapes are among those of TOML, which escapes DEL too
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key(str(name))} = {literal(each)}' for name, each in value.items())}}}"
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def parsed(text: str, source: str) -> dict[str, Column]:
    """The columns that the text declares; every mistake names its place, what it has and what is allowed."""
    try:
        content = loaded(text)
    except ValueError as error:
        raise ValueError(f"{source} is not TOML: {error}") from None
    for name, value in content.items():
        if name != "columns" or not isinstance(value, dict):
            raise ValueError(f"{source}: {name} = {value!r} is not part of a schema; allowed: tables [columns.<name>]")
    return {
        name: column_of(settings, f"{source}: columns.{name}") for name, settings in content.get("columns", {}).items()
    }


def loaded(text: str) -> dict[str, Any]:
    """What a TOML text holds; a ValueError if it is none, has numbers or dates that there are not, or is too deep."""
    try:
        content = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_DEEP) from None
    if not _shallow(content, 6):
        raise ValueError(_DEEP)
    return content


def _shallow(value: Any, levels: int) -> bool:
    """Whether tables and lists are within each other so many times at most; errors quote what is wrong."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (levels > 0 and all(_shallow(each, levels - 1) for each in inner))


def column_of(settings: Any, place: str) -> Column:
    """The column that a table of settings declares; ``place`` is what errors call it."""
    if not isinstance(settings, dict):
        raise ValueError(f"{place} = {settings!r} must be a table [columns.<name>] with a type")
    type_name = settings.get("type")
    if type_name is None or not isinstance(type_name, str) or type_name not in SETTINGS:
        raise ValueError(f"{place}.type = {type_name!r} is not a type; allowed: {', '.join(SETTINGS)}")
    given = {name: value for name, value in settings.items() if name != "type"}
    for name, value in given.items():
        if name not in SETTINGS[type_name]:
            allowed = ", ".join(("type", *SETTINGS[type_name]))
            raise ValueError(f"{place}.{name} = {value!r} is not a setting of type {type_name}; allowed: {allowed}")
        if _unfilled(name, value):
            raise ValueError(f"{place}.{name} = {value!r} is still to be filled in, from public knowledge")
    needed = _NEEDED.get(type_name)
    if needed and needed not in given:
        raise ValueError(f"{place} has no {needed}, which type {type_name} needs")
    try:
        return _made(type_name, given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{place}: {error}") from None


def _unfilled(name: str, value: Any) -> bool:
    """Whether a value is still that of a skeleton; elsewhere, and among other levels, "..." may be a value itself."""
    return (name == "bounds" and isinstance(value, list) and PLACE in value) or (
        name in ("bounds", "levels") and value in (PLACE, [PLACE])
    )


def _made(type_name: str, given: dict[str, Any]) -> Column:
    bounds = given.pop("bounds", None)
    if type_name == "number" and isinstance(bounds, str):
        return Number.parse(bounds, **given)
    if type_name in ("number", "date"):
        if not isinstance(bounds, list) or len(bounds) != 2:
            raise ValueError(f"bounds must be a list of two values, such as [0, 120], got {bounds!r}")
        return (Number if type_name == "number" else Date)(*bounds, **given)
    if type_name == "boolean":
        coding = [(value, meaning) for meaning in (True, False) for value in _words(given, str(meaning).lower())]
        if len(dict(coding)) < len(coding):
            raise ValueError("a value cannot be both true and false, nor be named twice")
        return Boolean(tuple(coding), **given)
    levels = given.pop("levels")
    if isinstance(levels, dict) and all(map(_WHOLE.fullmatch, levels)):
        levels = {int(value): level for value, level in levels.items()}
    return (Category if type_name == "category" else Ordered)(levels, **given)


def _words(given: dict[str, Any], name: str) -> list[Any]:
    words = given.pop(name, [])
    if not isinstance(words, list):
        raise ValueError(f"{name} must be a list of values, such as ['yes'], got {words!r}")
    return words
