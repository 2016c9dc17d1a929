"""The default for regressions, end to end: right within the noise that its intervals say, honest where it is not."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import dpmcmc as dp
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE
from dpmcmc.scores.quality import ScoreQuality, Variances
from dpmcmc.scores.sums import ScoreSums
from tests.scores.problems import (
    LINEAR,
    LOGISTIC,
    MU,
    POISSON,
    SIGMA,
    flat_draws,
    in_order,
    laplace_posterior,
    linear_posterior,
    linear_records,
    logistic_records,
    poisson_records,
    release_of,
)
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

SPREAD_ERROR = 4.5 / np.sqrt(2 * 2048)  # of a standard deviation of 2048 draws


def check(release, mean, std):
    """Off by at most 5 of its own standard deviations (which include the noise: 6·10⁻⁷ a parameter), never too sure."""
    made = flat_draws(release)
    assert release.quality.verdict in (USABLE, WIDE), release.quality.reason
    assert np.all(np.abs(made.mean(axis=0) - mean) <= 5 * made.std(axis=0))
    assert np.all(made.std(axis=0) >= std * (1 - SPREAD_ERROR))
    assert np.all(made.std(axis=0) < 3 * std)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_linear_regression_against_its_closed_form(seed):
    """n = 5000 at ε = 1, against the noise by hand: a clip C that one record in a hundred passes, 60 % of μ².

    The noise moves a mean by 2C/(√0.6 μ √n) posterior standard deviations, 0.7 here.
    """
    data = linear_records()
    mean, covariance = linear_posterior(data)
    design = np.column_stack([np.ones(5000), data["x"]])
    lengths = np.sqrt(5000 * np.sum((design @ covariance) * design, axis=1)) / SIGMA
    norms = lengths * np.abs(data["y"] - design @ mean) / SIGMA
    by_hand = 2 * np.quantile(norms, 0.99) / (np.sqrt(0.6) * MU * np.sqrt(5000))
    release = release_of("linear", seed=seed)
    check(release, in_order(LINEAR, mean), in_order(LINEAR, np.sqrt(np.diag(covariance))))
    assert 0.5 < release.quality.mean_error / by_hand < 1.5


@pytest.mark.slow
def test_a_logistic_regression_near_separation():
    """y ~ σ(9x), far from where the search begins, with records far longer than those simulated there."""
    mode, covariance = laplace_posterior(LOGISTIC, logistic_records())
    release = release_of("logistic")
    check(release, mode, np.sqrt(np.diag(covariance)))
    assert abs(release.draws["a"].mean() - 9.0) < 1.0


@pytest.mark.slow
def test_counts():
    mode, covariance = laplace_posterior(POISSON, poisson_records())
    check(release_of("poisson"), mode, np.sqrt(np.diag(covariance)))


@pytest.mark.slow
def test_errors_are_as_large_as_the_quality_says():
    """Four runs, three parameters: the mean square of errors over their said variance within 4.5 standard errors."""
    exact, covariance = linear_posterior(linear_records())
    exact, variance = in_order(LINEAR, exact), in_order(LINEAR, np.diag(covariance))
    ratios = []
    for seed in range(1, 5):
        release = release_of("linear", seed=seed)
        made = flat_draws(release)
        noise = np.maximum(made.var(axis=0) - variance, 0.02 * variance)
        ratios.append(np.mean((made.mean(axis=0) - exact) ** 2 / noise))
    assert np.mean(ratios) < 1 + 4.5 * np.sqrt(2 / 12)
    assert np.mean(ratios) > 0.1


@pytest.mark.slow
@pytest.mark.usefixtures("few_simulated")
def test_few_records_and_a_small_budget_are_not_usable_and_it_is_said_first():
    """n = 50 at ε = 0.1, and the draws know it: wherever they are, they are no surer than without privacy."""
    data = linear_records(50)
    for seed in range(3):
        release = dp.sample(LINEAR, data, 0.1, 1e-6, seed=seed, progress=False)
        assert release.quality.verdict == NOT_USABLE
        assert str(release).startswith("Verdict: not usable. ")
        assert "larger epsilon, more records" in str(release).splitlines()[0]
        spread = in_order(LINEAR, np.sqrt(np.diag(linear_posterior(data)[1])))
        assert np.all(flat_draws(release).std(axis=0) > spread * (1 - SPREAD_ERROR))


STRANGE = {
    "constant outcome": lambda data: data | {"y": np.full(50, 0.3)},
    "constant covariate": lambda data: data | {"x": data["x"] * [1.0, 0.0]},
    "covariate at its bound": lambda data: data | {"x": data["x"] * [1.0, 0.0] + [0.0, 1.0]},
    "all the same": lambda data: {"x": np.zeros((50, 2)), "y": np.zeros(50)},
    "two covariates alike": lambda data: data | {"x": data["x"][:, [0, 0]]},
    "outcomes far out": lambda data: data | {"y": 1e6 * data["y"]},
}


@pytest.mark.filterwarnings("error::RuntimeWarning:dpmcmc")
@pytest.mark.usefixtures("few_simulated")
@pytest.mark.parametrize("epsilon", [0.1, 100.0])
@pytest.mark.parametrize("strange", STRANGE)
def test_degenerate_records_do_not_crash(strange, epsilon):
    release = dp.sample(LINEAR, STRANGE[strange](linear_records(50)), epsilon, 1e-6, seed=1, progress=False)
    assert np.all(np.isfinite(flat_draws(release)))
    assert release.quality.verdict in (USABLE, WIDE, NOT_USABLE)
    assert all(np.isfinite(value) for value in (release.quality.mean_error, release.quality.information_error))


def test_a_temperature_widens():
    """τ = 0.1: variances of the posterior itself are ten times as large, those of the noise the same."""
    cold, warm = release_of("linear"), release_of("linear", temperature=0.1)
    mean, covariance = linear_posterior(linear_records())
    exact = in_order(LINEAR, np.diag(covariance))
    made, tempered = flat_draws(cold).var(axis=0), flat_draws(warm).var(axis=0)
    np.testing.assert_allclose(tempered - made, 9 * exact, rtol=2 * SPREAD_ERROR + 0.1)
    assert np.all(np.abs(flat_draws(warm).mean(axis=0) - in_order(LINEAR, mean)) < 5 * np.sqrt(tempered))
    assert "tempered to count as 500" in warm.quality.describe()
    assert warm.quality.mean_error < 0.5 * cold.quality.mean_error


def test_public_records_take_the_place_of_the_description():
    """No covariate is counted then, and the means are right as before."""
    mean, covariance = linear_posterior(linear_records())
    method = dp.ScoreRelease(public_data=linear_records(2000, seed=7))
    plan = dp.plan(LINEAR, 5000, dp.Budget(1.0, 1e-6), method=method)
    assert "distribution" not in plan.describe()
    release = plan.sample(linear_records(), seed=1, progress=False)
    check(release, in_order(LINEAR, mean), in_order(LINEAR, np.sqrt(np.diag(covariance))))


def test_a_model_of_ones_own_behaves_as_the_built_in():
    """The same functions by hand: the same noise gives the same sums to rounding."""
    model = dp.Model(
        log_prior=LINEAR.log_prior,
        log_likelihood=LINEAR.log_likelihood,
        init=LINEAR.init,
        simulate=LINEAR.simulate,
        sample_prior=LINEAR.sample_prior,
        covariates=LINEAR.covariates,
        simulate_given=LINEAR.simulate_given,
        response=LINEAR.response,
        respond=LINEAR.respond,
    )
    release = dp.sample(model, linear_records(), 1.0, 1e-6, seed=1, progress=False)
    built_in = release_of("linear")
    assert isinstance(release.sums, ScoreSums)
    np.testing.assert_allclose(release.sums.weighted, built_in.sums.weighted, rtol=1e-6)
    np.testing.assert_allclose(flat_draws(release).mean(axis=0), flat_draws(built_in).mean(axis=0), rtol=1e-5)
    assert release.settings["model"] == "Model"


@pytest.mark.slow
def test_a_model_without_covariates():
    """A normal with unknown mean and scale, n = 400 at ε = 10, parameters of any shape."""
    model = dp.Model(
        log_prior=lambda theta: -0.5 * jnp.sum(theta["mean"] ** 2) / 100 - 0.5 * theta["log_scale"] ** 2,
        log_likelihood=lambda theta, x: jnp.sum(
            -0.5 * ((x - theta["mean"]) * jnp.exp(-theta["log_scale"])) ** 2 - theta["log_scale"]
        ),
        init={"mean": np.zeros(2), "log_scale": 0.0},
        simulate=lambda key, theta, n: theta["mean"] + jnp.exp(theta["log_scale"]) * jax.random.normal(key, (n, 2)),
    )
    data = np.random.default_rng(0).normal(size=(400, 2)) * 0.5 + [0.3, -0.2]
    release = dp.sample(model, data, 10.0, 1e-6, method=dp.ScoreRelease(), seed=1, progress=False)
    assert {name: values.shape for name, values in release.draws.items()} == {
        "mean": (2, 1024, 2),
        "log_scale": (2, 1024),
    }
    assert release.quality.verdict == USABLE
    std = (data - data.mean(axis=0)).std()
    made = flat_draws(release)
    exact = np.concatenate([[np.log(std)], data.mean(axis=0)])  # in the order of the release
    spread = np.array([np.sqrt(1 / (4 * 400)), *[std / np.sqrt(400)] * 2])
    np.testing.assert_array_equal(list(release.draws), ["log_scale", "mean"])
    assert np.all(np.abs(made.mean(axis=0) - exact) < 5 * made.std(axis=0))
    assert np.all((made.std(axis=0) > spread * (1 - SPREAD_ERROR)) & (made.std(axis=0) < 2 * spread))


@pytest.mark.usefixtures("few_simulated")
def test_a_plan_says_what_to_expect_and_what_would_help():
    """The rehearsals' error is the release's within a factor of two, and a small data set gets advice."""
    plan = dp.plan(LINEAR, 5000, dp.Budget(1.0, 1e-6))
    assert 0.5 < plan.expected.mean_error / release_of("linear").quality.mean_error < 2
    assert "no record is read and nothing is spent yet" in str(plan)
    low, high = plan.likely
    assert low < plan.expected.mean_error < high
    assert f"For real records, often rarer or longer-tailed than simulated ones, allow for {low:.2g} to" in str(plan)
    assert plan.guarantee.epsilon == 1.0
    tight = dp.plan(LINEAR, 5000, dp.Budget(0.1, 1e-6))
    assert tight.expected.mean_error > 2 * plan.expected.mean_error
    assert "epsilon near" in str(tight)
    assert "temperature near" in str(tight)


GOOD = {
    "mean_error": 0.3,
    "surprise": 0.4,
    "information_error": 0.02,
    "worst_information": 0.1,
    "bend": 0.1,
    "like_prior": 0.1,
    "least_error": 0.2,
    "telling": 100.0,
    "clipped": 0.01,
    "stages": 5,
    "failed": False,
    "n": 100,
    "temperature": 1.0,
    "widening": 1.1,
}


@pytest.mark.parametrize(
    ("worse", "verdict", "says"),
    [
        ({}, USABLE, "about 0.30 posterior standard deviations"),
        ({"mean_error": 2.0}, WIDE, "about 2.0 posterior standard deviations"),
        ({"widening": 1.5}, WIDE, "about 1.5 times as wide"),
        ({"surprise": 1e-5}, NOT_USABLE, "contradicts the ones before it"),
        ({"information_error": 0.3}, NOT_USABLE, "hides how much the records tell"),
        ({"worst_information": 0.7}, NOT_USABLE, "hides how much the records tell"),
        ({"bend": 1.5}, NOT_USABLE, "far from normal"),
        ({"least_error": 3.0}, NOT_USABLE, "at best means would be off by 3.0"),
        ({"telling": 10.0}, NOT_USABLE, "in a few records, and the noise hides so few"),
        ({"like_prior": 0.95}, NOT_USABLE, "hardly more than the prior"),
        ({"failed": True}, NOT_USABLE, "ended early for numerical reasons"),
        ({"mean_error": float("nan")}, NOT_USABLE, ""),
    ],
)
def test_verdicts(worse, verdict, says):
    quality = ScoreQuality(**GOOD | worse)
    assert quality.verdict == verdict
    assert says in quality.reason
    assert quality.describe()
    assert dp.Quality.from_dict(json.loads(json.dumps(quality.to_dict()))).verdict == verdict


def test_effective_draws_are_those_of_the_error():
    assert ScoreQuality(**GOOD | {"mean_error": 0.5}).effective_draws == pytest.approx(4)


def test_the_error_is_the_typical_one_and_intervals_are_wider():
    """Of two parameters, with private variances 5 and 2, of which 3 and 2 are typical, where 1 is exact."""
    variances = Variances(np.array([5.0, 2.0]), np.ones(2), np.array([0.6, 1.0]))
    assert variances.error == pytest.approx(np.sqrt((2 + 1) / 2))
    assert variances._replace(typical=1.0).error == pytest.approx(np.sqrt((4 + 1) / 2))
    release = release_of("linear")
    assert release.quality.widening > np.sqrt(1 + release.quality.mean_error**2)


def test_draws_are_not_read_as_a_chain():
    release = release_of("linear")
    assert release.sample_stats == {}
    assert list(release.summary().columns) == ["mean", "sd", "hdi_5%", "hdi_95%"]
    assert not any(word in str(release) for word in ("r_hat", "R-hat", "ess"))
    assert release.to_arviz().posterior.attrs["verdict"] == release.quality.verdict


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (dp.Model(lambda t: 0.0, lambda t, x: -t * x, init=0), "real parameters"),
        (
            dp.Model(lambda t: 0.0, lambda t, x: -t * x, init=0, simulate=lambda k, t, n: jnp.zeros(n)),
            "real parameters",
        ),
    ],
)
def test_what_the_method_needs_is_said(model, message):
    with pytest.raises((TypeError, ValueError), match=message):
        dp.plan(model, 100, dp.Budget(1.0, 1e-6), method=dp.ScoreRelease())


def test_public_records_are_checked_when_planning():
    wrong = {"x": np.full((2, 2), np.nan), "y": np.zeros(2)}
    with pytest.raises(ValueError, match="NaN or infinity"):
        dp.plan(LINEAR, 100, dp.Budget(1.0, 1e-6), method=dp.ScoreRelease(public_data=wrong))


@pytest.mark.slow
def test_errors_are_as_said_where_all_scores_have_one_of_two_lengths():
    """Eight releases of a proportion: squared errors over what is said, in all between the 10⁻⁴ quantiles of χ²."""

    def simulate(key, theta, n):
        return jax.random.bernoulli(key, jax.nn.sigmoid(theta), (n,)).astype(float)

    model = dp.Model(
        lambda theta: -0.5 * theta**2,
        lambda theta, y: y * theta - jnp.logaddexp(0.0, theta),
        0.0,
        simulate=simulate,
    )
    ratios = []
    for seed, theta in enumerate((0.8, 0.1, -0.5, 1.2, 0.3, -0.9, 0.6, -0.2)):
        y = (np.random.default_rng(seed).random(5000) < 1 / (1 + np.exp(-theta))).astype(float)
        release = dp.sample(model, y, 1.0, 1e-6, method=dp.ScoreRelease(), seed=seed, progress=False)
        exact, covariance = laplace_posterior(model, y)
        error = (flat_draws(release).mean() - exact[0]) / np.sqrt(covariance[0, 0])
        ratios.append(error / release.quality.mean_error)
    assert stats.chi2.ppf(1e-4, 8) < np.sum(np.square(ratios)) < stats.chi2.ppf(1 - 1e-4, 8)
