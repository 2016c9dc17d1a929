"""What sums say together: independent errors average out, those that all share do not."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.scores.recall import NEAR, Released, Said, recalled, together
from dpmcmc.scores.step import Knowledge
from tests.scores.test_step import TRUTH, measured, simulated


def said(size, seed, shared_part):
    """A sum whose error has a covariance of two parts."""
    rng = np.random.default_rng(seed)
    own = np.cov(rng.normal(size=(size, 3 * size))).reshape(size, size) + 0.1 * np.eye(size)
    shared = shared_part * np.eye(size)
    precision = np.linalg.inv(own + shared)
    return Said(Knowledge(precision, precision @ rng.normal(size=size)), shared), own


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(2, 6), st.integers(0, 10_000), st.floats(0.01, 10))
def test_a_shared_error_stays_however_many_sums_there_are(size, count, seed, shared):
    """The covariance of the weighted mean with one error common to all, worked out directly."""
    parts = [said(size, seed + k, shared) for k in range(count)]
    found = together([part for part, _ in parts])
    total = np.linalg.inv(sum(part.knowledge.precision for part, _ in parts))
    weights = [total @ part.knowledge.precision for part, _ in parts]
    direct = shared * np.eye(size)
    for weight, (_, own) in zip(weights, parts, strict=True):
        direct = direct + weight @ own @ weight.T
    claimed = np.linalg.inv(found.precision)
    assert np.trace(claimed) == pytest.approx(np.trace(direct), rel=0.2)
    assert np.linalg.eigvalsh(claimed)[-1] >= shared * (1 - 1e-6)
    location = total @ sum(part.knowledge.weighted for part, _ in parts)
    np.testing.assert_allclose(np.linalg.solve(found.precision, found.weighted), location, rtol=1e-6, atol=1e-8)


def test_independent_errors_average_out():
    parts = [said(3, k, 0.0)[0] for k in range(4)]
    found = together(parts)
    np.testing.assert_allclose(found.precision, sum(part.knowledge.precision for part in parts), rtol=1e-9)


def test_sums_are_read_again_where_they_are_near_and_kept_as_they_were_elsewhere():
    here, found = measured()
    kept = Knowledge(np.eye(3), np.ones(3))
    step = np.linalg.inv(np.linalg.cholesky(here.information)).T @ np.array([1.0, 0, 0])
    for distance, is_near in ((0.5 * NEAR, True), (2 * NEAR, False)):
        released = Released(here.theta - distance * step, here.root, found, kept)
        with jax.enable_x64(True):
            near, far = recalled([released], lambda _: here, here, None, 5000, simulated())
        assert bool(np.any(near.precision)) == is_near
        assert bool(np.any(far.precision)) != is_near


def test_a_sum_says_where_the_estimate_is_from_wherever_it_is_read():
    """The same sum, read at its own place and a little away: the same estimate, within a tenth of its error."""
    here, found = measured(theta=TRUTH + np.array([0.02, 0.05, -0.02]))
    places = [here, here.__class__(**(vars(here) | {"theta": here.theta - np.array([0.02, 0.05, -0.02])}))]
    with jax.enable_x64(True):
        read = [Said.of(here, found, there, None, 5000, simulated()).knowledge for there in places]
    one, two = (np.linalg.solve(knowledge.precision, knowledge.weighted) for knowledge in read)
    spread = np.sqrt(np.diag(np.linalg.inv(read[0].precision)))
    assert np.all(np.abs(one - two) < 0.1 * spread)
