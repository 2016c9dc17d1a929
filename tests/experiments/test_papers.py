"""The table of what is here of each paper: complete, every place there, every state what the checks say."""

from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from dpmcmc_experiments import papers

ROOT = Path(__file__).parents[2]
ITEMS = [(paper, item) for paper, items in papers.PAPERS.items() for item in items]
each_item = pytest.mark.parametrize(("paper", "item"), ITEMS, ids=[f"{p} {i.name}" for p, i in ITEMS])


@each_item
def test_every_place_is_there(paper, item):
    for place in (*item.places, *item.results(paper)):
        path, _, name = place.partition("::")
        assert (ROOT / path).is_file(), place
        if name:
            text = (ROOT / path).read_text(encoding="utf-8")
            assert any(f"{start}{name}" in text for start in ("def ", "class ", "\n")), place


@each_item
def test_states_are_known_and_reasons_given(paper, item):
    assert item.state in papers.STATES
    if item.state in ("disputed", "in part", "refuted", "absent"):
        assert item.note, f"{item.name} is {item.state}: say why"
    assert item.places or item.figure or item.state == "absent"


@each_item
def test_the_state_of_a_figure_is_what_its_checks_say(paper, item):
    if not item.figure:
        return
    checks = pd.read_csv(ROOT / item.results(paper)[-1])
    assert len(checks) > 0
    if item.state == "reproduced":
        assert checks["holds"].all(), checks[~checks["holds"]]["claim"].tolist()
    elif item.state == "disputed":
        assert not checks["holds"].all()
    else:
        assert item.state == "in part"


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_every_figure_that_is_run_is_in_the_table(paper):
    named = {item.figure for item in papers.PAPERS[paper]}
    figures = import_module(f"dpmcmc_experiments.{paper}").FIGURES
    assert {name for name in figures if name.startswith(("fig", "table"))} <= named


NUMBERED = {  # what the papers number, as "kind first-last"
    "heikkila2019": {"Theorem": "1 2 3 4 5", "Corollary": "1 2 3", "Lemma": "1 2 3", "Figure": "1a 1b 1c 2 3 4 5 6"},
    "raisa2021": {
        "Theorem": "2.5 2.7 2.8 2.11 3.1 3.2 3.3 3.5 4.1 4.2 4.3 4.6 4.7 5.2",
        "Algorithm": "1 2 3 4",
        "Table": "5.1",
        "Figure": "4.1 5.1 6.1 6.2 6.3 6.4 6.5 6.6 6.7 6.8",
    },
    "zhang2023": {"Theorem": "1 2 3 4", "Algorithm": "1 2", "Lemma": "1", "Figure": "1a 1b 1c 1d 2 3a 3b 3c 4"},
}


@pytest.mark.parametrize("paper", papers.PAPERS)
def test_everything_numbered_is_in_the_table(paper):
    text = [item.name.replace("s ", " ") for item in papers.PAPERS[paper]]  # "Theorems 2.7 and 2.8"
    for kind, numbers in NUMBERED[paper].items():
        for number in numbers.split():
            assert any(kind in name and number in name.replace(",", " ").split() for name in text), f"{kind} {number}"


def test_the_page_is_made_from_the_registry():
    page = ROOT / "docs" / "results" / "papers.md"
    assert page.read_text(encoding="utf-8") == papers.page(), "python -m dpmcmc_experiments.papers docs/results"
