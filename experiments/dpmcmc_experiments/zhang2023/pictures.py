"""Pictures of the tables. Dotted lines carry no valid guarantee; solid ones do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

DOTTED = ("published", "tuna", "metropolis", "reference", "exact")
COLOURS = {
    "exact": "0.6",
    "metropolis": "k",
    "reference": "k",
    "tuna": "tab:olive",
    "published": "tab:red",
    "published-code": "tab:red",
    "published-full": "tab:orange",
    "published-text": "tab:brown",
    "published-printed": "tab:brown",
    "repaired-same": "tab:cyan",
    "repaired": "tab:blue",
    "repaired-10": "navy",
    "barker": "tab:green",
    "penalty": "tab:purple",
    "subsampled": "tab:pink",
    "orbit": "darkgreen",
    "fitted": "tab:green",
}


def _style(method: str) -> dict[str, Any]:
    """One colour a method in all panels; a total ε in its key only changes the width."""
    known = method if method in COLOURS else method.split("-")[0]
    width = 2.2 if method.endswith("-10") else 1.5
    return {"ls": ":" if method.startswith(DOTTED) else "-", "lw": width, "color": COLOURS.get(known, "tab:green")}


def _axes(count: int, width: float = 4.6) -> Any:
    import matplotlib.pyplot as plt

    return plt.subplots(1, count, figsize=(width * count, 3.9), constrained_layout=True)


def densities(rows: pd.DataFrame) -> Any:
    methods = list(dict.fromkeys(rows["method"]))
    figure, panels = _axes(len(methods), 3.6)
    for panel, letter, (_, part) in zip(panels, "abcdef", rows.groupby("method", sort=False), strict=False):
        panel.scatter(part["theta1"], part["theta2"], c=part["share"], s=14, marker="s", cmap="viridis")
        panel.set(title=f"{letter}. " + part["label"].iloc[0].replace(" (", "\n("), xlabel="θ₁", ylabel="θ₂")
        panel.title.set_fontsize(9)
        panel.set(xlim=(-1.5, 2.2), ylim=(-2.6, 2.6))
    return figure


def _curves(panel: Any, rows: pd.DataFrame, x: str, y: str) -> None:
    for method, part in rows[rows["kind"] == "curve"].groupby("method", sort=False):
        if part[x].notna().all():
            panel.plot(part[x], part[y], label=part["label"].iloc[0], **_style(str(method)))
    panel.set_xscale("log")


def convergence(rows: pd.DataFrame) -> Any:
    figure, (by_step, by_data, by_mean) = _axes(3)
    _curves(by_step, rows, "steps", "symmetric_kl")
    _curves(by_data, rows, "data_passes", "symmetric_kl")
    _curves(by_mean, rows, "data_passes", "mean_error_sd")
    by_step.set(xlabel="steps", ylabel="symmetric KL (99 × 99 bins)")
    by_data.set(xlabel="passes over the data", ylabel="symmetric KL")
    by_mean.set(xlabel="passes over the data", ylabel="error of the mean, posterior sd")
    handles, labels = by_step.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, ncol=4, loc="outside lower center")
    return figure


def accuracies(rows: pd.DataFrame) -> Any:
    figure, (by_step, by_data, by_budget) = _axes(3)
    _curves(by_step, rows, "steps", "accuracy")
    _curves(by_data, rows, "data_passes", "accuracy")
    by_step.set(xlabel="steps", ylabel="test accuracy of the running mean", title="a")
    by_data.set(xlabel="passes over the data", title="b")
    totals = rows[rows["kind"] == "summary"]
    for _, row in totals[totals["epsilon"].notna()].iterrows():
        claimed, colour = row["method"].startswith("published"), _style(row["method"])["color"]
        by_budget.plot(row["epsilon"], row["accuracy"], "x" if claimed else "o", ms=8, color=colour)
    for level in totals.loc[totals["method"] == "reference", "accuracy"]:
        by_budget.axhline(level, color="grey", lw=0.8)
    by_budget.set(xscale="log", xlabel="total ε (× only claimed, not valid)", ylabel="test accuracy", title="c")
    handles, labels = by_step.get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=7, ncol=3, loc="outside lower center")
    return figure


def tradeoff(rows: pd.DataFrame) -> Any:
    figure, (by_batch, by_epsilon) = _axes(2)
    for family, part in rows.groupby("family", sort=False):
        style = {
            "ls": ":" if str(family).startswith("published") else "-",
            "marker": "o",
            "label": part["label"].iloc[0],
        }
        by_batch.plot(part["share_of_data"], part["squared_jump"], **style)
        column = "epsilon_chain" if family == "repaired" else "epsilon_step"
        by_epsilon.plot(part[column], part["squared_jump"], **style)
    least = max(float(np.min(rows["squared_jump"])), 1e-7)
    for panel in (by_batch, by_epsilon):
        panel.set(xscale="log", yscale="log", ylim=(least / 2, None))
    by_batch.set(xlabel="share of the data read a step", ylabel="squared jump over posterior variance")
    by_epsilon.set(xlabel="ε: dotted, claimed for one step (not valid);\nsolid, of the whole chain")
    by_batch.legend(fontsize=7)
    return figure
