"""The default method's own study: its quick form, and what it computes itself."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from dpmcmc_experiments.figures import Settings, reference, reproduce
from dpmcmc_experiments.utility import FIGURES, curves, page, regression
from dpmcmc_experiments.utility.scores import Moments


@pytest.mark.slow
def test_the_quick_curve_runs_and_its_check_holds(tmp_path):
    checks = reproduce("utility", "curves", FIGURES["curves"], tmp_path, Settings(quick=True), Console(quiet=True))
    assert all(check.holds for check in checks)
    rows = pd.read_csv(tmp_path / "utility" / "curves.csv")
    assert {"mmd", "mean_error", "variance_error"} <= set(rows)


@pytest.mark.slow
def test_effective_draws_per_zcdp_run_quickly(tmp_path):
    quick = Settings(quick=True)
    checks = reproduce("utility", "efficiency", FIGURES["efficiency"], tmp_path, quick, Console(quiet=True))
    assert all(check.holds for check in checks)
    rows = pd.read_csv(tmp_path / "utility" / "efficiency.csv").set_index("algorithm")
    barker, penalty = (rows.loc[name] for name in ("dp_barker", "dp_penalty"))
    assert barker["zcdp_a_step"] < penalty["zcdp_a_step"]  # at the same clip Barker's bit is the cheaper
    assert (rows["found_error"] < 4.5 / np.sqrt(rows["ess"]) + 0.15).all()  # both sample the posterior


def test_the_page_is_made_from_the_files_beside_it():
    folder = Path(__file__).parents[2] / "docs" / "results"
    assert page.rewritten(folder) == (folder / "utility.md").read_text()


def test_the_best_published_is_the_lowest_median_of_any_algorithm_at_any_epsilon():
    boxes = pd.read_csv(reference("thesis_boxplots.csv")).set_index(["experiment", "metric"])
    for name in curves.SETTINGS:
        value, epsilon = curves.best_published(name)
        part = boxes.loc[(name, "mean_error" if name == "circle" else "mmd")]
        assert value == part["median"].min()
        assert epsilon in set(part.loc[part["median"] == value, "epsilon"])
    assert curves.best_published("circle") == (pytest.approx(0.684, abs=5e-4), 0.75)  # no published value beyond ε = 1
    assert curves.best_published("hard-gauss-2d") == (pytest.approx(0.444, abs=5e-4), 5.0)
    assert curves.best_published("circle")[0] > curves.CIRCLE_BAR


def test_errors_are_in_standard_deviations():
    draws = np.random.default_rng(0).normal(size=(100_000, 2)) * [1.0, 2.0] + [0.5, 0.0]
    found = Moments(np.zeros(2), np.array([1.0, 1.0])).errors(draws)
    assert found["mean_error"] == pytest.approx(0.5 / np.sqrt(2), abs=0.01)
    assert found["variance_error"] == pytest.approx(3 / np.sqrt(2), abs=0.05)


def test_the_regression_reference_is_the_posterior():
    """Importance draws agree with the Laplace approximation, which is good at this n."""
    model, data, held = regression.rand()
    draws = regression.exact_draws(model, data)
    mean, covariance = regression.laplace(model, data)
    assert np.abs((draws.mean(0) - mean) / np.sqrt(np.diag(covariance))).max() < 0.15
    assert np.allclose(draws.std(0), np.sqrt(np.diag(covariance)), rtol=0.08)
    assert 0.5 < regression.loss(draws, held) < 0.7
