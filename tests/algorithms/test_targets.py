"""Every registered algorithm on three posteriors that are known exactly.

Exact algorithms: the last states of many independent chains are compared with exact draws by an MMD permutation test at
level 0.001. Approximate ones: their means and standard deviations are within 0.15 of the posterior's standard
deviations. Budgets are ample and seeds fixed: this is about targets, not about privacy.

The quick suite has one posterior for one algorithm of each kind; every exact algorithm recovers a Gaussian in its
contracts, which are quick.
"""

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.algorithms import ALGORITHMS
from dpmcmc.metrics import mmd_test
from tests.algorithms.problems import PROBLEMS, problem
from tests.algorithms.setups import WITHOUT_TARGET, setups

CHAINS = 150
APPROXIMATE = 0.15

SETUPS = setups()


#: In the quick suite, on the mixture; all others are left to the slow one, and recover a Gaussian in their contracts.
QUICK = {"dp_barker", "dp_penalty", "dp_orbit"}


def is_quick(name: str, target: str) -> bool:
    return name in QUICK and target == "mixture"


CASES = [
    pytest.param(name, target, marks=[] if is_quick(name, target) else [pytest.mark.slow])
    for name in SETUPS
    for target in PROBLEMS
]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_reaches_its_target(name, target):
    (algorithm, setup), this = SETUPS[name], problem(target)
    contract = algorithm.contracts[0]
    release = dp.sample(
        this.model,
        this.records,
        **({"epsilon": 1e15, "delta": 1e-6} if contract.private else {}),
        method=dp.Chain(setup.kernel(this), warmup=0),
        temperature=setup.temperature,
        chains=CHAINS,
        draws=setup.steps,
        seed=11,
        progress=False,
    )
    if contract.exact:
        last = release.draws["theta"][:, -1]
        assert mmd_test(last, this.exact(CHAINS, setup.temperature, seed=1), permutations=1999) > 0.001
    else:
        mean, std = this.moments(setup.temperature)
        halves = release.draws["theta"][:, setup.steps // 2 :].reshape(-1, 2)
        assert np.max(np.abs(halves.mean(0) - mean) / std) < APPROXIMATE
        assert np.max(np.abs(halves.std(0) / std - 1)) < APPROXIMATE


def test_every_algorithm_is_run_on_every_target():
    assert set(ALGORITHMS) > WITHOUT_TARGET
    assert set(ALGORITHMS) > QUICK
    for name in set(ALGORITHMS) - WITHOUT_TARGET:
        assert {case.values[1] for case in CASES if case.values[0] == name} == set(PROBLEMS)
        assert any(is_quick(name, target) for target in PROBLEMS) == (name in QUICK)


@pytest.mark.parametrize("target", PROBLEMS)
def test_no_record_is_steeper_than_the_problem_says(target):
    """What minibatch algorithms are told is true over 4000 draws of the posterior."""
    this = problem(target)
    slopes = jax.vmap(jax.vmap(jax.grad(this.model.log_likelihood), (None, 0)), (0, None))
    found = np.linalg.norm(jax.jit(slopes)(this.exact(4000, seed=3), this.records), axis=-1)
    assert 0.7 * this.slope < found.max() < this.slope
