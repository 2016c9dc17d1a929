"""What the default costs on Ray: a model of its passes, fitted to 1, 2 and 4 actors, and where it leads.

    python -m benchmarks.scaling [--records 300000 1200000 5000000] [--actors 1 2 4] [--rounds 3]

A pass over n records by a actors on c cores takes t0 + t1·a + m/r, where m is n/c, or what the largest shard has if
that is more (n/a for shards of many blocks). A run of the default takes its passes, which are counted as it makes
them, and work w that no record enters. Least squares of relative errors over all runs, each the fastest of its rounds;
every run is predicted by a model that was fitted to the others. Writes
benchmarks/results/scaling/cost.json and the table of docs/scaling.md. Meant for a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.harness import RESULTS

DOCS = Path(__file__).parent.parent / "docs" / "scaling.md"
BEGIN, END = "<!-- made by python -m benchmarks.scaling -->", "<!-- end -->"
LIMIT = 0.25
COVARIATES = 7
SHARE_OF_SCOUTS = 64  # with very many records, scouts read one block of so many


@dataclass(frozen=True)
class Measured:
    """One run: how many passes over all and over some records it made, what they read, and seconds."""

    records: int
    actors: int
    passes: tuple[int, int]
    read: int  # records, over all passes
    largest: float  # share of the largest shard
    bytes_an_actor: float  # that a pass sends to an actor and gets back
    in_passes: float
    seconds: float

    def row(self, cores: int) -> list[float]:
        """What t0, t1 and 1/r are multiplied by."""
        asked = sum(self.passes)
        return [asked, asked * self.actors, self.read * max(self.largest, 1 / cores)]


@dataclass
class Counter:
    """The passes of a source, as it makes them."""

    source: Any
    passes: list[tuple[int, float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        import jax

        inner = self.source.total

        def total(program: Any, arguments: Any = (), every: int = 1) -> np.ndarray:
            begin = time.perf_counter()
            found = inner(program, arguments, every)
            sent = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(arguments))
            self.passes.append((every, time.perf_counter() - begin, sent + found.nbytes))
            return found

        self.source.total = total


def model() -> Any:
    import dpmcmc as dp

    columns = {f"x{j}": dp.Number(-4, 4) for j in range(COVARIATES)}
    return dp.regression("y ~ " + " + ".join(columns), dp.Schema({**columns, "y": dp.Number(-20, 20)}))


def write(folder: Path, records: int) -> str:
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    x = rng.normal(size=(COVARIATES, records))
    columns = {f"x{j}": x[j] for j in range(COVARIATES)}
    path = folder / f"{records}.parquet"
    table = pa.table({**columns, "y": x.T @ np.linspace(-1, 1, COVARIATES) + rng.normal(size=records)})
    parquet.write_table(table, path, row_group_size=2**16)
    return str(path)


def measured(path: str, actors: int, rounds: int) -> Measured:
    """The fastest of some runs on records that the actors hold, with programs that they have compiled."""
    import ray

    import dpmcmc as dp
    from dpmcmc.sources import counted_of

    regression = model()
    source = dp.OnRay(path, regression.encode, actors=actors)
    counter, found = Counter(source), []
    for _ in range(rounds + 1):
        counter.passes.clear()
        begin = time.perf_counter()
        dp.sample(regression, source, 1.0, 1e-9, method=dp.ScoreRelease(shuffled=True), seed=0, progress=False)
        seconds, made = time.perf_counter() - begin, list(counter.passes)
        found.append((seconds, sum(taken for _, taken, _ in made), made))
    seconds, in_passes, made = min(found[1:], key=lambda each: each[:2])
    whole = sum(every == 1 for every, _, _ in made)
    read = sum(counted_of(source.n, source.types, every) for every, _, _ in made)
    moved = sum(size for _, _, size in made) / len(made)
    blocks = [last - first for first, last in source.shards]
    for actor in source._actors:
        ray.kill(actor)  # processors for those of the next source
    passes = (whole, len(made) - whole)
    return Measured(source.n, len(blocks), passes, read, max(blocks) / sum(blocks), moved, in_passes, seconds)


@dataclass(frozen=True)
class Cost:
    """Seconds: t0 and t1 of a pass, of a record on one core, and of what no record enters."""

    latency: float
    an_actor: float
    a_record: float
    fixed: float

    @classmethod
    def fitted(cls, runs: list[Measured], cores: int) -> Cost:
        design = np.array([np.array(run.row(cores)) / run.in_passes for run in runs])
        scale = design.max(axis=0)
        found = nnls(design / scale, np.ones(len(runs)))[0] / scale
        return cls(*map(float, found), float(np.median([run.seconds - run.in_passes for run in runs])))

    def of(self, run: Measured, cores: int) -> tuple[float, float]:
        """Seconds of its passes, and of all of it."""
        passes = float(np.dot([self.latency, self.an_actor, self.a_record], run.row(cores)))
        return passes, passes + self.fixed

    def of_default(self, records: float, actors: int, passes: tuple[int, int]) -> float:
        """With a core for every actor."""
        read = records * (passes[0] + passes[1] / SHARE_OF_SCOUTS)
        return self.fixed + sum(passes) * (self.latency + self.an_actor * actors) + self.a_record * read / actors


def errors(runs: list[Measured], cores: int) -> list[tuple[float, float]]:
    """Relative, of passes and of the whole run, each predicted from the other runs."""
    found = []
    for at, run in enumerate(runs):
        passes, whole = Cost.fitted(runs[:at] + runs[at + 1 :], cores).of(run, cores)
        found.append((passes / run.in_passes - 1, whole / run.seconds - 1))
    return found


def section(runs: list[Measured], cost: Cost, off: list[tuple[float, float]], cores: int, load: float) -> str:
    largest = max(runs, key=lambda run: (run.records, run.actors))
    lines = [
        f"Linear regression with {COVARIATES} covariates, {cores} cores, load {load:.1f} at the start. "
        f"$t_0$ = {1000 * cost.latency:.1f} ms, $t_1$ = {1000 * cost.an_actor:.1f} ms, "
        f"$r$ = {1 / cost.a_record / 1e6:.2f} million records a second and core, $w$ = {cost.fixed:.1f} s; "
        f"a pass sends and fetches {largest.bytes_an_actor / 1000:.1f} kB an actor.\n",
        "| records | actors | passes over all, some | seconds of passes | predicted | seconds of the run | predicted |",
        "|---|---|---|---|---|---|---|",
    ]
    for run, (a, b) in zip(runs, off, strict=True):
        lines.append(
            f"| {run.records:,} | {run.actors} | {run.passes[0]}, {run.passes[1]} | {run.in_passes:.2f} | {a:+.0%} | "
            f"{run.seconds:.2f} | {b:+.0%} |"
        )
    worst = max(abs(each) for pair in off for each in pair)
    lines += [
        f"\nThe largest error is {worst:.0%}: " + ("within" if worst <= LIMIT else "**not within**") + f" {LIMIT:.0%}. "
        f"Extrapolated, with a core for every actor and {largest.passes[0]} passes over all and {largest.passes[1]} "
        f"over a {SHARE_OF_SCOUTS}th of the records, which actors hold in memory:\n",
        "| records | actors | a run |",
        "|---|---|---|",
    ]
    for records in (1e9, 1e11):
        for actors in (16, 256, 4096):
            seconds = cost.of_default(records, actors, largest.passes)
            said = f"{seconds / 3600:.1f} h" if seconds > 5400 else f"{seconds / 60:.1f} min"
            lines.append(f"| 10^{np.log10(records):.0f} | {actors} | {said} |")
    return "\n".join(lines)


def main(records: list[int], actors: list[int], rounds: int) -> int:
    import ray

    from dpmcmc.sources.ray import start_alone

    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    start_alone(ray, num_cpus=max(actors))
    runs = []
    with tempfile.TemporaryDirectory(prefix="dpmcmc-") as folder:
        for count in records:
            path = write(Path(folder), count)
            for each in actors:
                runs.append(measured(path, each, rounds))
                print(runs[-1], flush=True)
    ray.shutdown()
    cost, off = Cost.fitted(runs, cores), errors(runs, cores)
    found = {"cores": cores, "load": load, "runs": [asdict(run) for run in runs], "cost": asdict(cost), "errors": off}
    out = RESULTS / "scaling"
    out.mkdir(parents=True, exist_ok=True)
    (out / "cost.json").write_text(json.dumps(found, indent=1) + "\n")
    text = section(runs, cost, off, cores, load)
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    print(text)
    return int(max(abs(each) for pair in off for each in pair) > LIMIT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[300_000, 1_200_000, 5_000_000])
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    sys.exit(main(given.records, given.actors, given.rounds))
