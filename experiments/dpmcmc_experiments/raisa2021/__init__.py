"""Räisä, "Differentially Private Metropolis-Hastings Algorithms", Master's thesis, University of Helsinki, 2021.

``acceptance`` and ``acceptance-extra`` are figures of the study's repository that its text leaves out.
"""

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.raisa2021 import accounting, clipping, comparison, gains, posteriors, seeds
from dpmcmc_experiments.raisa2021.algorithms import ALL, FULL_DATA
from dpmcmc_experiments.raisa2021.comparison import BANANAS, EXTRA, figure_of, pairs_of

ON_BANANAS = pairs_of(BANANAS, ALL)
ON_EXTRA = pairs_of(EXTRA, FULL_DATA)
ON_CIRCLE = pairs_of(["circle"], ("hmc", "dpps"))
WITH_GRADIENTS = pairs_of([*BANANAS, *EXTRA, "circle"], ["hmc"])

FIGURES: dict[str, Figure] = {
    "table5.1": Figure("Models", posteriors.table_cells, None, posteriors.check_table),
    "lengths": Figure("Chain lengths", accounting.length_cells, None, accounting.check_lengths),
    "baselines": Figure("MMD of exact samples", comparison.baseline_cells, None, comparison.check_baselines),
    "fig4.1": Figure("A path of DP HMC", posteriors.path_cells, posteriors.draw_path, posteriors.check_path),
    "fig5.1": Figure("Posteriors", posteriors.plane_cells, posteriors.draw_plane, posteriors.check_plane),
    "fig6.1": Figure("Iterations against ε", accounting.cells, accounting.draw, accounting.check),
    "fig6.2": Figure("Clipping without noise", clipping.cells, clipping.draw, clipping.check),
    "fig6.3": figure_of("MMD against ε, bananas", ON_BANANAS, ["mmd"]),
    "fig6.4": figure_of("MMD against ε, harder posteriors", ON_EXTRA, ["mmd"], 3),
    "fig6.5": figure_of("Clipped log ratios, bananas", ON_BANANAS, ["llr_clip_fraction"]),
    "fig6.6": figure_of("Clipped log ratios, harder posteriors", ON_EXTRA, ["llr_clip_fraction"], 3),
    "fig6.7": figure_of("The circle", ON_CIRCLE, ["mean_error", "llr_clip_fraction"]),
    "fig6.8": figure_of("Clipped gradients of DP HMC", WITH_GRADIENTS, ["grad_clip_fraction"], 3),
    "acceptance": figure_of("Acceptance, bananas", ON_BANANAS, ["acceptance_rate"]),
    "acceptance-extra": figure_of("Acceptance, harder posteriors", ON_EXTRA, ["acceptance_rate"], 3),
    "seeds": Figure("The study's own chains", seeds.cells, None, seeds.check),
    "gains": Figure("What dpmcmc gains", gains.cells, gains.draw, gains.check),
}
