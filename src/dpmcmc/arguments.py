"""Checks of arguments: each names the argument, says what it must be and what was given, before anything is charged.

    positive("RandomWalk: scale", scale)    # ValueError: RandomWalk: scale must be positive and finite, got -1.0

Every check returns the value that it was given. What is checked is public: none of these is for private values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection
from typing import Any, TypeVar

Value = TypeVar("Value")


def number(what: str, value: Any) -> float:
    """A real number: of Python, NumPy or JAX, not text, not a truth value, not NaN."""
    if isinstance(value, str | bytes | bool | complex) or getattr(value, "shape", ()) != ():
        raise TypeError(f"{what} must be a number, got {value!r}")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what} must be a number, got {value!r}") from None
    if math.isnan(found):
        raise ValueError(f"{what} must be a number, got {value!r}")
    return found


def finite(what: str, value: Any) -> Any:
    """A finite number."""
    if not math.isfinite(number(what, value)):
        raise ValueError(f"{what} must be finite, got {value!r}")
    return value


def positive(what: str, value: Any) -> Any:
    """A finite number above 0."""
    if not 0 < number(what, value) < math.inf:
        raise ValueError(f"{what} must be positive and finite, got {value!r}")
    return value


def not_negative(what: str, value: Any) -> Any:
    """A finite number of at least 0."""
    if not 0 <= number(what, value) < math.inf:
        raise ValueError(f"{what} must be finite and not negative, got {value!r}")
    return value


def whole(what: str, value: Any, least: int = 1, most: float = math.inf) -> int:
    """A whole number from ``least`` to ``most``; 3.0 is none, True is none."""
    allowed = f"a whole number of at least {least}" if most == math.inf else f"a whole number from {least} to {most:g}"
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} must be {allowed}, got {value!r}") from None
    if isinstance(value, bool) or not least <= found <= most:
        raise ValueError(f"{what} must be {allowed}, got {value!r}")
    return found


def truth(what: str, value: Any) -> bool:
    """True or False."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{what} must be True or False, got {value!r}")
    return bool(value)


def one_of(what: str, value: Value, allowed: Collection[Value]) -> Value:
    """One of the values that are allowed."""
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise ValueError(f"{what} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def text(what: str, value: Any) -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"{what} must be text that is not empty, got {value!r}")
    return value


def function(what: str, value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise TypeError(f"{what} must be a function, got {value!r}")
    return value


def having(what: str, value: Any, names: Collection[str], kind: str) -> Any:
    """An object with these attributes, not a class: ``kind`` says what it should be."""
    missing = [name for name in names if not hasattr(value, name)]
    if isinstance(value, type):
        raise TypeError(f"{what} must be {kind}, got the class {value.__name__} itself: give one made with its arguments")
    if missing:
        raise TypeError(f"{what} must be {kind}, got {value!r}, which has no {missing[0]}")
    return value
