"""Every wrong argument of the public interface is refused: by us, by its name, in no time, before records are used."""

import re
import time
import traceback
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import jax
import pytest

import dpmcmc
import dpmcmc.chain.method
import dpmcmc.likelihood.method
import dpmcmc.scores.method
import dpmcmc.variational
from dpmcmc.arguments import shown
from tests.bad_calls import accounting, declarations, keeping, kernels, sampling

CALLS = [*sampling.calls(), *declarations.calls(), *kernels.calls(), *accounting.calls(), *keeping.calls()]
SOURCE = str(Path(dpmcmc.__file__).parent)
HEAVY = {"from_numpyro", "dpvi"}  # good calls that take seconds before records are read
SECONDS = 2.0  # of processor time, for one refusal

each_call = pytest.mark.parametrize("call", CALLS, ids=[call.name for call in CALLS])


class Began(BaseException):
    """A run began: its arguments were accepted, and it would be charged now."""


@pytest.fixture
def no_run(monkeypatch):
    """Whatever would begin to read records raises instead."""

    def begin(*_, **__):
        raise Began

    for module in (dpmcmc.chain.method, dpmcmc.likelihood.method, dpmcmc.scores.method):
        monkeypatch.setattr(module, "run", begin)
    monkeypatch.setattr(dpmcmc.variational.PlannedFit, "run", begin)


class Records:
    """An array that remembers whether it was looked at."""

    def __init__(self, values):
        self.values, self.read = values, False

    def __array__(self, dtype=None, copy=None):
        self.read = True
        return self.values if dtype is None else self.values.astype(dtype)


def is_named(argument, value, said):
    """Whether a message names the argument, or its value, or the part of it that is wrong."""
    several = isinstance(value, Collection) and not isinstance(value, str)
    inside = [*value, *getattr(value, "values", list)()] if several else []
    quoted = re.findall(r"""(?<=['"]).{3,}?(?=['"])""", said) if isinstance(value, str) else []
    paths = [str(value)] if isinstance(value, str | Path) and value else []
    texts = [argument, shown(value), repr(value), *map(repr, inside), *paths]
    return any(text in said for text in texts) or any(part in value for part in quoted)


def problem_with(call, argument, value):
    """What is wrong with the refusal of ``value``; empty if it is as it should be."""
    try:
        call(**{argument: value})
    except Began:
        return "a run began"
    except (ValueError, TypeError, FileNotFoundError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}"
        if not (last.filename.startswith(SOURCE) and str(last.line).startswith("raise")):
            return f"not raised by us but in {last.filename}, line {last.lineno}: {said}"
        return "" if is_named(argument, value, str(error)) else f"does not say what is wrong: {said}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


@each_call
def test_a_wrong_argument_is_refused(call, no_run):
    problems = []
    for argument, value in call.bad():
        watched = {name: jax.tree.map(Records, call.arguments[name]) for name in call.reads}
        began = time.process_time()
        problem = problem_with(replace(call, arguments=call.arguments | watched), argument, value)
        took = time.process_time() - began
        if not problem and argument not in call.reads and any(records.read for records in jax.tree.leaves(watched)):
            problem = "records were looked at first"
        if not problem and took > SECONDS:
            problem = f"took {took:.1f} s"
        if problem:
            problems.append(f"{argument} = {shown(value)}: {problem}")
    assert not problems, f"{call.name}, {len(problems)} of {len(list(call.bad()))}:\n" + "\n".join(problems)


@pytest.mark.parametrize("call", [call for call in CALLS if call.name not in HEAVY], ids=lambda call: call.name)
def test_the_right_arguments_are_accepted(call, no_run):
    if call.runs:
        with pytest.raises(Began):
            call()
    else:
        call()


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", [call for call in CALLS if call.runs or call.name in HEAVY], ids=lambda call: call.name
)
def test_the_right_arguments_run(call):
    call()


def test_there_are_enough_of_them():
    assert sum(len(list(call.bad())) for call in CALLS) > 3000
