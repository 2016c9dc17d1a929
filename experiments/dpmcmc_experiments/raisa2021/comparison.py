"""Figures 6.3 to 6.8: the algorithms compared, every box of the study beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpmcmc.metrics import mmd_raisa
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference
from dpmcmc_experiments.raisa2021 import algorithms, chains, plain
from dpmcmc_experiments.raisa2021.directions import KEY, directions, measured
from dpmcmc_experiments.raisa2021.problems import CHAINS, SETTINGS, baseline_draws, problem
from dpmcmc_experiments.raisa2021.recorded import MOVES

BANANAS = ("easy-2d", "easy-10d", "tempered-2d", "tempered-10d")
EXTRA = ("gauss-30d", "hard-2d", "hard-gauss-2d")
QUICK = {"n": 4000, "chains": 4, "cap": 100}
QUICK_PAIRS = [("hard-gauss-2d", "dppa"), ("hard-gauss-2d", "dpps"), ("hard-gauss-2d", "hmc"), ("circle", "dpps")]
COLOURS = dict(zip(algorithms.ALL, ("C3", "C0", "C2", "C4", "C8", "C1"), strict=True))
METRICS = {  # the study's names, ours, and how a panel is labelled
    "mmd": ("mmd", "MMD"),
    "acceptance_rate": ("acceptance", "acceptance rate"),
    "llr_clip_fraction": ("llr_clip", "clipped log ratios"),
    "grad_clip_fraction": ("gradient_clip", "clipped gradients"),
    "mean_error": ("mean_error", "distance of the mean"),
}

PROGRAMS: dict[str, Callable[[str], dict[str, Any]]] = {
    "dpmcmc": lambda colour: {"color": colour},
    "plain": lambda colour: {"facecolor": "w", "edgecolor": colour, "linewidth": 1.2},
}
LEAST_SHARE = 2e-4
"""Where the axis of clipped shares begins: the smallest published median is six times as large."""

QUARTILES = {"q1": 0.25, "median": 0.5, "q3": 0.75}

CLIP_TOLERANCE = 0.02
"""Where so much would be wider than the share itself, half of the published share is the tolerance."""

CAPS = {("hard-2d", "hmc"): 4.0, ("tempered-10d", "hmc"): 2.0} | {
    (e, "hmc"): 3.0 for e in ("easy-10d", "tempered-2d", "gauss-30d")
}
"""Largest ε that dpmcmc's kernel is run at; above it, boxes are the plain program's."""


def epsilons(experiment: str, algo: str) -> list[float]:
    most = CAPS.get((experiment, algo), np.inf)
    return [epsilon for epsilon in algorithms.epsilons(experiment) if epsilon <= most]


def cells_of(pairs: Sequence[tuple[str, str]]) -> Callable[[Settings], list[Cell]]:
    """Cells of (experiment, algorithm) pairs; quick ones have few records and one or two values of ε."""

    def cells(settings: Settings) -> list[Cell]:
        if settings.quick:
            few = [pair for pair in pairs if pair[0] == "tempered-2d" or pair in QUICK_PAIRS]
            found = [chains.cell(e, a, algorithms.epsilons(e)[-2 if a == "dpps" else -1 :], **QUICK) for e, a in few]
            return found + [plain.cell(e, algorithms.epsilons(e)[-1:], **QUICK) for e, a in few if a == "hmc"]
        found = [chains.cell(e, a, epsilons(e, a)) for e, a in pairs]
        return found + [plain.cell(e, algorithms.epsilons(e)) for e, a in pairs if a == "hmc"]

    return cells


def boxes(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Quartiles over chains of one measure, which program ran them, and whether clipped terms were counted along them.

    Else a share is one estimate over all chains, from a few fresh moves (before counting was there).
    """
    rows = measured(rows, column)
    grouped = rows.groupby(KEY)[column]
    quartiles = {name: grouped.quantile(q) for name, q in QUARTILES.items()}
    of_all = rows.groupby(KEY)[["program", "steps", "moves"]].first()
    counted = of_all["moves"] >= np.minimum(of_all["steps"], MOVES)
    return pd.DataFrame(quartiles | {"program": of_all["program"], "counted": counted}).reset_index()


def published_boxes(metric: str) -> pd.DataFrame:
    table = pd.read_csv(reference("thesis_boxplots.csv"))
    return table[table["metric"] == metric]


def beside(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Our quartiles and the published box, where both are there."""
    ours = boxes(rows, METRICS[metric][0])
    return ours.merge(published_boxes(metric), on=["experiment", "algo", "epsilon"], suffixes=("", "_published"))


def draw_of(metrics: Sequence[str], columns: int = 2) -> Callable[[pd.DataFrame], Any]:
    """A panel for each measure and posterior: pale bars are the published boxes, dark ones ours."""

    def draw(rows: pd.DataFrame) -> Any:
        import matplotlib.pyplot as plt

        panels = [(m, e) for m in metrics for e in SETTINGS if e in set(rows["experiment"])]
        columns_used = min(columns, len(panels))
        lines = -(-len(panels) // columns_used)
        wide = 6 if columns_used < 3 else 4.4
        figure, axes = plt.subplots(lines, columns_used, figsize=(wide * columns_used, 3.6 * lines), squeeze=False)
        for axis, (metric, experiment) in zip(axes.flat, panels, strict=False):
            _panel(axis, rows[rows["experiment"] == experiment], metric, experiment)
        for axis in axes.flat[len(panels) :]:
            axis.set_visible(False)
        names = [a for a in algorithms.ALL if a in set(rows["algo"])]
        handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[a]) for a in names]
        labels = [algorithms.NAMES[a] for a in names]
        figure.legend(handles, labels, loc="upper center", ncols=3, bbox_to_anchor=(0.5, 0.0), frameon=False)
        told = "quartiles of 20 chains: pale published, dark dpmcmc, outlined plain program, × not run"
        if any(metric.endswith("clip_fraction") for metric in metrics):
            told += "; dots: one estimate from a few moves"
        figure.suptitle(told, fontsize=10)
        figure.tight_layout()
        return figure

    return draw


def _panel(axis: Any, rows: pd.DataFrame, metric: str, experiment: str) -> None:
    ours, theirs = boxes(rows, METRICS[metric][0]), published_boxes(metric)
    theirs = theirs[theirs["experiment"] == experiment]
    algos = [a for a in algorithms.ALL if a in set(rows["algo"])]
    gap = np.diff(algorithms.epsilons(experiment)).min()
    shares = metric.endswith("clip_fraction")
    for i, algo in enumerate(algos):
        shift = gap * (i - (len(algos) - 1) / 2) * 0.8 / len(algos)
        _bars(
            axis, theirs[theirs["algo"] == algo], shift, gap * 0.56 / len(algos), {"color": COLOURS[algo], "alpha": 0.3}
        )
        for program, style in PROGRAMS.items():
            box = ours[(ours["algo"] == algo) & (ours["program"] == program)]
            if shares:
                dots = box[~box["counted"]]
                axis.scatter(dots["epsilon"] + shift, dots["median"], s=16, color=COLOURS[algo], edgecolors="k", lw=0.6)
                box = box[box["counted"]]
            _bars(axis, box, shift, gap * 0.28 / len(algos), style(COLOURS[algo]))
        absent = sorted(set(theirs[theirs["algo"] == algo]["epsilon"]) - set(ours[ours["algo"] == algo]["epsilon"]))
        at_the_foot = {"transform": axis.get_xaxis_transform(), "marker": "x", "s": 26, "clip_on": False}
        axis.scatter([e + shift for e in absent], [0.0] * len(absent), color=COLOURS[algo], **at_the_foot)
    if metric == "mmd":
        lines = pd.read_csv(reference("thesis_baseline_mmd.csv")).query("experiment == @experiment")["baseline_mmd"]
        axis.axhspan(lines.min(), lines.max(), color="k", alpha=0.3, linewidth=0)
    axis.set(title=SETTINGS[experiment].title, xlabel="ε", ylabel=METRICS[metric][1])
    top = 1.08 * max(theirs[theirs["algo"].isin(algos)]["q3"].max(), ours["q3"].max())
    if metric == "llr_clip_fraction":  # of different size by the algorithm, and none is nought throughout
        axis.set_yscale("log")
        axis.set_ylim(LEAST_SHARE, 1.4 * top)
    else:
        axis.set_ylim(0, top)
    axis.set_xticks(algorithms.epsilons(experiment))


def _bars(axis: Any, box: pd.DataFrame, shift: float, wide: float, style: dict[str, Any]) -> None:
    x = box["epsilon"] + shift
    axis.bar(x, box["q3"] - box["q1"], wide, box["q1"], **{"linewidth": 0} | style)
    axis.hlines(box["median"], x - wide / 2, x + wide / 2, color="k", linewidth=0.8)


def check_of(metrics: Sequence[str]) -> Callable[[pd.DataFrame, Settings], list[Check]]:
    """What the study concludes, or draws throughout; in a full run also its boxes and medians."""

    def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
        found = [one for metric in metrics for one in directions(rows, metric, settings.quick)]
        if settings.quick:
            return found
        found += [_full_check(rows, metric) for metric in metrics]
        scored = [metric for metric in metrics if not metric.endswith("clip_fraction")]
        found += [_error_check(rows, metric) for metric in scored]
        return found + [check for metric in scored if (check := _programs_check(rows, metric)) is not None]

    return check


def within_errors(both: pd.DataFrame, other: str) -> pd.Series:
    """Medians of 20 within two standard errors of medians of 20: those of the medians of normal samples."""
    spread = np.hypot(both["q3"] - both["q1"], both[f"q3_{other}"] - both[f"q1_{other}"]) / 1.349
    error = 1.253 * spread / CHAINS**0.5
    return np.abs(both["median"] - both[f"median_{other}"]) <= 2 * error


def _programs_check(rows: pd.DataFrame, metric: str) -> Check | None:
    """The plain program is the algorithm of the kernels: where both were run, they agree."""
    column = METRICS[metric][0]
    kernels, plainly = (boxes(rows[rows["program"] == program], column) for program in PROGRAMS)
    both = kernels.merge(plainly, on=KEY, suffixes=("", "_plain"))
    if not len(both):
        return None
    near = within_errors(both, "plain")
    claim = f"{METRICS[metric][1]}: at least 90 % of the plain program's medians are within two standard errors of ours"
    return Check(claim, f"{near.sum()} of {len(both)}", near.mean() >= 0.9)


def _error_check(rows: pd.DataFrame, metric: str) -> Check:
    both = beside(rows, metric)
    near = within_errors(both, "published")
    claim = f"{METRICS[metric][1]}: at least 90 % of our medians are within two standard errors of the published ones"
    return Check(claim, f"{near.sum()} of {len(both)}", len(both) > 0 and near.mean() >= 0.9)


def _full_check(rows: pd.DataFrame, metric: str) -> Check:
    both = beside(rows, metric)
    if metric.endswith("clip_fraction"):
        tolerance = np.minimum(CLIP_TOLERANCE, both["median_published"] / 2)
        agrees = np.abs(both["median"] - both["median_published"]) <= tolerance
        claim = f"{METRICS[metric][1]}: at least 90 % are within {CLIP_TOLERANCE} and half of the published medians"
    else:
        agrees = (both["median"] >= both["q1_published"]) & (both["median"] <= both["q3_published"])
        claim = f"{METRICS[metric][1]}: at least 90 % of our medians lie in the published boxes"
    counted = both["counted"].all() or not metric.endswith("clip_fraction")
    missed = ", ".join(f"{r.experiment} {r.algo} ε={r.epsilon:g}" for r in both[~agrees].itertuples())
    found = f"{agrees.sum()} of {len(both)}"
    if not counted:
        found += f", of those counted along chains {agrees[both['counted']].sum()} of {both['counted'].sum()}"
    found += f"; not {missed}" if missed else ""
    return Check(claim, found, len(both) > 0 and agrees.mean() >= 0.9)


def figure_of(title: str, pairs: Sequence[tuple[str, str]], metrics: Sequence[str], columns: int = 2) -> Figure:
    return Figure(title, cells_of(pairs), draw_of(metrics, columns), check_of(metrics))


def pairs_of(experiments: Sequence[str], algos: Sequence[str]) -> list[tuple[str, str]]:
    return [(experiment, algo) for algo in algos for experiment in experiments]


def baseline_cells(settings: Settings) -> list[Cell]:
    """MMD of ten fresh exact samples against the reference sample: the floor of figures 6.3 and 6.4."""
    names = [name for name in SETTINGS if name != "circle"]

    def rows() -> list[dict[str, Any]]:
        found = []
        for name in names[:1] if settings.quick else names:
            posterior = problem(name)
            for index, draws in enumerate(baseline_draws(posterior.setting, posterior.records)):
                mmd = mmd_raisa(draws, posterior.reference, seed=index)
                found.append({"experiment": name, "draw_index": index, "mmd": mmd})
        return found

    return [Cell("baselines", rows)]


def check_baselines(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    both = rows.merge(pd.read_csv(reference("thesis_baseline_mmd.csv")), on=["experiment", "draw_index"])
    off = np.abs(both["mmd"] / both["baseline_mmd"] - 1)
    agree = float(np.corrcoef(both["mmd"], both["baseline_mmd"])[0, 1])
    claim = "data and reference draws are the study's: MMDs of its exact samples agree one by one (random bandwidth)"
    found = f"{len(both)} samples, correlation {agree:.3f}, median difference {100 * off.median():.1f} %"
    return [Check(claim, found, agree > 0.95 and off.median() < 0.05)]
