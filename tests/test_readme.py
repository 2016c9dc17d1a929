"""The README's code runs, and says what it claims."""

import re
from pathlib import Path

import pytest

from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.pages import python_of

README = Path(__file__).parents[1] / "README.md"
BLOCKS = python_of("README.md")


@pytest.mark.usefixtures("cheap_sampler")
def test_the_first_code_block_runs(capsys):
    check_block(0, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_code_blocks_run_as_they_are(number, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_block(number, capsys)


def check_block(number, capsys):
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})
    shown = capsys.readouterr().out
    if "print(release)" in BLOCKS[number]:
        assert "(1, 1e-06)-differentially private under substitution of one record" in shown
        assert "the privacy noise moves posterior means" in shown


def test_a_newcomers_model_is_at_most_ten_lines():
    block = next(block for block in BLOCKS if "dp.Model(" in block)
    lines = [line for line in block.splitlines() if line.strip() and not line.startswith("import")]
    assert len(lines) <= 10


def test_a_regression_by_formula_is_at_most_twelve_lines():
    block = next(block for block in BLOCKS if "dp.regression(" in block)
    assert len([line for line in block.splitlines() if line.strip()]) <= 12


def test_links_lead_somewhere():
    beside = [README.parent / name for name in ("CONTRIBUTING.md", "SECURITY.md")]
    for page in [README, *README.parent.glob("docs/**/*.md"), *beside]:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"
