"""Timing, and what is kept of it: a comparison is two sets of seconds taken in turns, and their ratio.

A module of this package has ``comparisons()``, which yields ``Comparison``s. ``python -m benchmarks`` runs all modules,
writes benchmarks/results/MODULE.json and makes docs/results/speed.md of whatever files are there.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
STABLE = 0.25  # spread of the ratio, relative to its median, up to which a limit is enforced

Run = Callable[[], object]


@dataclass(frozen=True)
class Comparison:
    """Seconds of ``top`` and ``bottom``, round by round; without ``bottom``, seconds alone, which no limit can fail."""

    name: str
    top: str
    seconds: dict[str, list[float]]
    bottom: str | None = None
    limit: float | None = None  # of the ratio; of the seconds where there is no bottom

    @property
    def values(self) -> list[float]:
        """The ratio within each round."""
        if self.bottom is None:
            return self.seconds[self.top]
        return [a / b for a, b in zip(self.seconds[self.top], self.seconds[self.bottom], strict=True)]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float:
        """Largest less smallest value, relative to the median."""
        return (max(self.values) - min(self.values)) / self.median

    @property
    def enforced(self) -> bool:
        """Whether the limit is one that this machine can judge: of a ratio, and the ratio is stable."""
        return self.bottom is not None and self.limit is not None and self.spread <= STABLE

    @property
    def holds(self) -> bool:
        return self.limit is None or self.median <= self.limit

    @property
    def failed(self) -> bool:
        return self.enforced and not self.holds


def interleaved(runs: Mapping[str, Run], rounds: int = ROUNDS, warm: bool = True) -> dict[str, list[float]]:
    """Seconds of each run, taken in turns so that a noisy machine hits all alike.

    A run that returns a float has measured itself, in seconds. ``warm``: each runs once before it is measured.
    """
    if warm:
        for run in runs.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            said = run()
            seconds[name].append(said if isinstance(said, float) else time.perf_counter() - begin)
    return seconds


def write(module: str, comparisons: Iterable[Comparison], folder: Path = RESULTS) -> list[Comparison]:
    """Print and keep comparisons as they come."""
    done = []
    folder.mkdir(exist_ok=True)
    for comparison in comparisons:
        done.append(comparison)
        print(line(comparison), flush=True)
        text = json.dumps([asdict(each) for each in done], indent=1, ensure_ascii=False)
        (folder / f"{module}.json").write_text(text + "\n")
    return done


def read(path: Path) -> list[Comparison]:
    return [Comparison(**each) for each in json.loads(path.read_text())]


def line(comparison: Comparison) -> str:
    """A row of the table."""
    sides = [name for name in (comparison.top, comparison.bottom) if name is not None]
    seconds = " : ".join(f"{name} {statistics.median(comparison.seconds[name]):.3g} s" for name in sides)
    value = f"{comparison.median:.2f}" if comparison.bottom else ""
    spread = f"{min(comparison.values):.3g}–{max(comparison.values):.3g}"
    limit = "" if comparison.limit is None else f"{comparison.limit:g}" + ("" if comparison.bottom else " s")
    verdict = "" if comparison.limit is None else ("yes" if comparison.holds else "**no**")
    if verdict and comparison.bottom and not comparison.enforced:
        verdict += " (unstable)"
    return f"| {comparison.name} | {seconds} | {value} | {spread} | {limit} | {verdict} |"
