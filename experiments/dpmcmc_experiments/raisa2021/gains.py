"""What dpmcmc's accounting and its better algorithms give beside the published values.

Two twins are run. DP penalty's: Barker's full-data test with the same walk and a constant clip, that of a move of root
mean square length; every step then costs the same, and its accept bit is all that is charged. DP Barker's: the same
batches with the optimal correction, far longer chains, still at a fraction of the ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc_experiments.figures import Cell, Check, Settings, seed_of
from dpmcmc_experiments.raisa2021 import algorithms, chains
from dpmcmc_experiments.raisa2021.accounting import own_events, typical_shift
from dpmcmc_experiments.raisa2021.algorithms import NAMES, tuning
from dpmcmc_experiments.raisa2021.comparison import published_boxes
from dpmcmc_experiments.raisa2021.problems import CHAINS, SETTINGS, problem

LENGTH, COST, QUALITY = "length at equal epsilon", "epsilon at equal length", "MMD at equal epsilon"
TWINS = {"easy-2d": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "easy-10d": (1.0, 2.0, 3.0), "hard-gauss-2d": (1.0, 2.0, 3.0, 4.0)}
LONG = {"tempered-2d": 10_000, "tempered-10d": 10_000}


def row(figure: str, setting: str, measure: str, published: float, ours: float) -> dict[str, Any]:
    ratio = ours / published if published else np.nan
    named = {"paper": "raisa2021", "figure": figure, "setting": setting, "measure": measure}
    return named | {
        name: float(f"{v:.5g}") for name, v in {"published": published, "ours": ours, "ratio": ratio}.items()
    }


def cells(settings: Settings) -> list[Cell]:
    if settings.quick:
        return [_accounting_cell("tempered-2d", ("barker",), (1.0,)), _long_cell("tempered-2d", 200, 4, 4000)]
    found = [_accounting_cell(e, ("barker", "dpps", "mdpps", "hmc"), (1.0, 6.0)) for e in ("easy-2d", "easy-10d")]
    found += [_accounting_cell(e, ("barker", "mdpps"), (1.0, 6.0)) for e in ("tempered-2d", "tempered-10d")]
    found += [_long_cell(e, steps, CHAINS, None) for e, steps in LONG.items()]
    return found + [_twin_cell(e, epsilons) for e, epsilons in TWINS.items()]


def _accounting_cell(experiment: str, algos: Sequence[str], epsilons: Sequence[float]) -> Cell:
    """The published algorithm (constant clip and noise where an accept bit is charged), our accounting."""

    def rows() -> list[dict[str, Any]]:
        setting, found = SETTINGS[experiment], []
        for algo in algos:
            for kind, event in own_events(experiment, algo, setting).items():
                for epsilon in epsilons:
                    theirs = algorithms.length(experiment, algo, setting, epsilon)
                    name = f"{setting.title}, {NAMES[algo]}, {kind}"
                    longest = int(privacy.max_steps(event, epsilon, setting.delta))
                    cost = float(privacy.epsilon(privacy.Repeat(event, theirs), setting.delta))
                    found.append(row("fig6.1", f"{name}, ε = {epsilon:g}", LENGTH, theirs, longest))
                    found.append(row("fig6.1", f"{name}, {theirs} iterations", COST, epsilon, cost))
        return found

    return Cell(f"gains-accounting-{experiment}", rows)


def _twin_cell(experiment: str, epsilons: Sequence[float]) -> Cell:
    def rows() -> list[dict[str, Any]]:
        posterior = problem(experiment)
        setting, h = posterior.setting, tuning(experiment, "dpps")
        shift = typical_shift(experiment, "dpps", setting)
        kernel = dp.dp_barker(h.proposal_sd, shift / (2 * setting.temperature))
        event = kernel.event(setting.n, setting.temperature)
        lengths = [int(privacy.max_steps(event, epsilon, setting.delta)) for epsilon in epsilons]
        states, accepted = chains.run(posterior, kernel, max(lengths), CHAINS, seed_of("twin", experiment))
        found = []
        for epsilon, steps in zip(epsilons, lengths, strict=True):
            theirs = algorithms.length(experiment, "dpps", setting, epsilon)
            name = f"{setting.title}, Barker on all data for DP penalty, ε = {epsilon:g}"
            median = _median_mmd(posterior, states, accepted, steps)
            found.append(row(figure_of(experiment), name, LENGTH, theirs, steps))
            found.append(row(figure_of(experiment), name, QUALITY, _published(experiment, "dpps", epsilon), median))
        return found

    return Cell(f"gains-twin-{experiment}", rows)


def _long_cell(experiment: str, steps: int, count: int, n: int | None) -> Cell:
    def rows() -> list[dict[str, Any]]:
        posterior = problem(experiment, n)
        setting, h = posterior.setting, tuning(experiment, "barker")
        kernel = dp.dp_barker_subsampled(h.proposal_sd, int(h.batch))
        event = kernel.event(setting.n, setting.temperature)
        cost = float(privacy.epsilon(privacy.Repeat(event, steps), setting.delta))
        states, accepted = chains.run(posterior, kernel, steps, count, seed_of("long", experiment))
        median = _median_mmd(posterior, states, accepted, steps)
        name = f"{setting.title}, DP Barker, {steps} iterations at ε = {cost:.3g}"
        return [
            row(figure_of(experiment), f"{name} beside ε = {epsilon:g}", QUALITY, published, median)
            for epsilon in (1.0, 6.0)
            if (published := _published(experiment, "barker", epsilon)) and (cost <= epsilon or n is not None)
        ]

    return Cell(f"gains-long-{experiment}", rows)


def figure_of(experiment: str) -> str:
    return "fig6.3" if experiment.split("-")[0] in ("easy", "tempered") else "fig6.4"


def _median_mmd(posterior: Any, states: np.ndarray, accepted: np.ndarray, steps: int) -> float:
    scores = [chains.score(posterior, states[i], accepted[i], steps, i)["mmd"] for i in range(len(states))]
    return float(np.median(scores))


def _published(experiment: str, algo: str, epsilon: float) -> float:
    boxes = published_boxes("mmd").set_index(["experiment", "algo", "epsilon"])
    return float(boxes.loc[(experiment, algo, epsilon), "median"])


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, axes = plt.subplots(1, 3, figsize=(13, 4.5))
    kinds = ["Barker on all data for DP penalty", *(NAMES[a] for a in ("barker", "mdpps", "dpps", "hmc"))]
    for axis, measure in zip(axes, (LENGTH, COST, QUALITY), strict=True):
        part = rows[(rows["measure"] == measure) & (rows["ours"] > 0) & (rows["published"] > 0)]
        for i, kind in enumerate(kinds):
            points = part[[f", {kind}, " in setting for setting in part["setting"]]]
            if len(points):
                axis.scatter(points["published"], points["ours"], s=22, color=f"C{i}", marker="os^vD"[i], label=kind)
        ends = [part[["published", "ours"]].min().min(), part[["published", "ours"]].max().max()]
        axis.plot(ends, ends, color="k", linewidth=0.7)
        axis.set(title=measure.replace("epsilon", "ε"), xlabel="published", ylabel="dpmcmc")
        if measure != QUALITY:
            axis.set(xscale="log", yscale="log")
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.yaxis.set_minor_formatter(NullFormatter())
        axis.legend(fontsize=7)
    figure.tight_layout()
    return figure


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    barker = rows[rows["setting"].str.contains("DP Barker, accept bit")]
    cheaper = barker[barker["measure"] == COST]["ratio"]
    claim = "DP Barker costs less than a tenth of the published ε at every published length"
    checks = [Check(claim, f"ratios {cheaper.min():.3g} to {cheaper.max():.3g}", bool((cheaper < 0.1).all()))]
    if not settings.quick:
        quality = rows[rows["measure"] == QUALITY]
        better = quality[quality["ratio"] < 1]
        found = f"{len(better)} of {len(quality)}, median ratio {quality['ratio'].median():.2f}"
        checks.append(Check("at equal ε the twins' median MMD is lower", found, len(better) == len(quality)))
    return checks
