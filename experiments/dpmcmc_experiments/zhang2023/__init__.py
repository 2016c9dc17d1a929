"""Zhang & Zhang, "DP-Fast MH: Private, Fast, and Accurate Metropolis–Hastings" (ICML 2023), and its repair.

The published sampler is not private (docs/theory/fast-mh.md): wherever it appears it is labelled "no valid guarantee".
What each panel of the paper shows was inferred from what the authors' public code records (docs/results/zhang2023.md).
"""

from __future__ import annotations

from dpmcmc_experiments.figures import Cell, Figure, Settings
from dpmcmc_experiments.zhang2023 import checks, logistic, mixture, pictures, tables, tradeoff

_QUICK = ("published", "published-full", "repaired-same", "repaired", "barker", "orbit")


def _densities(settings: Settings) -> list[Cell]:
    return [mixture.density_cell(key, settings) for key in ("exact", "published-full", "published", "repaired")]


def _chains(settings: Settings) -> list[Cell]:
    keys = _QUICK if settings.quick else mixture.methods(settings.quick)
    return [mixture.exact_cell(settings), *(mixture.chain_cell(key, settings) for key in keys)]


def _regressions(settings: Settings) -> list[Cell]:
    return [logistic.cell(key, settings) for key in logistic.runs(settings)]


FIGURES: dict[str, Figure] = {
    "fig1": Figure("Mixture: densities", _densities, pictures.densities, checks.densities),
    "fig2": Figure("Mixture: convergence", _chains, pictures.convergence, checks.convergence),
    "fig3": Figure("MNIST 7 against 9: accuracy", _regressions, pictures.accuracies, checks.accuracies),
    "fig4": Figure("Privacy, batch, efficiency", tradeoff.cells, pictures.tradeoff, checks.tradeoff),
    "budget": Figure("What the claims add up to", tables.budget_cells, None, checks.budget),
    "gains": Figure("Gains", tables.gains_cells, None, checks.gains),
}
