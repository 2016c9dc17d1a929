"""Draws of a bent likelihood, by each way of making them, against integration on a grid and exact cases."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

import dpmcmc as dp
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import bent, curve, importance, trajectories, walkers
from dpmcmc.scores.curve import Curve, Density

PRIOR_STD = 1.5
CENTRE = np.array([-1.0, 0.8])


def eta(theta, x):
    return theta["a"] + theta["b"] * x


def simulate(key, theta, n):
    x = jax.random.uniform(key, (n,), minval=-1.0, maxval=1.0)
    y = jax.random.bernoulli(jax.random.fold_in(key, 1), jax.nn.sigmoid(eta(theta, x)))
    return {"x": x, "y": y.astype(float)}


LOGISTIC = dp.Model(
    lambda theta: -0.5 * (theta["a"] ** 2 + theta["b"] ** 2) / PRIOR_STD**2,
    lambda theta, record: record["y"] * eta(theta, record["x"]) - jnp.logaddexp(0.0, eta(theta, record["x"])),
    {"a": 0.0, "b": 0.0},
    simulate=simulate,
)
RAVELED = RaveledModel.of(LOGISTIC)


def logistic(n, power, seed=0):
    """A density of 40 records or so, which bends, about a place that is not the centre; and the records it is of."""
    records = LOGISTIC.simulate(jax.random.key(seed), {"a": CENTRE[0], "b": CENTRE[1]}, curve.RECORDS)
    x, y = (np.asarray(records[name]) for name in ("x", "y"))
    rows = (y - 1 / (1 + np.exp(-CENTRE[0] - CENTRE[1] * x)))[:, None] * np.column_stack([np.ones_like(x), x])
    information = rows.T @ rows / len(rows)
    prior = np.eye(2) / PRIOR_STD**2
    made = Curve.of(records, n * information + prior, power)
    precision = n * information
    weighted = precision @ np.array([-0.2, 0.3])
    density = Density.of(made.places(RAVELED, CENTRE), precision, weighted)
    return density, prior, (x, y, rows, information, precision, weighted)


def on_grid(power, given):
    """The same density, written anew: marginal distribution functions on a grid, up to where D folds."""
    x, y, rows, information, precision, weighted = given
    grids = [np.linspace(-7, 4, 221), np.linspace(-6, 7, 221)]
    a, b = np.meshgrid(*grids, indexing="ij")

    def log_likelihood(a, b):
        at = a[..., None] + b[..., None] * x
        return y * at - np.logaddexp(0, at)

    powers = np.array([log_likelihood(*each) - log_likelihood(*CENTRE) for each in zip(a, b, strict=True)])
    moves = np.expm1(power * powers) @ rows / len(rows) / power @ np.linalg.inv(information)
    slopes = np.stack([np.gradient(moves, grids[0], axis=0), np.gradient(moves, grids[1], axis=1)], axis=-1)
    log_density = moves @ weighted - 0.5 * np.einsum("abi,ij,abj->ab", moves, precision, moves)
    log_density = log_density - 0.5 * (a**2 + b**2) / PRIOR_STD**2
    density = np.where(np.linalg.det(slopes) > 0, np.exp(log_density - log_density.max()), 0.0)
    assert density[[0, -1]].sum() + density[:, [0, -1]].sum() < 1e-6 * density.sum()
    return [(grid, np.cumsum(density.sum(axis=1 - axis)) / density.sum()) for axis, grid in enumerate(grids)]


def by(way, density, prior, count=8192):
    if way == "any":
        drawn = bent.sample(RAVELED, density, prior, count, 0)
        assert drawn.mixed
        return drawn.theta
    if way == "importance":
        return importance.sample(RAVELED, density, prior, count, np.random.default_rng(0)).draws
    proposal = importance.first(RAVELED, density, prior)
    begin = np.random.default_rng(0).normal(size=(64, 2)) @ proposal.root.T + proposal.mean
    if way == "trajectories":
        walked = trajectories.sample(RAVELED, density, begin, proposal.root, count, 0)
    else:
        walked = walkers.sample(RAVELED, density, prior, 0)
    assert walked.mixed
    return walked.theta.reshape(-1, 2)


@pytest.mark.parametrize("power", [pytest.param(1 / 3, marks=pytest.mark.slow), 1.0])
@pytest.mark.parametrize(
    "way", ["importance", *(pytest.param(way, marks=pytest.mark.slow) for way in ("any", "trajectories", "walkers"))]
)
def test_every_way_draws_the_density(way, power):
    """Shares below seven quantiles of both parameters, 4.5 standard errors of 800 independent draws.

    Importance weights count for at least 1024, and 3072 draws of walkers for more than 800 here. For 112 comparisons a
    false alarm has a probability of 8·10⁻⁴.
    """
    with jax.enable_x64(True):
        density, prior, given = logistic(40, power)
        draws = by(way, density, prior)
    for (grid, below), found in zip(on_grid(power, given), draws.T, strict=True):
        for rank in (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98):
            at = int(np.searchsorted(below, rank))
            share, edge = below[at], (grid[at] + grid[at + 1]) / 2
            assert np.mean(found < edge) == pytest.approx(share, abs=4.5 * np.sqrt(share * (1 - share) / 800))


def test_where_a_model_is_linear_draws_are_normal():
    """Shares of yes, p = θ: with the power 1, D is θ − c. Kolmogorov and Smirnov's test, at 10⁻⁴ for 700 draws."""
    model = dp.Model(
        lambda theta: -0.5 * (theta - 0.5) ** 2,
        lambda theta, y: jnp.where(y > 0.5, jnp.log(theta), jnp.log1p(-theta)),
        0.5,
        simulate=lambda key, theta, n: jax.random.bernoulli(key, theta, (n,)).astype(float),
    )
    raveled, centre = RaveledModel.of(model), np.array([0.4])
    with jax.enable_x64(True):
        records = model.simulate(jax.random.key(0), 0.4, curve.RECORDS)
        precision, weighted = np.full((1, 1), 600.0), np.array([30.0])
        density = Density.of(Curve.of(records, precision + 1, 1.0).places(raveled, centre), precision, weighted)
        moves = [float(curve.displacement(raveled, density.places, jnp.array([at]))[0]) for at in (0.2, 0.4, 0.7)]
        draws = bent.sample(raveled, density, np.ones((1, 1)), 700, 1)
    np.testing.assert_allclose(moves, [-0.2, 0.0, 0.3], atol=1e-9)
    assert draws.mixed
    mean = (600 * 0.4 + 30 + 0.5) / 601
    assert kstest(draws.theta[:, 0], norm(mean, 601**-0.5).cdf).pvalue > 1e-4


def test_the_same_seed_gives_the_same_draws_and_as_many_as_wanted():
    with jax.enable_x64(True):
        density, prior, _ = logistic(40, 0.5)
        one, two, other = (bent.sample(RAVELED, density, prior, 300, seed).theta for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert one.shape == other.shape == (300, 2)
    assert not np.any(one == other)


def test_weights_of_a_ridge_are_not_relied_on():
    """Of a and b only exp(a)·b shows, to within 1 %: no Student t is like that, and what is drawn is not called so."""

    def log_likelihood(theta, y):
        return -0.5 * (y - jnp.exp(theta[0]) * theta[1]) ** 2

    model = dp.Model(
        lambda theta: -0.5 * jnp.sum(theta**2),
        log_likelihood,
        np.array([0.0, 1.0]),
        simulate=lambda key, theta, n: jnp.exp(theta[0]) * theta[1] + jax.random.normal(key, (n,)),
    )
    raveled, centre = RaveledModel.of(model), np.array([0.0, 1.0])
    with jax.enable_x64(True):
        records = model.simulate(jax.random.key(0), jnp.asarray(centre), curve.RECORDS)
        precision = 1e4 * np.ones((2, 2))
        density = Density.of(
            Curve.of(records, precision + np.eye(2), 1 / 3).places(raveled, centre), precision, np.zeros(2)
        )
        assert importance.sample(raveled, density, np.eye(2), 2048, np.random.default_rng(0)).draws is None


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 100), st.integers(1, 20))
def test_tempered_weights_leave_enough_places(seed, spread, size):
    rng = np.random.default_rng(seed)
    proposed = importance.Proposed(np.zeros((512, size)), np.zeros((512, size)), spread * rng.normal(size=512))
    weights = proposed.tempered()
    assert np.sum(weights) == pytest.approx(1)
    assert 1 / np.sum(weights**2) > 0.9 * min(importance.FOR_MOMENTS * size, 128)
    assert np.all(np.diff(weights[np.argsort(proposed.log_weights)]) >= 0)


def test_places_that_a_prior_excludes_have_no_weight():
    nowhere = importance.Proposed(np.zeros((64, 2)), np.zeros((64, 2)), np.full(64, -np.inf))
    assert not np.any(nowhere.tempered())
    assert nowhere.effective() == 0


@pytest.mark.slow
def test_walkers_of_two_modes_that_do_not_meet_are_not_mixed():
    """A prior of two peaks 16 standard deviations apart, and next to no records: half of the walkers in each."""

    def log_prior(theta):
        return jnp.logaddexp(-0.5 * (theta["a"] - 4) ** 2 / 0.25, -0.5 * (theta["a"] + 4) ** 2 / 0.25) - theta["b"] ** 2

    model = RaveledModel.of(dp.Model(log_prior, LOGISTIC.log_likelihood, {"a": 0.0, "b": 0.0}, simulate=simulate))
    with jax.enable_x64(True):
        density, _, _ = logistic(40, 1.0)
        density = density._replace(precision=1e-3 * density.precision, weighted=jnp.zeros(2))
        begin = (
            np.random.default_rng(0).normal(size=(64, 2)) * 0.5 + 4 * np.array([1, 0]) * (-1) ** np.arange(64)[:, None]
        )
        walked = trajectories.sample(model, density, begin, 0.5 * np.eye(2), 2048, 0)
    assert walked is None or not walked.mixed
