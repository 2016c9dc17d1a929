"""A budget that does not pay is refused at once, whatever the kernel: one such refusal took 35 seconds."""

import time

import pytest

import dpmcmc as dp
from dpmcmc.algorithms import ALGORITHMS, problems
from dpmcmc.charge import OverBudget

SECONDS = 2.0  # of processor time, for one refusal
BUDGETS = [(None, 1e-4), (10**5, 0.1), (10**6, 1.0)]  # draws, epsilon
QUICK = ("dp_penalty", "dp_barker_subsampled", "dp_hmc")


def kernels(names):
    for algorithm in names:
        for name, contract in ALGORITHMS[algorithm].named_contracts.items():
            if contract.private and (names is ALGORITHMS or name == algorithm):
                yield pytest.param(contract, id=name)


def refused_soon(contract, draws, epsilon):
    made = problems.gaussian()
    kernel, began = made.kernel(contract), time.process_time()
    try:
        dp.plan(made[0], 10_000, dp.Budget(epsilon, 1e-9), method=kernel, draws=draws)
    except OverBudget:
        assert time.process_time() - began < SECONDS
        return True
    return False


@pytest.mark.parametrize("contract", list(kernels(QUICK)))
def test_a_budget_that_does_not_pay_is_refused_at_once(contract):
    assert refused_soon(contract, *BUDGETS[0])


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "epsilon"), BUDGETS)
@pytest.mark.parametrize("contract", list(kernels(ALGORITHMS)))
def test_every_budget_that_does_not_pay_is_refused_at_once(contract, draws, epsilon):
    refused_soon(contract, draws, epsilon)
