"""A plan is complete: what it says is what runs, whoever runs it and whatever stands beside it."""

import inspect

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.methods import as_method
from tests.likelihood.settings import cheap_sampler  # noqa: F401  (a fixture)
from tests.scores.settings import few_simulated  # noqa: F401  (a fixture)

MODEL = dp.models.GaussianMean(2)
RECORDS = np.random.default_rng(0).normal(size=(400, 2))
BUDGET = dp.Budget(1.0, 1e-6)
KERNEL = dp.dp_barker(step=0.05, clip=0.005)
METHODS = {
    "chain": dp.Chain(KERNEL, warmup=5),
    "likelihood": dp.LikelihoodRelease(),
    "scores": dp.ScoreRelease(),
    "posterior draws": dp.PosteriorDraws(0.01, 64),
    "default chain": dp.Chain(),
}


@pytest.mark.usefixtures("cheap_sampler", "few_simulated")
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(method, id=name, marks=[pytest.mark.slow] * (name in ("default chain", "likelihood")))
        for name, method in METHODS.items()
    ],
)
def test_plan_then_sample_is_sample(method):
    """Every setting that dp.sample takes goes through the plan, and nothing else decides."""
    given = {"method": method, "draws": 20, "chains": 3, "temperature": 0.5, "init": np.array([0.1, -0.1])}
    plan = dp.plan(MODEL, len(RECORDS), BUDGET, **given)
    planned = plan.sample(RECORDS, seed=3, progress=False)
    direct = dp.sample(MODEL, RECORDS, 1.0, 1e-6, **given, seed=3, progress=False)
    assert np.array_equal(planned.draws["theta"], direct.draws["theta"])
    assert planned.settings == direct.settings
    assert planned.receipts == plan.receipts == direct.receipts
    assert planned.draws["theta"].shape[0] == 3
    if getattr(plan, "filter", None) is None:
        assert planned.count - planned.warmup == 20
    else:  # the cost depends on the moves: the plan says that it may end before
        assert "about" in plan.notes[-1]
        assert "of the 26 steps" in str(plan)
    assert planned.settings["temperature"] == 0.5


def test_a_plan_starts_where_it_was_told_to():
    plan = dp.plan(MODEL, len(RECORDS), BUDGET, method=dp.Chain(KERNEL, warmup=0), draws=5, init=np.array([5.0, 5.0]))
    release = plan.sample(RECORDS, seed=1, progress=False)
    assert np.all(np.abs(release.draws["theta"] - 5.0) < 1.5)


def test_a_plan_belongs_to_its_model():
    """There is no way to run a plan on another model: it holds its own."""
    assert "model" not in inspect.signature(dp.Plan.sample).parameters
    assert "plan" not in inspect.signature(dp.sample).parameters
    wide, narrow = (dp.models.GaussianMean(2, prior_std=s) for s in (100.0, 1e-3))
    runs = [
        dp.plan(model, len(RECORDS), BUDGET, method=dp.Chain(KERNEL, warmup=0), draws=200).sample(
            RECORDS + 3.0, seed=1, progress=False
        )
        for model in (wide, narrow)
    ]
    assert np.abs(runs[1].draws["theta"][:, 100:]).max() < np.abs(runs[0].draws["theta"][:, 100:]).max()


@pytest.mark.parametrize(
    "method",
    [dp.Chain(KERNEL), dp.LikelihoodRelease(), dp.ScoreRelease(), dp.PosteriorDraws(1.0)],
    ids=["chain", "likelihood", "scores", "posterior draws"],
)
def test_a_plan_for_another_number_of_records_is_refused(method):
    plan = dp.plan(MODEL, 399, BUDGET, method=method)
    with pytest.raises(ValueError, match="n = 399 records, the data hold 400"):
        plan.sample(RECORDS)


def test_a_kernel_is_a_method():
    one = dp.plan(MODEL, len(RECORDS), BUDGET, method=KERNEL, draws=30)
    two = dp.plan(MODEL, len(RECORDS), BUDGET, method=dp.Chain(KERNEL), draws=30)
    assert (one.kernel, one.steps, one.warmup) == (two.kernel, two.steps, two.warmup) == (KERNEL, 40, 10)


def test_the_default_is_for_the_model():
    """Scores where a model has covariates or cannot simulate, the likelihood as a function otherwise."""
    bounds = {"a": (-1, 1)}
    assert isinstance(as_method(None, MODEL), dp.LikelihoodRelease)
    for model in (dp.models.LogisticRegression(bounds), dp.models.LinearRegression(bounds, outcome=(0, 1))):
        assert isinstance(as_method(None, model), dp.ScoreRelease)
        assert isinstance(dp.plan(model, 400, BUDGET), dp.ScorePlan)
        assert isinstance(dp.plan(model, 400, BUDGET, init=model.init), dp.ScorePlan)  # another start, the same model
    own = {"log_prior": lambda theta: 0.0, "log_likelihood": lambda theta, x: 0.0, "init": 0.0}
    given = dp.Model(**own, covariates=lambda x: x, simulate_given=lambda key, theta, x: x)
    assert isinstance(as_method(None, given), dp.ScoreRelease)
    assert isinstance(as_method(None, dp.Model(**own)), dp.ScoreRelease)
    simulates = dp.Model(**own, simulate=lambda key, theta, n: theta)
    assert isinstance(as_method(None, simulates), dp.LikelihoodRelease)


def test_draws_are_counted_after_warm_up():
    assert dp.plan(MODEL, 400, BUDGET, method=dp.Chain(KERNEL, warmup=7), draws=30).steps == 37
    whole = dp.plan(MODEL, 400, BUDGET, method=KERNEL)
    assert whole.warmup == whole.steps // 4


def test_sample_names_no_method():
    """It has only parameters that mean the same for all methods; what is particular to one lives on that one."""
    shared = set(inspect.signature(dp.sample).parameters)
    for method in (dp.Chain, dp.LikelihoodRelease, dp.ScoreRelease, dp.PosteriorDraws):
        assert not shared & set(inspect.signature(method).parameters)
        assert set(inspect.signature(method.plan).parameters) - {"self"} <= shared | {"n", "budget"}
    assert len(shared) <= 15  # two for the data, three for the budget, ten for the run


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "chain"}, r"method= takes an object.*got 'chain'"),
        ({"method": dp.Chain}, "parentheses missing"),
        ({"method": dp.dp_barker}, "parentheses missing"),
        ({"method": dp.RandomWalk(0.1)}, "method= takes an object"),
        ({"chains": 0}, "chains must be .* got 0"),
        ({"draws": 0}, "draws must be .* got 0"),
        ({"temperature": 2.0}, "temperature must lie in"),
        ({"spent": dp.Budget(1.0, 1e-6)}, "spent= takes what was released.*got Budget"),
        ({"method": dp.Chain(dp.algorithms.metropolis(0.1)), "draws": 5, "spent": "fit"}, "got str"),
        ({"method": dp.Chain(dp.algorithms.metropolis(0.1))}, "say how many draws"),
    ],
)
def test_what_cannot_be_honoured_raises(given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        dp.plan(MODEL, 400, BUDGET, **given)


def test_settings_that_a_method_would_ignore_raise():
    with pytest.raises(TypeError, match=r"kernel must be a kernel such as.*got 'nuts'"):
        dp.Chain("nuts")
    with pytest.raises(TypeError, match="has no log_prior"):
        dp.plan(lambda theta: 0.0, 400, BUDGET)
    for method in (None, dp.Chain(), dp.ScoreRelease(), dp.PosteriorDraws(1.0)):
        with pytest.raises(ValueError, match="give a budget"):
            dp.plan(MODEL, 400, None, method=method)
    with pytest.raises(TypeError, match="unexpected keyword"):
        dp.sample(MODEL, RECORDS, 1.0, 1e-6, warmup=3)
