"""Conclusions of the paper on MNIST (Figure 3), and those of this library, held against the tables."""

from __future__ import annotations

import pandas as pd

from dpmcmc_experiments.figures import Check, Settings
from dpmcmc_experiments.zhang2023.checks_mixture import by_epsilon, labelled, spelled, versus
from dpmcmc_experiments.zhang2023.published import LOGISTIC
from dpmcmc_experiments.zhang2023.samplers import MAIN, ONE

NAMES = {"fast": "DP-fast MH", "full": "DP-fast MH on all records"}


def accuracy_against_epsilon(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    accuracy = by_epsilon(rows, "accuracy")
    found = [labelled(rows)]
    for one, name in NAMES.items():
        claim = f"paper: {name} is more accurate than the penalty algorithm at every ε"
        text = versus(accuracy, one, "penalty", 4)
        found.append(Check(claim, text, bool((accuracy[one] > accuracy["penalty"]).all())))
    if settings.quick:
        return found
    for one, name in NAMES.items():
        claim = f"paper: {name} is more accurate than the Barker method at every ε"
        text = versus(accuracy, one, "barker", 4)
        found.append(Check(claim, text, bool((accuracy[one] > accuracy["barker"]).all())))
    single = rows.set_index("method")["accuracy"]
    published, printed = accuracy[["fast", "full"]].to_numpy().max(), accuracy.loc[MAIN, "fast-printed"]
    return [
        *found,
        Check(
            "expected: with the printed sensitivity DP-fast MH comes within a point of what it does with the code's",
            f"{printed:.4f} against {accuracy.loc[MAIN, 'fast']:.4f} at ε = {MAIN:g}",
            bool(printed >= accuracy.loc[MAIN, "fast"] - 0.01),
        ),
        Check(
            "expected: DP-fast MH at ε = 0.05 comes within a point of the non-private posterior",
            f"{accuracy.loc[MAIN, 'fast']:.4f} against {single['reference']:.4f}",
            bool(accuracy.loc[MAIN, "fast"] >= single["reference"] - 0.01),
        ),
        Check(
            "the default, ε = 1 in all, is at least as accurate as DP-fast MH at any ε a step",
            f"{single[f'default@{ONE}']:.4f} against {published:.4f} at best",
            bool(single[f"default@{ONE}"] >= published),
        ),
        Check(
            "at the same total as the claim for ε = 0.05, the repaired test is at least as accurate as DP-fast MH",
            f"{accuracy.loc[MAIN, 'repaired']:.4f} against {accuracy.loc[MAIN, 'fast']:.4f}",
            bool(accuracy.loc[MAIN, "repaired"] >= accuracy.loc[MAIN, "fast"]),
        ),
    ]


def batch_against_epsilon(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    share = by_epsilon(rows, "share_of_data")
    if settings.quick:
        mini = share["fast"].loc[MAIN]
        claim = "paper: DP-fast MH reads fewer records a step than the Barker method at ε = 0.05"
        text = f"{mini:.1%} of the data against {share['barker'].loc[MAIN]:.1%}"
        return [labelled(rows), Check(claim, text, bool(mini < share["barker"].loc[MAIN]))]
    percent = 100 * share
    return [
        labelled(rows),
        Check(
            "paper: DP-fast MH reads fewer records a step than the Barker method at every ε (% of the data)",
            versus(percent, "fast", "barker"),
            bool((share["fast"] < share["barker"]).all()),
        ),
        Check(
            "paper: DP-fast MH needs less than 20 % of the data at every ε",
            f"{spelled(percent['fast'])} %",
            bool((share["fast"] < 0.2).all()),
        ),
        Check(
            "paper: the Barker method needs nearly all data at the smallest ε (80 % at least)",
            f"{percent['barker'].iloc[0]:.3g} %",
            bool(share["barker"].iloc[0] >= 0.8),
        ),
        Check(
            "the repaired test, ε = 1 in all, reads less than 5 % of the data a step",
            f"{rows.set_index('method').loc[f'repaired@{ONE}', 'share_of_data']:.2%}",
            bool(rows.set_index("method").loc[f"repaired@{ONE}", "share_of_data"] < 0.05),
        ),
    ]


def effect_of_batch(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    rows = rows.sort_values("largest_batch")
    batches = ", ".join(f"{batch:g}" for batch in rows["largest_batch"])
    read, accuracy = rows["share_of_data"], rows["accuracy"]
    found = [
        labelled(rows),
        Check(
            "paper: a smaller K reads more records a step",
            f"{spelled(100 * read)} % of the data at K = {batches}",
            bool(read.is_monotonic_decreasing and read.iloc[0] > read.iloc[-1]),
        ),
    ]
    if settings.quick:
        return found
    own = rows.loc[rows["largest_batch"] == LOGISTIC.largest_batch].iloc[0]
    return [
        *found,
        Check(
            "paper: a smaller K is more accurate (the smallest against the largest)",
            f"{spelled(accuracy, 4)} at K = {batches}",
            bool(accuracy.iloc[0] > accuracy.iloc[-1]),
        ),
        Check(
            "paper: with the K of the code most steps read a minibatch, less than 20 % of the data on average",
            f"{own['share_of_minibatches']:.1%} of the steps, {own['share_of_data']:.1%} of the data; divided by 500, "
            f"as the code does, {own['records_a_step'] / 500:.1f} %",
            bool(own["share_of_minibatches"] > 0.5 and own["share_of_data"] < 0.2),
        ),
    ]
