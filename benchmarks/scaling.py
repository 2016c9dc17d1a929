"""How long a pass over records on Ray takes: a model of two numbers, fitted to 1, 2 and 4 actors, and where it leads.

    python benchmarks/scaling.py [--records 4000000] [--actors 1 2 4] [--rounds 5]

A pass over n records with a actors takes t0 + n/(a·r). Both numbers are fitted by least squares of relative errors to
the median times of passes of a score release's sum, over two numbers of records; the largest relative error is said.
Meaningful on a machine with as many idle cores as actors.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import dpmcmc as dp
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import vectors
from dpmcmc.scores.reader import _sum

PASSES = 30
"""Of a score release, about."""


def model() -> dp.models.formula.model.FormulaRegression:
    columns = {f"x{j}": dp.Number(-4, 4) for j in range(7)}
    return dp.regression("y ~ " + " + ".join(columns), dp.Schema({**columns, "y": dp.Number(-20, 20)}))


def write(folder: Path, records: int) -> str:
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    table = pa.table({**{f"x{j}": rng.normal(size=records) for j in range(7)}, "y": rng.normal(size=records)})
    path = folder / f"{records}.parquet"
    parquet.write_table(table, path, row_group_size=2**16)
    return str(path)


def seconds(path: str, actors: int, rounds: int) -> float:
    """The median time of a pass over records that the actors hold."""
    regression = model()
    source = dp.OnRay(path, regression.encode, actors=actors)
    program, size = _sum(RaveledModel.of(regression), vectors.scores), 9
    asked = (np.zeros(size), np.eye(size), 0.5, 10_000, 1e-4)
    source.total(program, asked)  # reads, encodes and compiles
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        source.total(program, asked)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def fitted(measured: list[tuple[int, int, float]]) -> tuple[float, float]:
    """t0 and 1/r: least squares of relative errors."""
    design = np.array([[1 / taken, records / actors / taken] for records, actors, taken in measured])
    latency, per_record = np.linalg.lstsq(design, np.ones(len(measured)), rcond=None)[0]
    return float(latency), float(per_record)


def main(records: int, actors: list[int], rounds: int) -> dict[str, object]:
    import ray

    from dpmcmc.sources.ray import start_alone

    start_alone(ray, num_cpus=max(actors))
    measured = []
    with tempfile.TemporaryDirectory(prefix="dpmcmc-") as folder:
        for count in (records // 4, records):
            path = write(Path(folder), count)
            measured += [(count, each, seconds(path, each, rounds)) for each in actors]
    ray.shutdown()
    latency, per_record = fitted(measured)
    errors = [(latency + per_record * n / a) / taken - 1 for n, a, taken in measured]
    return {
        "measured": measured,
        "latency": latency,
        "records_a_second_and_core": 1 / per_record,
        "relative_errors": errors,
        "largest": max(map(abs, errors)),
        "within 25 %": max(map(abs, errors)) <= 0.25,
        "hours_of_a_default": {
            f"{n:g} records, {a} cores": PASSES * (latency + per_record * n / a) / 3600
            for n in (1e9, 1e11)
            for a in (16, 256, 4096)
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=4_000_000)
    parser.add_argument("--actors", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(json.dumps(main(given.records, given.actors, given.rounds), indent=1))
