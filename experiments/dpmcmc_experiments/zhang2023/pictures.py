"""Pictures of the tables. Dotted and dashed lines carry no valid guarantee; solid ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpmcmc_experiments.zhang2023.checks_mixture import with_seconds
from dpmcmc_experiments.zhang2023.samplers import ONE

STYLES: dict[str, dict[str, Any]] = {
    "exact": {"color": "0.6", "ls": "-", "lw": 1.0},
    "metropolis": {"color": "k", "ls": (0, (1, 1)), "marker": "+"},
    "reference": {"color": "k", "ls": (0, (1, 1)), "marker": "+"},
    "tuna": {"color": "tab:olive", "ls": (0, (5, 1, 1, 1, 1, 1)), "marker": "x"},
    "fast": {"color": "tab:red", "ls": "--", "marker": "o"},
    "fast-code": {"color": "tab:pink", "ls": (0, (3, 1, 1, 1)), "marker": "v"},
    "fast-printed": {"color": "tab:pink", "ls": (0, (3, 1, 1, 1)), "marker": "v"},
    "fast-K": {"color": "tab:red", "ls": "--", "marker": "o"},
    "full": {"color": "tab:orange", "ls": ":", "marker": "s"},
    "penalty": {"color": "tab:purple", "ls": "-", "marker": "^"},
    "barker": {"color": "tab:green", "ls": "-", "marker": "D"},
    "repaired": {"color": "tab:blue", "ls": "-", "marker": "P"},
    "default": {"color": "tab:brown", "ls": "-", "marker": "*"},
}
ALONE = {
    "repaired": {"color": "deepskyblue", "marker": "h"},
    "default": {"color": "goldenrod", "marker": "X"},
}
"""The private samplers at ε = 1 in all, where they are drawn beside themselves at the claim's total."""


def style(method: str) -> dict[str, Any]:
    family, _, at = method.partition("@")
    chosen = {"lw": 1.4, "ms": 5.0} | STYLES[family]
    return chosen | ALONE[family] if at == ONE else chosen


def _axes(count: int, width: float = 6.4, height: float = 4.4) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(1, count, figsize=(width * count, height), constrained_layout=True)


def _legend(figure: Any, panel: Any, columns: int = 3) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, ncol=columns, loc="outside lower center")


def _total(label: str) -> str:
    """A label without the total ε, which differs from point to point."""
    return label.split(", ε =")[0]


def _against_epsilon(rows: pd.DataFrame, column: str, ylabel: str, families: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """Families against ε a step, those with one value as level lines; the claim's total on top."""
    figure, panel = _axes(1)
    for family, part in rows.groupby("family", sort=False):
        if families and family not in families:
            continue
        points = part.dropna(subset=["epsilon_step"]).sort_values("epsilon_step")
        if len(points):
            label = _total(points["label"].iloc[0])
            ours = ", at the claim's total" if family in ALONE else ""
            panel.plot(points["epsilon_step"], points[column], label=label + ours, **style(str(family)))
        for _, row in part[part["epsilon_step"].isna() & part[column].notna()].iterrows():
            if row["method"] != "repaired-same":
                chosen = {k: v for k, v in style(row["method"]).items() if k not in ("marker", "ms")}
                panel.axhline(row[column], label=row["label"], **(chosen | {"lw": 1.0}))
    totals = rows[rows["family"] == "fast"].set_index("epsilon_step")["epsilon_total"].sort_index()
    panel.set(xscale="log", xlabel="ε of one step (claimed, equal for all of the paper's samplers)", ylabel=ylabel)
    panel.set_xticks(totals.index, [f"{epsilon:g}" for epsilon in totals.index])
    panel.minorticks_off()
    top = panel.secondary_xaxis("top")
    top.set_xticks(totals.index, [f"{total:.3g}" for total in totals])
    top.minorticks_off()
    top.set_xlabel("ε of the chain, composed at best: of the repaired sampler and the default", fontsize=8)
    return figure, panel


def kl_against_epsilon(rows: pd.DataFrame) -> Any:
    figure, panel = _against_epsilon(rows, "symmetric_kl", "symmetric KL (99 × 99 bins)")
    panel.set_yscale("log")
    _legend(figure, panel)
    return figure


def batch_against_epsilon(rows: pd.DataFrame) -> Any:
    families = ("fast", "fast-code", "barker", "repaired", "tuna")
    figure, panel = _against_epsilon(rows, "records_a_step", "records read a step", families)
    panel.set_yscale("log")
    _legend(figure, panel, 2)
    return figure


def accuracy_against_epsilon(rows: pd.DataFrame) -> Any:
    figure, panel = _against_epsilon(rows, "accuracy", "test accuracy of the mean of all draws")
    _legend(figure, panel)
    return figure


def share_against_epsilon(rows: pd.DataFrame) -> Any:
    families = ("fast", "fast-printed", "barker", "repaired")
    figure, panel = _against_epsilon(rows, "share_of_data", "share of the data read a step", families)
    panel.set(yscale="log", ylim=(None, 1.3))
    panel.axhline(0.2, color="0.6", lw=0.8, ls="-.", label='"less than 20 % of the data"')
    _legend(figure, panel, 2)
    return figure


def effect_of_batch(rows: pd.DataFrame) -> Any:
    figure, (accuracy, read) = _axes(2, 4.8, 3.8)
    rows = rows.sort_values("largest_batch")
    chosen = style("fast")
    accuracy.plot(rows["largest_batch"], rows["accuracy"], **chosen)
    accuracy.set(xlabel="K", ylabel="test accuracy of the mean of all draws")
    read.plot(rows["largest_batch"], rows["share_of_data"], **chosen)
    read.axhline(0.2, color="0.6", lw=0.8, ls="-.")
    read.set(xlabel="K", ylabel="share of the data read a step", ylim=(0, 1.05))
    figure.suptitle("DP-fast MH, constants of the code, ε = 0.05 a step (no valid guarantee)", fontsize=9)
    return figure


def _curves(rows: pd.DataFrame, x: str, xlabel: str) -> Any:
    figure, panel = _axes(1)
    for method, part in rows.groupby("method", sort=False):
        if not part[x].notna().all():
            continue
        once = str(method).startswith("default") and x != "steps"  # one price for all draws
        points = part.iloc[-1:] if once else part
        panel.plot(points[x], points["symmetric_kl"], label=part["label"].iloc[0], **style(str(method)))
    panel.set(xscale="log", yscale="log", xlabel=xlabel, ylabel="symmetric KL (99 × 99 bins)")
    _legend(figure, panel)
    return figure


def kl_against_steps(rows: pd.DataFrame) -> Any:
    return _curves(rows, "steps", "iterations (of the default: draws), ε = 0.05 a step")


def kl_against_seconds(rows: pd.DataFrame) -> Any:
    return _curves(with_seconds(rows), "seconds", "processor seconds, compilation left out (default: all)")


def kl_against_records(rows: pd.DataFrame) -> Any:
    return _curves(rows, "records", "records read (of the default: for all draws), ε = 0.05 a step")


def densities(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(rows["method"]))
    across = min(5, len(methods))
    down = -(-len(methods) // across)
    figure, panels = plt.subplots(
        down, across, figsize=(3.0 * across, 3.2 * down), constrained_layout=True, squeeze=False
    )
    most = rows["share"].quantile(0.995)
    for panel, (_, part) in zip(panels.flat, rows.groupby("method", sort=False), strict=False):
        drawn = panel.scatter(
            part["theta1"], part["theta2"], c=part["share"], s=7, marker="s", cmap="viridis", vmin=0, vmax=most
        )
        panel.set_title(part["label"].iloc[0].replace(" (", "\n(").replace(", ", "\n", 1), fontsize=8)
        panel.set(xlim=(-1.5, 2.2), ylim=(-2.6, 2.6), xlabel="θ₁", ylabel="θ₂")
    for panel in panels.flat[len(methods) :]:
        panel.set_axis_off()
    figure.colorbar(drawn, ax=panels, shrink=0.6, label="share of draws in a cell of 40 × 40")
    return figure


def tradeoff(rows: pd.DataFrame) -> Any:
    figure, (by_batch, by_epsilon) = _axes(2, 4.8, 3.9)
    looks = {"published-code": "fast-code", "published-text": "fast", "repaired": "repaired"}
    for family, part in rows.groupby("family", sort=False):
        chosen = style(looks[str(family)]) | {"label": part["label"].iloc[0]}
        by_batch.plot(part["share_of_data"], part["squared_jump"], **chosen)
        column = "epsilon_chain" if family == "repaired" else "epsilon_step"
        by_epsilon.plot(part[column], part["squared_jump"], **chosen)
    least = max(float(np.min(rows["squared_jump"])), 1e-7)
    for panel in (by_batch, by_epsilon):
        panel.set(xscale="log", yscale="log", ylim=(least / 2, None))
    by_batch.set(xlabel="share of the data read a step", ylabel="squared jump over posterior variance")
    by_epsilon.set(xlabel="ε: of DP-fast MH claimed for a step (not valid);\nof the repaired test for the whole chain")
    by_batch.legend(fontsize=7)
    return figure
