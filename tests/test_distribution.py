"""The wheel as a stranger gets it: installed alone in a fresh environment; and the figures that a release changes."""

import json
import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dpmcmc
from dpmcmc.cli import app
from tests.test_extras import NOT_IN_CORE

ROOT = Path(__file__).parents[1]
FIT = """
import json
from importlib.metadata import distributions, version
from pathlib import Path
import numpy as np
import dpmcmc as dp

assert (Path(dp.__file__).parent / "py.typed").exists()
rng = np.random.default_rng(0)
table = {"age": rng.uniform(20, 80, 5000)}
table["ill"] = rng.random(5000) < 1 / (1 + np.exp(3 - table["age"] / 20))
model = dp.models.LogisticRegression({"age": (18, 90)})
release = dp.sample(model, model.encode(table, outcome="ill"), epsilon=3.0, delta=1e-5, progress=False)
names = sorted({each.metadata["Name"].lower().replace("_", "-") for each in distributions()})
print(json.dumps({"names": names, "version": version("dpmcmc"), "slope": float(release.draws["age"].mean())}))
"""


@pytest.mark.slow
def test_the_wheel_alone_fits_a_model_and_brings_no_plotting_database_or_distribution(tmp_path):
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT], check=True)
    (wheel,) = tmp_path.glob("dpmcmc-*.whl")
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, cwd=tmp_path)
    done = subprocess.run([python, "-I", "-c", FIT], check=True, cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert found["version"] == dpmcmc.__version__
    assert {"jax", "numpy", "dpmcmc"} <= set(found["names"])
    assert not NOT_IN_CORE & set(found["names"])
    assert 0 < found["slope"] < 5  # the truth is 1.8 over half the declared range
    page = subprocess.run([tmp_path / "fresh" / "bin" / "dpmcmc", "--help"], check=True, capture_output=True, text=True)
    assert "fit" in page.stdout


def test_the_version_is_the_same_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert dpmcmc.__version__ == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_help_takes_less_than_three_tenths_of_a_second():
    """Of the processor, which is the time on the clock where nothing else runs."""
    command = [sys.executable, "-c", "from dpmcmc.cli import main; main()", "--help"]
    seconds = []
    for _ in range(3):
        before = os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        seconds.append(after.children_user + after.children_system - before.children_user - before.children_system)
    assert 0 < min(seconds) < 0.3


def test_no_summary_of_a_command_is_cut_off():
    """In a terminal of 80 columns."""
    page = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["--help"]).output
    listed = page.partition("Commands:")[2]
    assert "ledger" in listed
    assert "..." not in listed


def test_the_workflow_runs_targets_that_exist():
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    commands = {step["run"] for job in jobs.values() for step in job["steps"] if "run" in step}
    targets = {line.split(":")[0] for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()}
    assert commands
    assert all(command.removeprefix("make ") in targets for command in commands)
