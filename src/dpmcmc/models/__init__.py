"""Models: the two functions of a user, and ready-made ones with their bounds."""

from dpmcmc.models.banana import Banana as Banana
from dpmcmc.models.base import Model as Model
from dpmcmc.models.base import ModelLike as ModelLike
from dpmcmc.models.base import WithInit as WithInit
from dpmcmc.models.circle import Circle as Circle
from dpmcmc.models.gaussian import CorrelatedGaussian as CorrelatedGaussian
from dpmcmc.models.gaussian import GaussianMean as GaussianMean
from dpmcmc.models.glm import LogisticRegression as LogisticRegression
from dpmcmc.models.mixture import TiedMixture as TiedMixture
from dpmcmc.models.truncated_mixture import TruncatedMixture as TruncatedMixture

__all__ = [
    "Banana",
    "Circle",
    "CorrelatedGaussian",
    "GaussianMean",
    "LogisticRegression",
    "Model",
    "ModelLike",
    "TiedMixture",
    "TruncatedMixture",
    "WithInit",
]
