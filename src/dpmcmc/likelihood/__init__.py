"""The log likelihood as a function, released once; then any number of posterior draws for free.

See :mod:`dpmcmc.likelihood.basis` for the idea and docs/theory/likelihood-release.md for the proofs.
"""

from dpmcmc.likelihood.basis import Basis as Basis
from dpmcmc.likelihood.plan import LikelihoodPlan as LikelihoodPlan
from dpmcmc.likelihood.plan import plan_likelihood as plan_likelihood

__all__ = ["Basis", "LikelihoodPlan", "plan_likelihood"]
