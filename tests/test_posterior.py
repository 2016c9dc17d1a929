"""Public mistakes raise at once, with the value and the remedy; private values never do."""

import pickle

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.posterior import check_data

GAUSSIAN = dp.models.GaussianMean()
KERNEL = dp.dp_barker(step=0.1, clip=0.01)
RECORDS = np.zeros((100, 1))


def run(model=GAUSSIAN, data=RECORDS, epsilon=1.0, delta=1e-6, kernel=KERNEL, warmup=0, **settings):
    settings["method"] = dp.Chain(kernel, warmup=warmup)
    return dp.sample(model, data, epsilon=epsilon, delta=delta, progress=False, **settings)


@pytest.fixture
def no_reading(monkeypatch):
    """Fails the test if anything runs: a public mistake must be seen before the records are used."""

    def forbidden(*args, **kwargs):
        raise AssertionError("the chain was started")

    monkeypatch.setattr("dpmcmc.chain.run.start_chains", forbidden)


@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon must be positive.*0\.0"),
        ({"epsilon": -1.0}, r"epsilon must be positive.*-1\.0"),
        ({"epsilon": float("nan")}, "epsilon must be positive.*nan"),
        ({"delta": 0.0}, r"delta must lie strictly between 0 and 1.*0\.0"),
        ({"delta": 1.0}, r"delta must lie strictly between 0 and 1.*1\.0"),
        ({"epsilon": None}, "both epsilon and delta"),
        ({"epsilon": None, "delta": None}, "give a budget"),
        ({"data": {"x": np.zeros(5), "y": np.zeros(4)}}, r"disagree.*\['x'\]: 5.*\['y'\]: 4"),
        ({"data": np.zeros((0, 1))}, "empty: 0 records"),
        ({"data": {}}, "hold no arrays"),
        ({"data": np.float64(3.0)}, "single number"),
        ({"data": np.array([["a"], ["b"]])}, "dtype.*encode"),
        (
            {"data": np.array([[1.0, np.nan], [np.inf, np.nan]])},
            r"3 values \(column 0: 1, column 1: 2\).*drop or impute",
        ),
        ({"data": {"x": np.array([np.nan, 1.0])}}, r"\['x'\]: 1 of 2"),
        ({"temperature": 0.0}, r"temperature must lie in \(0, 1\].*0\.0"),
        ({"temperature": 1.5}, r"temperature must lie in \(0, 1\].*1\.5"),
        ({"chains": 0}, "chains must be a whole number of at least 1, got 0"),
        ({"draws": 0}, "draws must be .* got 0"),
        ({"draws": 2.5}, r"draws must be a whole number.*2\.5"),
        ({"draws": 10, "warmup": -1}, "warmup must be a whole number of at least 0, got -1"),
    ],
)
def test_public_mistakes_raise_before_anything_runs(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run(**settings)


def model(log_prior=lambda theta: 0.0, log_likelihood=lambda theta, x: -((x[0] - theta) ** 2), init=0.0):
    return dp.Model(log_prior, log_likelihood, init)


@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            model(log_likelihood=lambda theta, x: -((x - theta) ** 2)),
            r"log_likelihood must return one number.*\(1,\).*sum",
        ),
        (model(log_likelihood=lambda theta, x: jnp.int32(3)), "log_likelihood must return a real.*int32"),
        (model(log_likelihood=lambda theta, x: theta + 1j), "log_likelihood must return a real.*complex"),
        (model(log_prior=lambda theta: jnp.zeros(3)), r"log_prior must return one number.*\(3,\)"),
        (model(log_prior=lambda theta: jnp.where(theta > 0, 0.0, -jnp.inf)), "outside the prior's support"),
        (model(log_prior=lambda theta: jnp.log(theta - 1)), "log_prior.init. = nan"),
        (model(init=lambda key: {}), "no parameters"),
    ],
)
def test_broken_models_are_refused_before_anything_runs(broken, message):
    with pytest.raises((ValueError, TypeError), match=message):
        run(broken)


@pytest.mark.usefixtures("no_reading")
def test_a_budget_too_small_for_one_step_says_what_would_fit():
    with pytest.raises(ValueError, match="does not pay for 1 step of 2 chains") as error:
        run(kernel=dp.dp_barker(step=0.1, clip=50.0))
    text = str(error.value)
    fits = float(text.split("what would fit: epsilon = ")[1].split(",")[0])
    clip = float(text.split("a clip of ")[1].split(" ")[0])
    assert (
        dp.plan(
            GAUSSIAN, 100, dp.Budget(fits * 1.01, 1e-6), method=dp.Chain(dp.dp_barker(0.1, 50.0), warmup=0), draws=1
        ).steps
        == 1
    )
    assert dp.plan(GAUSSIAN, 100, dp.Budget(1.0, 1e-6), method=dp.dp_barker(0.1, clip * 0.95)).steps >= 1


@pytest.mark.usefixtures("no_reading")
def test_too_many_steps_say_how_many_fit():
    with pytest.raises(ValueError, match="does not pay for 900000 steps") as error:
        run(draws=900_000)
    most = int(str(error.value).split("steps = ")[1].split(" (")[0])
    assert dp.plan(GAUSSIAN, 100, dp.Budget(1.0, 1e-6), method=dp.Chain(KERNEL, warmup=0), draws=most).steps == most


def test_delta_not_below_one_over_n_warns():
    with pytest.warns(UserWarning, match=r"delta = 0\.02 is not below 1/n = 0\.01"):
        dp.plan(GAUSSIAN, 100, dp.Budget(1.0, 0.02), method=dp.Chain(KERNEL, warmup=0), draws=1)


@pytest.mark.usefixtures("no_reading")
@pytest.mark.parametrize(
    ("model", "data", "says"),
    [
        (dp.models.GaussianMean(2), np.zeros((50, 1)), r"a record has shape \(1,\), .* shape \(2,\)"),
        (dp.models.GaussianMean(1), np.zeros(50), r"a record has shape \(\), .* shape \(1,\)"),
        (dp.models.LogisticRegression({"a": (0, 1)}), {"a": np.zeros(9), "y": np.zeros(9)}, "encode the data"),
        (dp.Model(lambda t: 0.0, lambda t, r: r["x"] * t, 0.0), {"y": np.zeros(9)}, "KeyError: 'x'.*encode"),
    ],
)
def test_records_of_another_shape_are_refused(model, data, says):
    """Broadcasting would give a likelihood of something else."""
    with pytest.raises(ValueError, match=says):
        run(model, data)


def test_integer_parameters_need_a_proposal_of_their_own():
    with pytest.raises(TypeError, match=r"integer ones.*dp\.Custom"):
        run(dp.Model(lambda theta: 0.0, lambda theta, x: -0.1 * theta * x[0], init=3))


def test_a_scale_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="scale has 3 entries for 1 parameters"):
        run(kernel=dp.dp_barker(step=[1.0, 2.0, 3.0], clip=0.01))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_private_values_never_raise(value):
    """Some records' log likelihoods are not numbers at some parameters: the chain goes on and stays finite."""
    awkward = dp.Model(
        log_prior=lambda theta: -0.5 * theta**2,
        log_likelihood=lambda theta, x: jnp.where(x > 0.5, jnp.where(theta > 0.1, value, 0.0), -0.5 * (x - theta) ** 2),
        init=0.0,
    )
    release = run(awkward, np.random.default_rng(0).uniform(size=50), kernel=dp.dp_barker(0.3, 0.01), draws=100)
    assert np.all(np.isfinite(release.draws["theta"]))
    assert 0 < release.sample_stats["accepted"].mean() < 1


def test_a_move_outside_the_prior_is_never_accepted():
    half_line = dp.Model(
        log_prior=lambda theta: jnp.where(theta > 0, -theta, -jnp.inf),
        log_likelihood=lambda theta, x: 100.0 * -theta,
        init=0.01,
    )
    release = run(half_line, np.zeros(50), kernel=dp.dp_barker(1.0, 0.01), draws=60)
    assert np.all(release.draws["theta"] > 0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_data_of_any_lengths_pass_if_and_only_if_they_agree(lengths):
    data = [np.zeros((length, 2)) for length in lengths]
    if len(set(lengths)) == 1:
        assert len(check_data(data)) == len(lengths)
    else:
        with pytest.raises(ValueError, match="disagree"):
            check_data(data)


def test_a_posterior_shows_no_records_and_cannot_be_pickled():
    posterior = dp.Posterior.check(GAUSSIAN, np.full((3, 1), 12345.0))
    assert "12345" not in repr(posterior)
    with pytest.raises(TypeError, match="private records"):
        pickle.dumps(posterior)


@given(st.floats(1e-3, 1e9), st.integers(1, 10**9))
def test_a_coarsened_posterior_counts_fewer_records_than_there_are_and_than_beta(beta, n):
    """N₀ = nβ/(β + n) (Heikkilä et al. 2019, section 3.2), as 1/N₀ = 1/n + 1/β."""
    counts_as = dp.coarsened(beta, n) * n
    assert 1 / counts_as == pytest.approx(1 / n + 1 / beta)
    assert 0 < counts_as <= min(n, beta) * (1 + 1e-12)
