"""The bank of problems is well formed, its yardsticks are right, and runs over it can be cut off and go on."""

from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest

import dpmcmc as dp
from dpmcmc.scores.rehearsal import ON_OTHERS
from dpmcmc_experiments.figures import Settings
from dpmcmc_experiments.trust import FIGURES, page, tables, worker
from dpmcmc_experiments.trust.base import FAMILIES, Problem, parameter_names, raveled, size_of
from dpmcmc_experiments.trust.density import density
from dpmcmc_experiments.trust.harness import COLUMNS, EPSILONS, Answer, Bench, Task, run, scores
from dpmcmc_experiments.trust.oracle import best_radius, inverse_root
from dpmcmc_experiments.trust.peers import METHODS, PROBLEMS
from dpmcmc_experiments.trust.problems import BANK, available
from dpmcmc_experiments.trust.reference import Exact, exact
from dpmcmc_experiments.trust.statistics_peers import (
    BURN_IN,
    ROUNDS,
    noisy_linear,
    noisy_logistic,
    quadratic_coefficients,
    symmetric_noise,
)

FREE = available(None)


def linear_with_known_noise() -> Problem:
    model = dp.models.LinearRegression({"a": (-1, 1), "b": (-1, 1)}, outcome=(-2, 2), sigma=0.8)

    def make(model, rng, folder):
        x = rng.uniform(-1, 1, (300, 2))
        return {"x": x, "y": 0.2 + x @ [0.5, -0.3] + 0.4 * rng.standard_normal(300)}, None

    return Problem("known", "linear", "", lambda: model, make)


def test_the_bank_is_large_and_has_every_family():
    assert len(BANK) >= 34
    assert {problem.family for problem in BANK.values()} == set(FAMILIES)
    assert all(problem.about and "\n" not in problem.about for problem in BANK.values())
    assert {name for name, problem in BANK.items() if problem not in FREE} == {"census-8", "census-all"}
    with pytest.raises(FileNotFoundError, match=r"adult\.data"):
        BANK["census-8"].data()


@pytest.mark.parametrize("problem", FREE, ids=lambda problem: problem.name)
def test_a_problem_is_well_formed(problem):
    records, truth = problem.drawn(0)
    again = problem.data(0)
    jax.tree.map(np.testing.assert_array_equal, records, again)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(records))
    if problem.family != "mixture":
        assert records["x"].ndim == 2
        assert records["y"].shape == (len(records["x"]),)
        assert np.abs(records["x"]).max() <= 1
        if problem.family in ("linear", "student-t"):
            at_bounds = np.mean(np.abs(records["y"]) >= 1)
            assert np.abs(records["y"]).max() <= 1
            assert at_bounds < 1e-3 or not problem.from_model
        assert np.array_equal(problem.model.covariates({"x": records["x"][0]}), records["x"][0])
    some = jax.tree.map(lambda leaf: leaf[:20], records)
    made = density(problem)
    assert np.isfinite(made.log_posterior(made.start, some))
    assert len(parameter_names(problem.model.init)) == len(made.start)
    assert (truth is not None) == problem.from_model
    if truth is not None:
        assert truth.shape == made.start.shape
        assert np.isfinite(made.log_posterior(truth, some))
    other = problem.data(1)
    same = all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(records), jax.tree.leaves(other), strict=True))
    assert same == problem.is_real


def test_the_reference_is_the_closed_form_of_a_linear_regression():
    problem = linear_with_known_noise()
    records = problem.data()
    found = exact(problem, records)
    design = np.column_stack([records["x"], np.ones(300)])  # raveled by name: a, b, intercept
    precision = design.T @ design / 0.4**2 + np.eye(3) / 2.5**2
    mean = np.linalg.solve(precision, design.T @ records["y"] / 0.4**2)
    assert found.how == "importance"
    assert np.allclose(found.mode, mean, atol=1e-9)
    assert np.allclose(found.mean, mean, atol=1e-6)  # pairs of opposite sign, equal weights
    assert np.allclose(found.hessian, precision, rtol=1e-9)
    draws = 2 * 40_000 / 2
    assert np.allclose(found.sd, np.sqrt(np.diag(np.linalg.inv(precision))), rtol=5 / np.sqrt(draws))


def test_the_reference_weighs_two_modes_as_a_mesh_does():
    problem = BANK["mixture-near"]
    records = problem.data()
    found = exact(problem, records)
    axes = np.linspace(-0.8, 1.8, 105), np.linspace(-1.8, 1.8, 145)
    mesh = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    log = density(problem).log_posteriors(mesh, records)
    weights = np.exp(log - log.max())
    mean = weights @ mesh / weights.sum()
    sd = np.sqrt(weights @ (mesh - mean) ** 2 / weights.sum())
    assert np.allclose(found.mean, mean, atol=0.05 * sd.min())
    assert np.allclose(found.sd, sd, rtol=0.05)


def test_the_reference_is_kept_and_read(tmp_path):
    problem = linear_with_known_noise()
    records = problem.data()
    first = exact(problem, records, tmp_path)
    (path,) = tmp_path.iterdir()
    stamp = path.stat().st_mtime_ns
    second = exact(problem, records, tmp_path)
    assert path.stat().st_mtime_ns == stamp
    assert np.array_equal(first.mean, second.mean)
    assert first.how == second.how
    exact(problem, problem.data(1), tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_the_oracle_is_what_trying_every_radius_gives():
    rng = np.random.default_rng(3)
    scores_ = rng.standard_t(3, (400, 3)) @ np.diag([1.0, 2.0, 0.3])
    scores_ -= scores_.mean(axis=0)
    hessian = scores_.T @ scores_ + np.eye(3)
    found = best_radius(scores_, hessian, 0.3)
    root = inverse_root(hessian)
    assert np.allclose(root @ hessian @ root, np.eye(3))
    whitened, sd = scores_ @ root, np.sqrt(np.diag(np.linalg.inv(hessian)))
    norms = np.linalg.norm(whitened, axis=1)
    best = np.inf
    for radius in np.linspace(np.sqrt(np.mean(norms**2)), norms.max(), 3000):
        clipped = whitened * np.minimum(1, radius / norms)[:, None]
        bias = root @ (whitened - clipped).sum(axis=0) / sd
        best = min(best, np.sqrt((2 * radius / 0.3) ** 2 + np.mean(bias**2)))
    assert found.error == pytest.approx(best, rel=1e-4)


KNOWN = Exact(np.zeros(2), np.eye(2), np.array([1.0, -1.0]), np.array([1.0, 0.5]), 0.1, "importance")


def test_a_right_answer_scores_nothing_and_a_wrong_one_by_how_far_it_is_off():
    right = scores(Answer.of_normal(KNOWN.mean, KNOWN.sd), KNOWN, np.array([1.5, 9.0]))
    assert (right["found_error"], right["worst"], right["covered_mean"], right["covered_truth"]) == (0, 0, 2, 1)
    off = scores(Answer.of_normal(KNOWN.mean + np.array([2.0, 0.0]), 0.25 * KNOWN.sd), KNOWN, None)
    assert off["found_error"] == pytest.approx(np.sqrt(2))
    assert (off["worst"], off["covered_mean"], off["covered_truth"]) == (8, 1, "")
    lost = scores(Answer.of_normal(np.array([np.nan, 0.0]), KNOWN.sd), KNOWN, None)
    assert lost["found_error"] == lost["worst"] == np.inf


def prior_only(problem, records, epsilon, delta, seed):
    rng = np.random.default_rng(seed)
    return Answer.of_draws(0.1 * rng.standard_normal((500, len(raveled(problem.model.init)))), "usable", 1.0)


def fails(problem, records, epsilon, delta, seed):
    raise ValueError("no\nluck")


def test_a_run_makes_a_row_and_a_crash_is_a_row():
    bench = Bench(methods={"default": prior_only, "fails": fails})
    row = run(Task("spector-grade", 1.0, 0, 0), bench)
    assert list(row) == list(COLUMNS)
    assert (row["n"], row["d"], row["verdict"], row["said_error"]) == (32, 4, "usable", 1.0)
    assert np.isfinite(row["found_error"])
    assert row["oracle"] > 0
    crash = run(Task("spector-grade", 1.0, 0, 0, "fails"), bench)
    assert crash["exception"] == "ValueError: no luck"
    assert crash["found_error"] == ""


def test_a_run_that_was_cut_off_goes_on(tmp_path):
    path, bench = tmp_path / "trust" / "rows.csv", Bench(methods={"default": prior_only})
    wanted = [Task("spector-grade", epsilon, release, 0) for epsilon in (1.0, 3.0) for release in (0, 1)]
    assert worker.work(wanted[:2], path, bench) == 2
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b"spector") + 30])  # in the middle of the second row
    assert len(worker.read(path)) == 1
    assert worker.work(wanted, path, bench) == 3
    assert worker.work(wanted, path, bench) == 0
    rows = worker.read(path).sort_values(worker.KEY)
    assert list(zip(rows["epsilon"], rows["release_seed"], strict=True)) == [(1, 0), (1, 1), (3, 0), (3, 1)]


def row(problem="a", family="linear", **given):
    made = dict.fromkeys(COLUMNS, np.nan) | {"method": "default", "epsilon": 1.0, "n": 100, "d": 4, "data_seed": 0}
    made |= {"release_seed": 0, "verdict": "usable", "said_error": 0.5, "found_error": 0.5, "worst": 1.0}
    made |= {"covered_mean": 4, "oracle": 0.25, "seconds": 1.0}
    return made | {"problem": problem, "family": family} | given


def test_tables_count_what_they_say(tmp_path):
    rows = pd.DataFrame(
        [
            row(),
            row(release_seed=1, worst=5.0),
            row(problem="b", worst=5.0, verdict="failed", said_error=2.0, covered_mean=2, covered_truth=1),
            row(problem="b", release_seed=1, verdict=np.nan, worst=np.inf, said_error=2.0, covered_mean=2),
            row(problem="c", exception="ValueError: x", verdict=np.nan, found_error=np.nan, worst=np.nan),
        ]
    )
    silent = tables.silent_failures(rows)
    assert list(zip(silent["problem"], silent["release_seed"], strict=True)) == [("a", 1), ("b", 1)]
    assert len(tables.crashed(rows)) == 1
    assert tables.errors(rows).loc[("linear", 1.0), "ratio"] == 2
    assert tables.honesty(rows)["ratio"].tolist() == [1, 4]
    assert tables.is_near(tables.honesty(rows)["ratio"]).tolist() == [True, False]
    assert tables.plans(rows).empty
    asked = tables.plans(rows.assign(expected_error=[0.4, np.nan, 1.5, np.nan, np.nan]))
    assert asked["ratio"].tolist() == [0.8, 3]
    assert tables.in_range(asked["ratio"]).tolist() == [True, False]
    assert tables.PLANNED == ON_OTHERS
    covered = tables.coverage(rows).loc[("linear", 1.0)]
    assert (covered["mean"], covered["truth"], covered["data_sets"]) == (0.75, 0.25, 1)
    assert tables.verdicts(rows).loc["c", "crash"] == 1
    # shares 1, 1, ½, ½ are 0.75 ± 0.14: too few to say that coverage is below 90 %
    assert [check.holds for check in tables.check(rows, Settings())] == [False, False, False, False, True]
    (tmp_path / "trust").mkdir()
    rows.to_csv(tmp_path / "trust" / "bank.csv", index=False)
    text = page.rewritten(tmp_path)
    assert "dpmcmc reproduce trust" in text
    assert "| silent failures, among the others | 2 of 5 |" in text
    assert "0.50 / 0.50 = 1.00 |" in text
    (tmp_path / "trust.md").write_text(text, encoding="utf-8")
    assert page.rewritten(tmp_path) == text


def test_every_part_has_cells_of_its_own():
    for settings in (Settings(quick=True), Settings()):
        for name, figure in FIGURES.items():
            keys = [cell.key for cell in figure.cells(settings)]
            assert keys, name
            assert len(set(keys)) == len(keys), name
    assert len(FIGURES["bank"].cells(Settings())) == len(EPSILONS) * len(FREE)


def test_sums_of_products_change_by_no_more_than_is_charged():
    """Extreme neighbours of noisy linear regression: every value at a bound."""
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    corners = np.column_stack([np.ones(len(corners)), corners])
    changes = [np.linalg.norm(np.outer(u, u) - np.outer(v, v)) for u in corners for v in corners]
    assert max(changes) <= np.sqrt(2) * 4 + 1e-12
    noise = [symmetric_noise(np.random.default_rng(seed), 3, 2.0) for seed in range(4000)]
    spread = np.std(noise, axis=0)  # of 4000: within 5 standard errors, 5/√8000
    assert np.allclose(spread, 2 * np.where(np.eye(3), 1, 1 / np.sqrt(2)), rtol=5 / np.sqrt(8000))


def test_without_noise_statistics_give_the_posterior_of_their_own_likelihood():
    linear = BANK["linear-tiny-200"]
    records = linear.data()
    found, known = noisy_linear(linear, records, 1e6, 1e-6, 0), exact(linear, records)
    draws = ROUNDS - BURN_IN
    assert np.all(np.abs(found.mean - known.mean) < 5 * known.sd * np.sqrt(2 / draws) + 0.05 * known.sd)
    logistic = BANK["logistic-tiny-200"]
    records, (slope, curvature) = logistic.data(), quadratic_coefficients()
    u = np.column_stack([np.ones(200), records["x"]])
    precision = 2 * curvature * u.T @ u + np.eye(3) / 2.5**2
    mode = np.linalg.solve(precision, slope * u.T @ (2 * records["y"] - 1))
    found = noisy_logistic(logistic, records, 1e6, 1e-6, 0)
    sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    assert np.all(np.abs(found.mean - mode) < 5 * sd / np.sqrt(draws))


def test_every_peer_is_tried_where_it_applies():
    assert set(PROBLEMS) == set(METHODS) - {"default"}
    for method, names in PROBLEMS.items():
        assert all(name in BANK for name in names)
        family = method.removeprefix("noisy-")
        assert family == method or {BANK[name].family for name in names} == {family}


def test_sizes_are_those_of_the_records():
    assert size_of(BANK["fair-affair"].data()) == 6366
    assert size_of(BANK["mixture-near"].data()) == 2000


def test_the_overview_of_results_says_what_the_bank_found():
    """docs/results/README.md has the figures of the rows beside trust.md."""
    folder = Path(__file__).parents[2] / "docs" / "results"
    rows = pd.read_csv(folder / "trust" / "bank.csv")
    failures, warned = tables.silent_failures(rows), (rows["verdict"] == "not usable").sum()
    assert failures["epsilon"].unique().tolist() == [0.5]
    assert failures["problem"].nunique() == 1
    said = f"{len(failures)} of the {len(rows) - warned} releases that call themselves usable or wide"
    assert said in (folder / "README.md").read_text(encoding="utf-8")
