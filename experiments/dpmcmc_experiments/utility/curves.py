"""The default method on Räisä's eight posteriors, from the prior and from a guess.

From the prior (the circle's is flat: from its fixed starting point) everything is paid for within ε. The guess is far
off, but its centre and width are made from exact moments of the posterior, which nobody has for free: its rows show
what a distant start does, and no headline rests on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Check, Settings, reference, rng_of, seed_of
from dpmcmc_experiments.raisa2021.problems import CHAINS, SETTINGS, Problem, problem
from dpmcmc_experiments.utility.scores import Moments, expected, parameters, short

CLAIMED, EPSILONS = (1.0, 0.5), (1.0, 0.5, 2.0, 0.25, 4.0, 6.0)
"""Where the targets are to be met, and the whole curve."""

FEWER = {4.0: 10, 6.0: 5}
"""Releases where nothing is claimed and less varies; elsewhere as many as the study had chains."""

STARTS = ("guess", "prior")
FAR = 10.0  # posterior standard deviations, in every parameter, between the guess and the posterior's mean
CIRCLE_BAR = 0.3
"""A bar of our own for the circle's distance of the mean, below everything published for it."""

QUICK = {"n": 20_000, "chains": 1}


def cells(settings: Settings) -> list[Cell]:
    if settings.quick:
        return [cell("easy-2d", "guess", 1.0, **QUICK)]
    rows = [(name, start, epsilon) for epsilon in EPSILONS for start in STARTS for name in SETTINGS]
    return [made(*row) for row in rows for made in (cell, foreseen)]


def guess(name: str, moments: Moments, chain: int) -> Callable[[Any], Any]:
    """A normal ``FAR`` standard deviations wide, about a point as far off in every parameter, up or down."""
    signs = rng_of("guess", name, chain).choice([-1.0, 1.0], len(moments.mean))
    centre, width = jnp.asarray(moments.mean + FAR * moments.sd * signs), jnp.asarray(FAR * moments.sd)
    return lambda key: centre + width * jax.random.normal(key, centre.shape)


def exact_moments(posterior: Problem) -> Moments:
    """From many exact draws; the mean of the circle is 0 by symmetry."""
    draws = posterior.model.exact_draws(rng_of("exact"), posterior.records, 200_000, posterior.setting.temperature)
    found = Moments.of(draws)
    return Moments(np.zeros(2), found.sd) if posterior.name == "circle" else found


def cell(name: str, start: str, epsilon: float, n: int | None = None, chains: int | None = None) -> Cell:
    """One row for each run: a release of the default method, no setting but the start given."""
    chains = FEWER.get(epsilon, CHAINS) if chains is None else chains

    def rows() -> list[dict[str, Any]]:
        posterior = problem(name, n)
        setting, moments = posterior.setting, exact_moments(posterior)
        found = []
        for chain in range(chains):
            init = guess(name, moments, chain) if start == "guess" else None
            given = {"temperature": setting.temperature, "init": init}
            seed = seed_of("utility", name, start, epsilon, chain)
            release = dp.sample(
                posterior.model, posterior.records, epsilon, setting.delta, seed=seed, progress=False, **given
            )
            draws = parameters(release)
            named = {"model": name, "start": start, "epsilon": epsilon, "chain": chain}
            scores = {"distance": dp.metrics.mean_error(draws, moments.mean)} | moments.errors(draws)
            if posterior.reference is not None:
                scores["mmd"] = dp.metrics.mmd_raisa(draws, posterior.reference, seed % 2**31)
            found.append(short(named | scores))
        return found

    return Cell(f"curves-{name}-{start}-{epsilon:g}", rows)


def foreseen(name: str, start: str, epsilon: float) -> Cell:
    """One row: what the plan says of such a release before a record is read."""

    def rows() -> list[dict[str, Any]]:
        posterior = problem(name)
        setting, moments = posterior.setting, exact_moments(posterior)
        init = guess(name, moments, 0) if start == "guess" else None
        given = {"temperature": setting.temperature, "init": init}
        named = {"model": name, "start": start, "epsilon": epsilon}
        return [short(named | expected(posterior.model, setting.n, epsilon, setting.delta, **given))]

    return Cell(f"foreseen-{name}-{start}-{epsilon:g}", rows)


def score_of(model: str) -> str:
    return "distance" if model == "circle" else "mmd"


def quartiles(rows: pd.DataFrame) -> pd.DataFrame:
    """Quartiles over chains of the measure that the study used for each model."""
    rows = rows[rows["chain"].notna()]
    rows = rows.assign(score=[row[score_of(row["model"])] for _, row in rows.iterrows()])
    grouped = rows.groupby(["model", "start", "epsilon"], sort=False)["score"]
    return grouped.quantile([0.25, 0.5, 0.75]).unstack().set_axis(["q1", "median", "q3"], axis=1).reset_index()


def published(model: str) -> pd.DataFrame:
    """The lowest published median at each ε."""
    boxes = pd.read_csv(reference("thesis_boxplots.csv"))
    metric = "mean_error" if model == "circle" else "mmd"
    part = boxes[(boxes["experiment"] == model) & (boxes["metric"] == metric)]
    return part.groupby("epsilon", as_index=False)["median"].min()


def best_published(model: str) -> tuple[float, float]:
    """The lowest published median of any algorithm at any ε up to 6 (circle: up to 1), and the ε it is from."""
    medians = published(model)
    best = medians.loc[medians["median"].idxmin()]
    return float(best["median"]), float(best["epsilon"])


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    boxes = quartiles(rows)
    figure, axes = plt.subplots(2, 4, figsize=(15, 6.5))
    for axis, name in zip(axes.flat, SETTINGS, strict=True):
        theirs = published(name)
        axis.plot(theirs["epsilon"], theirs["median"], "k.--", linewidth=0.8, label="best published")
        axis.axhline(best_published(name)[0], color="k", linewidth=0.4)
        for colour, start in zip(("C0", "C1"), STARTS, strict=True):
            part = boxes[(boxes["model"] == name) & (boxes["start"] == start)].sort_values("epsilon")
            axis.plot(part["epsilon"], part["median"], ".-", color=colour, label=f"dpmcmc, from the {start}")
            axis.fill_between(part["epsilon"], part["q1"], part["q3"], color=colour, alpha=0.25, linewidth=0)
        label = "distance of the mean" if name == "circle" else "MMD"
        axis.set(title=SETTINGS[name].title, xlabel="ε", ylabel=label, xscale="log", yscale="log")
        axis.set_xticks(sorted(EPSILONS), [f"{epsilon:g}" for epsilon in sorted(EPSILONS)])
        axis.minorticks_off()
    axes.flat[0].legend(fontsize=7)
    figure.suptitle(
        "median and quartiles of 20 releases (ε = 4: of 10, ε = 6: of 5); the guess is centred by exact moments",
        fontsize=10,
    )
    figure.tight_layout()
    return figure


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    boxes = quartiles(rows)
    if settings.quick:
        fine = bool(np.all(np.isfinite(boxes["median"])) and boxes["median"].max() < 0.5)
        return [Check("MMD at ε = 1 and n = 20 000 is below 0.5", f"{boxes['median'].max():.3f}", fine)]
    checks = []
    for epsilon in CLAIMED:
        for start in STARTS:
            part = boxes[(boxes["start"] == start) & (boxes["epsilon"] == epsilon)].set_index("model")["median"]
            missed = [f"{name} {part[name]:.3f}" for name in part.index if part[name] > best_published(name)[0]]
            claim = f"at ε = {epsilon:g}, from the {start}: medians at most the best published at any ε"
            found = f"{len(part) - len(missed)} of {len(part)}" + (f"; not {', '.join(missed)}" if missed else "")
            checks.append(Check(claim, found, not missed and len(part) == len(SETTINGS)))
            own = f"at ε = {epsilon:g}, from the {start}: the circle's median at most {CIRCLE_BAR:g}, a bar of our own"
            checks.append(Check(own, f"{part['circle']:.3f}", bool(part["circle"] <= CIRCLE_BAR)))
    return checks + predictions(rows)


PREDICTED = ("errors of means", "effective draws", "errors of variances")


def prediction_ratios(rows: pd.DataFrame) -> pd.DataFrame:
    """Root mean squares of the errors found over those that the plan expected, cell by cell."""
    squares = rows.assign(mean=rows["mean_error"] ** 2, variance=rows["variance_error"] ** 2)
    cells = squares.groupby(["model", "start", "epsilon"]).mean(numeric_only=True)  # each column where it is given
    mean = np.sqrt(cells["mean"]) / cells["expected_mean_error"]
    variance = np.sqrt(cells["variance"]) / cells["expected_variance_error"]
    return pd.DataFrame(dict(zip(PREDICTED, (mean, mean**-2, variance), strict=True)))


def is_near(ratio: pd.Series) -> pd.Series:
    return (ratio > 0.5) & (ratio < 2)


def predictions(rows: pd.DataFrame) -> list[Check]:
    ratios, checks = prediction_ratios(rows), []
    for what in PREDICTED:
        near = is_near(ratios[what])
        claim = f"{what} within a factor of two of the plan's in at least 80 % of the cells"
        checks.append(Check(claim, f"{near.sum()} of {len(near)}", bool(near.mean() >= 0.8)))
    return checks
