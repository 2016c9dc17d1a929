"""Every registered algorithm keeps its contract, whoever registered it."""

import pytest

from dpmcmc.algorithms import contracts

CASES = contracts.cases()

#: Left to the slow suite: cases that differ from a quick one by a setting, a walk or a clip alone, and those of
#: references that are slow and that the quick suite sees on other posteriors (tests/algorithms/test_targets.py).
SLOW = {
    "recovers_a_conjugate_gaussian": {
        "dp_penalty, std 0.5",
        "dp_penalty, varying cost",
        "dp_penalty_one_component",
        "dp_hmc",
        "dp_hmc, gradient reused, Barker's test",
        "dp_barker_minibatch",
        "hmc",
        "tuna_mh",
    },
    "is_reversible_on_a_finite_space": {
        "dp_penalty, std 0.5",
        "dp_penalty, varying cost",
        "dp_barker_minibatch",
        "dp_hidden_centre",
        "tuna_mh",
    },
    "pays_for_every_chain_and_step_before_it_runs": {"seita", "published_fast_mh", "tuna_mh", "dp_penalty, std 0.5"},
    "a_filter_stops_before_the_budget_is_passed": {"dp_barker", "dp_penalty", "dp_penalty, std 0.5"},
}
SLOW_CASES = {f"{check}-{name}" for check, names in SLOW.items() for name in names}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=name, marks=[pytest.mark.slow] if name in SLOW_CASES else [])
        for name, check in CASES.items()
    ],
)
def test_keeps_its_contract(check):
    check()


def test_slow_cases_are_cases():
    assert set(CASES) > SLOW_CASES
