"""Posteriors of the published studies, each with exact draws to hold a chain against."""

from dpmcmc_experiments.targets.banana import Banana as Banana
from dpmcmc_experiments.targets.circle import Circle as Circle
from dpmcmc_experiments.targets.correlated_gaussian import CorrelatedGaussian as CorrelatedGaussian
from dpmcmc_experiments.targets.truncated_mixture import TruncatedMixture as TruncatedMixture

__all__ = ["Banana", "Circle", "CorrelatedGaussian", "TruncatedMixture"]
