"""Conclusions of the paper on the mixture (Figures 1, 2 and 4), and those of this library, held against the tables.

"paper" is a conclusion of its text. A quick run asks for what must hold at its scale.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Check, Settings
from dpmcmc_experiments.zhang2023.published import NO_GUARANTEE
from dpmcmc_experiments.zhang2023.samplers import MAIN, ONE

NEAR = 1.5
"""A symmetric KL up to so many times another counts as comparable, or as converged beside exact draws."""


def labelled(rows: pd.DataFrame) -> Check:
    published = rows[rows["family"].str.startswith(("fast", "full"))]
    right = bool(published["label"].str.contains(NO_GUARANTEE).all()) and len(published) > 0
    return Check("every published sampler is labelled as without a valid guarantee", f"{len(published)} rows", right)


def by_epsilon(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of the samplers with an ε a step: rows are ε, ascending, columns families."""
    return rows.pivot_table(index="epsilon_step", columns="family", values=column).sort_index()


def spelled(values: pd.Series, digits: int = 3) -> str:
    return ", ".join(f"{value:.{digits}g}" for value in values)


def versus(table: pd.DataFrame, one: str, other: str, digits: int = 3) -> str:
    at = ", ".join(f"{epsilon:g}" for epsilon in table.index)
    return f"{spelled(table[one], digits)} against {spelled(table[other], digits)} at ε = {at}"


def kl_against_epsilon(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    kl = by_epsilon(rows, "symmetric_kl")
    best = rows.set_index("method")["symmetric_kl"]
    found = [labelled(rows)]
    names = {"fast": "DP-fast MH", "full": "DP-fast MH on all records"}
    for one, name in names.items():
        for other, baseline in (("penalty", "the penalty algorithm"), ("barker", "the Barker method")):
            claim = f"paper: {name} is nearer than {baseline} at every ε"
            found.append(Check(claim, versus(kl, one, other), bool((kl[one] < kl[other]).all())))
    ratio = (kl["fast"] / kl["full"]).max()
    claim = f"paper: minibatches are comparable with all records (symmetric KL up to {NEAR:g} times as large)"
    found.append(Check(claim, versus(kl, "fast", "full"), bool(ratio <= NEAR)))
    for one, name in names.items():
        claim, ends = f"paper: a smaller ε makes {name} worse", kl[one].iloc[[0, -1]]
        text = f"{spelled(ends)} at ε = {kl.index[0]:g} and {kl.index[-1]:g}"
        found.append(Check(claim, text, bool(ends.iloc[0] > ends.iloc[-1])))
    if settings.quick:
        must = ("labelled", "DP-fast MH on all records is nearer than the penalty", "smaller ε makes DP-fast MH worse")
        return [check for check in found if any(part in check.claim for part in must)]
    published = np.nanmin(kl[["fast", "fast-code", "full"]].to_numpy())
    ours, repaired = best[f"default@{ONE}"], best[f"repaired@{ONE}"]
    return [
        *found,
        Check(
            "the default, ε = 1 in all, is nearer than DP-fast MH at any ε a step, however it is run",
            f"{ours:.3g} against {published:.3g} at best; exact draws {best['exact']:.3g}",
            bool(ours < published),
        ),
        Check(
            "the repaired test, ε = 1 in all, is nearer than both baselines at ε = 0.01 a step",
            f"{repaired:.3g} against {kl.loc[0.01, 'penalty']:.3g} and {kl.loc[0.01, 'barker']:.3g}",
            bool(repaired < kl.loc[0.01, ["penalty", "barker"]].min()),
        ),
        Check(
            "at the same total as the claim, the repaired test is no worse than DP-fast MH (symmetric KL, every ε)",
            versus(kl, "repaired", "fast"),
            bool((kl["repaired"] <= kl["fast"]).all()),
        ),
    ]


def batch_against_epsilon(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    read, share = by_epsilon(rows, "records_a_step"), by_epsilon(rows, "share_of_data")
    where = "the smallest" if settings.quick else "every"
    asked = read.iloc[:1] if settings.quick else read  # few records: at a larger ε, K is nearly all of them
    found = [
        Check(
            f"paper: DP-fast MH reads fewer records a step than the Barker method at {where} ε",
            versus(asked, "fast", "barker"),
            bool((asked["fast"] < asked["barker"]).all()),
        ),
        Check(
            "paper: the Barker method needs larger batches at a smaller ε",
            spelled(read["barker"]),
            bool(read["barker"].is_monotonic_decreasing and read["barker"].iloc[0] > read["barker"].iloc[-1]),
        ),
    ]
    if settings.quick:
        return found
    code = share["fast-code"].loc[MAIN]
    batches = by_epsilon(rows, "share_of_minibatches")["fast-code"].loc[MAIN]
    return [
        *found,
        Check(
            "paper: DP-fast MH needs larger batches at a smaller ε",
            f"{spelled(read['fast'])} at ε = {', '.join(f'{e:g}' for e in read.index)}",
            bool(read["fast"].iloc[0] > read["fast"].iloc[-1]),
        ),
        Check(
            "paper: with the constants of the code, most steps read a minibatch",
            f"{batches:.1%} of the steps; on average {code:.0%} of the data is read",
            bool(batches > 0.5),
        ),
        Check(
            "at the step length of the code, the repaired test reads fewer records a step",
            f"{rows.set_index('method').loc['repaired-same', 'share_of_data']:.2%} of the data against {code:.0%}",
            bool(rows.set_index("method").loc["repaired-same", "share_of_data"] < code),
        ),
    ]


def value_at(rows: pd.DataFrame, method: str, column: str, at: float) -> float:
    """A curve's symmetric KL where ``column`` is ``at``, interpolated in its logarithm; its first or last beyond."""
    part = rows[rows["method"] == method].sort_values(column)
    return float(np.interp(np.log(at), np.log(part[column]), part["symmetric_kl"]))


def by_steps(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    most = float(rows["steps"].max())

    def over_exact(method: str, steps: float) -> float:
        return value_at(rows, method, "steps", steps) / value_at(rows, "exact", "steps", steps)

    early = {key: value_at(rows, f"{key}@{MAIN:g}", "steps", most / 5) for key in ("fast", "full", "penalty", "barker")}
    text = ", ".join(f"{key} {value:.3g}" for key, value in early.items())
    found = [
        labelled(rows),
        Check(
            "paper: on all records DP-fast MH converges faster than the penalty algorithm (after a fifth of the steps)",
            text,
            early["full"] < early["penalty"],
        ),
    ]
    if settings.quick:
        return found
    found.append(
        Check(
            "paper: DP-fast MH converges faster than both baselines (after a fifth of the steps)",
            text,
            early["fast"] < min(early["penalty"], early["barker"]),
        )
    )
    for key, steps, wanted in (("fast", 4000, True), ("penalty", 1e4, False), ("barker", 1e4, False)):
        name = {"fast": "DP-fast MH", "penalty": "the penalty algorithm", "barker": "the Barker method"}[key]
        ratio = over_exact(f"{key}@{MAIN:g}", steps)
        claim = f"paper: {name} has {'' if wanted else 'not '}converged after {steps:g} steps"
        found.append(Check(claim, f"symmetric KL {ratio:.2f} times that of exact draws", (ratio <= NEAR) == wanted))
    ratio = over_exact(f"default@{ONE}", most)
    claim = f"the default, ε = 1 in all: 10⁴ draws score as exact ones do (up to {NEAR:g} times)"
    return [*found, Check(claim, f"symmetric KL {ratio:.2f} times that of exact draws", ratio <= NEAR)]


def _at_equal(rows: pd.DataFrame, column: str, settings: Settings) -> tuple[dict[str, float], str]:
    """Symmetric KL of the published samplers at the least of what their whole chains cost."""
    keys = ("fast", "full", "penalty", "barker")
    totals = [rows.loc[rows["method"] == f"{key}@{MAIN:g}", column].max() for key in keys]
    at = min(totals)
    found = {key: value_at(rows, f"{key}@{MAIN:g}", column, at) for key in keys}
    return found, f"{', '.join(f'{k} {v:.3g}' for k, v in found.items())} after {at:.3g}"


def with_seconds(rows: pd.DataFrame) -> pd.DataFrame:
    """The curves, with steps times the seconds of a step; releases have theirs."""
    a_step = rows[rows["family"] == "time"].set_index("method")["seconds_a_step"]
    curves = rows[rows["family"] != "time"].copy()
    curves["seconds"] = curves["seconds"].fillna(curves["steps"] * curves["method"].map(a_step))
    return curves


def by_seconds(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    rows = with_seconds(rows)
    kl, text = _at_equal(rows, "seconds", settings)
    if settings.quick:  # short runs are mostly compilation
        return [labelled(rows), Check("every sampler took time", text, bool((rows["seconds"].dropna() > 0).all()))]
    ours = rows.loc[rows["method"] == f"repaired@{MAIN:g}", "seconds"].max()
    theirs = rows.loc[rows["method"] == f"fast@{MAIN:g}", "seconds"].max()
    return [
        labelled(rows),
        Check(
            "paper: per second, DP-fast MH converges faster than the penalty algorithm",
            f"symmetric KL {text} seconds",
            kl["fast"] < kl["penalty"],
        ),
        Check(
            "paper: per second, DP-fast MH converges faster than the Barker method",
            f"symmetric KL {text} seconds",
            kl["fast"] < kl["barker"],
        ),
        Check(
            "10⁴ steps of the repaired test take less time than of DP-fast MH",
            f"{ours:.3g} s against {theirs:.3g} s",
            bool(ours < theirs),
        ),
    ]


def by_records(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    kl, text = _at_equal(rows, "records", settings)
    found = [
        labelled(rows),
        Check(
            "paper: per record read, DP-fast MH converges faster than the penalty algorithm",
            f"symmetric KL {text} records",
            kl["fast"] < kl["penalty"],
        ),
        Check(
            "paper: per record read, DP-fast MH converges faster than the Barker method",
            f"symmetric KL {text} records",
            kl["fast"] < kl["barker"],
        ),
        Check(
            "paper: per record read, DP-fast MH on all records converges faster than the penalty algorithm",
            f"symmetric KL {text} records",
            kl["full"] < kl["penalty"],
        ),
    ]
    if settings.quick:
        return found[:2]
    ours = rows[rows["method"] == f"default@{ONE}"].iloc[-1]
    least = rows.loc[rows["method"] == f"fast@{MAIN:g}", "records"].max()
    claim = "the default, ε = 1 in all, reads fewer records than 10⁴ steps of DP-fast MH"
    return [*found, Check(claim, f"{ours['records']:.3g} against {least:.3g}", bool(ours["records"] < least))]


def densities(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    binned = rows.pivot_table(index=["theta1", "theta2"], columns="method", values="share", fill_value=0.0)

    def common(method: str) -> float:
        return float(binned[[method, "exact"]].min(axis=1).sum())

    least = 0.2 if settings.quick else 0.8  # a chain that never moves: below 0.02
    found = [labelled(rows)]
    for key, name in (("fast", "DP-fast MH"), ("full", "DP-fast MH on all records")):
        claim = f"paper: the density of {name} is near the true one (mass in common at least {least})"
        mass = common(f"{key}@{MAIN:g}")
        found.append(Check(claim, f"{mass:.2f}", mass >= least))
    if settings.quick:
        return found
    for key, name in (("penalty", "the penalty algorithm"), ("barker", "the Barker method")):
        mass = common(f"{key}@{MAIN:g}")
        found.append(Check(f"paper: that of {name} is not", f"{mass:.2f}", mass < least))
    for key in (f"repaired@{ONE}", f"default@{ONE}"):
        mass = common(key)
        claim = f"{key.split('@')[0]}, ε = 1 in all: mass in common at least {least}"
        found.append(Check(claim, f"{mass:.2f}", mass >= least))
    exact = rows[rows["method"] == "exact"]
    modes = [_share_near(exact, point) for point in ((0.0, 1.0), (1.0, -1.0), (0.5, 0.0))]
    claim = "paper: two modes, at (0, 1) and (1, −1), with less than half their density between"
    text = f"mass within 0.2 of them {modes[0]:.4f} and {modes[1]:.4f}, of their middle {modes[2]:.4f}"
    return [*found, Check(claim, text, modes[2] < 0.5 * min(modes[:2]))]


def _share_near(rows: pd.DataFrame, point: tuple[float, float]) -> float:
    near = np.hypot(rows["theta1"] - point[0], rows["theta2"] - point[1]) < 0.2
    return float(rows.loc[near, "share"].sum())
