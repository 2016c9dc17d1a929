"""The quick form of Zhang & Zhang (2023): its tables, its labels, and the arithmetic behind them."""

import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from dpmcmc_experiments.figures import Settings, reproduce
from dpmcmc_experiments.zhang2023 import FIGURES, checks_mixture, mixture, mnist, samplers, tuning
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
    papers = {"fig1a", "fig1b", "fig1c", "fig1d", "fig2", "fig4"} | {f"mnist-{panel}" for panel in "abc"}
    assert set(FIGURES) == papers | {"tradeoff", "budget", "gains"}
    for name, figure in FIGURES.items():
        assert len(table(study, name)) > 0
        assert (folder / f"{name}.png").exists() == (figure.draw is not None)
        assert found[name]


@pytest.mark.slow
def test_the_published_sampler_never_appears_with_a_guarantee(study):
    for name in ("fig1a", "fig1c", "fig2", "mnist-a", "mnist-c"):
        rows = table(study, name)
        published = rows[rows["family"].str.startswith(("fast", "full"))]
        assert len(published) > 0
        assert published["label"].str.contains(NO_GUARANTEE).all()
    budget = table(study, "budget").set_index("chain")
    assert (budget.filter(like="DP-fast MH", axis=0)["holds"] == NO_GUARANTEE).all()
    assert budget.filter(like="repaired", axis=0)["holds"].str.contains("-DP, whole chain").all()


@pytest.mark.slow
def test_private_chains_state_what_holds_for_the_whole_chain(study):
    rows = table(study, "fig1a")
    private = rows[rows["family"].isin(["repaired", "penalty", "barker"])]
    assert private["guarantee"].str.fullmatch(r"\([\d.]+, 1e-05\)-DP, whole chain").all()
    ours = rows[rows["family"] == "repaired"].set_index("epsilon_step")["epsilon_total"]
    claimed = rows[rows["family"] == "fast"].set_index("epsilon_step")["epsilon_total"]
    assert (ours <= claimed).all()


@pytest.mark.slow
def test_directions_hold(study):
    """Every check of a quick run is a direction that holds at its scale."""
    failed = {(name, check.claim): check.found for name, made in study[1].items() for check in made if not check.holds}
    assert not failed


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
    rows = pd.read_csv(Path(__file__).parents[2] / "docs" / "results" / "zhang2023" / "fig2.csv")
    stuck = rows[rows["method"] == "fast@0.05"].iloc[:1].assign(share=1.0)
    others = rows[rows["method"] != "fast@0.05"]
    for quick in (True, False):
        found = checks_mixture.densities(pd.concat([others, stuck]), Settings(quick=quick))
        assert [c.holds for c in found if "density of DP-fast MH is" in c.claim] == [False]


def test_a_penalty_that_changes_places_with_dp_fast_mh_fails_the_checks():
    """So the direction that a quick run asks for can fail."""
    kl = {"fast": 2.0, "full": 1.0, "penalty": 1.5, "barker": 3.0}

    def found(values):
        rows = [
            {"family": name, "label": NO_GUARANTEE, "method": f"{name}@{epsilon}", "epsilon_step": epsilon}
            | {"symmetric_kl": value / epsilon}
            for name, value in values.items()
            for epsilon in (0.01, 0.05)
        ]
        return [check.holds for check in checks_mixture.kl_against_epsilon(pd.DataFrame(rows), Settings(quick=True))]

    assert all(found(kl))
    assert not all(found(kl | {"full": 1.5, "penalty": 1.0}))


def test_records_are_clipped_to_a_public_norm():
    p = mnist.problem(Settings(quick=True))
    assert np.linalg.norm(mnist.clipped(p.x, 2.0), axis=1).max() <= 2 * (1 + 1e-12)
    assert p.x.shape[1] == 50


def test_the_tuned_step_accepts_what_it_should():
    """Metropolis on a standard normal accepts (2/π)·arctan(2/s) of N(0, s²) moves: 60 % at s = 1.453."""
    rng = np.random.default_rng(0)
    here = rng.normal(size=(20_000, 1))

    def total(there):
        return (here**2 - there**2)[:, 0] / 2

    moves = tuning.Moves(here, rng.normal(size=here.shape), np.ones(3), total, None)
    exact = 2 / math.tan(0.3 * math.pi)
    assert samplers.tuned_metropolis(moves, 0.1) == pytest.approx(exact, rel=0.03)  # one draw in 10⁴ is farther off


def test_the_penalised_acceptance_is_an_average_over_the_noise():
    noise = np.random.default_rng(1).normal(size=400_000)
    for t, std in ((0.5, 0.7), (-1.0, 2.0), (3.0, 0.1)):
        drawn = tuning.metropolis(t + std * noise - std**2 / 2)
        error = 4 * drawn.std() / math.sqrt(len(noise)) + 1e-9
        assert abs(tuning.penalised(np.array([t]), np.array([std]))[0] - drawn.mean()) < error
    assert tuning.penalised(np.array([-1.0]), np.array([0.0]))[0] == pytest.approx(math.exp(-1))


def test_minibatch_ratios_have_the_right_mean():
    """E exp(ℓ) = exp(t): TunaMH's ratio is unbiased for the product of likelihood ratios."""
    p, moves = mixture.problem(True), mixture.moves(True)
    few = tuning.Moves(
        *(np.repeat(part[:1], 40_000, axis=0) for part in (moves.here, moves.directions)),
        moves.constants,
        moves.total,
        lambda there, move, record: _change(p, moves, there, record),
    )
    ratios = np.exp(tuning.minibatch_ratios(few, 0.05, 40.0, np.ones(40_000, bool)))
    exact = np.exp(moves.total(moves.here + 0.05 * moves.directions)[0])
    assert abs(ratios.mean() - exact) < 4 * ratios.std() / 200  # one in 16 000 seeds is farther off


def _change(p, moves, there, record):
    here, x = moves.here[0], p.records[record]
    return p.tau * (mixture.log_likelihood(there[0], x) - mixture.log_likelihood(here, x))


def test_batches_of_the_barker_method_grow_as_epsilon_falls():
    found = [samplers.barker_batch(epsilon, 1e-5, 50_000) for epsilon in (0.01, 0.02, 0.05, 0.1, 0.2)]
    assert found[:2] == [50_000, 50_000]
    assert found == sorted(found, reverse=True)
    assert 3 < found[3] / found[4] < 4  # 1/ε², and a little less where the batch is small


@pytest.mark.slow
@pytest.mark.parametrize("name", ["budget"])
def test_a_figure_without_chains_is_reproduced(name, tmp_path):
    """The complete quick form is in the slow suite; this is its frame, and accounting that takes seconds."""
    found = reproduce("zhang2023", name, FIGURES[name], tmp_path, Settings(quick=True), Console(quiet=True))
    assert found
    assert all(check.holds for check in found), [check for check in found if not check.holds]
    assert len(pd.read_csv(tmp_path / "zhang2023" / f"{name}.csv")) > 1
