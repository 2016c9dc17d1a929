"""What the budget of the paper buys with dpmcmc: the records count as 10⁵, not as 100.

Two full-data Barker chains in a row, each within a budget of its own: one from a public point finds the mode while the
records count as 10⁴, and from its last state the second samples with 10⁵. ε = 0.1 + 0.9. Proposal and metric are those
of a planned chain; the clip is eight typical log ratios instead of its 3.5, because what a clip does to the place
of the posterior does not shrink with the number of records, and the posterior does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import Settings, seed_of
from dpmcmc_experiments.heikkila2019 import study

PUBLIC_START = (-1.0, 2.0)
STAGES = ((0.1, 0.01, 500), (0.9, 0.1, 2500))
"""ε, temperature and number of steps."""

CLIP = 8.0  # times the root mean square of a record's log ratio
RUNS = 3
MODES = np.array([[0.0, 1.0], [1.0, -1.0]])
"""The parameters that made the records, and the same with the two components exchanged."""


def run(settings: Settings, number: int) -> dict[str, Any]:
    """One private run: its distance from the exact posterior and from the parameters that made the records."""
    data, at = study.records(settings), np.array(PUBLIC_START)
    for stage, (epsilon, tau, steps) in enumerate(STAGES):
        budget = dp.Budget(epsilon, study.STUDY_DELTA)
        default = dp.plan(study.MODEL, len(data), budget, method=dp.Chain(), chains=1, temperature=tau, init=at).kernel
        kernel = dp.dp_barker(default.proposal, dp.DistanceClip(CLIP, default.acceptance.clip.metric))
        release = dp.sample(
            study.MODEL,
            data,
            epsilon,
            study.STUDY_DELTA,
            method=dp.Chain(kernel, warmup=0),
            draws=min(steps, 300) if settings.quick else steps,
            chains=1,
            temperature=tau,
            init=at,
            seed=seed_of("heikkila2019", "less tempered", number, stage),
            progress=False,
        )
        path = release.draws["theta"][0]
        at = path[-1]
    draws = path[len(path) // 4 :]
    exact = exact_near(data, draws.mean(axis=0), tau * len(data))
    spread = np.sqrt(exact[1])
    return (
        {"run": number, "epsilon": sum(stage[0] for stage in STAGES), "delta": len(STAGES) * study.STUDY_DELTA}
        | {"steps": len(path), "acceptance": float(release.sample_stats["accepted"].mean())}
        | {"ess": dp.metrics.effective_draws(draws[None]), "distance": distance(draws)}
        | {f"mean_off_{k + 1}": (draws[:, k].mean() - exact[0, k]) / spread[k] for k in (0, 1)}
        | {f"spread_ratio_{k + 1}": draws[:, k].std() / spread[k] for k in (0, 1)}
    )


def exact_near(data: np.ndarray, mean: np.ndarray, counts_as: float) -> np.ndarray:
    """Means and variances of the posterior within the mode nearest to ``mean``, by quadrature."""
    size = np.array([3.5, 6.3]) / np.sqrt(counts_as)  # about one standard deviation
    mode = MODES[np.argmin(np.linalg.norm(MODES - mean, axis=1))]
    for reach in (15.0, 7.0):  # find it, then measure it
        axes = tuple(np.linspace(m - reach * s, m + reach * s, 121) for m, s in zip(mode, size, strict=True))
        moments = study.mesh_moments(axes, study.log_posterior(data, *axes, counts_as))
        mode = moments[0]
    return moments


def distance(draws: np.ndarray) -> float:
    """Root mean square distance of draws from the parameters that made the records, or their mirror image."""
    return float(np.sqrt(np.mean(np.min([np.sum((draws - mode) ** 2, axis=1) for mode in MODES], axis=0))))
