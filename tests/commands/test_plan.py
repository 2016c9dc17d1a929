"""dpmcmc plan: a model by its place, and what its budget buys."""

import pytest
from typer.testing import CliRunner

from dpmcmc.cli import app
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)

MODEL = """
import dpmcmc as dp
model = dp.models.GaussianMean(2)
"""


def plan(*arguments):
    return CliRunner().invoke(app, ["plan", *arguments])


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler")
def test_a_plan_says_what_to_expect_and_what_would_help(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(MODEL)
    result = plan(f"{path}:model", "--n", "400", "--epsilon", "0.5", "--delta", "1e-6")
    assert result.exit_code == 0, result.output
    assert "(0.5, 1e-06)-differentially private" in result.output
    assert "Expected" in result.output
    assert "n = 400 is small for epsilon = 0.5" in result.output


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nowhere.py:model", "no file"),
        ("dpmcmc.models:Nothing", "has no"),
        ("model", "say where"),
        ("no.such:m", "no m"),
    ],
)
def test_a_model_that_is_not_there(where, message):
    result = plan(where, "--n", "100")
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
