"""Published bounds and our own side by side, and the tables in the docs that come from them."""

import importlib.util
import math
from pathlib import Path

import pytest

from dpmcmc.algorithms import accounting, accountings, standard_cases
from dpmcmc.privacy import events
from dpmcmc.privacy.compare import compare_epsilon, compare_steps
from dpmcmc.privacy.published.result import Published

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("accounting_table", ROOT / "docs" / "scripts" / "accounting_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TABLES = script()
CASES = standard_cases()


@pytest.mark.parametrize("algorithm", accountings().values(), ids=accountings())
def test_every_algorithm_has_an_event_and_bounds_that_agree_with_themselves(algorithm):
    settings = algorithm.settings()
    assert isinstance(algorithm.event(settings), events.Event)
    for bound in algorithm.published:
        steps = bound.max_steps(settings, 2.0, 1e-6)
        assert bound.epsilon(settings, max(steps, 1), 1e-6) <= 2.0 * (1 + 1e-9) or steps == 0
        assert bound.epsilon(settings, steps + 1, 1e-6) > 2.0


def test_numbers_known_from_the_papers():
    published = {
        ("barker", 0): 698,
        ("barker-subsampled", 0): 19_983,
        ("penalty", 0): 55,
        ("penalty", 1): 34,
        ("penalty-minibatch", 1): 185,  # R21's chain length at ε = 1, tempered banana
        ("hmc", 0): 33,  # R21's chain length at ε = 1, flat banana
    }
    for (name, index), steps in published.items():
        algorithm = accounting(name)
        assert algorithm.published[index].max_steps(algorithm.settings(), 1.0, 1e-6) == steps


def test_ours_allows_more():
    for name, settings in (("barker", {"shift": 0.1}), ("penalty", {"shift": 1 / 31.6, "std": 0.5}), ("hmc", {})):
        for row in compare_steps(accounting(name), 1.0, 1e-6, **settings):
            assert row.dpmcmc > row.published > 0
            assert row.method
            assert row.published_sound
        for row in compare_epsilon(accounting(name), 20, 1e-6, **settings):
            assert 0 < row.dpmcmc < row.published


def test_fast_mh_has_a_claim_and_no_guarantee():
    (row,) = compare_steps(accounting("fastmh"), 1.0, 1e-6, shift=0.01)
    assert row.published > 0
    assert row.published_sound is False
    assert row.dpmcmc == 0
    (row,) = compare_epsilon(accounting("fastmh"), 10, 1e-6, shift=0.01)
    assert math.isinf(row.dpmcmc)
    assert row.to_dict()["dpmcmc"] is None


def test_selection_costs_what_barker_costs():
    (selection,), (barker,) = (
        compare_steps(accounting("selection"), 1.0, 1e-6, range=0.1),
        compare_steps(accounting("barker"), 1.0, 1e-6, shift=0.1),
    )
    assert selection.dpmcmc == barker.dpmcmc


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compare_steps(accounting("gibbs"), 1.0, 1e-6), "gibbs"),
        (lambda: compare_steps(accounting("barker"), 1.0, 1e-6, batch=10), "barker has no batch"),
        (lambda: compare_steps(accounting("barker"), -1.0, 1e-6), r"-1\.0"),
        (lambda: compare_steps(accounting("barker"), 1.0, 0.0), r"0\.0"),
        (lambda: compare_steps(accounting("barker"), 1.0, 1e-6, shift=-0.1), r"-0\.1"),
        (lambda: compare_steps(accounting("barker-subsampled"), 1.0, 1e-6, n=10, batch=20), "20"),
        (lambda: compare_epsilon(accounting("penalty"), 0, 1e-6), "steps must be positive"),
        (lambda: compare_epsilon(accounting("penalty"), 10, 1e-6, std=0.0), r"0\.0"),
    ],
)
def test_bad_parameters_raise_with_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_published_remembers_its_source():
    import pickle

    value = Published(0.5, "H19 Cor. 1", sound=False, order=3)
    again = pickle.loads(pickle.dumps(value))
    assert (again, again.source, again.sound, again.order) == (0.5, "H19 Cor. 1", False, 3)
    assert repr(again) == repr(value)


@pytest.mark.parametrize("name", [name for page, name in TABLES.BLOCKS if page == "theory/published.md"])
def test_tables_of_the_theory_page_are_what_the_code_gives(name):
    page = "theory/published.md"
    assert TABLES.block(page, name) == TABLES.BLOCKS[page, name]()


def cells_of(table: str) -> dict[tuple[str, ...], list[str]]:
    """Cells by algorithm, settings and bound."""
    lines = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return {tuple(line[:3]): line[3:] for line in lines}


@pytest.mark.parametrize(("algorithm", "settings"), CASES, ids=[algorithm.name for algorithm, _ in CASES])
def test_table_of_steps_is_what_the_code_gives(algorithm, settings):
    in_docs = cells_of(TABLES.block("accounting.md", "steps"))
    rows = compare_steps(algorithm, TABLES.EPSILON, TABLES.DELTA, **settings)
    for key, (published, ours, _, method) in cells_of(TABLES.markdown_table(rows)).items():
        assert in_docs[key][0] == published
        assert in_docs[key][3] == method
        # Whole numbers of some millions of steps may differ in the last digits between machines.
        assert float(in_docs[key][1].replace(" ", "")) == pytest.approx(float(ours.replace(" ", "")), rel=1e-3)


def test_table_of_steps_has_all_cases():
    rows = sum(max(1, len(algorithm.published)) for algorithm, _ in CASES)
    assert len(TABLES.block("accounting.md", "steps").splitlines()) == rows + 2
    assert {algorithm.name for algorithm, _ in CASES} == set(accountings())
