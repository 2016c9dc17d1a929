"""Zhang & Zhang, "DP-Fast MH: Private, Fast, and Accurate Metropolis–Hastings" (ICML 2023), and its repair.

The published sampler is not private (docs/theory/fast-mh.md): wherever it appears it is labelled "no valid guarantee".
Figures have the paper's numbers; ``mnist-a`` to ``mnist-c`` are its Figure 3, of which no complete run is kept yet;
``tradeoff``, ``budget`` and ``gains`` are our own.
"""

from __future__ import annotations

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.zhang2023 import (
    checks_mixture,
    checks_mnist,
    checks_tables,
    mixture_cells,
    mnist_cells,
    pictures,
    tables,
    tradeoff,
)

FIGURES: dict[str, Figure] = {
    "fig1a": Figure(
        "Mixture: symmetric KL against ε",
        mixture_cells.against_epsilon,
        pictures.kl_against_epsilon,
        checks_mixture.kl_against_epsilon,
    ),
    "fig1b": Figure(
        "Mixture: batch size against ε",
        mixture_cells.against_epsilon,
        pictures.batch_against_epsilon,
        checks_mixture.batch_against_epsilon,
    ),
    "fig1c": Figure(
        "Mixture: symmetric KL against iterations",
        mixture_cells.convergence,
        pictures.kl_against_steps,
        checks_mixture.by_steps,
    ),
    "fig1d": Figure(
        "Mixture: symmetric KL against time",
        mixture_cells.times,
        pictures.kl_against_seconds,
        checks_mixture.by_seconds,
    ),
    "fig2": Figure("Mixture: densities", mixture_cells.densities, pictures.densities, checks_mixture.densities),
    "mnist-a": Figure(
        "MNIST: accuracy against ε",
        mnist_cells.against_epsilon,
        pictures.accuracy_against_epsilon,
        checks_mnist.accuracy_against_epsilon,
    ),
    "mnist-b": Figure(
        "MNIST: batch size against ε",
        mnist_cells.against_epsilon,
        pictures.share_against_epsilon,
        checks_mnist.batch_against_epsilon,
    ),
    "mnist-c": Figure(
        "MNIST: effect of K", mnist_cells.against_batch, pictures.effect_of_batch, checks_mnist.effect_of_batch
    ),
    "fig4": Figure(
        "Mixture: symmetric KL against records read",
        mixture_cells.convergence,
        pictures.kl_against_records,
        checks_mixture.by_records,
    ),
    "tradeoff": Figure("Privacy, batch, efficiency", tradeoff.cells, pictures.tradeoff, checks_tables.tradeoff),
    "budget": Figure("What the claims add up to", tables.budget_cells, None, checks_tables.budget),
    "gains": Figure("Gains", tables.gains_cells, None, checks_tables.gains),
}
