"""Models: the two functions of a user, and ready-made ones with their bounds."""

from dpmcmc.models.base import Model as Model
from dpmcmc.models.base import ModelLike as ModelLike
from dpmcmc.models.base import WithInit as WithInit
from dpmcmc.models.categorical import CategoricalRegression as CategoricalRegression
from dpmcmc.models.covariates import Covariates as Covariates
from dpmcmc.models.formula.model import FormulaRegression as FormulaRegression
from dpmcmc.models.gaussian import GaussianMean as GaussianMean
from dpmcmc.models.linear import LinearRegression as LinearRegression
from dpmcmc.models.logistic import LogisticRegression as LogisticRegression
from dpmcmc.models.mixture import TiedMixture as TiedMixture
from dpmcmc.models.negative_binomial import NegativeBinomialRegression as NegativeBinomialRegression
from dpmcmc.models.ordinal import OrdinalRegression as OrdinalRegression
from dpmcmc.models.poisson import PoissonRegression as PoissonRegression
from dpmcmc.models.priors import Normal as Normal
from dpmcmc.models.regression import Regression as Regression
from dpmcmc.models.student_t import StudentTRegression as StudentTRegression

__all__ = [
    "CategoricalRegression",
    "Covariates",
    "FormulaRegression",
    "GaussianMean",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "ModelLike",
    "NegativeBinomialRegression",
    "Normal",
    "OrdinalRegression",
    "PoissonRegression",
    "Regression",
    "StudentTRegression",
    "TiedMixture",
    "WithInit",
]
