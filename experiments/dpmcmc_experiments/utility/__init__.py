"""How good a default release is: on the published posteriors, and in regressions on real data."""

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.utility import curves, regression

FIGURES: dict[str, Figure] = {
    "curves": Figure("Distance from the posterior against ε", curves.cells, curves.draw, curves.check),
    "regression": Figure("Logistic regression on real data", regression.cells, None, regression.check),
}
