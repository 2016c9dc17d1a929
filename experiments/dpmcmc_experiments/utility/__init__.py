"""How good a default release is: on published posteriors, and in regressions on real data."""

from dpmcmc_experiments.figures import Figure
from dpmcmc_experiments.utility import curves, mixture, regression

FIGURES: dict[str, Figure] = {
    "curves": Figure("Distance at ε = 0.5 and 1", curves.cells_at(curves.CLAIMED), curves.draw, curves.check),
    "curves-all": Figure("Distance against ε", curves.cells_at(curves.EPSILONS), curves.draw, curves.check),
    "mixture": Figure("The mixture of a million records", mixture.cells, None, mixture.check),
    "regression": Figure("Logistic regression on real data", regression.cells, None, regression.check),
}
