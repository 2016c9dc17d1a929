"""Every wrong argument of the public interface is refused: by us, by its name, in no time, before records are used."""

import time
import traceback
from pathlib import Path

import pytest

import dpmcmc
import dpmcmc.chain.method
import dpmcmc.likelihood.method
import dpmcmc.scores.method
import dpmcmc.variational
from dpmcmc.arguments import shown
from tests.bad_calls import accounting, declarations, kernels, sampling

CALLS = [*sampling.calls(), *declarations.calls(), *kernels.calls(), *accounting.calls()]
SOURCE = str(Path(dpmcmc.__file__).parent)
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
    monkeypatch.setattr(dpmcmc.variational, "_compiled", begin)


class Records:
    """An array that remembers whether it was looked at."""

    def __init__(self, values):
        self.values, self.read = values, False

    def __array__(self, dtype=None, copy=None):
        self.read = True
        return self.values if dtype is None else self.values.astype(dtype)


def problem_with(call, argument, value):
    """What is wrong with the refusal of ``value``; empty if it is as it should be."""
    try:
        call(**{argument: value})
    except Began:
        return "a run began"
    except (ValueError, TypeError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1].filename
        if not last.startswith(SOURCE):
            return f"raised in {last}: {type(error).__name__}: {error}"
        said = str(error)
        named = argument in said or shown(value) in said or repr(value) in said
        return "" if named else f"does not say what is wrong: {type(error).__name__}: {error}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "accepted"


@each_call
def test_a_wrong_argument_is_refused(call, no_run):
    problems = []
    for argument, value in call.bad():
        watched = {name: Records(call.arguments[name]) for name in call.reads if hasattr(call.arguments[name], "dtype")}
        began = time.process_time()
        problem = problem_with(lambda **changed: call(**({} | watched | changed)), argument, value)  # noqa: B023
        took = time.process_time() - began
        if not problem and argument not in call.reads and any(records.read for records in watched.values()):
            problem = "records were looked at first"
        if not problem and took > SECONDS:
            problem = f"took {took:.1f} s"
        if problem:
            problems.append(f"{argument} = {shown(value)}: {problem}")
    assert not problems, f"{call.name}, {len(problems)} of {len(list(call.bad()))}:\n" + "\n".join(problems)


@each_call
def test_the_right_arguments_are_accepted(call, no_run):
    if call.runs:
        with pytest.raises(Began):
            call()
    elif call.name != "Schema.load":
        call()


def test_there_are_enough_of_them():
    assert sum(len(list(call.bad())) for call in CALLS) > 3000
