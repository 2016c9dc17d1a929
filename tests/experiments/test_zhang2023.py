"""The quick form of Zhang & Zhang (2023): its tables, its labels, and the arithmetic behind them."""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from dpmcmc_experiments.figures import Settings, reproduce
from dpmcmc_experiments.zhang2023 import FIGURES, checks, mnist
from dpmcmc_experiments.zhang2023.published import (
    LOGISTIC,
    MIXTURE,
    NO_GUARANTEE,
    best_claim,
    composed_claim,
    dp_round,
    necessary_delta,
    reading,
    steps_within_claim,
)

pytestmark = pytest.mark.xdist_group("zhang2023")  # the quick study runs once, in one worker


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """All figures, run once: the folder and the checks."""
    out, settings = tmp_path_factory.mktemp("study"), Settings(quick=True)
    quiet = Console(quiet=True)
    found = {name: reproduce("zhang2023", name, figure, out, settings, quiet) for name, figure in FIGURES.items()}
    return out / "zhang2023", found


def table(study, name):
    return pd.read_csv(study[0] / f"{name}.csv")


@pytest.mark.slow
def test_every_figure_has_a_table_and_a_picture(study):
    folder, found = study
    assert set(FIGURES) == {"fig1", "fig2", "fig3", "fig4", "budget", "gains"}
    for name, figure in FIGURES.items():
        assert len(table(study, name)) > 0
        assert (folder / f"{name}.png").exists() == (figure.draw is not None)
        assert found[name]


@pytest.mark.slow
def test_the_published_sampler_never_appears_with_a_guarantee(study):
    for name in ("fig1", "fig2", "fig3"):
        rows = table(study, name)
        published = rows[rows["method"].str.startswith("published")]
        assert len(published) > 0
        assert published["label"].str.contains(NO_GUARANTEE).all()
    budget = table(study, "budget").set_index("chain")
    assert (budget.filter(like="DP-fast MH", axis=0)["holds"] == NO_GUARANTEE).all()
    assert budget.filter(like="repaired", axis=0)["holds"].str.contains("differentially private").all()


@pytest.mark.slow
def test_private_chains_state_what_holds_for_the_whole_chain(study):
    rows = table(study, "fig2")
    private = rows[rows["method"].isin(["repaired", "repaired-same", "barker", "orbit"])]
    assert private["guarantee"].str.fullmatch(r"\([\d.]+, 1e-05\)-DP, whole chain").all()
    assert private["guarantee"].str.extract(r"\(([\d.]+),")[0].astype(float).max() <= 6.0


@pytest.mark.slow
def test_directions_hold(study):
    """What must hold at any scale; the rest is checked in the full run."""
    held = {(name, check.claim): check.holds for name, made in study[1].items() for check in made}
    must = (
        "labelled",
        "reads fewer records a step",
        "selection yields",
        "smaller ε makes",
        "costs less",
        "no published",
    )
    found = [key for key in held if any(part in key[1] for part in must)]
    assert len(found) >= 8
    assert all(held[key] for key in found), [key for key in found if not held[key]]


@pytest.mark.slow
def test_gains_have_their_columns(study):
    rows = table(study, "gains")
    assert list(rows.columns) == ["paper", "figure", "setting", "measure", "published", "ours", "ratio"]
    assert np.allclose(rows["ratio"], rows["published"] / rows["ours"])
    constant = rows.set_index("measure").loc["Lipschitz constant of one record"]
    assert 8.6 < constant["published"] <= math.hypot(7.5, 4.5)  # of the largest record, which is below 3
    assert constant["ours"] == pytest.approx(math.sqrt(2) * 3)


@pytest.mark.parametrize("by", ["rate", "count"])
def test_reading_agrees_with_drawing_batches(by):
    rng = np.random.default_rng(0)
    lengths = LOGISTIC.step * np.linalg.norm(rng.normal(size=(200_000, 50)), axis=1)
    means = 10 + 71_312 * lengths
    batch = rng.poisson(means)
    small = (means if by == "rate" else batch) < 225
    found = reading(71_312, LOGISTIC.step, LOGISTIC, 225, by)
    assert found.share_of_minibatches == pytest.approx(small.mean(), abs=0.005)
    assert found.records == pytest.approx(np.where(small, batch, LOGISTIC.n).mean(), rel=0.01)


def test_claims_compose_as_the_appendix_says_and_at_best():
    epsilon, delta = composed_claim(MIXTURE, 10_000)
    assert epsilon == pytest.approx(0.05 * math.sqrt(2e4 * math.log(1e5)) + 500 * math.expm1(0.05))
    assert delta == pytest.approx(0.1 + 1e-5)
    steps = steps_within_claim(MIXTURE, 1.0)
    assert best_claim(MIXTURE, steps) <= 1 < best_claim(MIXTURE, steps + 1)
    assert best_claim(MIXTURE, 10_000) < epsilon


def test_the_necessary_delta_is_the_chance_of_a_rejection():
    rng = np.random.default_rng(1)
    lengths = 0.06 * np.linalg.norm(rng.normal(size=(4000, 100, 2)), axis=2)
    rejected = (rng.random(lengths.shape) < -np.expm1(-0.02 * lengths)) & (lengths < 0.1)
    assert necessary_delta(0.02, 0.06, 2, 100, 0.1) == pytest.approx(rejected.any(1).mean(), abs=0.02)
    assert necessary_delta(0.02, 0.06, 2, 10**6) == 1


def test_bounds_are_rounded_up():
    assert dp_round(0.9981) == "0.999"
    assert dp_round(34.501) == "34.6"


def test_digits_are_read_from_a_path_or_asked_for(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(FileNotFoundError, match="--data"):
        mnist.load(None)
    pixels = np.full((3, 28, 28), 255, np.uint8)
    np.savez(tmp_path / "mnist79.npz", X_train=pixels, y_train=[0, 1, 1], X_test=pixels[:1], y_test=[0])
    images = mnist.load(tmp_path)
    assert images["X_train"].shape == (3, 784)
    assert images["X_train"].max() == 1


def test_a_quick_run_uses_the_data_it_is_given(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (90, 28, 28), np.uint8)
    np.savez(
        tmp_path / "mnist79.npz", X_train=pixels, y_train=rng.integers(0, 2, 90), X_test=pixels[:7], y_test=[0] * 7
    )
    p = mnist.problem(Settings(quick=True, data=tmp_path))
    assert p.x.shape == (90, 50)
    assert p.test_x.shape == (7, 50)
    distance = np.linalg.norm(p.x[:, None] - p.test_x, axis=-1).min(0)
    assert distance.max() < 1e-9  # its test records are among its records, as in the file


def test_a_density_that_stays_in_one_place_is_not_near():
    """What a quick run asks of densities can fail: a chain that never moves has almost nothing in common."""
    rows = pd.read_csv(Path(__file__).parents[2] / "docs" / "results" / "zhang2023" / "fig1.csv")
    stuck = rows[rows["method"] == "published"].iloc[:1].assign(share=1.0)
    others = rows[rows["method"] != "published"]
    for quick in (True, False):
        found = checks.densities(pd.concat([others, stuck]), Settings(quick=quick))
        assert [c.holds for c in found if "density of published is" in c.claim] == [False]


def test_records_are_clipped_to_a_public_norm():
    p = mnist.problem(Settings(quick=True))
    assert np.linalg.norm(p.scaled(p.x), axis=1).max() <= mnist.NORM * (1 + 1e-12)
    assert p.x.shape[1] == 50


@pytest.mark.slow
@pytest.mark.parametrize("name", ["budget"])
def test_a_figure_without_chains_is_reproduced(name, tmp_path):
    """The complete quick form is in the slow suite; this is its frame, and accounting that takes seconds."""
    found = reproduce("zhang2023", name, FIGURES[name], tmp_path, Settings(quick=True), Console(quiet=True))
    assert found
    assert all(check.holds for check in found), [check for check in found if not check.holds]
    assert len(pd.read_csv(tmp_path / "zhang2023" / f"{name}.csv")) > 1
