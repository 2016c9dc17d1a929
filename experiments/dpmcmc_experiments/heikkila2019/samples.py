"""Figure 2: draws of the tempered posterior, non-private and private, and their moments against exact ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference, seed_of
from dpmcmc_experiments.heikkila2019 import study

SHOWN = 20  # every so many draws of the first chain are kept for the picture
NAMES = {"non-private": "Not private", "private": "DP MCMC"}
QUANTITIES = ("mean1", "mean2", "variance1", "variance2")


def non_private(settings: Settings) -> dp.Release:
    """The reference of the paper: Seita et al.'s test on batches of 1000 and more, 40 000 steps."""
    data = study.records(settings)
    chains, steps = (2, 2000) if settings.quick else (4, 40_000)
    return dp.sample(
        study.MODEL,
        data,
        method=dp.Chain(dp.algorithms.seita(np.sqrt(study.PROPOSAL_VARIANCE), study.BATCH), warmup=0),
        draws=steps,
        chains=chains,
        temperature=study.temperature(data),
        init=np.array(study.variational_start(settings.quick)),
        seed=seed_of("heikkila2019", "non-private"),
        progress=False,
    )


def private(settings: Settings) -> dp.Release:
    chains, steps = (4, 2000) if settings.quick else (study.CHAINS, study.STEPS)
    return study.private_chains(settings, "gmm", chains, steps)


def run(settings: Settings, name: str) -> list[dict[str, Any]]:
    release = non_private(settings) if name == "non-private" else private(settings)
    draws = release.draws["theta"][:, study.BURN_IN - 1 :]
    rows: list[dict[str, Any]] = []
    for chain, path in enumerate(draws):
        moments = dict(zip(QUANTITIES, np.concatenate([path.mean(axis=0), path.var(axis=0)]), strict=True))
        ess = dp.metrics.effective_draws(path[None])
        accepted = float(release.sample_stats["accepted"][chain].mean())
        rows.append({"run": name, "chain": chain, **moments, "ess": ess, "acceptance": accepted})
    rows += [{"run": name, "chain": 0, "theta1": a, "theta2": b} for a, b in draws[0, ::SHOWN].round(4)]
    return rows


def cells(settings: Settings) -> list[Cell]:
    return [Cell(f"fig2-{name}", lambda n=name: run(settings, n)) for name in NAMES]


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    exact = study.exact_moments(study.records(settings)).ravel()
    found = []
    for name, label in NAMES.items():
        runs = rows[(rows["run"] == name) & rows["mean1"].notna()]
        values = runs[list(QUANTITIES)].to_numpy()
        values[:, 2:] += (values[:, :2] - exact[:2]) ** 2  # squares about the exact mean: no bias in a short chain
        z = (values.mean(axis=0) - exact) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))
        bound = 3 if len(values) >= 20 else 5.84  # Student's t with 3 degrees of freedom, 99 %
        if not settings.quick:
            found.append(
                Check(
                    f"{label}: moments are the exact ones ({bound:g} standard errors, {len(values)} chains)",
                    f"the farthest {np.abs(z).max():.2f}",
                    bool(np.all(np.abs(z) <= bound)),
                )
            )
        published = study.SUMMARY["nondp" if name == "non-private" else "dp"]
        rate = runs["acceptance"].mean()
        found.append(
            Check(
                f"{label}: acceptance rate of the published chain",
                f"{rate:.3f}, published {published['acceptance']:.3f}",
                bool(abs(rate - published["acceptance"]) < (0.05 if settings.quick else 0.015)),
            )
        )
        if not settings.quick:
            spread = np.sqrt(np.array(published["var"]) / np.array(published["ess"]))
            far = np.abs(np.array(published["mean"]) - exact[:2]) / spread
            found.append(
                Check(
                    f"{label}: the published chain's means are within 3 standard errors of the exact ones",
                    f"{far[0]:.2f} and {far[1]:.2f}, at {min(published['ess']):.0f} effective draws",
                    bool(np.all(far <= 3)),
                )
            )
    return found


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    axes1 = np.linspace(-1.5, 2.5, 81), np.linspace(-2.6, 2.8, 81)
    log = study.log_posterior(study.published_records(), *axes1, study.COUNTS_AS)
    published = pd.read_csv(reference("poster_fig2_draws.csv"))
    picture, axes = plt.subplots(2, 2, figsize=(6.4, 5.6), layout="constrained", sharex=True, sharey=True)
    for column, (name, label) in enumerate(NAMES.items()):
        theirs = published[published["chain"] == name]
        ours = rows[(rows["run"] == name) & rows["theta1"].notna()]
        for axis, draws, who in ((axes[0][column], theirs, "published"), (axes[1][column], ours, "dpmcmc")):
            axis.plot(draws["theta1"], draws["theta2"], ".", ms=3, alpha=0.4)
            axis.contour(
                *axes1, (log - log.max()).T, levels=[-3.0, -1.15, -0.29], colors="k", linewidths=0.8, linestyles="-"
            )
            axis.set_title(f"{label}: {who}", fontsize=10)
    for axis in axes[1]:
        axis.set_xlabel("θ₁")
    for axis in axes[:, 0]:
        axis.set_ylabel("θ₂")
    return picture


FIGURE = Figure("Draws of the tempered posterior, non-private and private", cells, draw, check)
