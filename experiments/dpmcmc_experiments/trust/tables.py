"""What the rows of the bank say: silent failures, crashes, errors against the oracle, coverage, honesty, verdicts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Check, Settings
from dpmcmc_experiments.trust.base import FAMILIES
from dpmcmc_experiments.trust.harness import LEVEL

FAR = 4.0  # released standard deviations by which a parameter must not be off unless the release warns
UNWARNED = ("usable", "wide", "")  # a release without a verdict warns of nothing
NEAR = 1.5
PLANNED = (0.5, 4.5)  # the range that plans state for real records, over what they expect
CELL = ["problem", "epsilon"]


def crashed(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[_texts(rows, "exception") != ""]


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[_texts(rows, "exception") == ""]


def silent_failures(rows: pd.DataFrame) -> pd.DataFrame:
    """Releases that warn of nothing and have a parameter more than ``FAR`` released standard deviations off."""
    kept = answered(rows)
    return kept[_texts(kept, "verdict").isin(UNWARNED) & ~(kept["worst"] <= FAR)]


def verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """How often each verdict was given, by problem; crashes as one of them."""
    named = _texts(rows, "verdict").mask(_texts(rows, "exception") != "", "crash").replace("", "none")
    return pd.crosstab(rows["problem"], named).reindex(pd.unique(rows["problem"]))


def errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Medians by family and ε: of what was found, of the oracle, of their ratio, and where the oracle is below 2."""
    kept = answered(rows).assign(ratio=lambda t: t["found_error"] / t["oracle"])
    kept = kept.assign(where_below=kept["ratio"].where(kept["oracle"] < 2))
    return _by_family(kept)[["found_error", "oracle", "ratio", "where_below"]].median()


def coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of 90 % intervals that hold the exact mean, and the truth where there is one, with standard errors.

    Of releases that do not say that they are not usable. Errors are over releases, as the parameters of one release
    are not independent.
    """
    kept = answered(rows)
    kept = kept[_texts(kept, "verdict") != "not usable"]
    shares = kept.assign(mean=kept["covered_mean"] / kept["d"], truth=kept["covered_truth"] / kept["d"])
    grouped = _by_family(shares)[["mean", "truth"]]
    found = grouped.mean()
    deviation = grouped.std() / np.sqrt(grouped.count())
    return found.join(deviation.add_suffix("_error")).join(grouped.count()["truth"].rename("data_sets"))


def honesty(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each problem and ε: what was said (median over releases), the root mean square of what was found, which is
    what is said, and their ratio, by releases that do not say that they are not usable; and the share of those that do.
    """
    kept = answered(rows)
    kept = kept.assign(square=kept["found_error"] ** 2, flagged=_texts(kept, "verdict") == "not usable")
    flagged = kept.groupby(CELL, sort=False)["flagged"].mean()
    grouped = kept[~kept["flagged"]].groupby(CELL, sort=False)
    found = np.sqrt(grouped["square"].mean()).rename("found_error")
    cells = pd.concat([flagged, grouped["said_error"].median(), found], axis=1)
    cells = cells[cells["said_error"].notna() | (cells["flagged"] == 1)]
    return cells.assign(ratio=cells["said_error"] / cells["found_error"])


def typical_ratios(rows: pd.DataFrame) -> pd.Series:
    """Of each problem and ε with mostly usable releases: the median over these of what one says over what it has."""
    kept = answered(rows)
    kept = kept[_texts(kept, "verdict") != "not usable"]
    ratios = (kept["said_error"] / kept["found_error"]).groupby([kept[name] for name in CELL], sort=False).median()
    return ratios[ratios.index.isin(usable(honesty(rows)).index)]


def plans(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each problem and ε whose plan was asked: the error it expects, that found as in :func:`honesty`, the ratio."""
    expected = pd.to_numeric(rows["expected_error"], errors="coerce")
    asked = rows.assign(expected=expected)[expected.notna()].groupby(CELL, sort=False)["expected"].first()
    cells = honesty(rows).join(asked, how="inner")
    return cells.assign(ratio=cells["expected"] / cells["found_error"])[["flagged", "expected", "found_error", "ratio"]]


def in_range(ratio: Any) -> Any:
    """Whether errors found are within the range that plans state for real records, by what they expect over that."""
    low, high = PLANNED
    return (1 / ratio >= low) & (1 / ratio <= high)


def usable(cells: pd.DataFrame) -> pd.DataFrame:
    """Cells in which most releases do not warn: what the others say of their error is of no consequence."""
    return cells[cells["flagged"] < 0.5]


def against_oracle(rows: pd.DataFrame) -> pd.Series:
    """By family, at ε = 1: the median over releases of the error found over the oracle's, where that is below 2."""
    kept = answered(rows)
    kept = kept[(kept["epsilon"] == 1.0) & (pd.to_numeric(kept["oracle"], errors="coerce") < 2)]
    return (kept["found_error"] / kept["oracle"]).groupby(kept["family"], sort=False).median()


def is_near(ratio: pd.Series) -> pd.Series:
    return (ratio <= NEAR) & (ratio >= 1 / NEAR)


def by_method(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each problem, ε and method: median error found, share of intervals that hold the exact mean, crashes."""
    kept = rows.assign(mean=rows["covered_mean"] / rows["d"], crash=_texts(rows, "exception") != "")
    grouped = kept.groupby([*CELL, "method"], sort=False)
    return grouped.agg(
        found=("found_error", "median"),
        worst=("worst", "median"),
        covered=("mean", "mean"),
        seconds=("seconds", "median"),
        crashes=("crash", "sum"),
    )


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    """What is claimed of the default method."""
    failures, crashes = silent_failures(rows), crashed(rows)
    listed = ", ".join(f"{r.problem} ε = {r.epsilon:g}: {r.worst:.1f}" for r in failures.itertuples())
    checks = [
        Check("no release crashes", f"{len(crashes)} of {len(rows)}", crashes.empty),
        Check(
            f"no release without a warning has a parameter more than {FAR:g} of its standard deviations off",
            f"{len(failures)} of {len(rows)}" + (f"; {listed}" if listed else ""),
            failures.empty,
        ),
    ]
    if settings.quick or answered(rows).empty:
        return checks
    near = is_near(usable(honesty(rows))["ratio"])
    claim = f"what releases say of their error is within a factor of {NEAR:g} in at least 90 % of the usable cells"
    checks.append(Check(claim, f"{near.sum()} of {len(near)}", bool(near.mean() >= 0.9)))
    ratios = against_oracle(rows)
    high = ratios[ratios > NEAR]
    listed = ", ".join(f"{family} {ratio:.2f}" for family, ratio in high.items())
    claim = f"at ε = 1 the median error is at most {NEAR:g} of the oracle's in every family, where that is below 2"
    checks.append(Check(claim, listed or f"at most {ratios.max():.2f}", high.empty))
    covered = coverage(rows)
    low = covered[covered["mean"] + 2 * covered["mean_error"].fillna(0) < LEVEL]
    listed = ", ".join(f"{family} ε = {epsilon:g}: {row['mean']:.0%}" for (family, epsilon), row in low.iterrows())
    claim = "90 % intervals hold 90 % of the exact posterior means in every family, within two standard errors"
    return [*checks, Check(claim, listed or "all", low.empty)]


def _texts(rows: pd.DataFrame, column: str) -> pd.Series:
    return rows[column].fillna("").astype(str)


def _by_family(rows: pd.DataFrame) -> pd.api.typing.DataFrameGroupBy:
    numbers = rows.assign(family=pd.Categorical(rows["family"], [f for f in FAMILIES if f in set(rows["family"])]))
    for column in ("found_error", "oracle", "covered_truth"):
        numbers[column] = pd.to_numeric(numbers[column], errors="coerce")
    return numbers.groupby(["family", "epsilon"], observed=True)
