"""A formula as text: its outcome, whether there is an intercept, and the factors of each term. Nothing is evaluated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_NAME = r"(?:`[^`]+`|[A-Za-z_][\w.]*)"
_EXAMPLE = "such as 'visits ~ age + plan + age:income'"


@dataclass(frozen=True)
class Parsed:
    """What a formula says: each factor is the text that stands for it, without quotes if it is a column alone."""

    outcome: str
    intercept: bool
    terms: tuple[tuple[str, ...], ...]
    offset: str | None = None
    groups: tuple[str, ...] = ()


def parse(formula: str) -> Parsed:
    """Read a formula with formulaic's parser, which knows no data; mistakes raise with the remedy."""
    if not isinstance(formula, str):
        raise TypeError(f"a formula is text, {_EXAMPLE}, got {formula!r}")
    rest, groups = _without_groups(formula)
    _check_text(rest)
    found = _parsed(rest)
    if not hasattr(found, "lhs"):
        raise ValueError(f"the formula {formula!r} has no outcome: write one, {_EXAMPLE}")
    terms = [tuple(_factor(factor, formula) for factor in term.factors) for term in found.rhs]
    kept = tuple(tuple(factor for factor in term if factor != "1") for term in terms if term != ("1",))
    offsets = [term for term in kept if len(term) == 1 and term[0].startswith("offset(")]
    if len(offsets) > 1:
        raise ValueError(f"the formula {formula!r} has {len(offsets)} offsets: add them up in one declared column")
    columns = tuple(term for term in kept if term not in offsets)
    if not columns and not groups:
        raise ValueError(f"the formula {formula!r} has no column on its right side: name at least one, {_EXAMPLE}")
    offset = offsets[0][0].removeprefix("offset(").removesuffix(")").strip().strip("`") if offsets else None
    return Parsed(_outcome(found.lhs, formula), ("1",) in terms, columns, offset, groups)


def _without_groups(formula: str) -> tuple[str, tuple[str, ...]]:
    """The formula without ``(1|group)``, which formulaic does not read, and the groups."""
    left, tilde, right = formula.partition("~")
    groups: list[str] = []

    def taken(found: re.Match[str]) -> str:
        if not re.fullmatch(rf"\s*{_NAME}\s*", found["group"]) or found["what"].strip() != "1":
            raise _only_intercepts(formula)
        groups.append(found["group"].strip().strip("`"))
        return ""

    rest = re.sub(r"(?:^\s*|\+\s*)\((?P<what>[^()|]*)\|(?P<group>[^()|]*)\)", taken, right)
    if "|" in re.sub("`[^`]*`", "", rest):
        raise _only_intercepts(formula)
    if len(set(groups)) < len(groups):
        raise ValueError(
            f"the formula {formula!r} has groups of {max(groups, key=groups.count)!r} twice: leave one out"
        )
    if not groups:
        return formula, ()
    return f"{left}{tilde} {rest.strip().removeprefix('+').strip() or '1'}", tuple(groups)


def _parsed(formula: str) -> Any:
    try:
        from formulaic import Formula
        from formulaic.errors import FormulaicError
    except ImportError:
        raise ImportError("formulas are read by formulaic: pip install 'dpmcmc[formula]'") from None
    try:  # it has Python parse what is in brackets
        return Formula(formula)
    except (FormulaicError, SyntaxError, ValueError, RecursionError) as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"the formula {formula!r} cannot be read ({why}): write one {_EXAMPLE}") from None


def _only_intercepts(formula: str) -> ValueError:
    return ValueError(
        f"the formula {formula!r} has a '|' that is not of the form '+ (1|group)': intercepts can vary by a declared "
        "group, and slopes cannot; for these write a model of your own"
    )


def _outcome(terms: Any, formula: str) -> str:
    outcomes = [_factor(factor, formula) for term in terms for factor in term.factors]
    if len(outcomes) != 1:
        raise ValueError(f"the formula {formula!r} has {len(outcomes)} outcomes: a regression has one, {_EXAMPLE}")
    return outcomes[0]


def _factor(factor: Any, formula: str) -> str:
    """A number, the name of a column, or what else is written."""
    method = factor.eval_method.value
    if method == "literal" and factor.expr != "1":
        raise ValueError(
            f"the formula {formula!r} multiplies a term by {factor.expr}: leave the number out, a coefficient is there "
            "to find it"
        )
    text: str = factor.expr
    return text


def _check_text(formula: str) -> None:
    """What formulaic would read as something else than it seems to say."""
    right = formula.partition("~")[2]
    if "~" in formula and not right.strip():
        raise ValueError(f"the formula {formula!r} has an empty right side: name at least one column, {_EXAMPLE}")
    power = re.search(rf"({_NAME})\s*(?:\*\*|\^)\s*\d", right)
    if power:
        name = power[1].strip("`")
        raise ValueError(
            f"the formula {formula!r} has a power of {name!r}, which in formulas is {name!r} itself: "
            "declare the power as a column of its own, with its bounds"
        )
    parts = [part.strip() for part in _top_level(right)]
    for part in parts:
        factors = [factor.strip() for factor in re.split(r"[:*]", part)]
        twice = [factor for factor in factors if factor and factors.count(factor) > 1]
        if twice or parts.count(part) > 1:
            raise ValueError(f"the formula {formula!r} has {(twice or [part])[0]!r} twice in one place: leave one out")


def _top_level(text: str) -> list[str]:
    """What stands between signs outside parentheses and quotes; numbers, which only set the intercept, left out."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == "`"
        depth += 0 if quoted else (sign in "([{") - (sign in ")]}")
        if sign in "+-" and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return [part for part in parts if part.strip() and not part.strip().isdigit()]
