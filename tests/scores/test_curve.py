"""Likelihoods that are not normal: displacements follow the model, and draws are those of the density they claim."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.plain import Plain
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import bent, curve, sums
from dpmcmc.scores.curve import Curve, Density
from dpmcmc.scores.mixing import Walked
from dpmcmc.scores.picture import normal_prior
from tests.scores.problems import flat_draws

GROUPS, SIGMA = 4, 0.5


def model_of(prior_std=1.0):
    """y ~ N(m + exp(log τ) z_g, σ²), a hierarchy in which only m + τz_g shows."""

    def effects(theta, x):
        group = jnp.round((x[..., 0] + 1) * (GROUPS - 1) / 2).astype(int)
        return theta["m"] + jnp.exp(theta["log_tau"]) * theta["z"][group]

    def log_prior(theta):
        return -0.5 * (theta["m"] ** 2 + (theta["log_tau"] + 0.5) ** 2 / 0.25 + jnp.sum(theta["z"] ** 2)) / prior_std**2

    def log_likelihood(theta, record):
        return -0.5 * ((record["y"] - effects(theta, record["x"])) / SIGMA) ** 2

    def simulate_given(key, theta, x):
        x = jnp.asarray(x, float)
        return {"x": x, "y": effects(theta, x) + SIGMA * jax.random.normal(key, x.shape[:1])}

    def simulate(key, theta, n):
        group = jax.random.randint(key, (n, 1), 0, GROUPS)
        return simulate_given(key, theta, 2 * group / (GROUPS - 1) - 1)

    init = {"m": 0.0, "log_tau": -0.5, "z": np.zeros(GROUPS)}
    return dp.Model(
        log_prior,
        log_likelihood,
        init,
        simulate=simulate,
        covariates=lambda record: record["x"],
        simulate_given=simulate_given,
        levels=(GROUPS,),
    )


def walled():
    model = model_of()
    return replace(model, log_prior=lambda theta: jnp.where(theta["m"] > 3, model.log_prior(theta), -jnp.inf))


MODEL = model_of()
RAVELED = RaveledModel.of(MODEL)
Z = np.array([0.8, -1.0, 0.3, 1.2])
CENTRE = np.concatenate([[-0.5], [0.2], Z])  # log τ, m, z


def places(centre=CENTRE, prior=1.0, n=500, model=MODEL, raveled=RAVELED, power=0.5):
    records = model.simulate(jax.random.key(1), raveled.unravel(jnp.asarray(centre)), curve.RECORDS)
    scores = jax.vmap(lambda r: jax.grad(lambda t: model.log_likelihood(raveled.unravel(t), r))(jnp.asarray(centre)))
    rows = np.asarray(scores(records))
    information = rows.T @ rows / len(rows)
    made = Curve.of(records, n * information + prior * np.eye(len(centre)), power)
    assert made is not None
    return made.places(raveled, np.asarray(centre)), information


def displacement(at, theta):
    return np.asarray(curve.displacement(RAVELED, at, jnp.asarray(theta)))


def sample(raveled, at, precision, weighted, prior, seed, count=2048):
    return bent.sample(raveled, Density.of(at, precision, weighted), prior, count, seed)


def test_a_displacement_is_the_move_where_it_is_short_and_told():
    """Of a move of 10⁻⁴, what records can tell of it, to 10⁻³."""
    with jax.enable_x64(True):
        at, information = places()
        move = 1e-4 * np.random.default_rng(0).normal(size=len(CENTRE))
        found = displacement(at, CENTRE + move)
    np.testing.assert_allclose(information @ found, information @ move, atol=1e-3 * np.abs(information @ move).max())


@settings(max_examples=20, deadline=None)
@given(st.floats(-1, 1), st.floats(-1, 1))
def test_what_does_not_change_a_record_is_no_displacement(log_scale, shift):
    """z_g/s with τs, and z_g + c/τ with m − c: the same law of every record."""
    scale = np.exp(log_scale)
    z = (Z + shift / np.exp(CENTRE[0])) / scale
    with jax.enable_x64(True):
        at, _ = places()
        found = displacement(at, np.concatenate([[CENTRE[0] + log_scale], [CENTRE[1] - shift], z]))
    np.testing.assert_allclose(found, 0, atol=1e-6)


@pytest.mark.slow
def test_draws_of_a_hierarchy_are_those_of_its_posterior():
    """Against the closed form given log τ, on a grid of it: group effects known to within ±0.02 (250 records each).

    Means and spreads of log τ and m within 6 standard errors of 500 independent draws.
    """
    n, effect = 1000, CENTRE[1] + np.exp(CENTRE[0]) * Z
    with jax.enable_x64(True):
        at, information = places(n=n, power=1 / 3)
        prior = np.diag(np.concatenate([[4.0], [1.0], np.ones(GROUPS)]))
        drawn = sample(RAVELED, at, n * information, np.zeros(len(CENTRE)), prior, 0)
        share = np.array([np.mean(np.asarray(at.records["x"])[:, 0] == x) for x in np.linspace(-1, 1, GROUPS)])
    assert drawn.mixed
    grid = np.linspace(-3, 2, 801)
    noise = np.diag(SIGMA**2 / (n * share))
    log_weights, means, squares = [], [], []
    for log_tau in grid:  # effects ~ N(0, τ²1 + 1·1ᵀ), seen with noise
        inner = np.linalg.inv(np.exp(2 * log_tau) * np.eye(GROUPS) + 1 + noise)
        log_weights.append(
            0.5 * np.linalg.slogdet(inner)[1] - 0.5 * effect @ inner @ effect - 0.5 * (log_tau + 0.5) ** 2 / 0.25
        )
        means.append(np.ones(GROUPS) @ inner @ effect)
        squares.append(1 - np.ones(GROUPS) @ inner @ np.ones(GROUPS) + means[-1] ** 2)
    weights = np.exp(np.array(log_weights) - max(log_weights))
    weights /= weights.sum()
    mean, square = weights @ grid, weights @ grid**2
    theta = drawn.theta.reshape(-1, len(CENTRE))
    for values, first, second in ((theta[:, 0], mean, square), (theta[:, 1], weights @ means, weights @ squares)):
        spread = np.sqrt(second - first**2)
        assert abs(values.mean() - first) < 6 * spread / np.sqrt(500)
        assert values.std() == pytest.approx(spread, rel=6 / np.sqrt(2 * 500))


def one_parameter(log_likelihood, simulate, prior_std):
    return dp.Model(lambda theta: -0.5 * (theta / prior_std) ** 2, log_likelihood, 0.0, simulate=simulate)


ONE = {
    "yes or no": (
        lambda theta, y: y * theta - jnp.logaddexp(0.0, theta),
        lambda key, theta, n: jax.random.bernoulli(key, jax.nn.sigmoid(theta), (n,)).astype(float),
    ),
    "counts": (
        lambda theta, y: y * theta - jnp.exp(theta),
        lambda key, theta, n: jax.random.poisson(key, jnp.exp(theta), (n,)).astype(float),
    ),
}


@pytest.mark.parametrize(
    ("name", "n", "share"), [("yes or no", 30, 0.3), pytest.param("counts", 16, 1.0, marks=pytest.mark.slow)]
)
def test_draws_are_those_of_the_density_however_it_bends(name, n, share):
    """One parameter, few records: against quadrature of the same density, 6 standard errors of 500 draws; tails too."""
    model = one_parameter(*ONE[name], prior_std=2.0)
    raveled = RaveledModel.of(model)
    with jax.enable_x64(True):
        at, information = places(np.zeros(1), 0.25, n, model, raveled, power=1.0)
        precision = share * n * information
        drawn = sample(raveled, at, precision, np.zeros(1), np.full((1, 1), 0.25), 3)
        grid = np.linspace(-12, 12, 4001)
        ratios = jax.vmap(lambda t: curve.vectors.log_ratios(raveled, jnp.array([t]), at.centre, at.records))(grid)
        moves = np.asarray(jnp.expm1(ratios) @ at.scores)[:, 0] / ratios.shape[1] * float(at.back[0, 0])
    assert drawn.mixed
    rises = np.diff(moves, prepend=-np.inf) > 0
    middle = len(grid) // 2
    within = np.logical_and.accumulate(rises[middle:])  # beyond a fold simulated records say nothing
    within = np.concatenate([np.logical_and.accumulate(rises[middle - 1 :: -1])[::-1], within])
    log_density = np.where(within, -0.5 * precision[0, 0] * moves**2 - grid**2 / 8, -np.inf)
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = density @ grid
    std = np.sqrt(density @ (grid - mean) ** 2)
    found = drawn.theta.ravel()
    assert abs(found.mean() - mean) < 6 * std / np.sqrt(500)
    assert found.std() == pytest.approx(std, rel=0.2)
    for rank in (0.02, 0.98):
        assert np.mean(found < grid[np.searchsorted(np.cumsum(density), rank)]) == pytest.approx(rank, abs=0.025)


@pytest.mark.parametrize("name", ONE)
def test_without_noise_the_third_order_is_that_of_the_likelihood(name):
    """The skewness of exp(−½ nD²G) against that of exp(n E_c log w), by quadrature, at 200 records: within a third.

    With the power of noise, 1, it is more than twice too large.
    """
    model = one_parameter(*ONE[name], prior_std=2.0)
    raveled, centre = RaveledModel.of(model), np.array([1.0])
    with jax.enable_x64(True):
        grid = np.linspace(0.2, 1.8, 1201)
        skews = {}
        for power in (1 / 3, 1.0):
            at, information = places(centre, 0.25, 200, model, raveled, power=power)
            ratios = jax.vmap(lambda t: curve.vectors.log_ratios(raveled, t[None], at.centre, at.records))(grid)  # noqa: B023
            moves = np.asarray(jnp.expm1(power * ratios) @ at.scores)[:, 0] / ratios.shape[1] / power
            skews[power] = skewness(grid, -0.5 * 200 * information[0, 0] * (moves * float(at.back[0, 0])) ** 2)
        exact = skewness(grid, expected_log_ratio(name, grid, 1.0) * 200)
    assert skews[1 / 3] == pytest.approx(exact, rel=1 / 3, abs=0.02)
    assert abs(skews[1.0]) > 2 * abs(exact)


def expected_log_ratio(name, theta, centre):
    """E_c log p(x|θ)/p(x|c)."""
    if name == "counts":
        return np.exp(centre) * (theta - centre) - np.exp(theta) + np.exp(centre)
    p = 1 / (1 + np.exp(-centre))
    return p * (theta - centre) - np.logaddexp(0, theta) + np.logaddexp(0, centre)


def skewness(grid, log_density):
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    mean = density @ grid
    return density @ (grid - mean) ** 3 / (density @ (grid - mean) ** 2) ** 1.5


def test_walkers_that_stay_apart_or_drift_are_not_mixed():
    rng = np.random.default_rng(0)
    theta, moves = rng.normal(size=(8, 50, 2)), np.full(8, 0.5)
    assert Walked(theta, moves).mixed
    assert not Walked(theta, 0.1 * moves).mixed
    assert not Walked(theta, moves * (np.arange(8) > 0)).mixed
    assert not Walked(theta + 3 * np.arange(8)[:, None, None], moves).mixed
    assert not Walked(theta + np.linspace(0, 2, 50)[None, :, None], moves).mixed
    assert not Walked(np.where(theta > 2, np.nan, theta), moves).mixed


def test_records_that_lack_a_group_are_too_few():
    """Nothing is simulated of the last group: what is known of it could not be drawn."""
    with jax.enable_x64(True):
        at, information = places()
        assert at.show(500 * information)
        records = {name: leaf[np.asarray(at.records["x"])[:, 0] < 1] for name, leaf in at.records.items()}
        few = Curve.of(records, 500 * information + np.eye(len(CENTRE)), 0.5)
        assert not few.places(RAVELED, CENTRE).show(500 * information)


def test_the_power_is_between_that_of_noise_and_that_of_records():
    assert curve.power_between(np.eye(3)) == pytest.approx(1 / 3)
    assert curve.power_between(np.zeros((3, 3))) == 1
    assert curve.power_between(0.5 * np.eye(2)) == pytest.approx(2 / 3)


@pytest.mark.slow
def test_a_private_hierarchy_is_usable_and_right():
    """8000 records of four groups at ε = 3: every parameter within 4.5 of its standard deviations of the truth."""
    rng = np.random.default_rng(0)
    group = rng.integers(GROUPS, size=8000)
    y = 0.2 + np.exp(-0.5) * Z[group] + SIGMA * rng.normal(size=8000)
    data = {"x": (2 * group / (GROUPS - 1) - 1)[:, None], "y": y}
    release = dp.sample(MODEL, data, 3.0, 1e-6, seed=1, progress=False)
    assert release.quality.verdict == "usable"
    draws = flat_draws(release)
    assert np.all(np.abs(draws.mean(axis=0) - CENTRE) < 4.5 * draws.std(axis=0))
    effects = draws[:, 1:2] + np.exp(draws[:, :1]) * draws[:, 2:]
    exact = np.array([y[group == g].mean() for g in range(GROUPS)])
    assert np.all(np.abs(effects.mean(axis=0) - exact) < 4.5 * effects.std(axis=0))
    assert np.all(effects.std(axis=0) < 4 * SIGMA / np.sqrt(2000))
    assert Plain.from_dict(release.sums.to_dict()) == release.sums
    again = release.redraw(model_of(prior_std=0.5), draws=100, seed=2)
    assert np.sum(flat_draws(again)[:, 2:].mean(axis=0) ** 2) < np.sum(draws[:, 2:].mean(axis=0) ** 2)
    assert isinstance(release.sums, sums.ScoreSums)
    assert release.sums.curve is not None
    with pytest.warns(UserWarning, match="suppose a normal likelihood"):  # nothing begins where this prior is
        release.redraw(walled(), draws=100, seed=2)


def centred():
    """The same hierarchy with the groups' own deviations b = τz as parameters: its prior is no normal."""

    def standard(theta):
        return {"m": theta["m"], "log_tau": theta["log_tau"], "z": theta["b"] / jnp.exp(theta["log_tau"])}

    def sample_prior(key):
        a, b, c = jax.random.split(key, 3)
        log_tau = -0.5 + 0.5 * jax.random.normal(b)
        return {"m": jax.random.normal(a), "log_tau": log_tau, "b": jnp.exp(log_tau) * jax.random.normal(c, (GROUPS,))}

    return dp.Model(
        lambda theta: MODEL.log_prior(standard(theta)) - GROUPS * theta["log_tau"],
        lambda theta, record: MODEL.log_likelihood(standard(theta), record),
        {"m": 0.0, "log_tau": -0.5, "b": np.zeros(GROUPS)},
        simulate=lambda key, theta, n: MODEL.simulate(key, standard(theta), n),
        sample_prior=sample_prior,
        covariates=MODEL.covariates,
        simulate_given=lambda key, theta, x: MODEL.simulate_given(key, standard(theta), x),
        levels=(GROUPS,),
    )


def test_a_prior_that_is_no_normal_is_taken_for_one_by_its_draws():
    """Medians and spreads of the deviations and of log τ, within 5 standard errors of 4096 draws; none for a normal."""
    with jax.enable_x64(True):
        assert normal_prior(RaveledModel.of(dp.models.LogisticRegression({"a": (-1, 1)}))) is None
        assert normal_prior(RAVELED) is None  # cannot be drawn from
        found = normal_prior(RaveledModel.of(centred()))
    spread = np.sqrt(np.diag(np.linalg.inv(found.precision)))
    np.testing.assert_allclose(found.mean, [0, 0, 0, 0, -0.5, 0], atol=5 * 1.25 / np.sqrt(4096))
    np.testing.assert_allclose(spread[4:], [0.5, 1.0], rtol=0.1)
    assert np.all((spread[:4] > 0.4) & (spread[:4] < 0.8))


@pytest.mark.slow
def test_a_private_hierarchy_of_own_effects_is_right_as_well():
    rng = np.random.default_rng(0)
    group = rng.integers(GROUPS, size=8000)
    y = 0.2 + np.exp(-0.5) * Z[group] + SIGMA * rng.normal(size=8000)
    data = {"x": (2 * group / (GROUPS - 1) - 1)[:, None], "y": y}
    releases = [dp.sample(model, data, 3.0, 1e-6, seed=1, progress=False) for model in (centred(), MODEL)]
    one, two = (np.column_stack([r.draws[n].reshape(-1) for n in ("m", "log_tau")]) for r in releases)
    assert all(release.quality.verdict == "usable" for release in releases)
    np.testing.assert_allclose(one.mean(axis=0), two.mean(axis=0), atol=0.5 * two.std(axis=0).min())
    np.testing.assert_allclose(one.std(axis=0), two.std(axis=0), rtol=0.25)


@pytest.mark.slow
def test_where_a_prior_is_not_normal_and_draws_cannot_follow_it_the_release_says_so(monkeypatch):
    """The normal likelihood's mode is then where the prior is highest, which may be far from its mass."""
    monkeypatch.setattr("dpmcmc.scores.run._followed", lambda *given: None)
    rng = np.random.default_rng(0)
    group = rng.integers(GROUPS, size=8000)
    data = {"x": (2 * group / (GROUPS - 1) - 1)[:, None], "y": 0.6 * Z[group] + SIGMA * rng.normal(size=8000)}
    assert dp.sample(centred(), data, 3.0, 1e-6, seed=1, progress=False).quality.verdict == "not usable"
