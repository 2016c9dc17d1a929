"""Posterior draws: exact on their candidates, complete plans, and honest about what they are worth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpmcmc as dp

GRID = np.linspace(-1.0, 1.0, 41)


def model(**more):
    return dp.Model(
        log_prior=lambda theta: -0.5 * theta**2,
        log_likelihood=lambda theta, x: jnp.where(x > 0, -jnp.log1p(jnp.exp(-theta)), -jnp.log1p(jnp.exp(theta))),
        init=0.0,
        **more,
    )


RECORDS = (np.arange(60) < 36).astype(float)


def by_hand(records, power, bound=np.inf):
    """The tempered posterior on the grid, records clipped from their largest log likelihood."""
    each = -np.logaddexp(0, np.where(records[:, None] > 0, -GRID, GRID))
    terms = np.maximum(each - each.max(axis=1, keepdims=True), -bound).sum(axis=0)
    weights = np.exp(power * terms - 0.5 * GRID**2)
    return weights / weights.sum()


@pytest.mark.parametrize("bound", [2.0, pytest.param(0.4, marks=pytest.mark.slow)])
def test_draws_have_the_law_of_the_tempered_posterior_on_the_grid(bound):
    """χ² over 41 candidates with 20 000 draws; false alarm 1e-6."""
    plan = dp.plan(
        model(), 60, dp.Budget(1e6, 1e-6), method=dp.PosteriorDraws(bound, GRID), draws=10_000, temperature=0.5
    )
    release = plan.sample(RECORDS, seed=4, progress=False)
    law = by_hand(RECORDS, 0.5, bound)
    seen = np.array([(release.draws["theta"] == value).sum() for value in GRID])
    assert seen.sum() == 20_000
    assert np.sum((seen - 20_000 * law) ** 2 / (20_000 * law)) < stats.chi2.isf(1e-6, 40)
    clipped = by_hand(RECORDS, 0.5) if bound < 1 else by_hand(RECORDS, 0.5, 0.4)
    assert np.sum((seen - 20_000 * clipped) ** 2 / (20_000 * clipped)) > stats.chi2.isf(1e-6, 40)  # the test has power


@pytest.mark.slow
def test_draws_from_the_prior_approach_the_posterior():
    """4096 candidates of the prior, 2000 draws of the mean of a normal posterior: within 4.5 standard errors of it."""
    normal = dp.models.GaussianMean(1, prior_std=1.0)
    data = np.random.default_rng(0).normal(0.4, 1.0, (200, 1))
    method = dp.PosteriorDraws(20.0, 4096)
    plan = dp.plan(normal, 200, dp.Budget(1e6, 1e-6), method=method, draws=1000, temperature=0.1)
    draws = plan.sample(data, seed=1, progress=False).draws["theta"].ravel()
    precision = 1 + 0.1 * 200
    mean, std = 0.1 * data.sum() / precision, precision**-0.5
    inside = 4096 * std / 2  # candidates within about a standard deviation of the mean, at least
    assert abs(draws.mean() - mean) < 4.5 * std * (2000**-0.5 + (inside / 4) ** -0.5)
    assert draws.std() == pytest.approx(std, rel=0.15)


def test_parameters_may_be_whole_numbers_in_a_dictionary():
    grid = {"k": np.arange(5), "s": np.linspace(0, 1, 5)}
    own = dp.Model(
        log_prior=lambda theta: 0.0,
        log_likelihood=lambda theta, x: jnp.where(x == theta["k"], 0.0, -1.0) - theta["s"] * 0,
        init={"k": 0, "s": 0.0},
    )
    data = np.full(400, 3)
    release = dp.sample(
        own, data, 3.0, 1e-6, method=dp.PosteriorDraws(1.0, grid), draws=20, chains=1, seed=0, progress=False
    )
    assert release.draws["k"].dtype.kind == "i"
    assert np.all(release.draws["k"] == 3)
    assert np.all(release.draws["s"] == 0.75)  # the candidate is one, not a product
    assert release.quality.verdict == "not usable"
    assert "Only 1 of 20 draws are different" in release.quality.reason


def test_the_order_and_the_blocks_of_records_change_nothing():
    """Over two blocks of records: whole numbers are added exactly."""
    data = np.random.default_rng(0).integers(0, 2, 70_000).astype(float)
    method = dp.PosteriorDraws(1.0, GRID)
    shuffled = np.random.default_rng(1).permutation(data)
    one, two = (
        dp.sample(model(), x, 1.0, 1e-6, method=method, draws=4, seed=3, progress=False) for x in (data, shuffled)
    )
    assert np.array_equal(one.draws["theta"], two.draws["theta"])


def test_a_release_says_what_it_is_and_survives_a_file(tmp_path):
    release = dp.sample(model(), RECORDS, 1.0, 1e-6, method=dp.PosteriorDraws(1.5, GRID), draws=1, chains=1)
    assert release.guarantee.epsilon <= 1.0
    assert release.quality.verdict == "wide"
    assert "Too few draws for a summary" in str(release)
    assert release.settings["temperature"] == pytest.approx(1 / 3, rel=0.01)
    assert dp.Release.load(release.save(tmp_path / "one.npz")).quality == release.quality
    with pytest.raises(ValueError, match="keeps no sums"):
        release.redraw()


@pytest.mark.parametrize(
    ("epsilon", "draws", "verdict"), [(20.0, 5, "usable"), (1.0, 1, "wide"), (1.0, 10, "not usable")]
)
def test_the_verdict_follows_what_the_budget_pays_for(epsilon, draws, verdict):
    plan = dp.plan(model(), 60, dp.Budget(epsilon, 1e-6), method=dp.PosteriorDraws(1.5, GRID), draws=draws, chains=1)
    assert plan.expected.verdict == verdict
    assert f"temperature {plan.temperature:.3g}" in str(plan)


def test_a_temperature_that_was_asked_for_is_not_held_against_the_draws():
    plan = dp.plan(
        model(), 60, dp.Budget(1.0, 1e-6), method=dp.PosteriorDraws(1.5, GRID), draws=5, chains=1, temperature=0.01
    )
    assert plan.expected.verdict == "usable"
    assert plan.guarantee.epsilon < 1.0


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (lambda: dp.PosteriorDraws(0.0), "bound must be positive"),
        (lambda: dp.PosteriorDraws(1.0), "has no sample_prior"),
        (lambda: dp.PosteriorDraws(1.0, 1), "candidates must be .* got 1"),
        (lambda: dp.PosteriorDraws(1.0, 5000), "candidates must be .* got 5000"),
        (lambda: dp.PosteriorDraws(1.0, {"a": GRID}), "parameters like model.init"),
        (lambda: dp.PosteriorDraws(1.0, np.zeros((3, 2))), "the shapes of model.init"),
        (lambda: dp.PosteriorDraws(1.0, np.full(3, np.inf)), "no candidate lies in the support"),
    ],
)
def test_public_mistakes_are_refused(method, message):
    with pytest.raises((TypeError, ValueError), match=message):
        dp.plan(model(), 60, dp.Budget(1.0, 1e-6), method=method())


def test_so_many_draws_that_records_say_nothing_are_refused():
    with pytest.raises(ValueError, match="at which records say nothing: ask for fewer draws"):
        dp.plan(model(), 60, dp.Budget(1e-4, 1e-9), method=dp.PosteriorDraws(1e-3, GRID), draws=10**4, temperature=1e-5)


def test_candidates_outside_the_prior_are_never_drawn():
    half = dp.Model(
        log_prior=lambda theta: jnp.where(theta > 0, 0.0, -jnp.inf),
        log_likelihood=lambda theta, x: -jnp.abs(x - theta),
        init=0.5,
    )
    data = np.full(100, -1.0)
    release = dp.sample(half, data, 50.0, 1e-6, method=dp.PosteriorDraws(2.0, GRID), draws=10, seed=1, progress=False)
    assert np.all(release.draws["theta"] > 0)


def test_the_prior_draws_are_public_and_fresh():
    normal = dp.models.GaussianMean(2)
    data = np.zeros((20, 2))
    runs = [
        dp.sample(normal, data, 1.0, 1e-6, method=dp.PosteriorDraws(1.0, 8), draws=1, seed=s, progress=False)
        for s in (1, 2)
    ]
    assert not np.array_equal(runs[0].draws["theta"], runs[1].draws["theta"])
    assert runs[0].draws["theta"].dtype == np.float64
    assert jax.tree.leaves(runs[0].draws)[0].shape == (2, 1, 2)
