"""Every algorithm on three posteriors that are known exactly.

Exact algorithms: the last states of many independent chains are compared with exact draws by an MMD permutation test at
level 0.001. Approximate ones: their means and standard deviations are within a stated part of the posterior's.
Budgets are ample and seeds fixed: this is about targets, not about privacy.
"""

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.metrics import mmd_test
from tests.algorithms.algorithms import ALGORITHMS
from tests.algorithms.problems import PROBLEMS, problem

CHAINS = 400


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("target", PROBLEMS)
def test_reaches_its_target(name, target):
    algorithm, this = ALGORITHMS[name], problem(target)
    release = dp.sample(
        this.model,
        this.records,
        epsilon=1e12,
        delta=1e-6,
        kernel=algorithm.kernel(this),
        temperature=algorithm.temperature,
        chains=CHAINS,
        steps=algorithm.steps,
        seed=11,
        progress=False,
    )
    last = release.draws["theta"][:, -1]
    if algorithm.error is None:
        assert mmd_test(last, this.exact(CHAINS, algorithm.temperature, seed=1)) > 0.001
    else:
        mean, std = this.moments(algorithm.temperature)
        halves = release.draws["theta"][:, algorithm.steps // 2 :].reshape(-1, 2)
        assert np.max(np.abs(halves.mean(0) - mean) / std) < algorithm.error
        assert np.max(np.abs(halves.std(0) / std - 1)) < algorithm.error
