"""Effective draws that a unit of zCDP buys: one choice among many candidates against one bit about two.

    python docs/scripts/selection_gain.py

Target: the mean of ``DIMENSION`` normal variables given ``RECORDS`` records. All samplers clip at κ times the
root mean square of a record's term: distance-wise for the random walk, whose cost is then that of its moves, and at a
constant for selections. The orbit's fit is off by a quarter of a posterior standard deviation in every coordinate
and 1.2 or 1.6 times too wide; what such a fit costs is not counted. Effective draws are the least of any
coordinate's, for the mean. The last column shows what the clip does to the target.
"""

from __future__ import annotations

import arviz as az
import numpy as np

import dpmcmc as dp
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.proposals import HiddenCentre, Orbit, Sphere
from dpmcmc.chain.selection import Select

DIMENSION, RECORDS, KAPPA = 5, 1000, 2.5
CHAINS, WARMUP = 4, 200
STEPS = {"Barker": 12_000, "selection": 1500}  # a random walk takes long to show what its draws are worth


def main() -> None:
    model = dp.models.GaussianMean(DIMENSION)
    records = np.random.default_rng(0).normal(size=(RECORDS, DIMENSION))
    mean, variance = model.exact_posterior(records)
    std = np.sqrt(variance)
    radius = np.sqrt(DIMENSION / RECORDS)  # a typical record's term, one posterior standard deviation away

    kernels: dict[str, tuple[KernelLike, float]] = {}
    for step in (0.5, 1.0, 2.4):
        scale = step / np.sqrt(DIMENSION)
        barker = dp.dp_barker(scale * std, dp.DistanceClip(KAPPA))
        kernels[f"Barker, random walk of {step} std/√d, κ = {KAPPA}"] = barker, (KAPPA * scale * radius) ** 2 / 2
    for count, width, kappa in ((16, 1.2, 2.5), (16, 1.6, 2.5), (4, 1.6, 3.5), (16, 1.6, 3.5), (64, 1.6, 3.5)):
        kernel = Select(Orbit(mean + 0.25 * std, width * std, count), kappa * radius)
        kernels[f"selection, orbit of {count}, {width} std, κ = {kappa}"] = kernel, 2 * (kappa * radius) ** 2
    for count, step in ((16, 0.35), (16, 0.7)):
        spread = np.sqrt(2) * step * radius  # from the present position to a candidate
        kernel = Select(HiddenCentre(Sphere(step * std), count), KAPPA * spread)
        kernels[f"selection, hidden centre of {count}, {step} std, κ = {KAPPA}"] = kernel, 2 * (KAPPA * spread) ** 2

    print("| kernel | zCDP a step | effective draws a step | effective draws per zCDP | variance ratio |")
    print("|---|---|---|---|---|")
    for name, (sampler, cost) in kernels.items():
        release = dp.sample(
            model,
            records,
            epsilon=1e12,
            delta=1e-6,
            method=dp.Chain(sampler, warmup=WARMUP),
            draws=STEPS[name.split(",")[0]] - WARMUP,
            chains=CHAINS,
            seed=1,
            progress=False,
        )
        draws = release.draws["theta"][:, WARMUP:]
        worth = min(float(az.ess(draws[..., j], method="mean")) for j in range(DIMENSION)) / draws[..., 0].size
        spread = np.mean(draws.var((0, 1))) / variance
        print(f"| {name} | {cost:.2e} | {worth:.4f} | {worth / cost:.1f} | {spread:.2f} |", flush=True)


if __name__ == "__main__":
    main()
