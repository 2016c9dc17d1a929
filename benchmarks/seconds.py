"""Seconds that a person waits: RAND's logistic regression, its plan, the demo, and start-up.

"Kept programs" is the first call in a new process whose folder of compiled programs an earlier one has filled.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import ROUNDS, Comparison, interleaved
from benchmarks.once import made, measured, once_filled


def regression() -> Iterator[Comparison]:
    alone, kept, folder = [], [], once_filled()
    measured("dpmcmc", 0, 0, folder)
    for _ in range(ROUNDS):
        alone.append(measured("dpmcmc", 0, 0))
        kept.append(measured("dpmcmc", 0, 0, folder))
    for name, runs, call, limit in (
        ("cold", alone, "first", 10.0),
        ("second call in the process", alone, "second", 2.0),
        ("kept programs", kept, "first", 2.0),
    ):
        yield Comparison(f"dp.sample, RAND, {name}", "sample", {"sample": [x[call] for x in runs]}, None, limit)


def plan() -> Comparison:
    import dpmcmc as dp

    model, _ = made(0, 0)
    runs = {"plan": lambda: str(dp.plan(model, 20_190, dp.Budget(1.0, 1e-6)))}
    return Comparison("dp.plan, printed with its rehearsals, second call", "plan", interleaved(runs), None, 3.0)


def processes() -> Iterator[Comparison]:
    """New processes, with compiled programs of earlier ones."""
    environment = {**os.environ, "DPMCMC_CACHE": once_filled()}
    out, command = tempfile.mkdtemp(), str(Path(sys.executable).parent / "dpmcmc")
    commands = {
        "dpmcmc demo": ([command, "demo", "--out", out], 15.0),
        "import dpmcmc": ([sys.executable, "-c", "import dpmcmc"], 0.2),
        "dpmcmc --help": ([command, "--help"], 0.3),
    }
    for name, (words, limit) in commands.items():

        def run(words: list[str] = words) -> float:
            begin = time.perf_counter()
            subprocess.run(words, env=environment, check=True, capture_output=True)
            return time.perf_counter() - begin

        first = "demo" in name
        yield Comparison(name, name, interleaved({name: run}, 1 if first else ROUNDS, warm=not first), None, limit)


def comparisons() -> Iterator[Comparison]:
    yield from regression()
    yield plan()
    yield from processes()
