"""The guides: their code runs, is as short as it says, and touches no frame."""

from pathlib import Path

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.algorithms import ALGORITHMS
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.pages import run_page
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

GUIDES = Path(__file__).parents[1] / "docs" / "guides"


def lines(block):
    return [line for line in block.splitlines() if line.strip()]


@pytest.mark.usefixtures("cheap_sampler")
def test_a_model_family_in_sixty_lines():
    space, blocks = run_page("docs/guides/model-family.md")
    assert len(lines(blocks[0])) <= 60
    assert space["release"].guarantee is not None
    assert space["release"].draws["theta"].shape[-1] == 2


def test_a_declared_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, _ = run_page("docs/guides/schema.md")
    assert dp.Schema.load("schema.toml") == space["schema"]
    np.testing.assert_array_equal(space["columns"]["plan"], [2, 3, 4])
    assert "planted" not in space["refusal"]
    np.testing.assert_array_equal(space["answers"]["smoker"], [0, 1, 2])
    np.testing.assert_array_equal(space["answers"]["health"], [0, 1, 2])
    np.testing.assert_array_equal(space["answers"]["insured"], [0, 1, 0])


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_a_regression_by_formula(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, _ = run_page("docs/guides/regression.md")
    assert space["release"].guarantee is not None
    assert str(space["model"]) in (GUIDES / "regression.md").read_text()
    assert list(space["coefficients"].draws) == ["intercept", "age", "plan[basic]", "plan[full]", "age:income"]
    assert space["outcomes"].shape[1] == 2
    assert str(space["modes"]) in (GUIDES / "regression.md").read_text()
    assert space["drawn"].shape == (500, 2)
    assert space["again"].draws["age"].shape == space["release"].draws["age"].shape
    more = space["release"].redraw(draws=50)  # by the model that it knows
    assert more.draws["age"].shape == (2, 50)
    assert more.model is space["model"]


@pytest.mark.slow
def test_persons():
    space, _ = run_page("docs/guides/persons.md")
    assert str(space["release"].guarantee) in (GUIDES / "persons.md").read_text()
    assert space["release"].settings["n"] == 8000


@pytest.mark.usefixtures("few_simulated")
def test_scikit_learn():
    space, blocks = run_page("docs/guides/scikit-learn.md")
    assert len(lines(blocks[0])) <= 12
    assert str(space["model"].release_.guarantee) in (GUIDES / "scikit-learn.md").read_text()
    assert space["model"].predict_proba(space["new"]).shape == (2, 2)
    assert space["each"].epsilon * space["folds"].get_n_splits() == 1.0


def test_a_blackjax_loop():
    space, _ = run_page("docs/guides/blackjax.md")
    assert space["algorithm"].decisions == space["plan"].steps * space["plan"].chains
    assert space["infos"].is_paid.all()
    assert space["algorithm"].guarantee == space["plan"].guarantee


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_a_numpyro_model():
    space, _ = run_page("docs/guides/numpyro.md")
    assert space["release"].guarantee is not None
    assert str(space["model"]) in (GUIDES / "numpyro.md").read_text()
    assert list(space["sites"].draws) == ["slope", "sigma", "level"]
    assert np.all(space["sites"].draws["sigma"] > 0)
    assert space["sites"].draws["level"].shape[2:] == (2,)
    assert "site 'income' changes when other records change" in space["refusal"]


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_sampler")
def test_a_ledger(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space, _ = run_page("docs/guides/ledger.md")
    assert list(space["ledger"].book.states().values()) == ["stored"] * 2
    assert space["ledger"].left < 0.01 * space["ledger"].spent
    assert dp.Release.load("first.npz").guarantee.epsilon <= 1.0


def test_an_algorithm_in_forty_lines(tmp_path):
    try:
        space, blocks = run_page("docs/guides/algorithm.md")
        assert "dp_laplace" in ALGORITHMS
    finally:
        ALGORITHMS.pop("dp_laplace", None)
    assert len(lines(blocks[0])) <= 40
    release = space["release"]
    assert 0.99 < release.guarantee.epsilon <= 1.0
    assert np.isfinite(release.quality.effective_draws)
    loaded = dp.Release.load(release.save(tmp_path / "mine.npz"))
    assert loaded.receipts == release.receipts
    assert type(loaded.receipts[0].event.event).__name__ == "LaplaceBit"


@pytest.mark.slow
def test_audits():
    space, _ = run_page("docs/audit.md")
    assert space["report"].passed
