"""The orderings that the study concludes (sections 6.3 and 7), or that its figures show at every ε, as checks.

An algorithm's level on a posterior is its median over chains, averaged over the ε at which all those compared were run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from dpmcmc_experiments.figures import Check

MINIBATCH = ("mdpps", "mdppa", "barker")
FULL = ("dpps", "dppa", "hmc")


@dataclass(frozen=True)
class Ordering:
    """On these posteriors every algorithm of ``lower`` lies below every one of ``higher`` (``best``: the best of each)."""

    claim: str
    experiments: tuple[str, ...]
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    best: bool = False


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
            ("easy-2d", *TEMPERED, "hard-2d", "hard-gauss-2d"),
            ("hmc",),
            ("dppa",),
        ),
        Ordering("drawn: DP HMC clips fewer log ratios than DP penalty", ("circle",), ("hmc",), ("dpps",)),
    ),
}
COLUMNS = {"mmd": "mmd", "acceptance_rate": "acceptance", "llr_clip_fraction": "llr_clip"}


def directions(rows: pd.DataFrame, metric: str) -> list[Check]:
    """A check for each ordering of which all sides were run on some posterior."""
    if metric == "grad_clip_fraction":
        return [_gradients(rows)]
    if metric == "mean_error":
        return [_centre(rows)]
    column = COLUMNS[metric]
    medians = rows.dropna(subset=[column]).groupby(["experiment", "epsilon", "algo"])[column].median().unstack()
    return [check for ordering in ORDERINGS[metric] if (check := _held(medians, ordering)) is not None]


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


def _gradients(rows: pd.DataFrame) -> Check:
    """Figures 6.5 to 6.8 at every ε: of DP HMC's gradients more are clipped than of its log ratios."""
    shares = rows[rows["algo"] == "hmc"].groupby(["experiment", "epsilon"])[["gradient_clip", "llr_clip"]].median()
    more = shares["gradient_clip"] > shares["llr_clip"]
    claim = "drawn: DP HMC clips more gradients than log ratios, everywhere"
    return Check(claim, f"{more.sum()} of {len(more)}", bool(more.all() and len(more) > 0))


def _centre(rows: pd.DataFrame) -> Check:
    """6.3: both algorithms do well on average. A chain that stays on one side of the ring is its radius, √10, off."""
    medians = rows.groupby(["algo", "epsilon"])["mean_error"].median()
    claim = "6.3: means lie nearer to the centre of the circle than its points (√10), for every algorithm and ε"
    return Check(claim, f"at most {medians.max():.2f}, {len(medians)} compared", bool((medians < 10**0.5).all()))
