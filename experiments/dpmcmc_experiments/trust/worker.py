"""Run many tasks, in one process or two, so that a run can be cut off and go on.

    python -m dpmcmc_experiments.trust.worker OUT --data DATA --processes 2

runs what ``OUT/trust/rows.csv`` does not hold yet, adds a line as each release is made, and writes all of them in order
to ``OUT/trust/bank.csv``. Exact posteriors are kept in ``OUT/trust/reference``.
"""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from dpmcmc_experiments.trust.harness import COLUMNS, DEFAULT, EPSILONS, RELEASES, Bench, Task, run, tasks
from dpmcmc_experiments.trust.problems import available

KEY = ["problem", "method", "epsilon", "data_seed", "release_seed"]
MOST_PROCESSES = 2


def read(path: Path) -> pd.DataFrame:
    """Rows made so far, without lines that were cut off; the later of two with one key."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.read_csv(path, on_bad_lines="skip")
    return rows[rows["seconds"].notna()].drop_duplicates(KEY, keep="last").reset_index(drop=True)


def keys(rows: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [(r.problem, r.method, float(r.epsilon), int(r.data_seed), int(r.release_seed)) for r in rows.itertuples()]


def work(wanted: Sequence[Task], path: Path, bench: Bench) -> int:
    """Run in this process what ``path`` does not hold yet, a line as each is made; how many ran.

    Compiled programs are kept for as long as the problem is the same.
    """
    held = set(keys(read(path)))
    missing = [task for task in wanted if task.key not in held]
    for number, task in enumerate(missing):
        append(path, run(task, bench))
        if number + 1 < len(missing) and missing[number + 1].problem != task.problem:
            jax.clear_caches()
    return len(missing)


def append(path: Path, row: dict[str, Any]) -> None:
    """One line in one write, so that two processes can share a file; a line that was cut off before is ended first."""
    line = StringIO()
    started = path.exists() and path.stat().st_size > 0
    if not started:
        path.parent.mkdir(parents=True, exist_ok=True)
        csv.writer(line).writerow(COLUMNS)
    elif not path.read_bytes().endswith(b"\n"):
        line.write("\r\n")
    csv.DictWriter(line, COLUMNS).writerow({name: _text(row[name]) for name in COLUMNS})
    with path.open("a", newline="") as file:
        file.write(line.getvalue())


def _text(value: Any) -> Any:
    return "" if isinstance(value, float) and np.isnan(value) else value


def by_problem(wanted: Sequence[Task]) -> list[list[Task]]:
    groups: dict[str, list[Task]] = {}
    for task in wanted:
        groups.setdefault(task.problem, []).append(task)
    return list(groups.values())


def _work(given: tuple[list[Task], Path, Bench]) -> int:
    jax.clear_caches()
    return work(*given)


def spread(wanted: Sequence[Task], path: Path, bench: Bench, processes: int = 1) -> int:
    """:func:`work` in up to two processes, a problem at a time."""
    if not 1 <= processes <= MOST_PROCESSES:
        raise ValueError(f"processes must be 1 or {MOST_PROCESSES}, got {processes}")
    if not (path.exists() and path.stat().st_size):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\r\n", newline="")
    if processes == 1:
        return work(wanted, path, bench)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        given = [(group, path, bench) for group in by_problem(wanted)]
        return sum(pool.imap_unordered(_work, given, chunksize=1))


def main(arguments: Sequence[str] | None = None) -> int:
    from dpmcmc_experiments.trust.peers import METHODS, PROBLEMS

    parser = argparse.ArgumentParser(description="Releases on the bank of problems.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, help="folder of data sets that are not generated (adult.data)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--releases", type=int, default=RELEASES)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--problems", nargs="+", help="names, or families; all if left out")
    parser.add_argument("--methods", nargs="+", default=[DEFAULT], choices=list(METHODS))
    parser.add_argument("--plans", action="store_true", help="ask the plan as well what it expects")
    given = parser.parse_args(arguments)
    wanted = [p for p in available(given.data) if not given.problems or {p.name, p.family} & set(given.problems)]
    listed = [
        task
        for task in tasks(wanted, given.epsilons, given.releases, given.methods)
        if task.method == DEFAULT or task.problem in PROBLEMS[task.method]
    ]
    folder = given.out / "trust"
    bench = Bench(given.data, folder / "reference", METHODS, given.plans)
    ran = spread(listed, folder / "rows.csv", bench, given.processes)
    for name, is_default in (("bank", True), ("peers", False)):
        rows = read(folder / "rows.csv")
        rows = rows[(rows["method"] == DEFAULT) == is_default]
        if len(rows):
            rows.sort_values(KEY).to_csv(folder / f"{name}.csv", index=False)
    print(f"{ran} releases made, {len(listed) - ran} were there; {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
