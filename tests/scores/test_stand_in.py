"""Models that do not simulate: sizes and lengths from counts, releases that are right or say that they are not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, radius, vectors
from dpmcmc.scores.curvature import Doubt, learn
from dpmcmc.scores.lengths import Lengths
from dpmcmc.scores.measure import measure
from dpmcmc.scores.method import ScorePlan
from dpmcmc.scores.picture import picture
from dpmcmc.scores.plan import MOST_RELEASES
from dpmcmc.scores.stages import BLIND_SCOUTS
from dpmcmc.scores.stand_in import StandIn, of_sizes
from dpmcmc.scores.sums import ScoreSums
from tests.scores.problems import (
    BARE,
    LINEAR,
    MU,
    SIGMA,
    NumbersReader,
    flat_draws,
    in_order,
    laplace_posterior,
    linear_posterior,
    linear_records,
)
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

TRUTH = np.array([0.3, -0.2, 0.2])
BUDGET = dp.Budget(1.0, 1e-6)

LOCATION_SCALE = dp.Model(
    log_prior=lambda t: -0.5 * (t["mean"] ** 2 + t["log_scale"] ** 2) / 25,
    log_likelihood=lambda t, x: -0.5 * ((x - t["mean"]) * jnp.exp(-t["log_scale"])) ** 2 - t["log_scale"],
    init={"mean": 0.0, "log_scale": 0.0},
)


def stand_in(information, count=8192):
    return StandIn(RaveledModel.of(BARE), np.asarray(information), np.random.default_rng(0), count)


def real_information(n=20_000):
    data = linear_records(n)
    design = np.column_stack([data["x"], np.ones(n)])
    return design.T @ design / n / SIGMA**2


def test_sizes_of_curvatures_are_found_to_a_factor():
    """Bins are a factor of four wide: within three of the mean, also for one that a tenth of the records have."""
    data = linear_records(20_000)
    data["x"][:, 1] = np.random.default_rng(1).random(20_000) < 0.1
    with jax.enable_x64(True):
        found = of_sizes(NumbersReader(BARE, data, MU), TRUTH, np.random.default_rng(0), 100)
        sizes = np.diag(found.information(TRUTH))
    real = np.append(np.mean(data["x"] ** 2, axis=0), 1.0) / SIGMA**2
    assert np.all(np.abs(np.log(sizes / real)) < np.log(3))


def test_records_that_say_nothing_have_the_least_size():
    """Then it is what the prior has of a record, and nothing fails."""
    data = linear_records(2000)
    data["x"] *= 0
    with jax.enable_x64(True):
        found = of_sizes(NumbersReader(BARE, data, MU), TRUTH, np.random.default_rng(0), 100)
    sizes = np.diag(found.information(TRUTH))
    np.testing.assert_allclose(sizes[:2], 1 / 2.5**2 / 2000)
    assert sizes[2] > 1


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10), st.floats(0.8, 2.5), st.sampled_from([10.0, 60.0]))
def test_lengths_follow_the_counts(seed, scale, exponent, std):
    """Norms that are as supposed, 20 000 of them: upper quantiles within a half."""
    rng = np.random.default_rng(seed)
    norms, n = np.linalg.norm(rng.normal(size=(8192, 3)), axis=1), 20_000
    middle = np.median(norms)
    real = middle * scale * (np.linalg.norm(rng.normal(size=(n, 3)), axis=1) / middle) ** exponent
    edges = radius.norm_edges(norms, blind=True)
    counts = np.bincount(np.searchsorted(edges[:-1], real), minlength=len(edges)) + std * rng.normal(size=len(edges))
    found = Lengths.fitted(edges, counts, std, norms, n)
    for share in (0.5, 0.75, 0.95):
        ratio = np.quantile(found.of(norms), share) / np.quantile(real, share)
        assert abs(np.log(ratio)) < np.log(1.5)
    vectors = rng.normal(size=(100, 3))
    np.testing.assert_allclose(
        np.linalg.norm(found.carried(vectors), axis=1), found.of(np.linalg.norm(vectors, axis=1))
    )


def test_what_stand_ins_do_not_know_widens_clips_and_errors():
    """The same records and normal scores, once as simulated ones and once blind: the clip is not shorter by much, and
    what it takes in unknown directions is an error."""
    data, found = linear_records(20_000), []
    with jax.enable_x64(True):
        here = picture(stand_in(real_information()).at(TRUTH), np.eye(3), 20_000)
        arguments = (jnp.asarray(here.theta), jnp.asarray(here.root))
        for blind in (False, True):
            reader, shares = NumbersReader(BARE, data, MU, noise=0.0), (0.02, 0.3)
            found.append(measure(reader, vectors.scores, arguments, here.features, shares, here.harm, (), blind))
    knows, blind = found
    assert blind.clip > knows.clip * 0.9
    assert blind.aside > 0 == knows.aside
    assert blind.lengths is not None
    assert knows.lengths is None


def test_curvatures_correct_the_size_and_find_correlations():
    """From a diagonal that is off by factors, two releases at ε = 1: within a third of the real information."""
    real = real_information()
    start = stand_in(np.diag(np.diag(real)) * [2.0, 0.5, 1.5])
    reader = NumbersReader(BARE, linear_records(20_000), MU)
    known = (np.eye(3), 0.5)
    with jax.enable_x64(True):
        for _ in range(2):
            found = learn(RaveledModel.of(BARE), reader, (TRUTH, TRUTH), known, start, (0.06, 0.01, 0.08))
            known = (found.ratio, found.doubt.typical)
        here = picture(start.at(TRUTH), found.ratio, 20_000)
    inverse = np.linalg.inv(np.linalg.cholesky(here.information))
    assert np.abs(np.linalg.eigvalsh(inverse @ real @ inverse.T) - 1).max() < 0.34


def test_doubt_grows_with_the_distance_from_where_curvatures_were_released():
    doubt = Doubt(np.eye(2), np.full((2, 2), 0.03), 2, bends=0.5)
    assert doubt.elsewhere(np.zeros(2)).typical == pytest.approx(0.03)
    assert doubt.elsewhere(np.array([0.6, 0.8])).typical == pytest.approx(np.hypot(0.03, 0.5))
    assert doubt.elsewhere(np.array([60.0, 80.0])).typical == 1.0


def test_a_matrix_without_signs():
    a = np.array([[1.0, 2.0], [2.0, -3.0]])
    np.testing.assert_allclose(matrices.magnitude(a) @ matrices.magnitude(a), a @ a, atol=1e-12)
    assert np.linalg.eigvalsh(matrices.magnitude(a))[0] > 0


def off(release, mean):
    made = flat_draws(release)
    return np.abs(made.mean(axis=0) - mean) / made.std(axis=0)


def test_a_linear_regression_that_does_not_simulate():
    """n = 5000 at ε = 1: within 5 of its own standard deviations, never too sure, by the default method."""
    mean, covariance = linear_posterior(linear_records())
    mean, covariance = in_order(LINEAR, mean), in_order(LINEAR, np.diag(covariance))
    release = dp.sample(BARE, linear_records(), 1.0, 1e-6, seed=1, progress=False)
    assert isinstance(release.sums, ScoreSums)
    assert release.quality.verdict in (USABLE, WIDE)
    assert np.all(off(release, mean) < 5)
    made = flat_draws(release).std(axis=0)
    assert np.all((made > 0.9 * np.sqrt(covariance)) & (made < 5 * np.sqrt(covariance)))
    assert "the size of curvatures" in release.method.lower()


@pytest.mark.slow
def test_a_scale_far_from_where_the_search_begins():
    """A mean 2 and a scale 1.5 from (0, 1), n = 5000 at ε = 3."""
    data = np.random.default_rng(0).normal(2.0, 1.5, 5000)
    release = dp.sample(LOCATION_SCALE, data, 3.0, 1e-6, seed=1, progress=False)
    assert release.quality.verdict in (USABLE, WIDE)
    assert np.all(off(release, np.array([np.log(data.std()), data.mean()])) < 5)
    assert release.quality.mean_error < 1.5


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_what_cannot_be_found_is_not_usable():
    """A start at which a record is a thousand standard deviations away, and one with next to no budget."""
    data = np.random.default_rng(0).normal(1000.0, 1.0, 2000)
    assert dp.sample(LOCATION_SCALE, data, 1.0, 1e-6, seed=1, progress=False).quality.verdict == NOT_USABLE
    assert dp.sample(LOCATION_SCALE, data - 1000, 0.01, 1e-6, seed=1, progress=False).quality.verdict == NOT_USABLE


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_a_likelihood_without_curvature_is_not_usable():
    """−|x − θ| has none anywhere, though its sum has a peak."""
    model = dp.Model(lambda t: -0.5 * t**2, lambda t, x: -jnp.abs(x - t), init=0.0)
    data = np.random.default_rng(0).laplace(0.3, 1.0, 5000)
    assert dp.sample(model, data, 1.0, 1e-6, seed=1, progress=False).quality.verdict == NOT_USABLE


def test_what_cannot_be_differentiated_is_refused_before_records_are_read():
    def loops(theta, x):
        return -(jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * theta + x), (0, theta))[1] ** 2)

    plan = dp.plan(dp.Model(lambda t: -0.5 * t**2, loops, init=0.0), 100, BUDGET)
    with pytest.raises(ValueError, match=r"cannot be differentiated twice.*LikelihoodRelease"):
        plan.sample(np.zeros(100), progress=False)


def test_a_plan_says_that_it_cannot_be_rehearsed_and_the_least_error():
    plan = dp.plan(BARE, 5000, BUDGET)
    assert isinstance(plan, ScorePlan)
    assert "cannot be rehearsed" in str(plan)
    assert f"{plan.least_error:.2g} posterior standard deviations" in str(plan)
    assert plan.least_error == pytest.approx(2 * np.sqrt(3) / (np.sqrt(0.6) * plan.rule.mu * np.sqrt(5000)))
    with pytest.raises(ValueError, match="no public_data are given"):
        _ = plan.expected


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_public_records_are_begun_and_rehearsed_with():
    plan = dp.plan(BARE, 5000, BUDGET, method=dp.ScoreRelease(public_data=linear_records(3000, seed=7)))
    assert plan.expected.mean_error > plan.least_error
    assert "Expected, from rehearsals" in str(plan)


def test_the_releases_are_counted():
    """Sizes twice, four for a scout and the approach, two for each of the last sums."""
    assert 2 + 4 * BLIND_SCOUTS + 4 + 2 + 2 <= MOST_RELEASES


@pytest.mark.slow
def test_failures_are_seldom_silent():
    """Twelve runs of two models, at ε = 1 and 3: none off by more than 5 of its standard deviations unless it says so.

    Intervals include the noise, so that means are off by 5 with probability 6·10⁻⁷ each if all is as supposed.
    """
    data = np.random.default_rng(0).normal(2.0, 1.5, 5000)
    exact = {
        "scale": np.array([np.log(data.std()), data.mean()]),
        "linear": laplace_posterior(LINEAR, linear_records())[0],
    }
    for seed in range(3):
        for epsilon in (1.0, 3.0):
            scale = dp.sample(LOCATION_SCALE, data, epsilon, 1e-6, seed=seed, progress=False)
            linear = dp.sample(BARE, linear_records(), epsilon, 1e-6, seed=seed, progress=False)
            for name, release in (("scale", scale), ("linear", linear)):
                assert release.quality.verdict == NOT_USABLE or np.all(off(release, exact[name]) < 5)
