"""A posterior draw costs what it says: neighbours are enumerated, and the worst of them attain the claim."""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.samples import posterior_draws
from dpmcmc.mechanisms.fixed_point import LEVELS
from dpmcmc.mechanisms.utilities import whole_utilities
from dpmcmc.posterior import Posterior

AMPLE = dp.Budget(1e6, 1e-6)
TABLE = np.array([[0.0, -0.3, 1.0, -np.inf], [0.2, 5.0, -1.0, 0.0], [-1.0, 0.0, 0.4, np.nan]])  # ℓ(θ, x), x = 0 to 3


def table_model(odds=(0.0, -1.0, 0.7)):
    """Three candidates, four kinds of records; one of them impossible at θ = 0, one without a number at θ = 2."""
    return dp.Model(
        log_prior=lambda theta: jnp.asarray(odds)[theta],
        log_likelihood=lambda theta, x: jnp.asarray(TABLE)[theta, x],
        init=0,
    )


def probabilities(model, data, candidates, bound, temperature, relation="substitution"):
    budget = dp.Budget(AMPLE.epsilon, AMPLE.delta, relation)
    method = dp.PosteriorDraws(bound, candidates)
    plan = dp.plan(model, len(data), budget, method=method, draws=1, chains=1, temperature=temperature)
    with jax.enable_x64(True):
        weights = jax.vmap(model.log_prior)(candidates)
        found = plan.probabilities(Posterior(model, jnp.asarray(data), temperature), candidates, weights)
    return np.asarray(found), plan.receipts[-1].event.event


def exceeds(one, other, epsilon):
    """The δ that tells two laws apart at ε."""
    return float(np.sum(np.maximum(one - np.exp(epsilon) * other, 0)))


@pytest.mark.parametrize(
    ("bound", "temperature"),
    [(1.0, 1.0), *(pytest.param(b, t, marks=pytest.mark.slow) for b, t in [(0.5, 0.8), (3.0, 0.2)])],
)
def test_all_neighbours_of_all_small_data_sets_are_within_the_claim(bound, temperature):
    model, candidates, laws = table_model(), np.arange(3), {}
    for data in itertools.product(range(4), repeat=3):
        laws[data], event = probabilities(model, np.array(data), candidates, bound, temperature)
    assert event.range == pytest.approx(2 * bound * temperature)
    claimed = {epsilon: privacy.delta(event, epsilon) for epsilon in event.range * np.array([0.1, 0.4, 0.8, 1.0])}
    worst = 0.0
    for data, place, value in itertools.product(laws, range(3), range(4)):
        other = (*data[:place], value, *data[place + 1 :])
        worst = max(worst, np.max(np.abs(np.log(laws[data] / laws[other]))))
        for epsilon, delta in claimed.items():
            assert exceeds(laws[data], laws[other], epsilon) <= delta + 1e-12
    assert 0.3 * event.range < worst <= event.range * (1 + 1e-9)


@pytest.mark.parametrize("relation", ["substitution", "zero-out"])
def test_two_candidates_attain_the_claim(relation):
    """x for one of two candidates or against it, beyond every bound; the prior's odds are those that tell most."""
    bound, temperature, epsilon = 1.0, 0.7, 0.4
    up, down = (temperature * bound, 0.0 if relation == "zero-out" else -temperature * bound)  # of the log odds
    tried = np.linspace(-4, 2, 2001)
    odds = tried[np.argmax(expit(tried + up) - np.exp(epsilon) * expit(tried + down))]
    model = dp.Model(
        log_prior=lambda theta: odds * jnp.asarray(theta, jnp.float64),
        log_likelihood=lambda theta, x: x * theta,
        init=0,
    )
    gone = [0.0] if relation == "zero-out" else [-1e3, 0.0]  # an empty slot adds nothing
    laws = [probabilities(model, x, np.array([0, 1]), bound, temperature, relation) for x in ([1e3, 0.0], gone)]
    event = laws[0][1]
    assert event.range == pytest.approx(temperature * bound * (2 if relation == "substitution" else 1))
    assert 0.99 < exceeds(laws[0][0], laws[1][0], epsilon) / privacy.delta(event, epsilon) <= 1 + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, -1e-9, 3.0, -1e300, 1e308, np.inf, -np.inf, np.nan]), min_size=4, max_size=4),
    st.floats(1e-6, 1e6),
)
def test_one_record_adds_no_more_than_the_levels_whatever_its_log_likelihoods_are(values, half):
    def log_likelihood(theta, x):
        return x[theta]

    model = dp.Model(lambda theta: 0.0, log_likelihood, init=0)
    with jax.enable_x64(True):
        block = jnp.asarray([values], jnp.float64)
        whole = np.asarray(whole_utilities(model, block, jnp.int64(1), (jnp.arange(4), half)))
    assert np.all(np.abs(whole) <= LEVELS)


def test_what_is_charged_for_several_draws_is_their_composition_and_no_more_would_fit():
    budget = dp.Budget(1.0, 1e-6)
    method = dp.PosteriorDraws(2.0, np.arange(3))
    plan = dp.plan(table_model(), 50, budget, method=method, draws=3, chains=2)
    event = plan.receipts[-1].event
    assert event == privacy.Repeat(event.event, 6)
    assert event.event.range == pytest.approx(2 * 2.0 * plan.temperature)
    assert plan.guarantee.epsilon <= 1.0
    assert privacy.epsilon(privacy.Repeat(privacy.Selection(event.event.range * 1.01), 6), 1e-6) > 1.0
    rho = 6 * event.event.range**2 / 8
    assert rho >= privacy.ZcdpFilter.for_budget(1.0, 1e-6).limit  # tighter than zCDP alone would allow


def test_one_draw_is_charged_no_more_than_pure_privacy():
    plan = dp.plan(
        table_model(), 50, dp.Budget(1.0, 1e-9), method=dp.PosteriorDraws(2.0, np.arange(3)), draws=1, chains=1
    )
    assert plan.temperature >= 0.25 * (1 - 3e-3)  # 2·B·τ = ε


def test_what_was_spent_before_lowers_the_temperature():
    method, budget = dp.PosteriorDraws(2.0, np.arange(3)), dp.Budget(1.0, 1e-6)
    data = np.tile([0, 1, 2], 20)
    whole = dp.plan(table_model(), 60, budget, method=method, draws=5, chains=1)
    half = dp.plan(table_model(), 60, dp.Budget(0.6, 1e-6), method=method, draws=5, chains=1)
    first = half.sample(data, progress=False)
    second = dp.plan(table_model(), 60, budget, method=method, draws=5, chains=1, spent=first)
    assert 0 < second.temperature < whole.temperature
    assert second.guarantee.epsilon == 1.0
    assert len(second.sample(data, progress=False).receipts) == 2


def test_the_audit_comes_near_to_the_claim_and_does_not_pass_it():
    report = dp.audit([posterior_draws()], runs=20_000)
    assert report.passed
    assert report.findings[0].share > 0.8


def test_an_audit_sees_a_claim_that_is_too_small():
    """The same draws with half the range claimed."""
    experiment = posterior_draws()
    view = experiment.views[0]
    lie = replace(view, claim=Claim(privacy.Selection(view.claim.event.range / 2)))
    assert not dp.audit([replace(experiment, views=(lie,))], runs=20_000).passed


def test_the_temperature_that_is_asked_for_is_refused_if_it_costs_too_much():
    with pytest.raises(ValueError, match=r"3 draws at temperature 1 cost more than the budget.*leave out temperature="):
        dp.plan(
            table_model(),
            50,
            dp.Budget(1.0, 1e-6),
            method=dp.PosteriorDraws(2.0, np.arange(3)),
            draws=3,
            chains=1,
            temperature=1.0,
        )
