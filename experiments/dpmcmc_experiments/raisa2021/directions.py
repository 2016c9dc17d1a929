"""The orderings that the study concludes (sections 6.3 and 7), or that its figures show at every ε, as checks.

An algorithm's level on a posterior is its median over chains, averaged over the ε at which all those compared were run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpmcmc_experiments.figures import Check

KEY = ["experiment", "algo", "epsilon"]
MINIBATCH = ("mdpps", "mdppa", "barker")
FULL = ("dpps", "dppa", "hmc")


@dataclass(frozen=True)
class Ordering:
    """On these posteriors every algorithm of ``lower`` lies below every one of ``higher``.

    ``best``: the best of each are compared. ``short``: holds for the short chains of a quick run as well.
    """

    claim: str
    experiments: tuple[str, ...]
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    best: bool = False
    short: bool = True


TEMPERED, FLAT = ("tempered-2d", "tempered-10d"), ("easy-2d", "easy-10d")
ORDERINGS = {
    "mmd": (
        Ordering("6.3: with tempering DP HMC beats DP penalty", TEMPERED, ("hmc",), ("dpps", "dppa")),
        Ordering("6.3: without tempering DP penalty beats DP HMC", FLAT, ("dpps", "dppa"), ("hmc",)),
        Ordering("6.3: without tempering minibatches are of no use", FLAT, FULL, ("mdpps", "mdppa")),
        Ordering("7: with tempering minibatches are not better either", TEMPERED, FULL, MINIBATCH, best=True),
        Ordering("6.3: OCU + GWMH is best on the high dimensional Gauss", ("gauss-30d",), ("dppa",), ("dpps", "hmc")),
        Ordering("6.3: DP HMC is best on the correlated Gauss", ("hard-gauss-2d",), ("hmc",), ("dpps", "dppa")),
    ),
    "acceptance_rate": (
        Ordering(
            "drawn: OCU + GWMH accepts more often than the random walk",
            (*FLAT, *TEMPERED, "gauss-30d", "hard-2d", "hard-gauss-2d"),
            ("dpps",),
            ("dppa",),
        ),
    ),
    "llr_clip_fraction": (
        Ordering(
            "drawn: DP HMC clips fewer log ratios than OCU + GWMH",
            TEMPERED,
            ("hmc",),
            ("dppa",),
        ),
        Ordering(
            "drawn: the same on flat and narrow bananas, d = 2, and the correlated Gauss",
            ("easy-2d", "hard-2d", "hard-gauss-2d"),
            ("hmc",),
            ("dppa",),
            short=False,
        ),
        Ordering("drawn: DP HMC clips fewer than DP penalty", ("circle",), ("hmc",), ("dpps",), short=False),
    ),
}
FEW = ("gauss-30d", "hard-gauss-2d", "circle")
COLUMNS = {"mmd": "mmd", "acceptance_rate": "acceptance", "llr_clip_fraction": "llr_clip"}


def measured(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows with one measure: those of dpmcmc's kernels, where there are none those of the plain program.

    Shares of clipped terms are those that more moves were counted for.
    """
    rows = rows.dropna(subset=[column])
    if column.endswith("clip"):
        return rows[rows["moves"] == rows.groupby(KEY)["moves"].transform("max")]
    own = rows.groupby(KEY)["program"].transform(lambda programs: (programs == "dpmcmc").any())
    return rows[(rows["program"] == "dpmcmc") | ~own.astype(bool)]


def directions(rows: pd.DataFrame, metric: str, quick: bool = False) -> list[Check]:
    """A check for each ordering of which all sides were run on some posterior."""
    if metric == "grad_clip_fraction":
        return [_gradients(rows)]
    if metric == "mean_error":
        return [] if quick else [_centre(rows)]  # a hundred steps reach the ring, not its other side
    column = COLUMNS[metric]
    medians = measured(rows, column).groupby(["experiment", "epsilon", "algo"])[column].median().unstack()
    asked = [ordering for ordering in ORDERINGS[metric] if ordering.short or not quick]
    found = [check for ordering in asked if (check := _held(medians, ordering)) is not None]
    return found + (
        [_little_clipped(rows)] if metric == "llr_clip_fraction" and rows["experiment"].isin(FEW).any() else []
    )


def _held(medians: pd.DataFrame, ordering: Ordering) -> Check | None:
    found, holds = [], True
    for experiment in ordering.experiments:
        levels = _levels(medians, experiment, (*ordering.lower, *ordering.higher))
        if levels is None:
            continue
        low, high = levels[list(ordering.lower)], levels[list(ordering.higher)]
        below = low.min() if ordering.best else low.max()
        holds &= bool(below < high.min())
        found.append(f"{experiment} {below:.3g} < {high.min():.3g}")
    return Check(ordering.claim, ", ".join(found), holds) if found else None


def _levels(medians: pd.DataFrame, experiment: str, algos: Sequence[str]) -> pd.Series | None:
    if experiment not in medians.index or not set(algos) <= set(medians.columns):
        return None
    common = medians.loc[experiment, list(algos)].dropna()
    return common.mean() if len(common) else None


def _little_clipped(rows: pd.DataFrame) -> Check:
    """6.3: less than a tenth of the log ratios are clipped, but by DP Barker and on two of the bananas."""
    shares = rows[rows["experiment"].isin(FEW) & rows["algo"].isin(["dpps", "dppa"])]["llr_clip"].dropna()
    claim = "6.3: DP penalty clips less than a tenth of the log ratios on the Gauss posteriors and the circle"
    return Check(claim, f"at most {shares.max():.3f}", bool((shares < 0.1).all() and len(shares) > 0))


def _gradients(rows: pd.DataFrame) -> Check:
    """Figures 6.5 to 6.8 at every ε: of DP HMC's gradients more are clipped than of its log ratios."""
    counted = measured(rows[rows["algo"] == "hmc"], "gradient_clip")
    shares = counted.groupby(["experiment", "epsilon"])[["gradient_clip", "llr_clip"]].median()
    more = shares["gradient_clip"] > shares["llr_clip"]
    claim = "drawn: DP HMC clips more gradients than log ratios, everywhere"
    return Check(claim, f"{more.sum()} of {len(more)}", bool(more.all() and len(more) > 0))


def _centre(rows: pd.DataFrame) -> Check:
    """6.3: both algorithms do well on average. A chain that stays on one side of the ring is its radius, √10, off."""
    medians = measured(rows, "mean_error").groupby(["algo", "epsilon"])["mean_error"].median()
    claim = "6.3: means lie nearer to the centre of the circle than its points (√10), for every algorithm and ε"
    return Check(claim, f"at most {medians.max():.2f}, {len(medians)} compared", bool((medians < 10**0.5).all()))
