"""How good a default release is: on published posteriors, and in regressions on real data."""

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.utility import curves, efficiency, mixture, regression

FIGURES: dict[str, Figure] = {
    "curves": Figure("Distance against ε", curves.cells, curves.draw, curves.check),
    "mixture": Figure("The mixture of a million records", mixture.cells, None, mixture.check),
    "efficiency": Figure("Effective draws per unit of zCDP", efficiency.cells, None, efficiency.check),
    "regression": Figure("Logistic regression on real data", regression.cells, None, regression.check),
}
