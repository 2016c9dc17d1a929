"""From a sum to the parameters: what is known adds up, is blurred as it should be, and surprises as often as told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import foresight, vectors
from dpmcmc.scores.foresight import SimulatedRecords
from dpmcmc.scores.measure import clipped, measure
from dpmcmc.scores.picture import picture
from dpmcmc.scores.stages import Stages
from dpmcmc.scores.step import Knowledge, Search, expected, surprise
from tests.scores.problems import LINEAR, MU, POISSON, NumbersReader, in_order, linear_posterior, linear_records

RAVELED = RaveledModel.of(LINEAR)
DATA = linear_records()
TRUTH = np.array([0.3, -0.2, 0.2])  # a, b, intercept


def positive(size, rng):
    a = rng.normal(size=(size, size + 2))
    return a @ a.T


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 10_000), st.floats(-6, 6))
def test_blurred_knowledge_is_that_of_the_sum_of_two_errors(size, seed, log_scale):
    """(P⁻¹ + C)⁻¹, with the same mean."""
    rng = np.random.default_rng(seed)
    precision, covariance = positive(size, rng), 10**log_scale * positive(size, rng)
    mean = rng.normal(size=size)
    found = Knowledge(precision, precision @ mean).blurred(covariance)
    explicit = np.linalg.inv(np.linalg.inv(precision) + covariance)
    np.testing.assert_allclose(found.precision, explicit, rtol=1e-5, atol=1e-9 * np.abs(explicit).max())
    np.testing.assert_allclose(np.linalg.solve(explicit, found.weighted), mean, rtol=1e-5, atol=1e-6)
    nothing = Knowledge.none(size).blurred(covariance)
    assert not np.any(nothing.precision)
    assert not np.any(nothing.weighted)
    both = found + Knowledge.none(size)
    np.testing.assert_array_equal(both.precision, found.precision)


def simulated():
    return SimulatedRecords(RAVELED, jax.random.key(0), linear_records(8192, seed=99)["x"])


def measured(n=5000, theta=TRUTH, mu=MU, seed=0, shares=(0.02, 0.3)):
    reader = NumbersReader(LINEAR, linear_records(n, seed=seed), mu, seed)
    with jax.enable_x64(True):
        here = picture(simulated().at(np.array(theta)), np.eye(3), n)
        arguments = (jnp.asarray(here.theta), jnp.asarray(here.root))
        found = measure(reader, vectors.scores, arguments, here.features, shares, here.harm)
    return here, found


def test_what_a_sum_should_be_is_what_simulated_records_give():
    """Its mean and derivative at the centre, against clipped scores of 8192 records: 4.5 standard errors."""
    here, found = measured()
    at = expected(here, found, 5000)
    rows = clipped(here.features, found.clip)
    error = 4.5 / np.sqrt(len(rows))
    assert np.abs(at.mean - (rows.mean(axis=0) - here.features.mean(axis=0) / found.clip)).max() < 0.1 * error
    slope = rows.T @ here.scores / len(rows)
    scale = np.sqrt(np.diag(here.information))
    assert np.abs((at.derivative - slope) / scale).max() < error * 1.5
    assert np.linalg.eigvalsh(at.noise)[0] >= found.std**2 * (1 - 1e-9)


def test_the_derivative_is_that_of_the_real_sum():
    """Records moved by a step in the parameters: without noise, the sum moves as foretold within a twentieth."""
    here, found = measured(mu=1e6)
    at = expected(here, found, 5000)
    step = np.array([0.03, -0.1, 0.02])
    data = linear_records(8192, seed=99)
    design = np.column_stack([data["x"], np.ones(8192)])
    sums = []
    for theta in (TRUTH, TRUTH + step):
        moved = data | {"y": data["y"] + design @ (theta - TRUTH)}
        with jax.enable_x64(True):
            rows = vectors.on_public(RAVELED, vectors.scores)((jnp.asarray(here.theta), jnp.asarray(here.root)), moved)
        sums.append(clipped(np.asarray(rows), found.clip).mean(axis=0))
    foretold = at.derivative @ step
    assert np.linalg.norm(sums[1] - sums[0] - foretold) < 0.05 * np.linalg.norm(foretold)


def test_a_sum_that_was_foretold_surprises_as_chi_squared():
    """Numbers drawn as `surprise` says they are: the mean over 2000 within 4.5 standard errors of the dimension."""
    here, found = measured()
    at, n, rng = expected(here, found, 5000), 5000, np.random.default_rng(0)
    where = here.theta + np.array([0.01, -0.02, 0.01])
    before = Knowledge(4e4 * here.information, 4e4 * here.information @ where)
    theta = rng.multivariate_normal(where - here.theta, np.linalg.inv(before.precision), 2000)
    noise = rng.multivariate_normal(np.zeros(3), at.noise, 2000)
    totals = n * (at.mean + theta @ at.derivative.T) + noise
    values = [surprise(here, found._replace(total=total), at, before, n) for total in totals]
    assert np.mean(values) == pytest.approx(3, abs=4.5 * np.sqrt(6 / 2000))
    assert np.var(values) == pytest.approx(6, rel=0.25)


@pytest.mark.parametrize("far", [True, False])
def test_one_sum_finds_the_estimate_without_privacy(far):
    """From a fifth of a record's standard deviation away; within 4.5 standard deviations that it says itself."""
    for seed in range(3):
        mean, _ = linear_posterior(linear_records(seed=seed))
        here, found = measured(theta=TRUTH + np.array([0.05, 0.1, -0.05]), seed=seed)
        with jax.enable_x64(True):
            simulation = SimulatedRecords(RAVELED, jax.random.key(0), linear_records(8192, seed=99)["x"])
            theta, said = Search(here, found, 5000, simulation, far).run(Knowledge.none(3))
        away = theta - in_order(LINEAR, mean)
        spread = np.sqrt(np.diag(np.linalg.inv(said.precision)))
        assert np.all(np.abs(away) < 4.5 * spread)
        assert np.all(spread < 0.2)


@pytest.mark.slow
def test_searches_are_seldom_surprised(monkeypatch):
    """Twenty searches of records that are as the model says: the last two sums' probabilities are not extreme.

    Forty of them, if uniform: four below 0.01 have probability 7·10⁻⁴, a median below 0.25 has 3·10⁻⁴ and one above 0.9
    none (the sums allow for errors of the clip that are not there, so somewhat larger ones are expected).
    """
    monkeypatch.setattr(foresight, "FEW", 2048)
    x, chances, errors = linear_records(2048, seed=99)["x"], [], []
    for seed in range(20):
        data = linear_records(seed=seed)
        with jax.enable_x64(True):
            simulation = SimulatedRecords(RAVELED, jax.random.key(0), x)
            found, failed = Stages(RAVELED, NumbersReader(LINEAR, data, MU, seed), simulation).run(np.zeros(3))
        assert not failed
        chances.extend(found.state.surprises[-2:])
        knowledge = found.knowledge
        exact = in_order(LINEAR, linear_posterior(data, prior_std=1e6)[0])
        away = np.linalg.solve(knowledge.precision, knowledge.weighted) - exact
        errors.append(away @ knowledge.precision @ away)
    assert np.sum(np.array(chances) < 0.01) < 4
    assert 0.25 < np.median(chances) < 0.9
    assert np.mean(errors) < 3 + 4.5 * np.sqrt(6 / 20)  # what is said of the noise is not too little
    assert np.mean(errors) > 1


def test_what_is_not_linear_of_a_sum_is_foreseen():
    """Counts: the change of the mean clipped score on a move, against many records from there: 5 standard errors.

    And its derivative against differences of it.
    """
    model = RaveledModel.of(POISSON)
    x = np.random.default_rng(1).uniform(-1, 1, (200_000, 1))
    theta, move, clip = np.array([0.8, 0.5]), np.array([0.05, 0.04]), 3.0
    with jax.enable_x64(True):
        foresight = SimulatedRecords(model, jax.random.key(0), x)
        here = picture(foresight.at(theta), np.eye(2), 5000)
        linear = here.root / clip @ here.information
        kept = clipped(here.features, clip)
        linear = linear - (here.features / clip - kept).T @ here.scores / len(kept)
        bent, slope = foresight.bent(here, theta + move, clip)
        means = []
        for place in (theta, theta + move):
            records = vectors.simulate(model)(jax.random.key(5), jnp.asarray(place), jnp.asarray(x))
            arguments = (jnp.asarray(theta), jnp.asarray(here.root))
            means.append(clipped(np.asarray(vectors.on_public(model, vectors.scores)(arguments, records)), clip))
        change = means[1].mean(axis=0) - means[0].mean(axis=0)
        error = np.sqrt((means[1] - means[0]).var(axis=0) / len(x)) + 0.1 * np.abs(bent)
        assert np.all(np.abs(linear @ move + bent - change) < 5 * error)
        step = 1e-5
        for j in range(2):
            there = foresight.bent(here, theta + move + step * np.eye(2)[j], clip)[0]
            np.testing.assert_allclose((there - bent) / step, slope[:, j], atol=1e-4)
