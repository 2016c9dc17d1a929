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

CHAINS = 150

CASES = [
    pytest.param(name, target, marks=[pytest.mark.slow] if algorithm.slow and target != "gaussian" else [])
    for name, algorithm in ALGORITHMS.items()
    for target in PROBLEMS
]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_reaches_its_target(name, target):
    algorithm, this = ALGORITHMS[name], problem(target)
    budget = {"epsilon": 1e15, "delta": 1e-6} if algorithm.private else {}
    release = dp.sample(
        this.model,
        this.records,
        **budget,
        kernel=algorithm.kernel(this),
        temperature=algorithm.temperature,
        chains=CHAINS,
        steps=algorithm.steps,
        seed=11,
        progress=False,
    )
    if algorithm.error is None:
        last = release.draws["theta"][:, -1]
        assert mmd_test(last, this.exact(CHAINS, algorithm.temperature, seed=1), permutations=1999) > 0.001
    else:
        mean, std = this.moments(algorithm.temperature)
        halves = release.draws["theta"][:, algorithm.steps // 2 :].reshape(-1, 2)
        assert np.max(np.abs(halves.mean(0) - mean) / std) < algorithm.error
        assert np.max(np.abs(halves.std(0) / std - 1)) < algorithm.error
