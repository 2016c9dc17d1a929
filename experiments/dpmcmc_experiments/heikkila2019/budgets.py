"""Figures 1a and 1b: ε of DP MCMC on batches against the sampling ratio and against the number of steps, δ = 1/N.

The published formula at every point of our grid, beside the points that the figure draws (300 of 300 in 1a, 134 of 488
in 1b); dpmcmc's accounting of the accept bit at some of them.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from dpmcmc import privacy
from dpmcmc.privacy.published import heikkila2019 as published
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference
from dpmcmc_experiments.heikkila2019.prices import chain_event

SIZES = (100_000, 1_000_000, 10_000_000)
SPARSE = {"1a": 9, "1b": 8}
"""One in so many points is priced by dpmcmc too."""

DRAWN = {"1a": 300, "1b": 134}
"""Points that the published figure draws; the other points of our grid have no published value."""

AGREES = 1e-6


def points(figure: str) -> pd.DataFrame:
    table = pd.read_csv(reference("neurips_fig1ab_eps.csv"))
    return table[table["figure"] == figure]


def published_epsilon(figure: str, n: int, batch: int, steps: int) -> float:
    """Corollary 2 with the orders that the figure's script goes through: to 199, and in 1b to two short of b/5."""
    if figure == "1a":
        return float(published.corollary2_epsilon(steps, n, batch, 1 / n, largest_order=199, variant="as_coded"))
    last = min(199, batch // 5 - 2)
    return float(
        published.corollary2_epsilon(steps, n, batch, 1 / n, largest_order=last, variant="as_coded", rate=0.001)
    )


def run(figure: str, n: int, settings: Settings) -> list[dict[str, Any]]:
    table = points(figure)
    rows = []
    for k, point in enumerate(table[table["N"] == n].itertuples()):
        batch, steps = int(point.b), int(point.T)
        row = {"N": n, "batch": batch, "steps": steps, point.x_name: point.x}
        row["published"] = point.epsilon_poster  # nan where the figure draws no point
        row["formula"] = published_epsilon(figure, n, batch, steps)
        if k % (SPARSE[figure] * (5 if settings.quick else 1)) == 0:
            each = chain_event("optimal", n, batch)
            row["dpmcmc"] = float(privacy.epsilon(privacy.Repeat(each, steps), 1 / n))
        rows.append(row)
    return rows


def check(name: str, rows: pd.DataFrame) -> list[Check]:
    drawn = rows.dropna(subset=["published"])
    off = (drawn["formula"] - drawn["published"]).abs()
    tight = rows.dropna(subset=["dpmcmc"])
    gain = tight["formula"] / tight["dpmcmc"]
    return [
        Check(
            f"the published formula gives every point that the figure draws, to {AGREES:g}",
            f"{len(drawn)} points drawn, the farthest off by {off.max():.1e}",
            bool((off <= AGREES).all() and len(drawn) == DRAWN[name]),
        ),
        Check(
            f"dpmcmc's ε is smaller than the published formula's at each of {len(tight)} points",
            f"by a factor of {gain.min():.1f} to {gain.max():.1f}, median {gain.median():.1f}",
            bool((gain > 1).all()),
        ),
    ]


def figure(name: str, x: str, label: str, title: str) -> Figure:
    def draw(rows: pd.DataFrame) -> Any:
        import matplotlib.pyplot as plt

        picture, axis = plt.subplots(figsize=(6, 4.4), layout="constrained")
        for colour, n in zip(("tab:blue", "tab:orange", "tab:green"), SIZES, strict=True):
            part = rows[rows["N"] == n].sort_values(x)
            drawn = part.dropna(subset=["published"])
            axis.plot(drawn[x], drawn["published"], color=colour, lw=4, alpha=0.35)
            axis.plot(part[x], part["formula"], color=colour, lw=1)
            tight = part.dropna(subset=["dpmcmc"])
            axis.plot(tight[x], tight["dpmcmc"], "o--", ms=3, color=colour, label=f"N = {n:.0e}")
        axis.set(yscale="log", xlabel=label, ylabel="ε", title=title)
        lines = [
            plt.Line2D([], [], color="k", **style)
            for style in ({"lw": 4, "alpha": 0.35}, {"lw": 1}, {"ls": "--", "marker": "o", "ms": 3})
        ]
        sizes = axis.get_legend_handles_labels()
        axis.legend(
            lines + sizes[0], ["drawn in the paper", "published formula", "dpmcmc", *sizes[1]], ncols=2, fontsize=8
        )
        return picture

    def cells(settings: Settings) -> list[Cell]:
        return [Cell(f"fig{name}-{n}", lambda n=n: run(name, n, settings)) for n in SIZES]

    return Figure(title, cells, draw, lambda rows, settings: check(name, rows))


FIGURE_1A = figure("1a", "q", "sampling ratio q = b/N", "ε of 5000 steps, δ = 1/N")
FIGURE_1B = figure("1b", "steps", "steps", "ε at q = 0.001, δ = 1/N")
