"""Figure 3: errors of posterior means and variances, DP MCMC against DP-SGLD, 20 runs each.

Errors are absolute, of the running moments of one chain after burn-in, averaged over runs. The published ones are held
against the moments of one non-private chain; exact moments by quadrature stand beside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpmcmc.metrics import running_moments
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference
from dpmcmc_experiments.heikkila2019 import langevin, prices, study

PARTS = 4  # cells per SGLD variant, five chains each
TABLE = pd.read_csv(reference("poster_fig3_table.csv"))
MCMC: dict[str, tuple[str, int]] = {
    "gmm": ("gmm", study.BATCH),
    "optimal": ("optimal", study.BATCH),
    "unclipped": ("optimal", 4 * study.BATCH),  # twice the clip: nothing is clipped
}
METHODS = {
    "mcmc gmm": "DP MCMC as published",
    "mcmc optimal": "DP MCMC, optimal correction",
    "mcmc unclipped": "DP MCMC, optimal correction, batches of 4000",
    "sgld published": "DP-SGLD, drift as published",
    "sgld right": "DP-SGLD, right drift",
}
MEASURES = ("mean1", "mean2", "variance1", "variance2")


def iterations(method: str, last: int) -> np.ndarray:
    """Where errors are looked at: those tabulated, and some between for a smooth curve."""
    mcmc = method.startswith("mcmc")
    tabulated = TABLE[TABLE["method"] == ("dp_mcmc" if mcmc else "dp_sgld")]["iteration"].unique()
    between = np.linspace(2000, 20_000, 10) if mcmc else np.linspace(200_000, 6_000_000, 12).round(-4)
    both = np.unique(np.concatenate([tabulated, between]).astype(int))
    return both[both <= last]


def moments_along(positions: np.ndarray, times: np.ndarray, burn_in: int, at: np.ndarray) -> np.ndarray:
    """Running moments, (chain, time, 4), of the positions from ``burn_in`` on, after each of the times ``at``."""
    kept = times >= burn_in
    means, variances = running_moments(np.moveaxis(positions[:, kept], 1, 0))
    rows = np.searchsorted(times[kept], at, side="right") - 1
    return np.moveaxis(np.concatenate([means[rows], variances[rows]], axis=2), 0, 1)


def cells(settings: Settings) -> list[Cell]:
    parts = 1 if settings.quick else PARTS
    mcmc = [Cell(f"errors-mcmc-{c}", lambda c=c: run_mcmc(settings, c)) for c in MCMC]
    sgld = [
        Cell(f"errors-sgld-{drift}-{part}", lambda d=drift, p=part: run_sgld(settings, d, p))
        for drift in ("published", "right")
        for part in range(parts)
    ]
    return mcmc + sgld


def run_mcmc(settings: Settings, variant: str) -> list[dict[str, Any]]:
    chains, steps = (4 if variant == "gmm" else 2, 2000) if settings.quick else (study.CHAINS, study.STEPS)
    kind, batch = MCMC[variant]
    release = study.private_chains(settings, kind, chains, steps, batch=batch)
    times = np.arange(1, steps + 1)
    setting = study.correction_for(kind, settings.quick), batch
    return _rows(f"mcmc {variant}", setting, release.draws["theta"], times, study.BURN_IN, 0)


def run_sgld(settings: Settings, drift: str, part: int) -> list[dict[str, Any]]:
    chains = study.CHAINS // PARTS
    run = langevin.published_drift if drift == "published" else langevin.right_drift
    positions, times = run(settings, chains, part)
    return _rows(f"sgld {drift}", (drift,), positions, times, langevin.BURN_IN, part * chains)


def _rows(
    method: str, setting: tuple[Any, ...], positions: np.ndarray, times: np.ndarray, burn_in: int, first: int
) -> list[dict[str, Any]]:
    at = iterations(method, times[-1])
    along = moments_along(positions, times, burn_in, at)
    mcmc = method.startswith("mcmc")
    tight = prices.mcmc_tight if mcmc else prices.sgld_tight
    claimed = prices.mcmc_published if mcmc else prices.sgld_published
    cost = [{"epsilon_published": claimed(int(t), *setting), "epsilon_dpmcmc": tight(int(t), *setting)} for t in at]
    return [
        {"method": method, "chain": first + chain, "iteration": int(t), **price}
        | dict(zip(MEASURES, along[chain, k].round(6), strict=True))
        for chain in range(len(along))
        for k, (t, price) in enumerate(zip(at, cost, strict=True))
    ]


def summary(rows: pd.DataFrame, truth: np.ndarray) -> pd.DataFrame:
    """Mean over runs of the absolute errors against ``truth``, with standard errors, by method and iteration."""
    parts = []
    for (method, t), runs in rows.groupby(["method", "iteration"], sort=False):
        errors = np.abs(runs[list(MEASURES)].to_numpy() - truth.ravel())
        sem = errors.std(axis=0) / np.sqrt(len(errors))
        prices = {name: runs[name].iloc[0] for name in ("epsilon_published", "epsilon_dpmcmc")}
        parts += [
            {
                "method": method,
                "iteration": t,
                **prices,
                "measure": measure,
                "error": errors.mean(axis=0)[k],
                "sem": sem[k],
            }
            for k, measure in enumerate(MEASURES)
        ]
    return pd.DataFrame(parts)


def against_published(rows: pd.DataFrame) -> pd.DataFrame:
    """Our errors beside the digitised ones at the same iterations, and their distance in standard errors."""
    ours = summary(rows, study.BASELINE)
    theirs = TABLE.assign(
        measure=TABLE["metric"].str.split("_").str[0] + TABLE["param"].str[-1],
        method=TABLE["method"].map({"dp_mcmc": "mcmc gmm", "dp_sgld": "sgld published"}),
    ).rename(columns={"mean_over_20_runs": "published", "sem": "published_sem"})
    both = ours.merge(theirs[["method", "measure", "iteration", "published", "published_sem"]])
    both["z"] = (both["error"] - both["published"]) / np.hypot(both["sem"], both["published_sem"])
    return both


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    exact, squared = (study.exact_moments(study.records(settings), power=power) for power in (1.0, 2.0))
    narrow = variance_offsets(rows, ("sgld published",), exact)
    found = [
        Check(
            "DP-SGLD with the published drift: variances are too small",
            _say(narrow),
            bool(np.all(narrow[0] < (-2 if settings.quick else -5) * narrow[1])),
        )
    ]
    if settings.quick:
        return found
    both = against_published(rows)
    for method in ("mcmc gmm", "sgld published"):
        z = both[both["method"] == method]["z"].abs()
        found.append(
            Check(
                f"{METHODS[method]}: errors within 3 standard errors of Figure 3 at every tabulated ε",
                f"{int((z <= 3).sum())} of {len(z)}, the farthest {z.max():.2f}",
                bool((z <= 3).all() and len(z) >= 32),
            )
        )
    for methods, truth, claim in (
        (("sgld published",), squared, "DP-SGLD with the published drift: variances of the squared posterior"),
        (("sgld right",), exact, "DP-SGLD with the right drift: variances of the posterior"),
        (("mcmc gmm", "mcmc optimal"), exact, "DP MCMC, batches of 1000: variances of the posterior"),
        (("mcmc unclipped",), exact, "DP MCMC, batches of 4000: variances of the posterior"),
    ):
        offset = variance_offsets(rows, methods, truth)
        found.append(
            Check(f"{claim} (3 standard errors)", _say(offset), bool(np.all(np.abs(offset[0]) <= 3 * offset[1])))
        )
    return found


def variance_offsets(rows: pd.DataFrame, methods: tuple[str, ...], truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over runs of the draws' squares about the exact mean, minus the exact variance, and its standard error.

    Squares about a chain's own mean would be too small by the variance of that mean, which in these chains shows.
    """
    runs = rows[rows["method"].isin(methods)]
    values = runs[runs["iteration"] == runs.groupby("method")["iteration"].transform("max")][list(MEASURES)].to_numpy()
    squares = values[:, 2:] + (values[:, :2] - truth[0]) ** 2 - truth[1]
    return squares.mean(axis=0), squares.std(axis=0, ddof=1) / np.sqrt(len(squares))


def _say(offset: tuple[np.ndarray, np.ndarray]) -> str:
    return "off by " + ", ".join(f"{mean:+.4f} ± {sem:.4f}" for mean, sem in zip(*offset, strict=True))


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    curves = pd.read_csv(reference("poster_fig3_curves.csv"))
    ours = summary(rows, study.BASELINE)
    truth = summary(rows, np.array([study.SUMMARY["exact"]["exact_tempered_posterior"][m] for m in ("mean", "var")]))
    picture, axes = plt.subplots(2, 3, figsize=(9.6, 5.4), layout="constrained", sharey="row")
    for row, moment in enumerate(("mean", "variance")):
        left, middle, right = axes[row]
        for param, colour in ((1, "tab:red"), (2, "tab:blue")):
            for theirs, mine, style in (("dp_mcmc", "mcmc gmm", "-"), ("dp_sgld", "sgld published", "--")):
                line = curves[(curves["metric"] == f"{moment}_abs_error") & (curves["method"] == theirs)]
                line = line[line["param"] == f"theta{param}"]
                left.plot(line["epsilon"], line["mean_over_20_runs"], style, color=colour, alpha=0.35, lw=3)
                own = ours[(ours["method"] == mine) & (ours["measure"] == f"{moment}{param}")]
                left.errorbar(own["epsilon_published"], own["error"], own["sem"], fmt="." + style, color=colour, lw=1)
            for axis, methods in (
                (middle, {"mcmc gmm": "-", "sgld published": "--"}),
                (right, {"mcmc unclipped": "-", "sgld right": "--"}),
            ):
                for method, style in methods.items():
                    own = truth[(truth["method"] == method) & (truth["measure"] == f"{moment}{param}")]
                    x = "epsilon_published" if axis is middle else "epsilon_dpmcmc"
                    axis.errorbar(own[x], own["error"], own["sem"], fmt="." + style, color=colour, lw=1)
        left.set(xlim=(0.5, 1.3), ylabel=f"|error of the {moment}|")
        middle.set(xlim=(0.5, 1.3))
        right.set(xlim=(0, None))
    axes[0][0].set_title("published (thick) and ours (points),\nbaseline and ε as published")
    axes[0][1].set_title("the same chains\nagainst the exact posterior")
    axes[0][2].set_title("batches of 4000; right drift,\nexact posterior, dpmcmc's ε")
    for axis in axes[1]:
        axis.set_xlabel("ε")
    names = [plt.Line2D([], [], color=c, label=f"θ{p}") for p, c in ((1, "tab:red"), (2, "tab:blue"))]
    names += [plt.Line2D([], [], color="k", ls=s, label=m) for s, m in (("-", "DP MCMC"), ("--", "DP-SGLD"))]
    axes[0][1].legend(handles=names)
    return picture


FIGURE = Figure("Errors of means and variances: DP MCMC and DP-SGLD", cells, draw, check)
