"""Lower bounds are below the truth as often as they say, and near it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom, norm

from dpmcmc.auditing import bounds
from dpmcmc.auditing.claims import Claim
from dpmcmc.auditing.experiment import Experiment, View
from dpmcmc.auditing.judge import judge
from dpmcmc.privacy import BarkerBit, Compose, Gaussian, Repeat


@given(st.integers(1, 2000), st.floats(0, 1), st.floats(1e-6, 0.4))
def test_clopper_pearson_inverts_the_binomial_tails(runs, share, error):
    hits = round(share * runs)
    low, high = float(bounds.lower_bound(hits, runs, error)), float(bounds.upper_bound(hits, runs, error))
    assert low <= hits / runs <= high
    assert hits == 0 or binom.sf(hits - 1, runs, low) == pytest.approx(error, rel=1e-6)
    assert hits == runs or binom.cdf(hits, runs, high) == pytest.approx(error, rel=1e-6)


@given(st.floats(0.01, 5), st.floats(-4, 4))
def test_bounds_of_exact_probabilities_are_the_loss(loss, at):
    """Randomised response: ε at δ = 0. A threshold on a normal: μ, whatever the threshold."""
    likely, rare = expit(loss), expit(-loss)
    assert bounds.epsilon_bound(np.asarray(likely), np.asarray(rare), 0.0) == pytest.approx(loss)
    right, wrong = norm.sf(at - loss), norm.sf(at)
    assert bounds.mu_bound(np.asarray(right), np.asarray(wrong)) == pytest.approx(loss, abs=1e-6)


@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.floats(0, 0.5))
def test_no_loss_is_seen_where_a_test_is_no_better_than_guessing(right, wrong, delta):
    loss = float(bounds.epsilon_bound(np.asarray(right), np.asarray(wrong), delta))
    assert loss >= 0
    assert (loss > 0) == (right - delta > wrong)
    assert (bounds.mu_bound(np.asarray(right), np.asarray(wrong)) > 0) == (right > wrong)


def of_draws(draw, claim):
    return Experiment("drawn", draw, (View("it", Claim.of(claim), lambda released: released),), (1000, 1000))


def response(epsilon):
    """Randomised response."""

    def run(side, runs, rng):
        return (rng.random(runs) < expit(epsilon if side else -epsilon)).astype(int)

    return run


def normal(mu):
    return lambda side, runs, rng: rng.normal(mu * side, 1.0, runs)


@pytest.mark.parametrize(
    ("draw", "claim"), [(response(1.0), (1.0, 0.0)), (normal(1.0), Gaussian(1.0))], ids=["response", "normal"]
)
def test_a_true_claim_is_accused_no_more_often_than_is_said(draw, claim):
    """400 audits of claims that hold with equality, at one in ten: more than 64 would be a false alarm in 10⁴ tests.

    Of the normal, ε and μ are tested, each at one in ten.
    """
    experiment = of_draws(draw, claim)
    accused = {"epsilon": 0, "mu": 0}
    for seed in range(400):
        rng = np.random.default_rng(seed)
        sides = tuple(draw(side, 1000, rng) for side in (0, 1))
        found = judge(experiment, experiment.views[0], sides, error=0.1)
        accused["epsilon"] += found.epsilon.exceeded
        accused["mu"] += found.mu is not None and found.mu.exceeded
    assert max(accused.values()) <= binom.isf(1e-4, 400, 0.1)  # 64


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.floats(0.3, 2))
def test_the_bound_comes_near_what_is_there_to_see(seed, mu):
    """10⁵ runs: 85 % of μ less 0.06, and no more than μ at one in 10⁹."""
    rng = np.random.default_rng(seed)
    sides = tuple(normal(mu)(side, 100_000, rng) for side in (0, 1))
    experiment = of_draws(normal(mu), Gaussian(1 / mu))
    found = judge(experiment, experiment.views[0], sides, error=1e-9)
    assert 0.85 * mu - 0.06 < found.mu.certain < mu
    assert found.mu.certain < found.mu.lower


def test_kinds_of_outcomes_are_ordered_by_how_likely_each_side_makes_them():
    one, other = np.array([0, 0, 0, 5, 7]), np.array([7, 7, 7, 5, 0])
    score = bounds.order_of((one, other))
    assert np.all(np.diff(score(np.array([0, 5, 7]))) > 0)
    assert score(np.array([6]))[0] == 0  # never seen


def test_outcomes_that_never_differ_tell_nothing():
    experiment = of_draws(lambda side, runs, rng: np.zeros(runs), BarkerBit(1.0))
    found = judge(experiment, experiment.views[0], (np.zeros(100), np.zeros(100)), 0.1)
    assert found.epsilon.lower == 0
    assert found.verdict == "within"


def test_claims():
    assert Claim.of(Repeat(Gaussian(2.0), 4)).mu == pytest.approx(1.0)
    assert Claim.of(Compose((Gaussian(2.0), BarkerBit(1.0)))).mu is None
    assert Claim.of((0.5, 1e-5)).epsilons == {1e-5: 0.5}
    assert Claim.of(BarkerBit(1.0)).epsilons[1e-6] == pytest.approx(1.0, abs=0.01)
    with pytest.raises(ValueError, match="one of the two"):
        Claim()
    with pytest.raises(ValueError, match=r"got \(1.0, 2\)"):
        Claim.of((1.0, 2))
