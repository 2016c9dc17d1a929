"""Figures S4 to S6: the correction distribution by Gaussian mixture, by ridge regression, and by linear program.

S4: distance of N(0, C) + V_cor from the logistic law against C. S5: the distributions V_cor themselves. S6: the law of
the sum at C = 2 and its distance from the logistic along the line. (Contents as in the plotting scripts of the public
code; the optimal correction is dpmcmc's.)
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from scipy.stats import logistic

from dpmcmc.chain.acceptance import correction
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, reference, rng_of

VARIANCES = (1.0, 1.5, 1.75, 2.0)
KINDS = {"gmm": "GMM", "ridge": "ridge (Seita)", "optimal": "optimal (linear program)"}
ECDF_DRAWS, REPEATS = 100_000, 20
DRAWN = 50_000
"""Draws behind a curve of S6, as its arXiv panel says."""

Y = np.linspace(-10, 10, 401)


@lru_cache(maxsize=16)
def components(kind: str, variance: float, quick: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means, standard deviations and weights of V_cor: a mixture of normals (GMM) or of atoms."""
    if kind == "gmm":
        mixture = correction.fit_mixture(variance, steps=2000 if quick else 20_000)
        return np.array(mixture.means), np.array(mixture.stds), np.array(mixture.weights)
    made = correction.CORRECTIONS[kind](variance)
    return np.array(made.atoms), np.zeros(len(made.atoms)), np.array(made.weights)


def cdf(parts: tuple[np.ndarray, np.ndarray, np.ndarray], variance: float, y: np.ndarray) -> np.ndarray:
    """The cdf of N(0, variance) + V_cor."""
    means, stds, weights = parts
    return ndtr((y[:, None] - means) / np.sqrt(variance + stds**2)) @ weights


def density(parts: tuple[np.ndarray, np.ndarray, np.ndarray], variance: float, y: np.ndarray) -> np.ndarray:
    means, stds, weights = parts
    total = variance + stds**2
    return np.exp(-((y[:, None] - means) ** 2) / (2 * total)) / np.sqrt(2 * np.pi * total) @ weights


def draws_of(
    parts: tuple[np.ndarray, np.ndarray, np.ndarray], variance: float, count: int, rng: np.random.Generator
) -> np.ndarray:
    """Sorted draws of N(0, variance) + V_cor."""
    means, stds, weights = parts
    which = rng.choice(len(means), count, p=weights / weights.sum())
    return np.sort(means[which] + np.sqrt(variance + stds[which] ** 2) * rng.normal(size=count))


def ecdf_error(parts: tuple[np.ndarray, np.ndarray, np.ndarray], variance: float, rng: np.random.Generator) -> float:
    """sup |ecdf − logistic cdf| of 10⁵ draws of N(0, variance) + V_cor."""
    draws = draws_of(parts, variance, ECDF_DRAWS, rng)
    return float(np.max(np.abs(np.arange(1, ECDF_DRAWS + 1) / ECDF_DRAWS - expit(draws))))


def distances(settings: Settings, variance: float) -> list[dict[str, Any]]:
    grid, rows = np.linspace(-40, 40, 16_001), []
    for kind in KINDS:
        parts = components(kind, variance, settings.quick)
        far = np.concatenate([np.abs(cdf(parts, variance, y) - expit(y)) for y in np.array_split(grid, 40)])
        gap = np.concatenate([np.abs(density(parts, variance, y) - logistic.pdf(y)) for y in np.array_split(grid, 40)])
        repeats = [ecdf_error(parts, variance, rng_of("S4", kind, variance, k)) for k in range(REPEATS)]
        rows.append(
            {"C": variance, "correction": kind, "components": len(parts[0]), "sup_cdf_error": far.max()}
            | {"tvd": gap.sum() * (grid[1] - grid[0]) / 2, "ecdf_error": np.mean(repeats)}
            | {"ecdf_sem": np.std(repeats) / np.sqrt(REPEATS)}
        )
    return rows


def distance_cells(settings: Settings) -> list[Cell]:
    chosen = VARIANCES[-1:] if settings.quick else VARIANCES
    return [Cell(f"figS4-{variance}", lambda v=variance: distances(settings, v)) for variance in chosen]


def published() -> pd.DataFrame:
    """Distances of the tables that the authors fitted, computed from them."""
    table = pd.read_csv(reference("neurips_fig4_recomputed.csv"))
    table = table[~table["file"].str.startswith("X_corr")]
    return table.assign(correction=table["method"].map({"GMM": "gmm", "ridge (Seita)": "ridge"}))


def distance_checks(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    wide = rows.pivot(index="C", columns="correction", values="sup_cdf_error")
    gain = wide["gmm"] / wide["optimal"]
    found = [
        Check(
            "the mixture is closer than ridge regression and the optimum closer than both, at every C",
            ", ".join(f"C = {c:g}: {r['ridge']:.1e} > {r['gmm']:.1e} > {r['optimal']:.1e}" for c, r in wide.iterrows()),
            bool(((wide["ridge"] > wide["gmm"]) & (gain > 1)).all()),
        )
    ]
    if settings.quick:
        return found
    both = rows.merge(published(), on=["C", "correction"])
    ratio = both["sup_cdf_error"] / both["sup_cdf_error_exact"]
    z = (both["ecdf_error"] - both["ks_1e5_mean"]) / np.hypot(both["ecdf_sem"], both["ks_1e5_sem"])
    return [
        *found,
        Check(
            "cdf errors of mixture and ridge within a tenth of those of the authors' tables",
            f"ratios {ratio.min():.3f} to {ratio.max():.3f}",
            bool(ratio.between(0.9, 1.1).all() and len(ratio) == 8),
        ),
        Check(
            "ecdf errors with 10⁵ draws, as drawn in S4, within 3 standard errors of those of the authors' tables",
            f"the farthest {z.abs().max():.2f}",
            bool((z.abs() <= 3).all()),
        ),
    ]


def draw_distances(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    theirs = published()
    picture, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for axis, ours, other, title in (
        (axes[0], "ecdf_error", "ks_1e5_mean", "sup |ecdf − logistic|, 10⁵ draws (as published)"),
        (axes[1], "sup_cdf_error", "sup_cdf_error_exact", "sup |cdf − logistic|, exact"),
        (axes[2], "tvd", "tvd", "total variation distance"),
    ):
        for colour, (kind, label) in zip(("tab:red", "tab:blue", "tab:green"), KINDS.items(), strict=True):
            table = theirs[theirs["correction"] == kind].dropna(subset=[other])
            axis.plot(table["C"], table[other], color=colour, lw=5, alpha=0.3)
            part = rows[rows["correction"] == kind]
            axis.plot(part["C"], part[ours], "o-", ms=4, color=colour, label=label)
        axis.set(yscale="log", xlabel="noise variance C")
        axis.set_title(title, fontsize=10)
    axes[0].legend(fontsize=8, title="thick: the authors' tables", title_fontsize=8)
    return picture


def shapes(settings: Settings) -> list[dict[str, Any]]:
    """Densities of the mixture and of the ridge solution, whose negative weights are projected to 0, and atoms."""
    rows: list[dict[str, Any]] = []
    for variance in VARIANCES:
        atoms, weights = correction.ridge_solution(variance)
        mass = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum() / (atoms[1] - atoms[0])
        rows += [
            {"C": variance, "correction": "ridge", "y": y, "density": p}
            for y, p in zip(atoms[::2], mass[::2], strict=True)
        ]
    for variance in VARIANCES[-1:] if settings.quick else VARIANCES:
        parts = components("gmm", variance, settings.quick)
        rows += [
            {"C": variance, "correction": "gmm", "y": y, "density": p}
            for y, p in zip(Y[::2], density(parts, 0.0, Y[::2]), strict=True)
        ]
        atoms, _, weights = components("optimal", variance, settings.quick)
        rows += [
            {"C": variance, "correction": "optimal", "y": y, "mass": p} for y, p in zip(atoms, weights, strict=True)
        ]
    return rows


def shape_checks(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    """As the figure's caption says: gaps where the ridge solution was negative, more with C; the mixture has none."""
    gaps = rows[rows["correction"] == "ridge"].groupby("C")["density"].agg(lambda p: float((p == 0).mean()))
    mixture = rows[rows["correction"] == "gmm"]["density"]
    found = [
        Check(
            "the ridge solution has gaps, where it was negative: more of the line the larger C",
            ", ".join(f"{share:.0%} at C = {c:g}" for c, share in gaps.items()),
            bool(gaps.is_monotonic_increasing and len(gaps) == len(VARIANCES) and gaps.iloc[-1] > gaps.iloc[0]),
        ),
        Check(
            "the mixture's density has no gap",
            f"{int((mixture == 0).sum())} of {len(mixture)} values are 0",
            bool((mixture > 0).all() and len(mixture) > 0),
        ),
    ]
    if settings.quick:
        return found
    atoms = rows[rows["correction"] == "optimal"].groupby("C")["y"].count()
    handful = Check(
        "the optimum (ours) has a handful of atoms, fewer the larger C",
        ", ".join(f"{count} at C = {c:g}" for c, count in atoms.items()),
        bool(atoms.max() <= 25 and atoms.is_monotonic_decreasing),
    )
    return [*found, handful]


def draw_shapes(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    chosen = sorted(rows["C"].unique())
    picture, axes = plt.subplots(len(chosen), 3, figsize=(11, 2.2 * len(chosen)), layout="constrained", squeeze=False)
    for line, c in zip(axes, chosen, strict=True):
        for axis, (kind, label) in zip(line, KINDS.items(), strict=True):
            part = rows[(rows["C"] == c) & (rows["correction"] == kind)]
            if kind == "optimal":
                axis.vlines(part["y"], 1e-6, part["mass"], color="tab:green")
                axis.set(yscale="log", ylim=(1e-6, 1), ylabel="mass")
            else:  # gaps where the density is 0
                line = part["density"].where(part["density"] > 0)
                axis.semilogy(part["y"], line, color="tab:red" if kind == "gmm" else "tab:blue")
                axis.set(ylim=(1e-6, None), ylabel="density")
            axis.set(xlim=(-10, 10), xlabel="y")
            axis.set_title(f"{label}, C = {c:g}", fontsize=9)
    return picture


def along(settings: Settings) -> list[dict[str, Any]]:
    """Cdfs at C = 2: exact, and of ``DRAWN`` draws, as the paper draws them."""
    columns = {"logistic": expit(Y)}
    for kind in KINDS:
        parts = components(kind, 2.0, settings.quick)
        columns[kind] = cdf(parts, 2.0, Y)
        drawn = draws_of(parts, 2.0, DRAWN, rng_of("S6", kind))
        columns[f"{kind}_ecdf"] = np.searchsorted(drawn, Y, side="right") / DRAWN
    return [{"y": y} | {name: values[k] for name, values in columns.items()} for k, y in enumerate(Y)]


def along_checks(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    most = {name: float((rows[name] - rows["logistic"]).abs().max()) for name in rows if name not in ("y", "logistic")}
    noise = 1.63 / DRAWN**0.5  # an empirical cdf is farther from its own, somewhere, once in a hundred times
    off = max(float((rows[f"{kind}_ecdf"] - rows[kind]).abs().max()) for kind in KINDS)
    return [
        Check(
            "ridge regression is off the logistic cdf more than five times as far as the mixture, exactly and as drawn",
            ", ".join(f"{most[f'ridge{form}']:.1e} > 5 · {most[f'gmm{form}']:.1e}" for form in ("", "_ecdf")),
            all(most[f"ridge{form}"] > 5 * most[f"gmm{form}"] for form in ("", "_ecdf")),
        ),
        Check(
            "the optimum (ours) is closer than the mixture",
            f"{most['optimal']:.1e} and {most['gmm']:.1e}",
            most["optimal"] < most["gmm"],
        ),
        Check(
            f"empirical cdfs of {DRAWN} draws are within sampling noise of the exact ones",
            f"the farthest {off:.1e}, 99 % of the time below {noise:.1e}",
            off < noise,
        ),
    ]


def draw_along(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    picture, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    left.plot(rows["y"], rows["logistic"], "k", lw=3, alpha=0.3, label="logistic")
    styles = zip(("tab:red", "tab:blue", "tab:green"), ("--", "-", ":"), KINDS.items(), strict=True)
    for colour, style, (kind, label) in styles:
        left.plot(rows["y"], rows[f"{kind}_ecdf"], style, color=colour, label=label)
        middle.plot(rows["y"], (rows[f"{kind}_ecdf"] - rows["logistic"]).abs(), style, color=colour)
        right.semilogy(rows["y"], (rows[kind] - rows["logistic"]).abs(), style, color=colour)
    left.set(ylabel="probability", title=f"(a) empirical cdf of N(0, 2) + V_cor, {DRAWN} draws")
    middle.set(ylabel="|difference|", title="(b) |empirical cdf − logistic cdf|")
    right.set(ylim=(1e-6, 0.1), ylabel="|difference|", title="not in the paper: |exact cdf − logistic cdf|")
    for axis in (left, middle, right):
        axis.set(xlim=(-7.5, 7.5), xlabel="y")
        axis.title.set_fontsize(10)
    left.legend(fontsize=8)
    return picture


def _one(key: str, run: Any) -> Any:
    return lambda settings: [Cell(key, lambda: run(settings))]


FIGURE_S4 = Figure(
    "Distance of the corrected noise from the logistic law", distance_cells, draw_distances, distance_checks
)
FIGURE_S5 = Figure("The correction distributions", _one("figS5", shapes), draw_shapes, shape_checks)
FIGURE_S6 = Figure("Corrected noise against the logistic law at C = 2", _one("figS6", along), draw_along, along_checks)
