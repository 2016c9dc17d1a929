"""Calibration: how often credible regions hold the parameters, when these come from the prior (TARP).

Lemos, Coogan, Hezaveh & Perreault-Levasseur (2023): for a reference point that does not depend on the truth, the share
of draws that are nearer to it than the truth is uniform if the posterior is right. The curve of how often that share is
below a level, against the level, is the diagonal then; its error here is the root mean square difference from it.
Levels and reference points are those of the code of Alrawajfeh, Jälkö & Honkela (2025): 21 levels; uniform within four
standard deviations of an estimate, here the released mean, 20 for each data set. Unlike theirs, distances are in
released standard deviations, so that no parameter rules.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Cell, Check, Settings, rng_of, seed_of
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.harness import DEFAULT, LEVEL
from dpmcmc_experiments.trust.peers import METHODS
from dpmcmc_experiments.trust.reference import newton
from dpmcmc_experiments.trust.tarp_problems import PROBLEMS, N
from dpmcmc_experiments.utility.page import markdown
from dpmcmc_experiments.utility.scores import short

PEER = "noise-aware-dpvi"
EPSILONS = (0.3, 1.0)
DELTA = 1e-5
SETS, BLOCK = 100, 10  # data sets of each problem, and of each cell
QUICK_PROBLEM, QUICK_SETS = "beta-bernoulli", 4
REFERENCES, HALF_WIDTH = 20, 4.0
LEVELS = np.concatenate([[0.001], np.arange(1, 20) / 20, [0.999]])
RESAMPLED = 500
CELL = ["problem", "epsilon", "method"]
NOTE = (
    "Parameters from the prior, 5000 records from the model, δ = 10⁻⁵, substitution of one record for both methods. "
    "The problems follow the public code of Alrawajfeh, Jälkö & Honkela (2025), with ten covariates in the logistic "
    "regression and independent priors in the linear one. The TARP error is the root mean square distance of the "
    "coverage curve (Lemos et al. 2023) from the diagonal, ± a bootstrap standard error over data sets; *by chance* is "
    "what it would be, about, if the posterior were right. Their code counts addition or removal of a record, which "
    "needs half of the noise. `noise-aware-dpvi` is our own version; its steps and schedule were chosen by hand among "
    "about ten on the first data sets of `linear-10`, which flatters it there. Errors of means are medians over data "
    "sets of root mean squares over parameters, in exact posterior standard deviations. Read them as well: the prior "
    "is calibrated, so a release that gives up (*not usable*) and gives the prior back has a small TARP error and is "
    "worth nothing. `python -m dpmcmc_experiments.trust.tarp_run results --sets 30` runs some of the 100 data sets."
)


def levels(draws: np.ndarray, truth: np.ndarray, rng: np.random.Generator, count: int = REFERENCES) -> np.ndarray:
    """Of ``count`` random reference points, the share of draws that are nearer to it than the truth."""
    centre, sd = draws.mean(axis=0), draws.std(axis=0)
    if not (np.all(np.isfinite(draws)) and np.all(sd > 0)):
        raise ValueError("draws are not finite, or all alike")
    references = rng.uniform(-HALF_WIDTH, HALF_WIDTH, (count, len(truth)))
    standard, distances = (draws - centre) / sd, np.linalg.norm((truth - centre) / sd - references, axis=1)
    return np.array(
        [
            np.mean(np.linalg.norm(standard - reference, axis=1) < distance)
            for reference, distance in zip(references, distances, strict=True)
        ]
    )


def below(found: np.ndarray) -> np.ndarray:
    """Of each data set and level, the share of reference points with less than that: (data set, level)."""
    return np.mean(found[:, :, None] < LEVELS, axis=1)


def coverage_error(shares: np.ndarray) -> float:
    """Root mean square difference of the coverage curve from the diagonal."""
    return float(np.sqrt(np.mean((shares.mean(axis=0) - LEVELS) ** 2)))


def summary(found: np.ndarray) -> dict[str, float]:
    """The error of the curve, its bootstrap standard error over data sets, the largest difference, and ``chance``.

    ``chance`` is the error to expect of a posterior that is right, from the variance between data sets.
    """
    shares, rng = below(found), rng_of("trust", "tarp", "bootstrap")
    count = len(shares)
    again = [coverage_error(shares[rng.integers(count, size=count)]) for _ in range(RESAMPLED)] if count > 1 else []
    spread = shares.var(axis=0, ddof=1) if count > 1 else np.full(len(LEVELS), np.nan)
    return {
        "tarp": coverage_error(shares),
        "tarp_se": float(np.std(again)) if again else np.nan,
        "largest": float(np.max(np.abs(shares.mean(axis=0) - LEVELS))),
        "chance": float(np.sqrt(np.mean(spread / count))),
    }


def run(name: str, epsilon: float, method: str, data_seed: int) -> dict[str, Any]:
    """One release on one data set as a row; an exception of the method is a row too.

    ``error``: root mean square over parameters, of the mean, from the exact mode in the standard deviations there.
    """
    problem = PROBLEMS[name]
    records, truth = problem.drawn(data_seed)
    assert truth is not None
    mode, hessian = newton(density(problem), records, truth)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    key = ("tarp", name, epsilon, method, data_seed)
    row: dict[str, Any] = {"problem": name, "epsilon": epsilon, "method": method, "data_seed": data_seed}
    row |= {"n": N, "d": len(truth), "verdict": "", "error": "", "spread": "", "covered": "", "levels": ""}
    began = time.perf_counter()
    try:
        answer = METHODS[method](problem, records, epsilon, DELTA, seed_of(*key))
        row["seconds"], row["exception"] = time.perf_counter() - began, ""
        found = levels(answer.draws, truth, rng_of(*key, "references"))
        row |= {
            "verdict": answer.verdict,
            "error": float(np.sqrt(np.mean(((answer.mean - mode) / sd) ** 2))),
            "spread": float(np.median(answer.sd / sd)),
            "covered": int(np.sum((answer.low <= truth) & (truth <= answer.high))),
            "levels": " ".join(f"{level:.4g}" for level in found),
        }
    except Exception as error:
        row["seconds"] = time.perf_counter() - began
        row["exception"] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return short(row)


def block(name: str, epsilon: float, method: str, seeds: Sequence[int]) -> Cell:
    """The releases of one method on some data sets."""

    def rows() -> list[dict[str, Any]]:
        _compiled_for(name)
        return [run(name, epsilon, method, seed) for seed in seeds]

    return Cell(f"tarp-{name}-{epsilon:g}-{method}-{seeds[0]}-{len(seeds)}", rows)


@lru_cache(maxsize=1)
def _compiled_for(name: str) -> None:
    """Lets programs go that were compiled for another problem than the last."""
    jax.clear_caches()


def cells(settings: Settings, sets: int = SETS) -> list[Cell]:
    """Every problem with the first data sets, then with the next: what is there when a run is cut off is even."""
    names = (QUICK_PROBLEM,) if settings.quick else tuple(PROBLEMS)
    epsilons = EPSILONS[-1:] if settings.quick else EPSILONS
    sets, size = (QUICK_SETS, QUICK_SETS) if settings.quick else (sets, BLOCK)
    return [
        block(name, epsilon, method, range(first, min(first + size, sets)))
        for first in range(0, sets, size)
        for name in names
        for method in (DEFAULT, PEER)
        for epsilon in epsilons
    ]


def answered(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["levels"].notna()]


def read_levels(rows: pd.DataFrame) -> np.ndarray:
    """(data set, reference point)."""
    return np.array([[float(level) for level in str(text).split()] for text in rows["levels"]])


def scored(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """What each group of rows is worth: errors of coverage curve and means, coverage of 90 % intervals."""
    made = {}
    for key, part in answered(rows).groupby(by, sort=False):
        covered = part["covered"] / part["d"]
        made[key] = {
            "sets": len(part),
            **summary(read_levels(part)),
            "error": part["error"].median(),
            "spread": part["spread"].median(),
            "covered": covered.mean(),
            "covered_se": covered.std() / np.sqrt(len(part)),
            "seconds": part["seconds"].median(),
        }
    return pd.DataFrame(made.values(), index=pd.MultiIndex.from_tuples(made, names=by))


def table(rows: pd.DataFrame) -> str:
    """Methods side by side, then the default by its own verdict."""
    header = ["data sets", "TARP error", "by chance", "90 % intervals hold", "error of means", "released / exact sd"]
    found = scored(rows, CELL)
    both = markdown(["problem", "ε", "method", *header], [_line(key, row) for key, row in found.iterrows()])
    ours = rows[rows["method"] == DEFAULT].fillna({"verdict": "none"})
    split = scored(ours, ["problem", "epsilon", "verdict"])
    split = markdown(["problem", "ε", "verdict", *header], [_line(key, row) for key, row in split.iterrows()])
    return f"{both}\nThe default, by what it said:\n\n{split}"


def _line(key: Any, row: pd.Series) -> list[str]:
    name, epsilon, last = key
    return [
        f"`{name}`", f"{epsilon:g}", str(last), f"{row['sets']:.0f}", _with_error(row["tarp"], row["tarp_se"]),
        "–" if np.isnan(row["chance"]) else f"{row['chance']:.3f}",
        f"{row['covered']:.1%}" + ("" if np.isnan(row["covered_se"]) else f" ± {row['covered_se']:.1%}"),
        f"{row['error']:.2f}", f"{row['spread']:.2f}",
    ]  # fmt: skip


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f}" + ("" if np.isnan(error) else f" ± {error:.3f}")


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    """What is claimed of the default: it answers, its regions hold what they say, and it is no worse than the peer."""
    ours = rows[rows["method"] == DEFAULT]
    checks = [Check("every release answers", f"{len(answered(ours))} of {len(ours)}", len(answered(ours)) == len(ours))]
    if settings.quick:
        return checks
    found = scored(rows, CELL).reset_index()
    default = found[found["method"] == DEFAULT].set_index(CELL[:2])
    peer = found[found["method"] == PEER].set_index(CELL[:2]).reindex(default.index)
    off = default[default["tarp"] > 2 * default["chance"]]
    claim = "the default's coverage curve is within twice what chance explains of the diagonal"
    checks.append(Check(claim, _listed(off, "tarp") or "everywhere", off.empty))
    worse = default[default["tarp"] - peer["tarp"] > 2 * np.hypot(default["tarp_se"], peer["tarp_se"])]
    claim = f"it is nowhere further off than {PEER}, by more than two standard errors"
    checks.append(Check(claim, _listed(worse, "tarp") or "nowhere", worse.empty))
    low = default[default["covered"] + 2 * default["covered_se"] < LEVEL]
    claim = "90 % intervals hold the parameters at least nine times in ten, within two standard errors"
    checks.append(Check(claim, _listed(low, "covered") or "everywhere", low.empty))
    farther = default[default["error"] > peer["error"]]
    claim = f"its means are nowhere further from the exact ones than those of {PEER}"
    return [*checks, Check(claim, _listed(farther, "error") or "nowhere", farther.empty)]


def _listed(rows: pd.DataFrame, column: str) -> str:
    return ", ".join(f"{name} ε = {epsilon:g}: {row[column]:.3f}" for (name, epsilon), row in rows.iterrows())


def draw(rows: pd.DataFrame) -> Any:
    """Coverage curves, a panel for each problem and ε."""
    import matplotlib.pyplot as plt

    kept = answered(rows)
    names, epsilons = pd.unique(kept["problem"]), sorted(kept["epsilon"].unique())
    size = (2.6 * len(names), 2.6 * len(epsilons))
    figure, axes = plt.subplots(len(epsilons), len(names), figsize=size, squeeze=False, sharex=True, sharey=True)
    for line, epsilon in zip(axes, epsilons, strict=True):
        for axis, name in zip(line, names, strict=True):
            part = kept[(kept["problem"] == name) & (kept["epsilon"] == epsilon)]
            for number, method in enumerate((DEFAULT, PEER)):
                mine = part[part["method"] == method]
                if len(mine):
                    axis.plot(LEVELS, below(read_levels(mine)).mean(axis=0), color=f"C{number}", label=method)
            axis.axline((0, 0), (1, 1), color="k", linewidth=0.5)
            axis.set_title(f"{name}, ε = {epsilon:g}", fontsize=8)
    axes[0, 0].legend(fontsize=6)
    figure.supxlabel("credibility level", fontsize=9)
    figure.supylabel("share of data sets", fontsize=9)
    figure.tight_layout()
    return figure
