"""The register: every recipe is in it, and one from elsewhere joins everything that goes through it."""

import inspect
from dataclasses import replace

import pytest

import dpmcmc as dp
from dpmcmc import algorithms, privacy
from dpmcmc.algorithms import ALGORITHMS, Accounting, Algorithm, Contract, contracts, register
from dpmcmc.chain.acceptance import Barker, Metropolis


def test_every_recipe_is_registered():
    recipes = {
        name
        for name, value in vars(algorithms).items()
        if inspect.isfunction(value) and value.__module__ != "dpmcmc.algorithms.registry"
    }
    assert recipes == set(ALGORITHMS)
    for name, algorithm in ALGORITHMS.items():
        assert getattr(algorithms, name) is algorithm.recipe


def test_every_algorithm_is_what_it_says():
    """Privacy is claimed by the contracts and follows from the event; every algorithm is checked by some contract."""
    for algorithm in ALGORITHMS.values():
        event = algorithm.example().event(1000, algorithm.temperature)
        is_private = not any(isinstance(part, privacy.NonPrivate) for part in privacy.parts(event))
        assert {contract.private for contract in algorithm.contracts} == {is_private}
        assert len(contracts.cases(algorithm)) >= 2


def my_barker(step, clip):
    return dp.Kernel(step, Barker(clip))


MINE = Algorithm(
    my_barker,
    target="exact unless clipped",
    needs="a clip",
    example=lambda: my_barker(dp.RandomWalk(0.1), 0.01),
    contracts=(Contract(my_barker),),
    accounting=Accounting("my-barker", "Barker's test", {"shift": 0.01}, lambda s: privacy.BarkerBit(s["shift"])),
)


@pytest.fixture
def registered():
    """My algorithm, for the length of a test."""
    yield register(MINE)
    del ALGORITHMS["my_barker"]


def test_an_algorithm_from_elsewhere_is_checked_like_any_other(registered):
    cases = contracts.cases(registered)
    assert set(cases) == {f"{check.__name__}-my_barker" for check in contracts.CHECKS}
    cases["worst_neighbours_differ_by_no_more_than_the_event_claims-my_barker"]()
    assert "my-barker" in algorithms.accountings()
    assert any(accounting.name == "my-barker" for accounting, _ in algorithms.standard_cases())


class Understated(Barker):
    """Clips at twice what it says, so a record moves the bit by more than is charged."""

    def bound(self, *where):
        return 2 * super().bound(*where)

    def shift(self, *where):
        return super().shift(*where) / 2


class Undercharged(Barker):
    """Pays for half of the shift."""

    def shift(self, *where):
        return super().shift(*where) / 2


class Squared(Barker):
    """Samples the squared posterior."""

    def probabilities(self, t):
        return super().probabilities(2 * t)


class Timid(Barker):
    """Accepts half as often as Barker's test."""

    def probabilities(self, t):
        accept, reject = super().probabilities(t)
        return accept / 2, reject + accept / 2


BROKEN = {
    "recovers_a_conjugate_gaussian": (Squared, "variance"),
    "is_reversible_on_a_finite_space": (Squared, "share of state"),
    "pays_for_every_chain_and_step_before_it_runs": (Metropolis, "private=True"),
    "reports_the_event_that_it_ran": (Timid, "moves are accepted"),
    "worst_neighbours_differ_by_no_more_than_the_event_claims": (Understated, "more than its event claims"),
    "a_filter_stops_before_the_budget_is_passed": (Undercharged, "charged"),
}
QUICK = ("pays_for_every_chain_and_step_before_it_runs", "worst_neighbours_differ_by_no_more_than_the_event_claims")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in BROKEN]
)
def test_a_broken_algorithm_is_found(name):
    test, message = BROKEN[name]

    def make(proposal, clip):
        return dp.Kernel(proposal, test(clip) if issubclass(test, Barker) else test())

    with pytest.raises(AssertionError, match=message):
        contracts.cases(replace(MINE, contracts=(Contract(make),)))[f"{name}-my_barker"]()


def test_names_are_unique(registered):
    def other(step, clip):
        return my_barker(step, clip)

    other.__name__ = "dp_barker"
    for twin in (replace(MINE, recipe=other, accounting=None), replace(MINE, recipe=lambda step, clip: None)):
        with pytest.raises(ValueError, match="one name"):
            register(twin)
    register(MINE)  # again, as when a module is reloaded
    with pytest.raises(ValueError, match="at least one"):
        replace(MINE, contracts=())
