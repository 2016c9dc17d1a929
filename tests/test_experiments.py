"""The experiments stand on the public interface, can be cut off and go on, and each paper's quick form runs."""

import ast
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import dpmcmc_experiments
from dpmcmc.cli import app
from dpmcmc_experiments import gains
from dpmcmc_experiments.figures import (
    PAPERS,
    STUDIES,
    Cell,
    Check,
    Figure,
    Settings,
    reference,
    reproduce,
    run_cells,
)

SOURCE = Path(dpmcmc_experiments.__file__).parent
RESULTS = Path(__file__).parents[1] / "docs" / "results"
PUBLIC = {"dpmcmc", "dpmcmc.algorithms", "dpmcmc.metrics", "dpmcmc.models", "dpmcmc.variational"}
PUBLIC |= {"dpmcmc.chain.acceptance", "dpmcmc.chain.proposals", "dpmcmc.privacy", "dpmcmc.privacy.published"}


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_public_interface_is_used(path):
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
            assert not any(alias.name.startswith("_") for alias in node.names), f"{path}: a private name"
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            if module.split(".")[0] == "dpmcmc":
                assert module in PUBLIC or module.startswith("dpmcmc.privacy.published."), f"{path} imports {module}"


def test_cells_are_run_once_and_a_cut_off_study_goes_on(tmp_path):
    ran = []

    def cell(key):
        def run():
            if key == "c" and len(ran) < 3:
                ran.append("cut")
                raise KeyboardInterrupt
            ran.append(key)
            return [{"key": key, "value": 0.1 + 0.2}]

        return Cell(key, run)

    cells = [cell(key) for key in "abc"]
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, tmp_path, "study", Console(quiet=True))
    rows = run_cells(cells, tmp_path, "study", Console(quiet=True))
    assert ran == ["a", "b", "cut", "c"]
    assert list(rows["key"]) == ["a", "b", "c"]
    assert rows["value"].to_numpy() == pytest.approx(0.1 + 0.2, rel=1e-15)


def test_a_figure_writes_its_table_and_its_checks(tmp_path):
    cells = [Cell("one", lambda: [{"x": 1}])]
    figure = Figure("a table", lambda settings: cells, None, lambda rows, settings: [Check("x is 1", "1", True)])
    reproduce("paper", "table", figure, tmp_path, Settings(quick=True), Console(quiet=True))
    assert pd.read_csv(tmp_path / "paper" / "table.csv")["x"].tolist() == [1]
    assert pd.read_csv(tmp_path / "paper" / "table-checks.csv")["holds"].tolist() == [True]


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_has_figures_with_cells_and_a_page_of_results(study):
    figures = import_module(f"dpmcmc_experiments.{study}").FIGURES
    assert figures
    for name, figure in figures.items():
        keys = [cell.key for cell in figure.cells(Settings(quick=True))]
        assert keys, f"{study} {name} runs nothing"
        assert len(set(keys)) == len(keys), f"{study} {name}: cells of one key would overwrite each other"
    page = (RESULTS / f"{study}.md").read_text(encoding="utf-8")
    assert f"dpmcmc reproduce {study}" in page


def test_every_paper_is_a_study_with_a_table_of_gains():
    for paper in PAPERS:
        assert paper in STUDIES
        assert (RESULTS / paper / "gains.csv").exists()
        assert paper in gains.TITLES


def test_published_tables_are_found_and_a_wrong_name_is_said():
    assert reference("thesis_models.csv").exists()
    with pytest.raises(FileNotFoundError, match=r"no_such\.csv"):
        reference("no_such.csv")


def test_reproduce_without_the_experiments_says_how_to_get_them(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "dpmcmc_experiments"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dpmcmc_experiments", None)
    result = CliRunner().invoke(app, ["reproduce", "raisa2021", "--quick"])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "pip install ./experiments" in result.stderr


def test_reproduce_hides_no_other_missing_module(monkeypatch):
    monkeypatch.delitem(sys.modules, "dpmcmc_experiments.figures")
    monkeypatch.setitem(sys.modules, "pandas", None)
    result = CliRunner().invoke(app, ["reproduce", "raisa2021", "--quick"])
    assert isinstance(result.exception, ModuleNotFoundError)
    assert "pandas" in str(result.exception)


def test_gains_are_factors_above_one_where_ours_is_better(tmp_path):
    assert gains.gain("length at equal epsilon", 10, 50) == 5
    assert gains.gain("epsilon at equal length", 1.0, 0.1) == pytest.approx(10)
    (tmp_path / "raisa2021").mkdir()
    row = {"paper": "raisa2021", "figure": "fig6.1", "setting": "s", "measure": "MMD at equal epsilon"}
    pd.DataFrame([row | {"published": 0.4, "ours": 0.1, "ratio": 0.25}]).to_csv(tmp_path / "raisa2021" / "gains.csv")
    assert "| 0.4 | 0.1 | 4 |" in gains.table(tmp_path)


def test_the_table_of_gains_says_where_ours_is_worse(tmp_path):
    (tmp_path / "zhang2023").mkdir()
    (tmp_path / "zhang2023.md").touch()
    row = {"paper": "zhang2023", "figure": "fig2", "setting": "s", "measure": "length at equal epsilon"}
    values = [(10.0, 250_000.0), (4.0, 2.0), (3.0, 0.0)]
    pd.DataFrame([row | {"published": p, "ours": o} for p, o in values]).to_csv(tmp_path / "zhang2023" / "gains.csv")
    page = gains.table(tmp_path)
    assert "| [Zhang & Zhang (2023)](zhang2023.md) | length at equal ε | 3 | 2 | 0.5 | 0 | 25 000 |" in page
    assert "| 2 | s | length at equal ε | 10 | 250 000 | 25 000 |" in page
    assert page.count("**worse** |") == 2
