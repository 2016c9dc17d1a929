"""Claims of the paper and of this library, held against the tables.

"paper" is claimed in its text; "expected" is what a reader would expect of the algorithm.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Check, Settings
from dpmcmc_experiments.zhang2023.published import NO_GUARANTEE


def _totals(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["kind"] == "summary"].set_index("method")


def _at_passes(rows: pd.DataFrame, method: str, passes: float, column: str) -> float:
    """A curve's value after so many passes over the data, interpolated in their logarithm."""
    part = rows[(rows["kind"] == "curve") & (rows["method"] == method)].sort_values("data_passes")
    return float(np.interp(np.log(passes), np.log(part["data_passes"]), part[column]))


def _labelled(rows: pd.DataFrame) -> Check:
    published = rows[rows["method"].str.startswith("published")]
    right = bool(published["label"].str.contains(NO_GUARANTEE).all()) and len(published) > 0
    return Check("every published sampler is labelled as without a valid guarantee", f"{len(published)} rows", right)


def _mostly_minibatches(total: pd.DataFrame) -> Check:
    """The abstract: a minibatch in most iterations."""
    row = total.loc["published"]
    found = f"{row['share_of_minibatches']:.1%} of the steps; on average {row['share_of_data']:.0%} of the data is read"
    return Check("paper: DP-fast MH reads a minibatch in most steps", found, bool(row["share_of_minibatches"] > 0.5))


def densities(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    shares = {
        str(method): float(part.loc[part["theta2"] > 0, "share"].sum()) for method, part in rows.groupby("method")
    }
    binned = rows.pivot_table(index=["theta1", "theta2"], columns="method", values="share", fill_value=0.0)
    least = 0.1 if settings.quick else 0.8  # a chain that never moves: below 0.02
    checks = [_labelled(rows)]
    for method in ("published-full", "published", "repaired"):
        common = float(binned[[method, "exact"]].min(axis=1).sum())
        claim = f"paper: the density of {method} is near the exact one (mass in common at least {least})"
        checks.append(Check(claim, f"{common:.2f}", common >= least))
    for method in () if settings.quick else ("published-full", "published", "repaired"):
        found = f"{shares[method]:.2f} of its draws have θ₂ > 0, exactly {shares['exact']:.2f}"
        claim = f"{method} visits both ends of the ridge in proportion (within 0.2)"
        checks.append(Check(claim, found, abs(shares[method] - shares["exact"]) <= 0.2))
    return checks


def convergence(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    total = _totals(rows)
    passes = float(total.loc["published", "data_passes"])
    kl = {key: _at_passes(rows, key, passes, "symmetric_kl") for key in ("published", "published-full")}
    small = float(total.loc["repaired-same", "data_passes"])
    first = rows.loc[rows["method"] == "published", "data_passes"].min()  # its first checkpoint, if that is later
    early = _at_passes(rows, "published", max(small, first), "symmetric_kl")
    same = float(total.loc["repaired-same", "symmetric_kl"])
    ess, rate = total["ess_a_chain"], total["ess_a_data_pass"]
    share = total["share_of_data"]
    checks = [
        _labelled(rows),
        Check(
            "expected: per datum read, DP-fast MH converges faster on minibatches than on all records",
            f"symmetric KL {kl['published']:.2f} against {kl['published-full']:.2f} after {passes:.0f} passes",
            kl["published"] < kl["published-full"],
        ),
        _mostly_minibatches(total),
        Check(
            "the repaired test reads fewer records a step than DP-fast MH at the same step length",
            f"{share['repaired-same']:.2%} against {share['published']:.0%}",
            bool(share["repaired-same"] < share["published"]),
        ),
        Check(
            "per datum read, the repaired test converges faster than DP-fast MH, at the same step length",
            f"symmetric KL {same:.2f} after {small:.0f} passes against {early:.2f} after {max(small, first):.0f}",
            same < early,
        ),
        Check(
            "per datum read, the repaired test yields more effective draws than full-data Barker",
            f"{rate['repaired']:.3g} against {rate['barker']:.3g} a pass",
            bool(rate["repaired"] > rate["barker"]),
        ),
        Check(
            "at one total budget, selection yields more effective draws than the minibatch test",
            f"{ess['orbit']:.0f} against {ess['repaired']:.0f} a chain",
            bool(ess["orbit"] > ess["repaired"]),
        ),
    ]
    if not settings.quick:
        floor = rows[rows["method"] == "exact"]["symmetric_kl"].iloc[-1]
        checks.append(
            Check(
                "the repaired test, ε = 1 in all, mixes better than DP-fast MH (effective draws a chain)",
                f"{ess['repaired']:.0f} against {ess['published']:.0f}; symmetric KL "
                f"{total.loc['repaired', 'symmetric_kl']:.2f} and {total.loc['published', 'symmetric_kl']:.2f}, "
                f"exact draws {floor:.2f}",
                bool(ess["repaired"] > ess["published"]),
            )
        )
    return checks


def accuracies(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    total = _totals(rows)
    accuracy, share = total["accuracy"], total["share_of_data"]
    fitted = next(key for key in total.index if key.startswith("fitted"))
    margin = 0.1 if settings.quick else 0.02
    checks = [
        _labelled(rows),
        Check(
            f"a private fit and a private chain at ε = {total.loc[fitted, 'epsilon']:.2g} in all come within "
            f"{100 * margin:.0f} points of the non-private posterior",
            f"{accuracy[fitted]:.3f} against {accuracy['reference']:.3f}",
            bool(accuracy[fitted] >= accuracy["reference"] - margin),
        ),
    ]
    if settings.quick:
        return checks
    passes = float(total.loc["published", "data_passes"])
    mini, full = (_at_passes(rows, key, passes, "accuracy") for key in ("published", "published-full"))
    return [
        *checks,
        _mostly_minibatches(total),
        Check(
            "expected: per datum read, DP-fast MH is more accurate on minibatches than on all records",
            f"{mini:.3f} against {full:.3f} after {passes:.0f} passes",
            mini > full,
        ),
        Check(
            "expected: DP-fast MH comes within a point of the accuracy of the non-private posterior",
            f"{accuracy['published']:.3f} against {accuracy['reference']:.3f}",
            bool(accuracy["published"] >= accuracy["reference"] - 0.01),
        ),
        Check(
            "the repaired test with as many steps of the published length reads fewer records and is no less accurate",
            f"accuracy {accuracy['repaired-same']:.3f} against {accuracy['published']:.3f}, "
            f"{share['repaired-same']:.1%} of the data a step against {share['published']:.1%}",
            bool(accuracy["repaired-same"] >= accuracy["published"] and share["repaired-same"] < share["published"]),
        ),
    ]


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
        cheaper = cheaper[cheaper["figure"] == "fig2"]
    return [
        Check(
            "the repaired test costs less than the claim and reads fewer records, at the published lengths",
            ", ".join(f"{row['measure']} ÷ {row['ratio']:.3g}" for _, row in cheaper.iterrows()),
            bool((cheaper["ratio"] > 1).all()),
        )
    ]
