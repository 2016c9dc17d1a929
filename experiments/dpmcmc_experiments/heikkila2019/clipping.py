"""Figure 1c: how many of the log ratios are clipped, against the variance of the proposal.

The clip is √b/N₀ = 0.316, or 0.99 times that as the published code has it. Chains run at each proposal variance; at
positions spread along them fresh proposals are drawn, and the share of records beyond the clip is counted. The values
of the figure are not on the poster, so ours stand beside an independent simulation of the published code's algorithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc.metrics import clip_fraction
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference, rng_of
from dpmcmc_experiments.heikkila2019 import study

VARIANCES = np.linspace(0.005, 0.02, 10)
SHRUNK = 0.99  # of the clip, in the published code


def run(settings: Settings, variance: float) -> list[dict[str, Any]]:
    chains, steps, moves = (2, 1500, 150) if settings.quick else (4, 6000, 1500)
    data = study.records(settings)
    release = study.private_chains(settings, "gmm", chains, steps, variance)
    draws = release.draws["theta"]
    rng, rows = rng_of("heikkila2019", "fig1c", variance), []
    some = np.sort(data)[
        :: 2 if settings.quick else 100
    ]  # 10 000 quantiles: the tails, which are clipped, in proportion
    for chain, path in enumerate(draws):
        here = path[np.linspace(0, steps - 1, moves).astype(int)]  # from the start on, as published
        there = here + np.sqrt(variance) * rng.normal(size=here.shape)
        bound = np.sqrt(study.BATCH) / study.COUNTS_AS
        shares = {
            name: clip_fraction(study.MODEL, some, dp.ConstantClip(factor * bound), here, there)
            for name, factor in (("clipped", 1.0), ("clipped_as_coded", SHRUNK))
        }
        accepted = float(release.sample_stats["accepted"][chain].mean())
        rows.append({"variance": variance, "chain": chain, **shares, "acceptance": accepted})
    return rows


def cells(settings: Settings) -> list[Cell]:
    chosen = VARIANCES[[0, 9]] if settings.quick else VARIANCES
    return [Cell(f"fig1c-{variance:.4f}", lambda v=variance: run(settings, float(v))) for variance in chosen]


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    means = rows.groupby("variance")["clipped_as_coded"].mean()
    found = [
        Check(
            "the clipped share grows with the proposal variance and stays below 3 %",
            f"from {means.iloc[0]:.2%} to {means.iloc[-1]:.2%}",
            bool(means.is_monotonic_increasing and means.iloc[-1] < 0.03),
        )
    ]
    if settings.quick:
        return found
    theirs = pd.read_csv(reference("neurips_fig1c_recomputed.csv"))
    spread = (theirs["max_of_3_chains"] - theirs["min_of_3_chains"]) / 1.69  # range of three to standard deviation
    # three or four chains say little of their own spread; relative to the mean it is much the same at all variances
    relative = [
        np.sqrt(np.mean((spread / theirs["clipped_fraction"]) ** 2) / 3),
        np.sqrt(np.mean((rows.groupby("variance")["clipped_as_coded"].std() / means) ** 2) / 4),
    ]
    z = (means.to_numpy() / theirs["clipped_fraction"] - 1) / np.hypot(*relative)
    return [
        *found,
        Check(
            "clipped shares within 3 standard errors of the simulation of the published code",
            f"{int((z.abs() <= 3).sum())} of {len(z)}, the farthest {z.abs().max():.2f}",
            bool((z.abs() <= 3).all()),
        ),
    ]


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    theirs = pd.read_csv(reference("neurips_fig1c_recomputed.csv"))
    means = rows.groupby("variance").mean()
    picture, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    axis.fill_between(
        theirs["proposal_variance"],
        theirs["min_of_3_chains"],
        theirs["max_of_3_chains"],
        alpha=0.3,
        label="published code, simulated",
    )
    axis.plot(rows["variance"], rows["clipped_as_coded"], ".", color="grey", ms=4, label="ours, one chain each")
    axis.plot(means.index, means["clipped_as_coded"], "o-", ms=4, label="ours, clip 0.99 √b/N₀ (as coded)")
    axis.plot(means.index, means["clipped"], "--", label="ours, clip √b/N₀ (text, dpmcmc)")
    axis.set(xlabel="proposal variance", ylabel="share of log ratios clipped", ylim=(0, None))
    axis.legend(fontsize=8)
    return picture


FIGURE = Figure("Share of log ratios clipped", cells, draw, check)
