"""Where a key stands in a TOML file, so that a mistake can be named by file, line, key and value."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from dpmcmc.arguments import shown
from dpmcmc.records.toml import PLACE, key, literal, loaded

MOST = 1_000_000  # characters of a study file
_WORDS = (
    (r"a coding such as dp\.Boolean\(\{'yes': True, 'no': False\}\), or unknown=False",
     'true = ["yes"] and false = ["no"], or unknown = false'),
    (r"how the file is written, with dp\.CSV\(.*?\) or \[csv\] in a study file",
     'how the file is written, with decimal = ",", missing = ["-99"] or dates = "31.12.2020" in a section [csv]'),
    (r"dp\.CSV\(path, separator=(.*?)\) or, for `dpmcmc new`, --separator \1", r"separator = \1 in a section [csv]"),
    (r"dp\.CSV\(path, encoding=\.\.\.\)", 'encoding = "cp1252" or "latin-1" in a section [csv]'),
    (r"dp\.Number\.count\(most\)", 'type = "number" with integer = true and bounds from 0'),
    (r"dp\.Boolean\(\)", 'type = "boolean"'),
    (r"dp\.Ordered\(levels\)", 'type = "ordered"'),
    (r"dp\.(Number|Category|Ordered|Boolean|Date)\b", lambda found: found[1].lower()),
    (r"\b(unknown|missing|outside)='(\w+)'", r'\1 = "\2"'),
    (r"\b(missing)=<", r"\1 = <"),
    (r"\binteger=True\b", "integer = true"),
    (r"; to take all that is left, plan with .*? spent=ledger", ""),
    (r"^CSV: ", ""),
)  # fmt: skip
_CLOSERS = ("]", "}", '"""', "'''")


class StudyError(ValueError):
    """A mistake in a study file: which file, line, key and value, and what is allowed. Nothing was charged."""


@dataclass(frozen=True)
class Places:
    """A TOML text, what errors call it, and the line of each of its keys."""

    text: str
    source: str

    @cached_property
    def content(self) -> dict[str, Any]:
        if len(self.text) > MOST:
            raise StudyError(f"{self.source} has {len(self.text)} characters; allowed: a study file of at most {MOST}")
        try:
            return loaded(self.text)
        except ValueError as error:
            raise StudyError(f"{self.source} cannot be read as TOML: {self._quoted(error)}") from None

    def _quoted(self, error: Exception) -> str:
        """What the parser says, with the line that it means."""
        said = str(error)
        number = said.partition("(at line ")[2].partition(",")[0]
        lines = self.text.splitlines()
        if not number.isdigit() or not 0 < int(number) <= len(lines):
            return said
        allowed = 'lines such as key = "text", key = 1.5 or key = 2020-12-31'
        return f"{said}, which is {shown(lines[int(number) - 1].strip())}; allowed: {allowed}"

    @cached_property
    def lines(self) -> dict[tuple[str, ...], int]:
        """The line on which each key, or the header of each table, stands; the first is 1.

        A statement is the shortest run of lines that is TOML by itself, so nothing is parsed here that the parser does
        not parse.
        """
        found: dict[tuple[str, ...], int] = {}
        table: tuple[str, ...] = ()
        lines, first = self.text.splitlines(), 0
        while first < len(lines):
            last, statement = _statement(lines, first)
            path = _path(statement)
            if lines[first].lstrip().startswith("["):
                table, path = path, ()
            whole = table + path
            for size in range(1, len(whole) + 1):
                found.setdefault(whole[:size], first + 1)
            first = last + 1
        return found

    def line(self, *path: str) -> int:
        """The line of a key, or of the nearest table around it that has one; 1 if none has."""
        for size in range(len(path), 0, -1):
            if path[:size] in self.lines:
                return self.lines[path[:size]]
        return 1

    def error(self, path: tuple[str, ...], problem: str, allowed: str = "") -> StudyError:
        """The mistake of a key, with its value if it has one."""
        place = f"{self.source}, line {self.line(*path)}: {'.'.join(map(key, path))}"
        value = self.value(*path)
        given = "" if value is None or isinstance(value, dict) else f" = {_said(value)}"
        return StudyError(f"{place}{given}: {in_toml(problem)}{f'; allowed: {allowed}' if allowed else ''}")

    def value(self, *path: str) -> Any:
        """What the file has there; None if nothing."""
        found: Any = self.content
        for name in path:
            if not isinstance(found, dict) or name not in found:
                return None
            found = found[name]
        return found


def in_toml(said: str) -> str:
    """A message of the library in the words of a study file, which knows no Python."""
    for pattern, own in _WORDS:
        said = re.sub(pattern, own, said)
    return said


def unfilled(value: Any) -> bool:
    """Whether a value still has a place to fill in."""
    return value == PLACE or (isinstance(value, list) and PLACE in value)


def _said(value: Any) -> str:
    if isinstance(value, list) and len(value) <= 4 and all(isinstance(each, date) for each in value):
        return literal(value)
    return str(value).lower() if isinstance(value, bool) else shown(value)


def _statement(lines: list[str], first: int) -> tuple[int, dict[str, Any]]:
    """The last line of the statement that begins on a line, and what it says."""
    for last in range(first, len(lines)):
        if last > first and not any(closer in lines[last] for closer in _CLOSERS):
            continue
        try:
            return last, tomllib.loads("\n".join(lines[first : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
    return first, {}


def _path(statement: dict[str, Any]) -> tuple[str, ...]:
    """The key of a statement that sets one: down to the value, or to an inline table's own name."""
    found: list[str] = []
    here: Any = statement
    while isinstance(here, dict) and len(here) == 1:
        ((name, here),) = here.items()
        found.append(name)
    return tuple(found)
