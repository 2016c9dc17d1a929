"""Models: the two functions of a user, and ready-made ones with their bounds."""

from dpmcmc.models.base import Model as Model
from dpmcmc.models.base import ModelLike as ModelLike
from dpmcmc.models.base import WithInit as WithInit
from dpmcmc.models.gaussian import GaussianMean as GaussianMean
from dpmcmc.models.glm import LogisticRegression as LogisticRegression
from dpmcmc.models.mixture import TiedMixture as TiedMixture

__all__ = ["GaussianMean", "LogisticRegression", "Model", "ModelLike", "TiedMixture", "WithInit"]
