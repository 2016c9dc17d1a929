"""The problems of the contracts with their exact answers."""

import numpy as np

from dpmcmc.algorithms import problems


def gaussian_problem():
    """Model, records, and the posterior's mean and variance."""
    problem = problems.gaussian()
    precision = len(problem.records) + 1 / 100
    return problem.model, problem.records, problem.records.sum() / precision, 1 / precision


def cycle_problem():
    """Model, records, proposal, and the posterior's probability of each state."""
    problem = problems.cycle()
    log_target = 0.1 * np.arange(5) + problem.records.sum(0)
    return problem.model, problem.records, problem.proposal, np.exp(log_target) / np.exp(log_target).sum()
