"""A plan of chains says what to expect of it, from simulated records alone."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.chain import advice, rehearsal
from dpmcmc.chain.laplace import Fit, Laplace, nearest
from dpmcmc.chain.quality import RehearsedQuality
from dpmcmc.chain.rehearsal import middle, rehearsal_of
from dpmcmc.chain.thinning import thinned
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE

GAUSSIAN = dp.models.GaussianMean(2, prior_std=1.0)
LARGE = dp.Budget(1e6, 1e-6)
GOOD = RehearsedQuality(400.0, 1.0, 1000, 1.0, 2000, 0.1, 1.0)


def gaussian_plan(epsilon, n=20_000, **given):
    """A step of 1.4 posterior standard deviations and a clip that hardly clips, at n = 20 000."""
    scale = (20_000 / n) ** 0.5
    kernel = dp.dp_barker(step=0.01 * scale, clip=0.04 * scale)
    return dp.plan(GAUSSIAN, n, dp.Budget(epsilon, 1e-6), method=kernel, **given)


@pytest.fixture
def quick(monkeypatch):
    """One rehearsal of a tenth of the steps and the work, for what is said of it rather than how right it is."""
    monkeypatch.setattr(rehearsal, "TRIALS", 1)
    monkeypatch.setattr(rehearsal, "WORK", 4e6)
    monkeypatch.setattr(rehearsal, "DECISIONS", 2000)
    monkeypatch.setattr(advice, "DECISIONS", 2000)


@pytest.mark.usefixtures("quick")
@pytest.mark.slow
def test_a_useless_plan_says_so_and_what_would_be_of_use():
    plan = gaussian_plan(1.0)
    assert plan.steps < 100
    assert plan.expected.verdict == NOT_USABLE
    text = str(plan)
    assert "not usable" in text
    assert "This plan is of no use" in text
    for remedy in ("epsilon near", "records, with a step and a clip", "temperature=", "the default method"):
        assert remedy in text


@pytest.mark.usefixtures("quick")
def test_a_good_plan_is_called_usable():
    plan = gaussian_plan(20.0, draws=750)
    assert plan.expected.verdict == USABLE, plan.expected
    assert plan.expected.posterior_error < 0.5
    assert "usable. " in str(plan)
    assert "no use" not in str(plan)
    assert plan.advice == ""


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_too_few_draws_for_a_budget_that_pays_for_more():
    text = str(gaussian_plan(20.0, draws=30))
    assert "This plan is of no use: 40 steps" in text
    assert "for which this budget pays as well" in text


@pytest.mark.usefixtures("quick")
def test_a_clip_that_bends_the_target_is_not_cured_by_steps():
    kernel = dp.dp_barker(step=0.1, clip=0.002)  # log ratios are about 0.1
    plan = dp.plan(GAUSSIAN, 1000, dp.Budget(1.0, 1e-6), method=kernel)
    assert plan.expected.verdict != USABLE
    assert "More steps are no remedy" in str(plan)


@pytest.mark.parametrize(("epsilon", "useless"), [(1.0, True), (20.0, False)])
def test_models_that_cannot_simulate_are_judged_by_their_steps(epsilon, useless):
    model = dp.Model(GAUSSIAN.log_prior, GAUSSIAN.log_likelihood, init=GAUSSIAN.init)
    kernel = dp.dp_barker(step=0.01, clip=0.06)
    plan = dp.plan(model, 20_000, dp.Budget(epsilon, 1e-6), method=kernel)
    assert plan.expected is None
    assert plan.rehearsals == ()
    text = str(plan)
    assert "Not rehearsed: Model cannot simulate" in text
    assert f"{plan.chains * (plan.steps - plan.warmup):,} at most" in text
    assert ("This plan is of no use" in text) == useless
    assert ("epsilon near" in text) == useless


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_public_records_are_rehearsed_on():
    public = np.random.default_rng(0).normal(size=(300, 2)) + 0.2
    model = dp.Model(GAUSSIAN.log_prior, GAUSSIAN.log_likelihood, init=GAUSSIAN.init)
    method = dp.Chain(dp.dp_barker(step=0.05, clip=0.2), public_data=public)
    plan = dp.plan(model, 1000, LARGE, method=method, draws=300)
    assert "rehearsals on the public records" in str(plan)
    assert plan.expected.posterior_error < 0.5


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_filters_stop_rehearsals_as_they_stop_chains():
    """The cost of a step on few records at a higher temperature is that of the plan's."""
    plan = dp.plan(GAUSSIAN, 200_000, dp.Budget(1.0, 1e-6), method=dp.Chain())
    few = rehearsal_of(plan, plan.steps)
    assert few.records < plan.n / 10
    assert few.temperature == pytest.approx(plan.temperature * plan.n / few.records)
    assert 0.4 * plan.steps < plan.expected.steps < 0.65 * plan.steps  # twice as many are planned as are typical


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_parameters_without_a_mode_are_rehearsed_too():
    """Whole-number parameters: effective draws can be told, the distance to the posterior cannot."""
    model = dp.Model(
        log_prior=lambda k: 0.0 * k,
        log_likelihood=lambda k, x: -0.5 * (x - 0.1 * k) ** 2,
        init=0,
        simulate=lambda key, k, n: 0.1 * k + jax.random.normal(key, (n,)),
    )

    class Neighbour(dp.RandomWalk):
        def init(self, position):
            return ()

        def propose(self, key, position, memory):
            return dp.Move(position + jax.random.choice(key, np.array([-1, 1])))

    plan = dp.plan(model, 200, LARGE, method=dp.dp_barker(Neighbour(1.0), clip=0.4), draws=200)
    assert np.isnan(plan.expected.posterior_error)
    assert np.isfinite(plan.expected.effective_draws)
    assert "the distance to the posterior is not known" in str(plan)
    assert "simulated at the start;" in str(plan)


def test_kernels_that_few_records_cannot_stand_for():
    own = type("Own", (), {})()
    assert thinned(own, 10.0) is None
    plan = dp.plan(GAUSSIAN, 20_000, dp.Budget(20.0, 1e-6), method=dp.dp_sgld(step=1e-5, clip=4.0), draws=6000)
    whole = rehearsal_of(plan, plan.steps)
    assert whole.records == plan.n
    assert whole.kernel is plan.kernel
    assert whole.steps < plan.steps
    many = replace(plan, n=30_000_000)
    assert "too many to rehearse" in rehearsal.why_not(many)


def test_planning_rehearses_nothing(monkeypatch):
    """A plan is made at once, and a run asks for no rehearsal."""
    monkeypatch.setattr(rehearsal, "run_trial", lambda *_: pytest.fail("rehearsed"))
    plan = gaussian_plan(1e6, n=400, draws=5)
    plan.sample(np.zeros((400, 2)), seed=0, progress=False)
    assert "rehearsals" not in vars(plan)


def test_the_middle_takes_what_cannot_be_told_as_the_worst():
    nan = float("nan")
    trials = tuple(replace(GOOD, effective_draws=ess, r_hat=r) for ess, r in ((nan, nan), (10.0, 1.2), (30.0, 1.0)))
    found = middle(trials)
    assert (found.effective_draws, found.r_hat) == (10.0, 1.2)
    assert np.isnan(middle((trials[0], trials[0], trials[2])).effective_draws)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, USABLE),
        ({"steps": 30}, NOT_USABLE),
        ({"posterior_error": 3.0}, NOT_USABLE),
        ({"posterior_error": 0.7}, WIDE),
        ({"widening": 2.0}, WIDE),
        ({"widening": 0.3}, WIDE),
        ({"effective_draws": 20.0}, WIDE),
        ({"r_hat": 1.5}, NOT_USABLE),
        ({"effective_draws": float("nan")}, NOT_USABLE),
        ({"posterior_error": float("nan"), "widening": float("nan")}, USABLE),
    ],
)
def test_verdicts_of_rehearsals(changed, verdict):
    quality = replace(GOOD, **changed)
    assert quality.verdict == verdict
    assert quality.reason
    assert quality.describe()
    assert RehearsedQuality.from_dict(GOOD.to_dict()) == GOOD


@pytest.mark.parametrize("kinked", [False, True], ids=["normal", "laplace"])
def test_the_posterior_of_simulated_records_is_found(kinked):
    """With kinks too, where the curvature is nought and the scores' mean square is what tells the width."""
    rng = np.random.default_rng(1)
    records = rng.laplace(size=4000) + 0.5 if kinked else rng.normal(size=4000) + 0.5
    model = dp.Model(
        lambda t: -0.5 * t**2,
        (lambda t, x: -jax.numpy.abs(x - t)) if kinked else (lambda t, x: -0.5 * (x - t) ** 2),
        init=0.0,
    )
    with jax.enable_x64(True):
        fit = Laplace(model, 2.0, np.float64(0.0)).fit(records, np.zeros(1))
    centre = np.median(records) if kinked else records.mean()
    assert fit.std == pytest.approx(1 / np.sqrt(8000), rel=0.1)
    assert abs(fit.mean - centre) < (0.5 if kinked else 0.1) * fit.std


def test_like_modes_are_as_good_as_each_other():
    near, far, worse = (Fit(np.array([at]), np.ones(1), high) for at, high in ((1.0, 0.0), (5.0, 0.3), (4.9, -90.0)))
    assert nearest([near, far, None], np.array([4.0])) is far
    assert nearest([near, worse], np.array([4.8])) is near
    assert nearest([None], np.zeros(1)) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "epsilon"),
    [
        (dp.dp_barker(step=0.01, clip=0.04), 20.0),
        (dp.dp_penalty(step=0.01, clip=0.04), 30.0),
        (dp.algorithms.dp_hidden_centre(step=0.01, count=8, clip=0.06), 15.0),
    ],
    ids=["barker", "penalty", "hidden centre"],
)
def test_predictions_come_true_on_records_of_the_model(kernel, epsilon):
    """Effective draws within a factor of 1.5 of the middle of three runs."""
    plan = dp.plan(GAUSSIAN, 20_000, dp.Budget(epsilon, 1e-6), method=kernel)
    rng, found = np.random.default_rng(3), []
    for seed in range(3):
        records = 0.2 * rng.normal(size=2) + rng.normal(size=(plan.n, 2))
        found.append(plan.sample(records, seed=seed, progress=False).quality.effective_draws)
    assert 1 / 1.5 < np.median(found) / plan.expected.effective_draws < 1.5
