"""The coverage curve is the diagonal for a posterior that is right, and is not for one that is too narrow."""

import jax
import numpy as np
import pandas as pd
import pytest

from dpmcmc_experiments.figures import Settings
from dpmcmc_experiments.trust import FIGURES, page, tarp
from dpmcmc_experiments.trust.harness import Answer
from dpmcmc_experiments.trust.statistics_peers import _drawn_design
from dpmcmc_experiments.trust.tarp_problems import LOG_SIGMA, PROBLEMS, N
from dpmcmc_experiments.trust.variational_peers import LEAST_CLIP, LONG, STEPS, posterior_draws, public_clip, rates

SETS, SIZE, DRAWS = 300, 3, 500


def found_levels(narrower: float, shift: float = 0.0) -> np.ndarray:
    """Levels of N(x/2, narrower²/2) as the posterior of θ ~ N(0, I) given x ~ N(θ, I), which has variance 1/2."""
    rng, found = np.random.default_rng(7), []
    for _ in range(SETS):
        truth = rng.standard_normal(SIZE)
        x = truth + rng.standard_normal(SIZE)
        draws = x / 2 + shift + narrower * np.sqrt(0.5) * rng.standard_normal((DRAWS, SIZE))
        found.append(tarp.levels(draws, truth, rng))
    return np.array(found)


def test_an_exact_posterior_is_off_by_chance_alone():
    found = found_levels(1.0)
    assert found.shape == (SETS, tarp.REFERENCES)
    summary = tarp.summary(found)
    one_reference = np.sqrt(np.mean(tarp.LEVELS * (1 - tarp.LEVELS)) / SETS)  # of a uniform sample's curve
    assert summary["chance"] < one_reference
    assert summary["tarp"] < 2.5 * summary["chance"]
    assert summary["largest"] < 5 * np.sqrt(0.25 / SETS)


def test_a_posterior_half_as_wide_or_moved_is_found_out():
    exact = tarp.summary(found_levels(1.0))
    for wrong in (found_levels(0.5), found_levels(2.0), found_levels(1.0, shift=1.0)):
        summary = tarp.summary(wrong)
        assert summary["tarp"] > exact["tarp"] + 5 * np.hypot(summary["tarp_se"], exact["tarp_se"])
        assert summary["tarp"] > 3 * summary["chance"]


def test_draws_that_are_no_posterior_are_refused():
    with pytest.raises(ValueError, match="not finite"):
        tarp.levels(np.full((10, 2), np.nan), np.zeros(2), np.random.default_rng(0))


@pytest.mark.parametrize("name", ["linear-10", "dirichlet-categorical"])
def test_a_problem_is_drawn_from_its_prior(name):
    problem = PROBLEMS[name]
    records, truth = problem.drawn(0)
    assert all(len(leaf) == N and np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(records))
    assert truth is not None
    other = problem.drawn(1)[1]
    assert not np.any(truth == other)
    if problem.family == "linear":
        assert np.mean(np.abs(records["y"]) >= 1) < 1e-3


def test_the_noise_of_the_linear_problem_is_that_of_the_paper():
    variances = 0.5 / np.random.default_rng(0).gamma(20.0, size=200_000)
    logs = np.log(variances) / 2
    assert pytest.approx((logs.mean(), logs.std()), rel=5 / np.sqrt(2e5)) == LOG_SIGMA


def right_but_random(problem, records, epsilon, delta, seed):
    return Answer.of_draws(np.random.default_rng(seed).normal(0, 0.4, (500, 1)), "usable")


def fails(problem, records, epsilon, delta, seed):
    raise ValueError("no luck")


def test_rows_become_a_page_and_claims(tmp_path, monkeypatch):
    monkeypatch.setattr(tarp, "METHODS", {"default": right_but_random, tarp.PEER: right_but_random})
    rows = pd.DataFrame(
        [tarp.run("beta-bernoulli", 1.0, method, seed) for method in ("default", tarp.PEER) for seed in range(4)]
    )
    monkeypatch.setattr(tarp, "METHODS", {"default": fails})
    crash = tarp.run("beta-bernoulli", 1.0, "default", 4)
    assert crash["exception"] == "ValueError: no luck"
    (tmp_path / "trust").mkdir()
    pd.concat([rows, pd.DataFrame([crash])]).to_csv(tmp_path / "trust" / "tarp.csv", index=False)
    read = pd.read_csv(tmp_path / "trust" / "tarp.csv")
    assert not tarp.check(read, Settings())[0].holds
    assert len(tarp.check(read, Settings(quick=True))) == 1
    assert "| `beta-bernoulli` | 1 | usable | 4 |" in page.rewritten(tmp_path)
    assert len(FIGURES["tarp"].draw(read).axes) == 1


def test_cells_are_even_over_problems_when_cut_off():
    keys = [cell.key for cell in tarp.cells(Settings())]
    first = keys[: len(keys) * tarp.BLOCK // tarp.SETS]
    assert all(key.endswith(f"-0-{tarp.BLOCK}") for key in first)
    assert all(any(name in key for key in first) for name in PROBLEMS)
    assert set(first) == {cell.key for cell in tarp.cells(Settings(), tarp.BLOCK)}


def test_the_clip_grows_with_skewness_and_steps_end_short():
    rng, scale = np.random.default_rng(0), 1 / np.sqrt(N)
    even = public_clip(scale * rng.choice([-1.0, 1.0], (4000, 1)), N, 0.3)
    skewed = public_clip(scale * (1 - rng.exponential(size=(4000, 1))), N, 0.3)
    assert even == pytest.approx(LEAST_CLIP * scale)
    assert skewed > 1.5 * even
    steps = [float(rates(N)(step)) for step in (0, int(STEPS * LONG) - 1, STEPS - 1)]
    assert steps[0] == steps[1] > 10 * steps[2]


def test_gradients_of_many_dimensions_give_back_their_normal():
    """With little noise: mean and spread of N(m, I), though the curvature is not known."""
    rng, size = np.random.default_rng(0), 12
    centre = rng.standard_normal(size)
    points = centre + rng.standard_normal((200, size))
    gradients = centre - points + 0.1 * rng.standard_normal(points.shape)
    draws = posterior_draws(rng, points, gradients, 0.1, np.eye(size))
    assert np.allclose(draws.mean(axis=0), centre, atol=0.1)
    assert np.allclose(draws.std(axis=0), 1, atol=0.1)


def test_the_law_of_covariates_varies_as_samples_do():
    rng, n = np.random.default_rng(0), 400
    design = np.array([[1.0, 0.3], [0.3, 0.59]])  # mean 0.3, variance 0.5
    drawn = np.array([_drawn_design(rng, design, n) for _ in range(4000)])
    assert np.allclose(drawn.mean(axis=0), design, atol=0.01)
    assert np.std(drawn[:, 0, 1]) == pytest.approx(np.sqrt(0.5 / n), rel=0.1)
    variances = drawn[:, 1, 1] - drawn[:, 0, 1] ** 2
    assert np.std(variances) == pytest.approx(0.5 * np.sqrt(2 / n), rel=0.1)
