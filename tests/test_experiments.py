"""The experiments stand on the public interface, can be cut off and go on, and each paper's quick form runs."""

import ast
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

import dpmcmc_experiments
from dpmcmc_experiments.figures import PAPERS, Cell, Check, Figure, Settings, reproduce, run_cells

SOURCE = Path(dpmcmc_experiments.__file__).parent
PUBLIC = {"dpmcmc", "dpmcmc.privacy", "dpmcmc.privacy.published", "dpmcmc.models", "dpmcmc.metrics"}
PUBLIC |= {"dpmcmc.chain.proposals", "dpmcmc.chain.acceptance", "dpmcmc.algorithms", "dpmcmc.variational", "dpmcmc.chain.selection"}


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


def test_papers_are_named():
    assert PAPERS == ("heikkila2019", "raisa2021", "zhang2023")


def test_gains_are_factors_above_one_where_ours_is_better(tmp_path):
    from dpmcmc_experiments.gains import gain, table

    assert gain("length at equal epsilon", 10, 50) == 5
    assert gain("epsilon at equal length", 1.0, 0.1) == pytest.approx(10)
    (tmp_path / "raisa2021").mkdir()
    row = {"paper": "raisa2021", "figure": "fig6.1", "setting": "s", "measure": "MMD at equal epsilon"}
    pd.DataFrame([row | {"published": 0.4, "ours": 0.1, "ratio": 0.25}]).to_csv(tmp_path / "raisa2021" / "gains.csv")
    assert "| 0.4 | 0.1 | 4 |" in table(tmp_path)


def test_the_table_of_gains_says_where_ours_is_worse(tmp_path):
    from dpmcmc_experiments.gains import table

    (tmp_path / "zhang2023").mkdir()
    (tmp_path / "zhang2023.md").touch()
    row = {"paper": "zhang2023", "figure": "fig2", "setting": "s", "measure": "length at equal epsilon"}
    values = [(10.0, 250_000.0), (4.0, 2.0), (3.0, 0.0)]
    pd.DataFrame([row | {"published": p, "ours": o} for p, o in values]).to_csv(tmp_path / "zhang2023" / "gains.csv")
    page = table(tmp_path)
    assert "| [Zhang & Zhang (2023)](zhang2023.md) | length at equal ε | 3 | 2 | 0.5 | 0 | 25 000 |" in page
    assert "| 2 | s | length at equal ε | 10 | 250 000 | 25 000 |" in page
    assert page.count("**worse** |") == 2
