"""The page of the study: ``python -m dpmcmc_experiments.trust.page docs/results``.

Reads ``trust/bank.csv``, ``trust/peers.csv`` and ``trust/tarp.csv`` under the folder and rewrites what lies between
the marks of ``trust.md`` there; a page that does not exist is begun.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from dpmcmc_experiments.trust import given, tables, tarp
from dpmcmc_experiments.trust.base import FAMILIES
from dpmcmc_experiments.trust.harness import DEFAULT
from dpmcmc_experiments.trust.problems import BANK
from dpmcmc_experiments.utility.page import MARK, markdown

TITLES = {
    "summary": "In short",
    "failures": "Silent failures",
    "errors": "Errors against the oracle",
    "coverage": "Coverage of 90 % intervals",
    "given": "Coverage with real covariates",
    "honesty": "What releases say of their own error",
    "plans": "What plans expect",
    "verdicts": "Verdicts",
    "peers": "Other methods",
    "tarp": "Calibration (TARP)",
    "problems": "The problems",
}
NOTES = {
    "failures": "Releases with the verdict *usable* or *wide* (or none) and a parameter more than four of its released "
    "standard deviations from the exact posterior mean.",
    "errors": "Medians over problems and releases. Errors of posterior means are root mean squares over parameters, in "
    "exact posterior standard deviations; the oracle is one noisy sum of clipped scores at the exact mode, in the "
    "exact geometry, with the best radius and 0.6 of the budget (in μ²). The last column leaves out what even the "
    "oracle misses by 2 or more. Releases that say that they are not usable are included. Mixtures have two modes, and "
    "no oracle.",
    "coverage": "Of the exact posterior mean, and of the parameters that the records were drawn at (where they were "
    "drawn from the model), by releases that do not say that they are not usable. Standard errors are over releases.",
    "given": "Covariates of the RAND data (20 190 records, 8 columns), parameters drawn anew for each data set, "
    "outcomes from the model; `python -m dpmcmc_experiments.trust.given results`. Standard errors are over data sets. "
    "The last column counts releases with a parameter that far from the truth.",
    "honesty": "By releases that do not say that they are not usable. Said: medians. Found: root mean squares, as what "
    "is said is one. † marks ratios beyond a factor of 1.5; (–) marks cells in which most releases say that they are "
    "not usable.",
    "plans": "Before a record is read, from records that the model simulates a fifth of the way from its start to a "
    "draw of its prior, at the same n, ε and δ. Real covariates may be rarer, longer-tailed or more correlated than "
    "simulated ones, of which a plan cannot know; so it states a range for real records, from 0.5 to 4.5 times what it "
    "expects, chosen on these problems but for those named `new-`. Found: as above. † marks what is beyond that range.",
    "peers": "The same records, ε, δ and neighbours (substitution of one record). `dp-sgld` has its step and clip "
    "from the exact posterior, for free; `noisy-logistic` keeps the bias of its quadratic likelihood at any ε.",
    "tarp": tarp.NOTE,
}
HEAD = """# Can a release be trusted?

    dpmcmc reproduce trust --data DATA --out results
    python -m dpmcmc_experiments.trust.worker results --data DATA --processes 2    # the same, in two processes
    python -m dpmcmc_experiments.trust.page docs/results    # the tables of this page, from trust/*.csv beside it

A bank of problems, easy and hard, and default releases on them: `dp.sample(model, data, epsilon, delta)`, no setting
given, δ = 10⁻⁶ (0.1/n above 10⁵ records). DATA holds `adult.data`; without it, those problems are skipped. Seeds are
fixed, so no guarantee is issued for these runs; the budgets are those of runs with secret noise.
"""


def begun() -> str:
    """The page without its tables."""
    parts = [HEAD]
    for name, title in TITLES.items():
        note = f"{NOTES[name]}\n\n" if name in NOTES else ""
        parts.append(f"## {title}\n{note}<!-- {name}: begin -->\n<!-- {name}: end -->\n")
    return "\n".join(parts)


def rewritten(folder: Path) -> str:
    """The page with its tables made again."""
    page = folder / "trust.md"

    def filled(found: re.Match[str]) -> str:
        return found[1] + TABLES[found[2]](folder / "trust") + found[3]

    return MARK.sub(filled, page.read_text(encoding="utf-8") if page.exists() else begun())


def _rows(folder: Path, name: str = "bank") -> pd.DataFrame:
    path = folder / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def _of_bank(table: Callable[[pd.DataFrame], str]) -> Callable[[Path], str]:
    def made(folder: Path) -> str:
        rows = _rows(folder)
        return table(rows) if len(rows) else "Not run.\n"

    return made


def _summary(rows: pd.DataFrame) -> str:
    near = tables.is_near(tables.usable(tables.honesty(rows))["ratio"])
    flagged = (rows["verdict"] == "not usable").sum()
    ratio = tables.answered(rows)["found_error"] / tables.answered(rows)["oracle"]
    listed = [
        ["problems; releases", f"{rows['problem'].nunique()}; {len(rows)}"],
        ["crashes", str(len(tables.crashed(rows)))],
        ["not usable, by their own verdict", str(flagged)],
        ["silent failures, among the others", f"{len(tables.silent_failures(rows))} of {len(rows) - flagged}"],
        ["error found over the oracle's, median (quartiles)", _quartiles(ratio)],
        ["said within a factor of 1.5 of found", f"{near.sum()} of {len(near)} cells with mostly usable releases"],
    ]
    each = tables.is_near(tables.typical_ratios(rows))
    listed.append(["the same of the median release", f"{each.sum()} of {len(each)} of those"])
    planned = tables.usable(tables.plans(rows))["ratio"]
    for claim, holds in (
        ("expected by plans within a factor of 1.5 of found", tables.is_near(planned)),
        ("found within the range that plans state", tables.in_range(planned)),
    ):
        if len(holds):
            listed.append([claim, f"{holds.sum()} of {len(holds)} of those"])
    return markdown(["", ""], listed)


def _quartiles(values: pd.Series) -> str:
    low, middle, high = values.quantile([0.25, 0.5, 0.75])
    return f"{middle:.2f} ({low:.2f}, {high:.2f})"


def _failures(rows: pd.DataFrame) -> str:
    found, crashes = tables.silent_failures(rows), tables.crashed(rows)
    if found.empty and crashes.empty:
        return "None, and no crash.\n"
    listed = [
        [f"`{r.problem}`", f"{r.epsilon:g}", str(r.data_seed), str(r.verdict if isinstance(r.verdict, str) else "none"),
         f"{r.worst:.1f} released sd off"]
        for r in found.itertuples()
    ]  # fmt: skip
    listed += [
        [f"`{r.problem}`", f"{r.epsilon:g}", str(r.data_seed), "crash", str(r.exception).replace("|", "/")]
        for r in crashes.itertuples()
    ]
    return markdown(["problem", "ε", "data seed", "verdict", "what happened"], listed)


def _errors(rows: pd.DataFrame) -> str:
    listed = [
        [
            str(family),
            f"{epsilon:g}",
            *(_number(row[name]) for name in ("found_error", "oracle", "ratio", "where_below")),
        ]
        for (family, epsilon), row in tables.errors(rows).iterrows()
    ]
    return markdown(["family", "ε", "error found", "oracle", "ratio", "ratio where the oracle is below 2"], listed)


def _coverage(rows: pd.DataFrame) -> str:
    listed = []
    for (family, epsilon), row in tables.coverage(rows).iterrows():
        shares = [_share(row[name], row[f"{name}_error"]) for name in ("mean", "truth")]
        listed.append([str(family), f"{epsilon:g}", *shares, f"{row['data_sets']:.0f}"])
    return markdown(["family", "ε", "of the exact mean", "of the truth", "data sets with a truth"], listed)


def _share(value: float, error: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{value:.1%}" + ("" if np.isnan(error) else f" ± {error:.1%}")


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _honesty(rows: pd.DataFrame) -> str:
    found = tables.honesty(rows)
    epsilons = sorted(rows["epsilon"].unique())
    listed = []
    for problem in pd.unique(rows["problem"]):
        line = [f"`{problem}`"]
        for epsilon in epsilons:
            if (problem, epsilon) not in found.index:
                line.append("–")
                continue
            row = found.loc[(problem, epsilon)]
            mark = "" if 1 / tables.NEAR <= row["ratio"] <= tables.NEAR else " †"
            mark = " (–)" if row["flagged"] >= 0.5 else mark
            figures = f"{row['said_error']:.2f} / {row['found_error']:.2f} = {row['ratio']:.2f}"
            line.append((figures if row["flagged"] < 1 else "") + mark)
        listed.append(line)
    return markdown(["said / found", *(f"ε = {epsilon:g}" for epsilon in epsilons)], listed)


def _plans(rows: pd.DataFrame) -> str:
    found = tables.usable(tables.plans(rows))
    if found.empty:
        return "Not asked.\n"
    listed = [
        [f"`{problem}`", f"{epsilon:g}", f"{row['expected']:.2f}", f"{row['found_error']:.2f}",
         f"{row['ratio']:.2f}" + ("" if tables.in_range(row["ratio"]) else " †")]
        for (problem, epsilon), row in found.iterrows()
    ]  # fmt: skip
    return markdown(["problem", "ε", "expected", "found", "ratio"], listed)


def _verdicts(rows: pd.DataFrame) -> str:
    counts = tables.verdicts(rows)
    listed = [[f"`{name}`", *(str(count or "") for count in row)] for name, row in counts.iterrows()]
    return markdown(["problem", *map(str, counts.columns)], listed)


def _peers(folder: Path) -> str:
    peers, ours = _rows(folder, "peers"), _rows(folder)
    if peers.empty:
        return "Not run.\n"
    both = pd.concat([ours[ours["problem"].isin(peers["problem"])] if len(ours) else ours, peers], ignore_index=True)
    found = tables.by_method(both)
    methods = [m for m in (DEFAULT, *pd.unique(peers["method"])) if m in set(both["method"])]
    listed = []
    for problem, epsilon in dict.fromkeys(found.index.droplevel("method")):
        line = [f"`{problem}`", f"{epsilon:g}"]
        for method in methods:
            key = (problem, epsilon, method)
            if key in found.index and not np.isnan(found.loc[key, "found"]):
                line.append(f"{found.loc[key, 'found']:.2f} ({found.loc[key, 'covered']:.0%})")
            else:
                line.append("–")
        listed.append(line)
    return markdown(["error found (coverage of the exact mean)", "ε", *methods], listed)


def _tarp(folder: Path) -> str:
    rows = _rows(folder, "tarp")
    return tarp.table(rows) if len(rows) else "Not run.\n"


def _given(folder: Path) -> str:
    rows = _rows(folder, "given")
    return given.table(rows) if len(rows) else "Not run.\n"


def _problems(folder: Path) -> str:
    rows = _rows(folder)
    sizes = {} if rows.empty else rows.groupby("problem")[["n", "d"]].first().to_dict("index")
    listed = []
    for family in FAMILIES:
        for problem in (p for p in BANK.values() if p.family == family):
            size = sizes.get(problem.name)
            kind = "real" if problem.is_real else "from the model" if problem.from_model else "not from the model"
            numbers = [f"{size['n']:.0f}", f"{size['d']:.0f}"] if size else ["", ""]
            listed.append([f"`{problem.name}`", family, *numbers, kind, problem.about])
    return markdown(["problem", "family", "n", "d", "records", ""], listed)


TABLES: dict[str, Callable[[Path], str]] = {
    "summary": _of_bank(_summary),
    "failures": _of_bank(_failures),
    "errors": _of_bank(_errors),
    "coverage": _of_bank(_coverage),
    "given": _given,
    "honesty": _of_bank(_honesty),
    "plans": _of_bank(_plans),
    "verdicts": _of_bank(_verdicts),
    "peers": _peers,
    "tarp": _tarp,
    "problems": _problems,
}


def main() -> int:
    folder = Path(sys.argv[1])
    text = rewritten(folder)
    (folder / "trust.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
