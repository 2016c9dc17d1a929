"""The default method on the mixture of Heikkilä et al. (2019), N = 10⁶: their target at a tenth of the ε, and beyond.

Records counting as 100 at ε = 0.1, held against their errors at ε = 1.2; then as 10⁴, 10⁵ and all 10⁶ at ε = 1.
There the two modes (the parameters, and their mirror image) are far apart and sharp, so errors are those within the
mode that most draws are in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Check, Settings, reference, seed_of
from dpmcmc_experiments.heikkila2019 import lessened, study
from dpmcmc_experiments.utility.scores import parameters, short

COUNTS = ((0.1, 100.0), (0.05, 100.0), (1.0, 1e4), (1.0, 1e5), (1.0, 1e6))
"""ε, and how many the records count as."""

RUNS = 5


def cells(settings: Settings) -> list[Cell]:
    pairs = ((1.0, 100.0),) if settings.quick else COUNTS
    return [_cell(epsilon, counts_as, 1 if settings.quick else RUNS, settings) for epsilon, counts_as in pairs]


def _cell(epsilon: float, counts_as: float, runs: int, settings: Settings) -> Cell:
    def rows() -> list[dict[str, Any]]:
        data, found = study.records(settings), []
        for run in range(runs):
            seed = seed_of("utility mixture", epsilon, counts_as, run)
            temperature = min(study.temperature(data, counts_as), 1.0)
            release = dp.sample(
                study.MODEL, data, epsilon, study.STUDY_DELTA, temperature=temperature, seed=seed, progress=False
            )
            draws = parameters(release)
            if counts_as <= 100:
                exact = study.exact_moments(data, counts_as)
            else:
                away = [np.linalg.norm(draws - mode, axis=1) for mode in lessened.MODES]
                side = np.argmin(away, axis=0)
                draws = draws[side == np.bincount(side, minlength=2).argmax()]
                exact = lessened.exact_near(data, draws.mean(axis=0), counts_as)
            off = np.abs(np.stack([draws.mean(axis=0), draws.var(axis=0)]) - exact)
            named = {"epsilon": epsilon, "counts_as": counts_as, "run": run, "kept": len(draws)}
            errors = {
                f"{what}_error_{k + 1}": float(off[i, k]) for i, what in enumerate(("mean", "variance")) for k in (0, 1)
            }
            relative = {f"mean_off_{k + 1}": float(off[0, k] / np.sqrt(exact[1, k])) for k in (0, 1)}
            spread = {f"spread_ratio_{k + 1}": float(draws[:, k].std() / np.sqrt(exact[1, k])) for k in (0, 1)}
            found.append(short(named | errors | relative | spread))
        return found

    return Cell(f"mixture-{epsilon:g}-{counts_as:g}" + ("-quick" if settings.quick else ""), rows)


def published() -> dict[str, float]:
    """Mean errors of the published chains over 20 runs at their last step, ε = 1.2."""
    table = pd.read_csv(reference("poster_fig3_table.csv"))
    table = table[table["method"] == "dp_mcmc"]
    last = table[table["iteration"] == table["iteration"].max()]
    return {f"{r.metric.split('_')[0]}_error_{r.param[-1]}": float(r.mean_over_20_runs) for r in last.itertuples()}


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    theirs = published()
    target = rows[rows["counts_as"] == 100].groupby("epsilon")[list(theirs)].mean()
    ours = target.loc[target.index.max()]
    listed = ", ".join(f"{name} {ours[name]:.4f} (published {value:.4f})" for name, value in theirs.items())
    claim = f"records counting as 100 at ε = {target.index.max():g}: errors no larger than the published at ε = 1.2"
    checks = [Check(claim, listed, all(ours[name] <= value for name, value in theirs.items()))]
    less = rows[rows["counts_as"] > 100]
    if len(less):
        off = less.groupby("counts_as")[["mean_off_1", "mean_off_2"]].mean().mean(axis=1)
        listed = ", ".join(f"{int(count):,}: {value:.2f}" for count, value in off.items())
        claim = "at ε = 1 the records count as 10⁴ or more, means off by less than one posterior standard deviation"
        checks.append(Check(claim, listed, bool((off < 1).all())))
    return checks
