"""What the clip alone does to the variances (not a figure of the paper): Barker's test on all records, nothing else.

2000 quantiles of the records stand for all of them, tempered alike. Without batches, noise or correction, what is left
is the clip: none, √b/N₀ for batches of 1000 (the paper's) and for batches of 4000.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Check, Figure, Settings, seed_of
from dpmcmc_experiments.heikkila2019 import study

RECORDS, BURN_IN = 2000, 1000
BATCHES = (1000, 4000, 0)
"""Sizes whose clip is applied; 0 for no clip."""


def quantiles(settings: Settings) -> np.ndarray:
    data = np.sort(study.records(settings))
    gap = len(data) // RECORDS
    return data[gap // 2 :: gap]


def run(settings: Settings, batch: int) -> list[dict[str, Any]]:
    data, scale = quantiles(settings), np.sqrt(study.PROPOSAL_VARIANCE)
    chains, steps = (8, 1500) if settings.quick else (64, 20_000)
    clip = np.sqrt(batch) / study.COUNTS_AS
    kernel = dp.dp_barker(scale, clip) if batch else dp.algorithms.barker(scale)
    release = dp.sample(
        study.MODEL,
        data,
        *((1e12, study.STUDY_DELTA) if batch else ()),
        method=dp.Chain(kernel, warmup=0),
        draws=steps,
        chains=chains,
        temperature=study.temperature(data),
        init=lambda key: jnp.array([0.49, 0.02]) + jax.random.normal(key) * jnp.array([0.42, -0.8]),  # along its ridge
        seed=seed_of("heikkila2019", "clip bias", batch),
        progress=False,
    )
    squares = (release.draws["theta"][:, BURN_IN:] - study.exact_moments(data)[0]) ** 2
    names = ("variance1", "variance2")
    return [
        {"batch": batch, "clip": clip if batch else np.inf, "chain": chain} | dict(zip(names, value, strict=True))
        for chain, value in enumerate(squares.mean(axis=1))
    ]


def cells(settings: Settings) -> list[Cell]:
    return [
        Cell(f"clip-bias-{batch}", lambda b=batch: run(settings, b))
        for batch in (BATCHES[-1:] if settings.quick else BATCHES)
    ]


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    exact = study.exact_moments(quantiles(settings))[1]
    columns = ["variance1", "variance2"]
    means = rows.groupby("batch")[columns].mean() / exact - 1
    sems = rows.groupby("batch")[columns].sem() / exact
    z = means / sems
    said = {b: ", ".join(f"{means.loc[b, c]:+.1%} ± {sems.loc[b, c]:.1%}" for c in columns) for b in means.index}
    if settings.quick:  # the clip's effect is smaller than what few short chains can tell
        claim = "without a clip the variances are exact (5.41 standard errors: Student's t of 8 chains, 99.9 %)"
        return [Check(claim, said[0], bool((z.loc[0].abs() <= 5.41).all()))]
    return [
        Check("the paper's clip makes variances smaller (3 std. errors)", said[1000], bool((z.loc[1000] < -3).all())),
        Check("the clip of batches of 4000 does not", said[4000], bool((z.loc[4000].abs() <= 3).all())),
        Check("without a clip the variances are exact (3 standard errors)", said[0], bool((z.loc[0].abs() <= 3).all())),
    ]  # fmt: skip


FIGURE = Figure("What the clip alone does to the variances (not in the paper)", cells, None, check)
