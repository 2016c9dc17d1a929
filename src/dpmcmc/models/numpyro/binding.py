"""From the signature of a NumPyro model to its arguments: declared columns, and public constants."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Number
from types import CodeType, ModuleType
from typing import Any

import jax
import numpy as np

from dpmcmc.models.numpyro.arguments import Argument, Arguments
from dpmcmc.models.numpyro.sites import refuse
from dpmcmc.records import Schema

ARRAYS = (np.ndarray, jax.Array)
TABLES = ("__array__", "__arrow_c_array__", "__arrow_c_stream__", "__dataframe__")  # what those of any library have
FEW = 8  # numbers in a list that may be settings


def bound(
    model: Callable[..., Any],
    schema: Schema,
    stacked: Mapping[str, Sequence[str]],
    constants: Mapping[str, Any],
) -> Arguments:
    """The arguments of ``model`` by name; each is declared, a constant, or left at its default."""
    if not callable(model):
        raise TypeError(f"a NumPyro model is a function, got {model!r}")
    check_closed(model)
    taken = inspect.signature(model).parameters
    for name, columns in stacked.items():
        if isinstance(columns, str) or not columns:
            raise TypeError(f"stacked={{{name!r}: ...}} takes a list of columns, got {columns!r}")
        schema.subset(columns)  # raises, and says which columns there are
    for name in (*stacked, *constants):
        if name not in taken:
            raise ValueError(f"the model has no argument {name!r}; its arguments are {', '.join(map(repr, taken))}")
    for name in constants:
        if name in stacked or name in schema:
            raise ValueError(f"the argument {name!r} is given as a constant and declared as a column: choose one")
    per_record = [_argument(parameter, schema, stacked, constants) for parameter in taken.values()]
    found = tuple(argument for argument in per_record if argument is not None)
    if not found:
        declared = ", ".join(map(repr, schema))
        refuse(f"none of its arguments is a declared column ({declared})", "name its arguments as the columns")
    columns = [column for argument in found for column, _ in argument.columns]
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise ValueError(f"the column {twice[0]!r} is given to the model twice: use it in one argument")
    return Arguments(found, dict(constants))


def _argument(
    parameter: inspect.Parameter, schema: Schema, stacked: Mapping[str, Sequence[str]], constants: Mapping[str, Any]
) -> Argument | None:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        refuse(f"its argument {parameter} has no name to give it by", "write every argument by its name")
    if name in stacked:
        return Argument(name, tuple((column, schema[column]) for column in stacked[name]), stacked=True)
    if name in schema:
        return Argument(name, ((name, schema[name]),))
    if name in constants:
        return None
    if parameter.default is parameter.empty:
        refuse(
            f"its argument {name!r} is no declared column",
            f"declare it in the schema if it has a value for each record ({name}=dp.Number(low, high)); stack columns "
            f"with stacked={{{name!r}: [...]}}; give what is public with constants={{{name!r}: ...}}",
        )
    if is_array(parameter.default):
        refuse(
            f"the default of its argument {name!r} is an array", f"give it with constants={{{name!r}: ...}} if public"
        )
    return None


def is_array(value: Any) -> bool:
    """Whether a value is an array, series, data frame or list of numbers, or holds some: it might hold records."""
    if isinstance(value, list | tuple) and len(value) > FEW and all(isinstance(item, Number) for item in value):
        return True
    leaves = jax.tree.leaves(value) if isinstance(value, dict | list | tuple) else [value]
    return any(np.ndim(leaf) > 0 if isinstance(leaf, ARRAYS) else _is_table(leaf) for leaf in leaves)


def _is_table(value: Any) -> bool:
    """Whether a value of whatever library is one of its arrays, series or frames."""
    if isinstance(value, type | ModuleType | str | bytes | Number | np.generic):
        return False
    return any(hasattr(value, name) for name in TABLES) or (hasattr(value, "columns") and hasattr(value, "__getitem__"))


def check_closed(model: Callable[..., Any]) -> None:
    """Refuse arrays that a model has from outside its arguments: they might be records, which nobody has paid for.

    Seen is what the function names, functions inside it too, and what a callable object holds; not what functions that
    it calls have, nor single numbers.
    """
    for function in _layers(model):
        if isinstance(function, functools.partial) and (function.args or function.keywords):
            names = ", ".join(map(repr, function.keywords)) or "by position"
            refuse(f"it is a functools.partial with arguments ({names})", "give them with constants= if public")
        for name, value in _outside(function):
            if is_array(value):
                refuse(
                    f"it uses the variable {name!r} from outside, an array of shape {getattr(value, 'shape', '?')}",
                    "make it an argument: a declared column if it holds records, or one of constants= if it is public",
                )


def _outside(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function or a callable object has from outside its arguments, by name."""
    if not inspect.isfunction(function):
        own = getattr(function, "__self__", function)
        yield from vars(own).items() if hasattr(own, "__dict__") and not isinstance(own, ModuleType) else ()
        return
    yield from inspect.getclosurevars(function).nonlocals.items()
    for code in _codes(function.__code__):
        yield from ((name, function.__globals__[name]) for name in code.co_names if name in function.__globals__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _layers(model: Any) -> Iterator[Any]:
    """The function and what it wraps: handlers, methods and partial functions."""
    while model is not None:
        yield model
        inner = model.func if isinstance(model, functools.partial) else getattr(model, "__wrapped__", None)
        model = getattr(model, "__func__", None) if inner is None else inner
