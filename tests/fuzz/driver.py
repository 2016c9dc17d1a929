"""Inputs one after another, each made from its target, seed and number alone, and what was found."""

import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from dpmcmc.cli import app
from dpmcmc.plain import Plain, _declared
from tests.fuzz.guard import is_ours, watched
from tests.fuzz.targets import HIDDEN, Fuzzed, Target

TABLES = (".csv", ".txt", ".parquet")  # whose cells are private
BY_COMMAND = 40  # one of so many inputs is given to the command line as well


@dataclass
class Found:
    """What became of the inputs of one target; ``failures`` says of each that was wrong what was."""

    target: str
    counts: Counter = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    slowest: float = 0.0

    def __str__(self) -> str:
        seen = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return f"{self.target}: {seen}; slowest {self.slowest:.2f} s; {len(self.failures)} failures"


@contextmanager
def fuzzing(target: Target) -> Iterator[tuple[Fuzzed, Path]]:
    """The good files of a target, and the path at which bad ones are put."""
    for kind in Plain._kinds.values():
        _declared(kind)  # Python evaluates their annotations when they are first asked for
    with tempfile.TemporaryDirectory(prefix="dpmcmc-fuzz-") as name:
        folder = Path(name)
        (folder / "good").mkdir()
        fuzzed = target.make(folder / "good")
        path = folder / f"input{fuzzed.suffix}"
        for number, content in enumerate(fuzzed.good):  # which loads whatever reading needs, and is accepted
            path.write_bytes(content)
            fuzzed.check(fuzzed.read(path), number)
            for command in fuzzed.commands:
                assert not _by_command(command, path)
        yield fuzzed, path


def fuzz(target: Target, seed: int, numbers: range, log: Path | None = None) -> Found:
    """Read the inputs of these numbers. ``log`` is told of each before it is read, in case the process ends."""
    found = Found(target.name)
    with fuzzing(target) as (fuzzed, path):
        for number in numbers:
            if log is not None:
                log.write_text(f"{target.name} {number}")
            try:
                found.counts[_one(fuzzed, path, seed, number, found)] += 1
            except AssertionError as error:
                found.failures[number] = f"{error}" or traceback.format_exc()
    return found


def content_of(fuzzed: Fuzzed, seed: int, number: int) -> tuple[int, bytes]:
    """Which good file an input is made from, and the input."""
    rng = np.random.default_rng([seed, number])
    good = int(rng.integers(len(fuzzed.good)))
    return good, fuzzed.mutate(rng, fuzzed.good[good])


def _one(fuzzed: Fuzzed, path: Path, seed: int, number: int, found: Found) -> str:
    good, content = content_of(fuzzed, seed, number)
    path.write_bytes(content)
    began = time.monotonic()
    with watched() as done:
        outcome = _read(fuzzed, path, good)
    found.slowest = max(found.slowest, time.monotonic() - began)
    assert not done, f"reading it did: {done}"
    if number % BY_COMMAND == 0:
        path.write_bytes(content)
        for command in fuzzed.commands:
            problem = _by_command(command, path, refused=outcome == "refused")
            assert not problem, problem
    return outcome


def _read(fuzzed: Fuzzed, path: Path, good: int) -> str:
    """Accepted, after checks, or refused; AssertionError otherwise."""
    try:
        value = fuzzed.read(path)
    except Exception as error:
        tells = fuzzed.suffix in TABLES and any(secret in str(error) for secret in HIDDEN)
        if not isinstance(error, fuzzed.errors) or not is_ours(error) or not str(error) or tells:
            raise AssertionError("".join(traceback.format_exception(error))) from error
        return "refused"
    try:
        fuzzed.check(value, good)
    except Exception as error:
        raise AssertionError("".join(traceback.format_exception(error))) from error
    return "accepted"


def _by_command(command: str, path: Path, refused: bool = False) -> str:
    """What is wrong with what a command does with the file; empty if nothing is."""
    result = CliRunner().invoke(app, [part.format(path) for part in command.split()])
    if result.exit_code not in (0, 1, 2) or not isinstance(result.exception, SystemExit | None):
        trace = "".join(traceback.format_exception(result.exception))
        return f"dpmcmc {command}: exit code {result.exit_code}: {trace}"
    if refused and "verify" in command and result.exit_code == 0:
        return f"dpmcmc {command} accepts what is refused: {result.output}"
    return f"dpmcmc {command}: {result.output}" if "Traceback" in result.output else ""
