"""The parts of the study as figures: a few cells, the whole bank, other methods, and a picture of all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Cell, Check, Settings
from dpmcmc_experiments.trust import tables
from dpmcmc_experiments.trust.base import FAMILIES
from dpmcmc_experiments.trust.harness import DEFAULT, EPSILONS, Bench, Task, run, tasks
from dpmcmc_experiments.trust.peers import METHODS, PROBLEMS
from dpmcmc_experiments.trust.problems import BANK, available

QUICK = ("logistic-tiny-200", "mode-choice")
QUICK_EPSILON = 3.0
PEER_RELEASES = 3


def cell(problem: str, epsilon: float, wanted: Sequence[Task], settings: Settings) -> Cell:
    """The releases of one problem and ε by one method."""

    def rows() -> list[dict[str, Any]]:
        bench = Bench(settings.data, methods=METHODS, ask_plan=False)
        return [run(task, bench) for task in wanted]

    method = wanted[0].method
    return Cell(f"{problem}-{epsilon:g}" + ("" if method == DEFAULT else f"-{method}") + f"-{len(wanted)}", rows)


def cells_of(wanted: Sequence[Task], settings: Settings) -> list[Cell]:
    groups: dict[tuple[Any, ...], list[Task]] = {}
    for task in wanted:
        groups.setdefault((task.problem, task.epsilon, task.method), []).append(task)
    return [cell(problem, epsilon, group, settings) for (problem, epsilon, _), group in groups.items()]


def quick_cells(settings: Settings) -> list[Cell]:
    return cells_of(tasks([BANK[name] for name in QUICK], (QUICK_EPSILON,), 1), settings)


def bank_cells(settings: Settings) -> list[Cell]:
    return quick_cells(settings) if settings.quick else cells_of(tasks(available(settings.data)), settings)


def peer_cells(settings: Settings) -> list[Cell]:
    """Other methods where they apply; the first of each problem's releases is enough in a quick run."""
    found: list[Task] = []
    for method, names in PROBLEMS.items():
        chosen = [BANK[name] for name in names if BANK[name].is_available(settings.data)]
        if settings.quick:
            chosen = [problem for problem in chosen if problem.name in QUICK][:1]
        epsilons, releases = ((QUICK_EPSILON,), 1) if settings.quick else (EPSILONS, PEER_RELEASES)
        found += tasks(chosen, epsilons, releases, (method,))
    return cells_of(found, settings)


def check_peers(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    crashes = tables.crashed(rows)
    listed = ", ".join(f"{r.method} on {r.problem}: {r.exception}" for r in crashes.itertuples())
    return [Check("every method answers", f"{len(rows) - len(crashes)} of {len(rows)}" + listed, crashes.empty)]


def draw(rows: pd.DataFrame) -> Any:
    """Error found against the oracle's, and said against found, a point for each release."""
    import matplotlib.pyplot as plt

    kept = tables.answered(rows)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5))
    pairs = (("oracle", "found_error"), ("found_error", "said_error"))
    for axis, (across, up) in zip(axes, pairs, strict=True):
        for number, family in enumerate(FAMILIES):
            part = kept[kept["family"] == family]
            values = part[[across, up]].apply(pd.to_numeric, errors="coerce").dropna()
            values = values[np.isfinite(values).all(axis=1) & (values > 0).all(axis=1)]
            if len(values):
                axis.plot(values[across], values[up], ".", color=f"C{number}", markersize=5, label=family)
        axis.axline((0.1, 0.1), (1, 1), color="k", linewidth=0.5)
        axis.set(xscale="log", yscale="log", xlabel=across.replace("_", " "), ylabel=up.replace("_", " "))
    axes[0].legend(fontsize=7)
    figure.suptitle("errors of posterior means, in exact posterior standard deviations", fontsize=10)
    figure.tight_layout()
    return figure
