"""The programs within a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr


def programs_in(value: Any) -> Iterator[Jaxpr | ClosedJaxpr]:
    """Programs among an equation's parameters: by themselves or in tuples, lists and dictionaries."""
    if isinstance(value, Jaxpr | ClosedJaxpr):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from programs_in(part)
    elif isinstance(value, dict):
        yield from programs_in(list(value.values()))


def equations(program: Jaxpr | ClosedJaxpr) -> Iterator[Any]:
    """All equations of a program and of the programs within it, each program once."""
    seen: set[int] = set()
    waiting = [program]
    while waiting:
        found = waiting.pop()
        jaxpr = found.jaxpr if isinstance(found, ClosedJaxpr) else found
        if id(jaxpr) in seen:
            continue
        seen.add(id(jaxpr))
        for equation in jaxpr.eqns:
            yield equation
            waiting += programs_in(list(equation.params.values()))
