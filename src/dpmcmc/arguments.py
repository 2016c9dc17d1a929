"""Checks of arguments: each names the argument, says what it must be and what was given, before anything is charged.

    positive("RandomWalk: scale", scale)    # ValueError: RandomWalk: scale must be positive and finite, got -1.0

Every check returns what it was given: numbers as they are, whole numbers and truth values as Python's own. A value of
the wrong kind raises TypeError, a wrong value of the right kind ValueError. What is checked is public: none of these
is for private values, and a message shows an array, a table or another object by its type alone, in case records were
given in the place of a setting.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from numbers import Number
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")

_MOST_SHOWN = 4  # values of a collection
_MOST_TEXT = 60  # characters


def shown(value: Any) -> str:
    """A value as messages show it: scalars, short text and a few of these as they are, all else by its type."""
    if isinstance(value, str | bytes):
        return repr(value) if len(value) <= _MOST_TEXT else f"{value[:_MOST_TEXT]!r}…"
    if value is None or isinstance(value, Number | np.generic):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__} itself"
    if isinstance(value, Mapping):
        few = len(value) <= _MOST_SHOWN and all(map(_scalar, (*value.keys(), *value.values())))
        return repr(dict(value)) if few else f"an object of type {type(value).__name__}"
    if isinstance(value, list | tuple | set | frozenset):
        few = len(value) <= _MOST_SHOWN and all(map(_scalar, value))
        return repr(value) if few else f"a {type(value).__name__} of {len(value)}"
    if hasattr(value, "shape"):
        return f"an array of shape {value.shape}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function {value.__name__}"
    return f"an object of type {type(value).__name__}"


def _scalar(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes | Number | np.generic | type)


def _refuse(kind: type[Exception], what: str, must: str, value: Any, remedy: str) -> Exception:
    return kind(f"{what} must {must}, got {shown(value)}{f'; {remedy}' if remedy else ''}")


def number(what: str, value: Any, must: str = "be a number", remedy: str = "") -> float:
    """A real number of Python, NumPy or JAX: not text, not a truth value, not NaN."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if isinstance(value, str | bytes | bool | complex) or kind in "bcSUOMm" or getattr(value, "shape", ()) != ():
        raise _refuse(TypeError, what, must, value, remedy)
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise _refuse(TypeError, what, must, value, remedy) from None
    if math.isnan(found):
        raise _refuse(ValueError, what, must, value, remedy)
    return found


def finite(what: str, value: Any, remedy: str = "") -> Any:
    """A finite number."""
    must = "be a finite number"
    if not math.isfinite(number(what, value, must, remedy)):
        raise _refuse(ValueError, what, must, value, remedy)
    return value


def positive(what: str, value: Any, remedy: str = "") -> Any:
    """A finite number above 0."""
    must = "be positive and finite"
    if not 0 < number(what, value, must, remedy) < math.inf:
        raise _refuse(ValueError, what, must, value, remedy)
    return value


def not_negative(what: str, value: Any, remedy: str = "") -> Any:
    """A finite number of at least 0."""
    must = "be at least 0 and finite"
    if not 0 <= number(what, value, must, remedy) < math.inf:
        raise _refuse(ValueError, what, must, value, remedy)
    return value


def within(what: str, value: Any, low: float, high: float, ends: str = "[]", remedy: str = "") -> Any:
    """A finite number from ``low`` to ``high``; ``ends`` says which ends belong to it: "[]", "(]", "[)" or "()"."""
    if high == math.inf:
        must = f"be at least {low:g} and finite" if ends[0] == "[" else f"exceed {low:g} and be finite"
    elif ends == "()":
        must = f"lie strictly between {low:g} and {high:g}"
    else:
        must = f"lie in {ends[0]}{low:g}, {high:g}{ends[1]}"
    found = number(what, value, must, remedy)
    above = found >= low if ends[0] == "[" else found > low
    below = found <= high if ends[1] == "]" else found < high
    if not (above and below and math.isfinite(found)):
        raise _refuse(ValueError, what, must, value, remedy)
    return value


def whole(what: str, value: Any, least: int = 1, most: float = math.inf, remedy: str = "") -> int:
    """A whole number from ``least`` to ``most``; 3.0 is none, True is none."""
    must = f"be a whole number of at least {least}" if most == math.inf else f"be a whole number from {least} to {most}"
    try:
        found = operator.index(value)
    except TypeError:
        kind = ValueError if isinstance(value, float | np.floating) else TypeError
        raise _refuse(kind, what, must, value, remedy) from None
    if isinstance(value, bool):
        raise _refuse(TypeError, what, must, value, remedy)
    if not least <= found <= most:
        raise _refuse(ValueError, what, must, value, remedy)
    return found


def truth(what: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _refuse(TypeError, what, "be True or False", value, "")
    return bool(value)


def one_of(what: str, value: Any, allowed: Collection[Any], remedy: str = "") -> Any:
    """One of the values that are allowed."""
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise _refuse(ValueError, what, f"be one of {', '.join(map(repr, allowed))}", value, remedy)
    return value


def text(what: str, value: Any, remedy: str = "") -> str:
    """Text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise _refuse(TypeError, what, "be text that is not empty", value, remedy)
    return value


def function(what: str, value: Any, remedy: str = "") -> Any:
    """Something that can be called."""
    if not callable(value):
        raise _refuse(TypeError, what, "be a function", value, remedy)
    return value


def having(what: str, value: Any, names: Collection[str], kind: str) -> Any:
    """An object with these attributes, made and not its class; ``kind`` says what it should be."""
    if isinstance(value, type):
        raise _refuse(TypeError, what, f"be {kind}", value, "are its parentheses missing?")
    missing = [name for name in names if not hasattr(value, name)]
    if missing:
        raise _refuse(TypeError, what, f"be {kind}", value, f"it has no {missing[0]}")
    return value


def instance(what: str, value: Any, kind: type | tuple[type, ...], said: str) -> Any:
    """An object of that type; ``said`` says what it should be."""
    if not isinstance(value, kind):
        raise _refuse(TypeError, what, f"be {said}", value, "")
    return value


def numbers(what: str, value: Any, must: str = "hold finite numbers") -> np.ndarray:
    """An array of finite real numbers, in float64, of any shape but an empty one."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise _refuse(ValueError, what, must, value, "") from None
    if array.dtype.kind not in "iuf" or array.size == 0:
        raise _refuse(TypeError if array.size else ValueError, what, must, value, "")
    array = array.astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise _refuse(ValueError, what, must, value, "")
    return array
