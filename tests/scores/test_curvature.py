"""How much information real records carry: found where it differs from the model's, and not claimed where it is not."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores.curvature import NOTHING, Doubt, learn
from dpmcmc.scores.foresight import SimulatedRecords
from dpmcmc.scores.normality import over_draws
from dpmcmc.scores.picture import picture
from tests.scores.problems import LINEAR, LOGISTIC, MU, SIGMA, NumbersReader, linear_records

RAVELED = RaveledModel.of(LINEAR)
TRUTH = np.array([0.3, -0.2, 0.2])
AIM = (0.06, 0.01, 0.08)


def learnt(simulated_x, seed=0, mu=MU, n=20_000):
    """From real records, when simulated ones have covariates ``simulated_x``; and the two informations."""
    data = linear_records(n, seed)
    reader = NumbersReader(LINEAR, data, mu, seed)
    with jax.enable_x64(True):
        simulation = SimulatedRecords(RAVELED, jax.random.key(seed), simulated_x)
        found = learn(RAVELED, reader, (TRUTH, TRUTH), (np.eye(3), 0.5), simulation, AIM)
        here = picture(simulation.at(TRUTH), found.ratio, n)
    design = np.column_stack([data["x"], np.ones(n)])
    return found, here, design.T @ design / n / SIGMA**2


def relative(found, real):
    """The real information in coordinates where the one found is standard."""
    inverse = np.linalg.inv(found.doubt.frame)
    return inverse @ real @ inverse.T


def test_what_real_records_have_more_or_less_of_is_found():
    """Simulated covariates twice as wide in one direction and half in another, at ε = 1: mostly within a third.

    Over 48 other seeds the largest error has mean 0.32 and standard deviation 0.13; the limit is 4.5 standard errors
    above. With nothing learnt it would be 3.
    """
    x = linear_records(8192, seed=9)["x"]
    middle = x.mean(axis=0)
    wrong = middle + (x - middle) * [2.0, 0.5]
    errors = []
    for seed in range(12):
        found, here, real = learnt(wrong, seed)
        errors.append(np.abs(np.linalg.eigvalsh(relative(found, real)) - 1).max())
        np.testing.assert_allclose(found.doubt.frame @ found.doubt.frame.T, here.information, rtol=0.02)
    assert np.mean(errors) < 0.32 + 4.5 * 0.13 / np.sqrt(12)


def test_errors_are_as_large_as_the_doubt_says():
    """Five releases of six numbers: the mean square over what is said is below 1 by 4.5 standard errors at most, and
    not above it by more."""
    x = linear_records(8192, seed=9)["x"] * [1.3, 0.8]
    ratios = []
    for seed in range(5):
        found, _, real = learnt(x, seed)
        away = (relative(found, real) - np.eye(3)) / found.doubt.errors
        ratios.extend(away[np.triu_indices(3)] ** 2)
    assert np.mean(ratios) < 1 + 4.5 * np.sqrt(2 / len(ratios))


def test_nothing_is_claimed_where_information_cannot_be_told_from_none():
    """Real covariates that are the same twice, simulated ones that are not: the difference of their coefficients."""
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, 20_000)
    data = {"x": np.stack([a, a], axis=1), "y": a + SIGMA * rng.normal(size=20_000)}
    reader = NumbersReader(LINEAR, data, MU)
    with jax.enable_x64(True):
        simulation = SimulatedRecords(RAVELED, jax.random.key(0), rng.uniform(-1, 1, (8192, 2)))
        known, places = (np.eye(3), 0.5), (TRUTH, TRUTH)
        for _ in range(2):
            found = learn(RAVELED, reader, places, known, simulation, AIM)
            known = (found.ratio, found.doubt.typical)
    doubt = found.doubt.cautious()
    difference = np.array([1.0, -1.0, 0.0])
    assert difference @ doubt.of_width() @ difference > 100 * np.array([1, 1, 0]) @ doubt.of_width() @ [1, 1, 0]
    assert np.diag(doubt.errors).max() > NOTHING


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000), st.floats(0.01, 0.2))
def test_a_step_made_with_wrong_information_ends_where_the_doubt_says(size, seed, error):
    """Symmetric errors of that size, a thousand times: variances of where the step ends, within 6 standard errors."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.cholesky(np.cov(rng.normal(size=(size, 4 * size))) + 0.1 * np.eye(size))
    doubt = Doubt(frame, np.full((size, size), error), size)
    step = 1e-3 * rng.normal(size=size)
    draws = rng.normal(size=(1000, size, size))
    delta = error * (np.triu(draws) + np.swapaxes(np.triu(draws, 1), 1, 2))
    ends = np.einsum("ij,njk,k->ni", np.linalg.inv(frame.T), delta, frame.T @ step)
    said = np.diag(doubt.of_move(step))
    assert np.all(np.abs(ends.var(axis=0) / said - 1) < 6 * np.sqrt(2 / 1000))


def test_noise_carried_back_by_wrong_information_is_larger():
    """(1 + Δ)⁻¹ N (1 + Δ)⁻¹ on average, against what is added for it, to second order: within a third."""
    rng = np.random.default_rng(0)
    doubt, noise = Doubt(np.eye(3), np.full((3, 3), 0.1), 3), np.diag([1.0, 2.0, 0.5])
    draws = rng.normal(size=(20_000, 3, 3))
    delta = 0.1 * (np.triu(draws) + np.swapaxes(np.triu(draws, 1), 1, 2))
    inverse = np.linalg.inv(np.eye(3) + delta)
    mean = (inverse @ noise @ inverse).mean(axis=0)
    np.testing.assert_allclose(np.diag(doubt.of_noise(noise)), np.diag(mean - noise), rtol=0.34)


@pytest.mark.parametrize(("intercept", "least", "most"), [(0.0, 0.0, 0.1), (-4.0, 0.3, 3.0)])
def test_a_likelihood_that_bends_is_told_from_a_normal_one(intercept, least, most):
    """Draws of standard deviation 0.5: where the curvature e^η goes up and down with them, and at its maximum."""
    raveled = RaveledModel.of(LOGISTIC)
    theta = np.array([0.0, intercept])
    with jax.enable_x64(True):
        x = np.random.default_rng(0).uniform(-1, 1, (8192, 1))
        simulation = SimulatedRecords(raveled, jax.random.key(0), x)
        here = picture(simulation.at(theta), np.eye(2), 5000)
        shape = over_draws(here, 0.25 * np.eye(2), 5000.0, simulation, 0)
    assert least <= shape.bend <= most
    assert np.linalg.eigvalsh(shape.information)[0] > 0
