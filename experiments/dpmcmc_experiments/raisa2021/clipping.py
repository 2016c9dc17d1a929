"""Figure 6.2: what clipping alone does to random-walk Metropolis and to HMC, without noise and without privacy.

The study's code clips at bound·|Σ (θ' − θ)|, the absolute sum of the coordinates' differences, where the text has
bound·‖θ' − θ‖. Both are run: "coded" is held against the published points, "printed" shows what the text describes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.chain.acceptance import Barker
from dpmcmc.metrics import clip_fraction
from dpmcmc_experiments.figures import Cell, Check, Settings, reference, rng_of, seed_of
from dpmcmc_experiments.raisa2021 import chains
from dpmcmc_experiments.raisa2021.problems import Problem, problem

N = 100_000  # also in ten dimensions
BOUNDS = {"coded": (0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 1000.0), "printed": (0.5, 10.0)}
CHAINS = {"coded": 20, "printed": 10}
STEPS = {"RWMH": 3000, "HMC": 500}
WALK = {2: 0.01, 10: [0.015] * 2 + [0.002] * 8}
MASS = {2: [1.0, 0.5], 10: [1.0, 0.5] + [0.4] * 8}
LEAP, LEAPS = 0.001, 15
MOVES, SOME = 100, 2000
"""Moves a chain, and records, behind a share of clipped log ratios: it varies more from move to move than by record."""


@dataclass(frozen=True)
class SumClip:
    """slope·|Σ (θ' − θ)|: nought for moves whose coordinates cancel."""

    slope: float
    constant: None = None

    def bound(self, model: Any, here: Any, there: Any) -> Any:
        return self.slope * jnp.abs(jnp.sum(there - here))


@dataclass(frozen=True)
class ClippedMetropolis(Barker):
    """Metropolis' test on clipped log ratios: no noise, and no privacy at any clip (accept-bit.md, Lemma 4)."""

    def probabilities(self, t: Any) -> Any:
        uphill = jnp.minimum(t, 0.0)
        return jnp.exp(uphill), -jnp.expm1(uphill)

    def event(self, n: int, temperature: float) -> privacy.Event:
        return privacy.NonPrivate("Metropolis' test on clipped records")


def hmc(posterior: Problem) -> dp.Custom:
    """Leapfrog paths along the exact gradient, which a banana's records enter by their sum alone."""
    model, mass = posterior.model, jnp.asarray(np.array(MASS[posterior.model.dimension]))
    count, total = len(posterior.records), np.asarray(posterior.records.sum(axis=0))

    def log_posterior(theta: Any) -> Any:
        return model.log_prior(theta) + count * model.log_likelihood(theta, total / count)

    def propose(key: Any, theta: Any) -> Any:
        slope = jax.grad(log_posterior)
        start = jnp.sqrt(mass) * jax.random.normal(key, theta.shape, theta.dtype)

        def leap(_: Any, now: Any) -> Any:
            q, p = now
            p = p + LEAP / 2 * slope(q)
            q = q + LEAP * p / mass
            return q, p + LEAP / 2 * slope(q)

        q, p = jax.lax.fori_loop(0, LEAPS, leap, (theta, start))
        return q, 0.5 * jnp.sum((start**2 - p**2) / mass)

    return dp.Custom(propose, symmetric=False, name="HMC")


def cells(settings: Settings) -> list[Cell]:
    if settings.quick:
        return [_cell(2, "RWMH", "coded", 0.5, True), _cell(2, "HMC", "printed", 10.0, True)]
    return [
        _cell(dim, algo, rule, bound, False)
        for rule, bounds in BOUNDS.items()
        for dim in (2, 10)
        for algo in STEPS
        for bound in bounds
    ]


def _cell(dim: int, algo: str, rule: str, bound: float, quick: bool) -> Cell:
    def rows() -> list[dict[str, Any]]:
        posterior = problem(f"easy-{dim}d", 2000 if quick else N)
        count, steps = (4, 100) if quick else (CHAINS[rule], STEPS[algo])
        posterior = replace(posterior, starts=np.tile(posterior.model.truth, (count, 1)))  # one start for all, as coded
        clip = SumClip(bound) if rule == "coded" else dp.DistanceClip(bound)
        walk = dp.RandomWalk(WALK[dim]) if algo == "RWMH" else hmc(posterior)
        kernel = dp.Kernel(walk, ClippedMetropolis(clip))
        states, accepted = chains.run(posterior, kernel, steps, count, seed_of("clipping", dim, algo, rule, bound))
        rng = rng_of("clipping", dim, algo, rule, bound)
        here = np.concatenate([chain[rng.integers(0, steps, MOVES)] for chain in states])
        there = chains.fresh_moves(posterior, kernel, here, rng)
        share = clip_fraction(posterior.model, posterior.records[:SOME], clip, here, there)
        named = {"rule": rule, "dim": dim, "algorithm": algo, "clip_bound": bound, "clip_fraction": round(share, 5)}
        return [
            named | {"chain": i, "mmd": round(chains.score(posterior, states[i], accepted[i], steps, i)["mmd"], 5)}
            for i in range(count)
        ]

    return Cell(f"clipping-{rule}-{dim}d-{algo}-{bound:g}", rows)


def draw(rows: pd.DataFrame) -> Any:
    import matplotlib.pyplot as plt

    theirs = pd.read_csv(reference("thesis_clipping_points.csv"))
    figure, axes = plt.subplots(2, 2, figsize=(11, 7), squeeze=False)
    kinds = {"published": (theirs, "C7", "x"), "coded": (rows[rows["rule"] == "coded"], "C0", "o")}
    kinds["printed"] = (rows[rows["rule"] == "printed"], "C1", "^")
    for column, dim in enumerate((2, 10)):
        for i, (name, (table, colour, mark)) in enumerate(kinds.items()):
            for j, algo in enumerate(STEPS):
                points = table[(table["dim"] == dim) & (table["algorithm"] == algo)]
                at = np.log2(points["clip_bound"].clip(upper=20)) + 0.25 * i + 0.1 * j - 0.3
                style = {"color": colour, "marker": mark, "s": 9, "alpha": 0.5 if j else 0.9, "linewidths": 0.7}
                axes[0, column].scatter(at, points["mmd"], label=f"{algo}, {name}", **style)
                axes[1, column].scatter(points["clip_fraction"], points["mmd"], **style)
        baseline = pd.read_csv(reference("thesis_clipping_baseline_mmd.csv")).query("dim == @dim")["baseline_mmd"]
        for axis, label in zip(axes[:, column], ("clip bound", "share of log ratios clipped"), strict=True):
            axis.axhspan(baseline.min(), baseline.max(), color="k", alpha=0.3, linewidth=0)
            axis.set(ylim=(0, 0.7), xlabel=label, ylabel="MMD", title=f"d = {dim}")
        ticks = [0.5, 1, 2, 4, 6, 8, 10, 20]
        axes[0, column].set_xticks(np.log2(ticks), [*(f"{t:g}" for t in ticks[:-1]), "1000"])
    axes[0, 0].legend(fontsize=7, ncols=3)
    figure.tight_layout()
    return figure


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    if settings.quick:
        hard, wide = (rows[rows["clip_bound"] == bound]["clip_fraction"].iloc[0] for bound in (0.5, 10.0))
        return [Check("a bound of 0.5 clips many log ratios, one of 10 few", f"{hard}, {wide}", hard > 0.1 > wide)]
    key = ["dim", "algorithm", "clip_bound"]
    median = rows[rows["rule"] == "coded"].groupby(key)["mmd"].median()
    share, printed = (rows[rows["rule"] == rule].groupby(key)["clip_fraction"].first() for rule in ("coded", "printed"))
    groups = sorted({(int(d), a) for d, a, _ in median.index})
    published = pd.read_csv(reference("thesis_clipping_points.csv")).groupby(key)
    low, high = (published["mmd"].quantile(q) for q in (0.25, 0.75))
    missed = "; ".join(f"d={k[0]} {k[1]} {k[2]:g}" for k in median.index if not low[k] <= median[k] <= high[k])
    inside = int(((low <= median) & (median <= high)).sum())
    near = np.abs(share - published["clip_fraction"].median()) < 0.05
    return [
        Check(
            "clipping hard (bound 0.5) leaves a larger MMD than not clipping (bound 1000), for both algorithms",
            ", ".join(f"d={d} {a} {median[d, a, 0.5]:.3f} > {median[d, a, 1000.0]:.3f}" for d, a in groups),
            all(median[d, a, 0.5] > median[d, a, 1000.0] for d, a in groups),
        ),
        Check(
            "MMD, as coded: at least 90 % of our medians lie between the published quartiles",
            f"{inside} of {len(median)}" + (f"; not {missed}" if missed else ""),
            inside >= 0.9 * len(median),
        ),
        Check(
            "share clipped, as coded: at least 90 % are within 0.05 of the published medians",
            f"{int(near.sum())} of {len(near)}",
            near.mean() >= 0.9,
        ),
        Check(
            "at bound 10 the code clips more than 1 % of the log ratios, the rule of the text less than a tenth of it",
            ", ".join(f"d={d} {a} {share[d, a, 10.0]:.4f} and {printed[d, a, 10.0]:.4f}" for d, a in groups),
            all(share[d, a, 10.0] > 0.01 and printed[d, a, 10.0] < 0.1 * share[d, a, 10.0] for d, a in groups),
        ),
    ]
