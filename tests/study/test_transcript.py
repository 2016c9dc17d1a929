"""The tutorial, followed to the letter by a new user with an empty folder."""

import pytest

import dpmcmc as dp
from tests.reporting.test_report import checked
from tests.study.transcript import PAGE, edited, follow, plain, steps


@pytest.mark.slow
def test_the_tutorial_leads_from_a_table_to_a_report(tmp_path):
    for command, printed, found in follow(tmp_path):
        assert plain(found) == plain(printed), f"{command} prints\n{found}\nand the page says\n{printed}"
    release = dp.Release.load(tmp_path / "visits-release.npz")
    assert release.quality.verdict != "not usable"
    assert release.guarantee.epsilon <= 1.0
    for name in ("visits-report.html", "again.html"):
        page = checked((tmp_path / name).read_text(encoding="utf-8"))
        assert "The ledger of visits" in page.text
        assert "visits ~ age + plan + smoker" in page.text
    ledger = dp.Ledger(tmp_path / "visits-ledger.db")
    assert list(ledger.book.states().values()) == ["stored"]


def test_the_page_needs_three_commands():
    page = PAGE.read_text(encoding="utf-8").partition("## Afterwards")[0]
    commands = [line for language, block in steps(page) if language == "console" for line in block.splitlines()]
    assert [line.split()[2] for line in commands if line.startswith("$ ")] == ["new", "plan", "fit"]


def test_edits_replace_a_section_and_keep_its_comments():
    study = "[a]\nx = 1\n# why\n\n[b]\ny = 2\n"
    assert edited(study, "[a]\nx = 3\n") == "[a]\nx = 3\n# why\n\n[b]\ny = 2\n"
