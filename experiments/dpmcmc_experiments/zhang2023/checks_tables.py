"""Checks of our own tables: the trade-off, what claims add up to, and gains."""

from __future__ import annotations

import pandas as pd

from dpmcmc_experiments.figures import Check, Settings
from dpmcmc_experiments.zhang2023.published import NO_GUARANTEE


def tradeoff(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    code = rows[rows["family"] == "published-code"].sort_values("epsilon_step")
    jumps, epsilons = code["squared_jump"].to_numpy(), code["epsilon_step"].to_numpy()
    ours = rows[rows["family"] == "repaired"].sort_values("epsilon_chain")
    checks = [
        Check(
            "paper: at one batch bound K, a smaller ε makes DP-fast MH less efficient",
            f"squared jump {jumps[0]:.2e} at ε = {epsilons[0]:g}, {jumps[-1]:.2e} at {epsilons[-1]:g}",
            bool(jumps[0] < jumps[-1]),
        ),
        Check(
            "the repaired test has the same trade-off, at batches below a tenth of the data",
            f"squared jump {ours['squared_jump'].min():.2e} to {ours['squared_jump'].max():.2e} for ε = "
            f"{ours['epsilon_chain'].min():.2g} to {ours['epsilon_chain'].max():.2g} in all",
            bool(
                ours["squared_jump"].is_monotonic_increasing and (settings.quick or ours["share_of_data"].max() < 0.1)
            ),
        ),
    ]
    if "published-text" in set(rows["family"]):
        text = rows[(rows["family"] == "published-text") & (rows["epsilon_step"] == 0.05)].iloc[0]
        checks.append(
            Check(
                "expected: with K = εC/(6 max c), ε = 0.05 and λ = 10, DP-fast MH moves (accepts one in ten)",
                f"acceptance {text['acceptance']:.4f} at K = {text['largest_batch']:.0f}",
                bool(text["acceptance"] >= 0.1),
            )
        )
    return checks


def budget(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    rows = rows.set_index("chain")
    published = rows[rows["holds"] == NO_GUARANTEE]
    checks = []
    for problem in ("mixture", "logistic"):
        claimed = rows.loc[f"{problem}, DP-fast MH", "epsilon_best"]
        ours = rows.loc[f"{problem}, repaired minibatch, published step length", "epsilon_chain"]
        claim = f"{problem}: the repaired chain costs less than the published claims add up to at best, were they true"
        checks.append(Check(claim, f"ε = {ours:.3g} against {claimed:.3g}", bool(ours < claimed)))
    found = ", ".join(
        f"{row['delta_needed']:.3g} (claimed {row['delta_chain']:.2g})" for _, row in published.iterrows()
    )
    needs_more = bool((published["delta_needed"] > published["delta_chain"]).all())
    return [*checks, Check("no published chain has the δ that its claims add up to, whatever ε", found, needs_more)]


def gains(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    cheaper = rows[rows["measure"].isin(["epsilon at equal length", "records read a step"])]
    if settings.quick:
        cheaper = cheaper[cheaper["setting"].str.startswith("mixture")]
    return [
        Check(
            "the repaired test costs less than the claim and reads fewer records, at the published lengths",
            ", ".join(f"{row['measure']} ÷ {row['ratio']:.3g}" for _, row in cheaper.iterrows()),
            bool((cheaper["ratio"] > 1).all()),
        )
    ]
