"""Tables of the samplers on MNIST, for Figure 3."""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Settings
from dpmcmc_experiments.zhang2023.logistic import Run, run
from dpmcmc_experiments.zhang2023.mnist import problem
from dpmcmc_experiments.zhang2023.samplers import FEW_EPSILONS, MAIN, ONE

BATCHES = (150, 225, 350)
"""K of Figure 3c: the mean of λ + CM is 227 at the step of the code."""


def against_epsilon(settings: Settings) -> list[Cell]:
    """Figures 3a and 3b: every sampler at every ε a step, ours at what that adds up to, and at 1 in all."""
    names = ("fast", "penalty", "full") if settings.quick else ("fast", "penalty", "full", "barker")
    keys = [f"{name}@{epsilon:g}" for name in names for epsilon in FEW_EPSILONS]
    if settings.quick:
        keys += [f"{name}@{MAIN:g}" for name in ("barker", "repaired")]
    else:
        keys += [f"repaired@{MAIN:g}", f"default@{ONE}", f"repaired@{ONE}", f"fast-printed@{MAIN:g}", "repaired-same"]
    return [cell(key, settings) for key in ("reference", *keys)]


def against_batch(settings: Settings) -> list[Cell]:
    """Figure 3c: the constants of the code at ε = 0.05, with other K."""
    batches = (BATCHES[0], BATCHES[-1]) if settings.quick else BATCHES
    return [cell(f"fast-K@{batch}", settings) for batch in batches]


def cell(key: str, settings: Settings) -> Cell:
    """One row: accuracy of the mean of all draws, as published, and predictions of the second half of each chain."""

    def rows() -> list[dict[str, Any]]:
        p, done = problem(settings), run(key, settings)
        made, hits = done.method, accuracies(done, p.test_y)
        chances = [np.mean(1 / (1 + np.exp(-late)), axis=0) for late in done.late]
        total = {"accuracy": np.mean(hits), "least": min(hits), "most": max(hits)}
        total |= {
            name: np.mean([score(chance, p.test_y) for chance in chances])
            for name, score in (("predictive_accuracy", dp.metrics.accuracy), ("log_loss", dp.metrics.log_loss))
        }
        total |= {"acceptance": done.acceptance, "records_a_step": made.records}
        total |= {"share_of_data": made.records / p.setting.n, "share_of_minibatches": made.minibatches}
        return [made.row() | {"steps": made.steps} | total]

    return Cell(f"logistic-{key}", rows)


def accuracies(done: Run, test_y: np.ndarray) -> list[float]:
    """Of the sign of the mean over all draws, a chain each."""
    return [float(dp.metrics.accuracy((eta > 0).astype(float), test_y)) for eta in done.mean]
