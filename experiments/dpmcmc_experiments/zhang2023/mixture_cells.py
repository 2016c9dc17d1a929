"""Tables of the mixture's samplers: totals, curves and densities, for Figures 1, 2 and 4."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Settings, rng_of
from dpmcmc_experiments.zhang2023.mixture import Problem, problem
from dpmcmc_experiments.zhang2023.mixture_runs import run, seconds_a_step
from dpmcmc_experiments.zhang2023.samplers import MAIN, ONE, epsilons, family

PUBLISHED = ("fast", "fast-code", "full", "penalty", "barker")
OURS = ("repaired", "default")
PLAIN = ("metropolis", "tuna")
BINS = 40
FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def against_epsilon(settings: Settings) -> list[Cell]:
    """Figure 1a and 1b: every sampler at every ε a step, ours at what that adds up to, and at 1 in all."""
    names = ("fast", "full", "penalty", "barker", "repaired")
    keys = [f"{name}@{epsilon:g}" for name in names for epsilon in epsilons(settings)]
    keys += [f"default@{epsilon:g}" for epsilon in epsilons(settings) if not settings.quick or epsilon == MAIN]
    keys += [] if settings.quick else [f"fast-code@{MAIN:g}"]
    keys += ["metropolis"] if settings.quick else [f"{name}@{ONE}" for name in OURS] + ["repaired-same", *PLAIN]
    return [exact_cell(settings, (1.0,)), *(summary_cell(key, settings) for key in keys)]


def at_one_epsilon(settings: Settings) -> list[str]:
    """Figures 1c, 1d, 2 and 4: ε = 0.05 a step."""
    if settings.quick:
        return [f"{name}@{MAIN:g}" for name in ("fast", "full", "penalty", "barker", "repaired", "default")]
    keys = [f"{name}@{MAIN:g}" for name in (*PUBLISHED, *OURS)]
    return [*keys, *(f"{name}@{ONE}" for name in OURS)]


def convergence(settings: Settings) -> list[Cell]:
    keys = at_one_epsilon(settings) + ([] if settings.quick else list(PLAIN))
    return [exact_cell(settings, FRACTIONS), *(curve_cell(key, settings) for key in keys)]


def times(settings: Settings) -> list[Cell]:
    """Figure 1d: the same curves, and what a step takes."""
    names = ("fast", "full", "penalty", "barker", "repaired", *([] if settings.quick else ["fast-code"]))
    return [*convergence(settings), *(time_cell(f"{name}@{MAIN:g}", settings) for name in names)]


def densities(settings: Settings) -> list[Cell]:
    return [density_cell(key, settings) for key in ("exact", *at_one_epsilon(settings))]


def scores(p: Problem, draws: np.ndarray) -> dict[str, float]:
    """Symmetric KL as published, and the error of the mean in posterior standard deviations."""
    spread = p.exact.std(0)
    return {
        "symmetric_kl": dp.metrics.symmetric_kl(draws, p.exact, p.box),
        "mean_error_sd": dp.metrics.mean_error(draws / spread, p.exact.mean(0) / spread),
    }


def summary_cell(key: str, settings: Settings) -> Cell:
    """One row: scores of whole chains (means over chains), what a step reads and takes."""

    def rows() -> list[dict[str, Any]]:
        p, done = problem(settings.quick), run(key, settings.quick)
        made, each = done.method, pd.DataFrame([scores(p, path) for path in done.draws])
        total = {"acceptance": done.accepted.mean(), "records_a_step": made.records}
        total |= {"share_of_data": made.records / p.setting.n, "share_of_minibatches": made.minibatches}
        total |= {"ess_a_chain": effective(done.draws[:, made.steps // 10 :], done.accepted)}
        spread = {"least_kl": each["symmetric_kl"].min(), "most_kl": each["symmetric_kl"].max()}
        return [made.row() | {"steps": made.steps} | dict(each.mean()) | spread | total]

    return Cell(f"mixture-{key}", rows)


def curve_cell(key: str, settings: Settings) -> Cell:
    """Scores after growing numbers of steps, with the records read until then; of a release, its processor seconds."""

    def rows() -> list[dict[str, Any]]:
        p, done = problem(settings.quick), run(key, settings.quick)
        made, table = done.method, []
        once = family(key) == "default"  # its passes and most of its time come before the first draw
        for fraction in FRACTIONS:
            steps = max(2, round(fraction * made.steps))
            each = pd.DataFrame([scores(p, path[:steps]) for path in done.draws])
            paid = made.steps if once else steps
            cost = {"seconds": paid * done.seconds, "records": paid * made.records}
            table.append(made.row() | {"steps": steps} | cost | dict(each.mean()))
        return table

    return Cell(f"mixture-curve-{key}", rows)


def time_cell(key: str, settings: Settings) -> Cell:
    def rows() -> list[dict[str, Any]]:
        return [{"method": key, "family": "time", "seconds_a_step": seconds_a_step(key, settings.quick)}]

    return Cell(f"mixture-time-{key}", rows)


def effective(draws: np.ndarray, accepted: np.ndarray) -> float:
    """Effective draws of one chain for the worse of the two means; none where a chain has never moved."""
    return dp.metrics.effective_draws(draws) / len(draws) if accepted.any(1).all() else 0.0


def exact_cell(settings: Settings, fractions: tuple[float, ...]) -> Cell:
    """What as many independent exact draws would score: the floor of all samplers."""

    def rows() -> list[dict[str, Any]]:
        p, rng, table = problem(settings.quick), rng_of("zhang2023", "floor"), []
        for fraction in fractions:
            steps = max(2, round(fraction * p.setting.steps))
            part = p.exact[rng.choice(len(p.exact), steps, replace=False)]
            row = {"method": "exact", "family": "exact", "label": "independent exact draws", "guarantee": "none"}
            table.append(row | {"steps": steps} | scores(p, part))
        return table

    return Cell(f"mixture-exact-{len(fractions)}", rows)


def density_cell(key: str, settings: Settings) -> Cell:
    """A histogram of all chains of a method (or of the exact draws), cells that hold anything."""

    def rows() -> list[dict[str, Any]]:
        p = problem(settings.quick)
        label, draws = "exact, by quadrature", p.exact
        if key != "exact":
            done = run(key, settings.quick)
            label, draws = done.method.label, done.draws[:, done.method.steps // 10 :].reshape(-1, 2)
        counts, first, second = np.histogram2d(*draws.T, bins=BINS, range=((-1.5, 2.2), (-2.6, 2.6)))
        middles = (first[:-1] + first[1:]) / 2, (second[:-1] + second[1:]) / 2
        about = {"method": key, "family": family(key), "label": label}
        return [
            about | {"theta1": middles[0][i], "theta2": middles[1][j], "share": share}
            for i, j in zip(*np.nonzero(counts), strict=True)
            if (share := round(counts[i, j] / len(draws), 6)) > 0
        ]

    return Cell(f"mixture-density-{key}", rows)
