"""``dpmcmc account`` from the command line."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from dpmcmc.algorithms import accountings
from dpmcmc.commands.account import account

app = typer.Typer()
app.command()(account)


def run(*arguments: str):
    return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})


def test_table():
    result = run("barker", "--shift", "0.1")
    assert result.exit_code == 0
    assert "steps at ε = 1, δ = 1e-06" in result.output
    assert "H19 Cor. 1" in result.output
    assert "published" in result.output


def test_json_steps_and_epsilon():
    answer = json.loads(run("penalty", "--std", "0.5", "--shift", "0.0158228", "--json").output)
    assert answer["answer"] == "steps"
    assert [row["published"] for row in answer["rows"]] == [55, 34]
    assert all(row["dpmcmc"] >= 160 for row in answer["rows"])
    assert answer["rows"][0]["method"]

    answer = json.loads(run("barker", "--shift", "0.1", "--steps", "6", "--json").output)
    assert answer["answer"] == "epsilon"
    assert 0 < answer["rows"][0]["dpmcmc"] < answer["rows"][0]["published"] <= 1


def test_what_is_not_private_says_so():
    result = run("fastmh")
    assert "claim not valid" in result.output
    answer = json.loads(run("fastmh", "--steps", "10", "--json").output)
    assert answer["rows"][0]["published_sound"] is False
    assert answer["rows"][0]["dpmcmc"] is None


def test_markdown():
    result = run("barker", "--shift", "0.1", "--markdown")
    assert result.output.startswith("| algorithm | settings |")


def test_without_an_algorithm_they_are_listed():
    result = run()
    assert result.exit_code == 0
    names = [line.split()[0] for line in result.output.splitlines() if not line.startswith(" ")]
    assert names == list(accountings())
    assert "barker-subsampled" in names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gibbs"], "gibbs"),
        (["barker", "--batch", "10"], "no batch"),
        (["barker", "--shift=-0.1"], "-0.1"),
        (["barker", "--delta", "0"], "0.0"),
    ],
)
def test_bad_parameters_name_the_value(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "epsilon.png"
    assert run("hmc", "--plot", str(file)).exit_code == 0
    assert file.stat().st_size > 1000


def test_accounting_does_not_load_matplotlib_or_pick_a_device():
    program = (
        "import sys; from dpmcmc.commands.account import account; account('barker', shift=0.1, json=True); "
        "from jax._src import xla_bridge; assert not xla_bridge._backends; assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
