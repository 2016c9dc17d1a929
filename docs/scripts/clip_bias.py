"""What clipping does to a skewed model: the demo's regression without a privacy limit, at several clips.

    python docs/scripts/clip_bias.py                  # about a minute

Prints, for clips of κ root mean squares of a record's log ratio, how far the tempered posterior's means are moved, in
its standard deviations, and what a step costs. The default κ of the planner was chosen from this.
"""

from __future__ import annotations

import math

import numpy as np
from statsmodels.datasets import randhie

import dpmcmc as dp
from dpmcmc.commands.demo import BOUNDS
from dpmcmc.geometry import geometry

TEMPERATURE, STEP = 0.0162, 0.5


def main() -> None:
    table = randhie.load_pandas().data.assign(visit=lambda t: t["mdvis"] > 0)
    model = dp.models.LogisticRegression(BOUNDS)
    data = model.encode(table, outcome="visit")
    shape = geometry(model)
    root = STEP / math.sqrt(shape.dimension) * shape.posterior_root(TEMPERATURE * len(table))

    def moments(clip: object) -> tuple[np.ndarray, np.ndarray]:
        kernel = dp.dp_barker(dp.RandomWalk(root), clip)  # type: ignore[arg-type]
        method = dp.Chain(kernel, warmup=2500)
        settings = {"temperature": TEMPERATURE, "draws": 7500, "chains": 4, "seed": 1, "progress": False}
        summary = dp.sample(model, data, 1e6, 1e-6, method=method, **settings).summary()
        return summary["mean"].to_numpy(), summary["sd"].to_numpy()

    mean, std = moments(1.0)  # nothing is clipped
    print("| κ | largest shift of a mean (stds) | largest change of a std | zCDP a step |\n|---|---|---|---|")
    for kappa in (2.0, 2.5, 3.0, 3.5):
        clipped_mean, clipped_std = moments(dp.DistanceClip(kappa, shape.fisher))
        cost = (TEMPERATURE * kappa) ** 2 * np.trace(root.T @ shape.fisher @ root) / 2
        shift, change = np.max(np.abs(clipped_mean - mean) / std), np.max(np.abs(clipped_std / std - 1))
        print(f"| {kappa} | {shift:.2f} | {change:.0%} | {cost:.1e} |")


if __name__ == "__main__":
    main()
