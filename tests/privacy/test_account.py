"""The accountant: reference numbers, enumeration, and independent oracles."""

import math
import pickle
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.privacy import (
    ADD_REMOVE,
    BarkerBit,
    Bound,
    Budget,
    Compose,
    Gaussian,
    MetropolisBit,
    NonPrivate,
    PenaltyBit,
    Repeat,
    Selection,
    SubsampledGaussian,
    calibrate,
    delta,
    epsilon,
    fits,
    max_steps,
    pure,
    renyi,
)
from dpmcmc.privacy.accept_bit import penalty_log_accept, penalty_log_reject
from dpmcmc.privacy.convert import epsilon_from_renyi


@pytest.mark.parametrize("std", [1e-4, 1e-3, 0.03, 1.0, 40.0, 1e3, 1e5])
@pytest.mark.parametrize("shift", [1e-9, 1e-3, 1.0, 300.0])
def test_penalty_curves_are_finite_and_below_the_gaussian_everywhere(shift, std):
    orders = 1 + np.geomspace(1e-5, 1e7, 9)
    curve = renyi(PenaltyBit(shift, std), orders)
    assert np.all(curve > 0)
    assert np.all(curve <= orders * (shift / std) ** 2 / 2 * (1 + 1e-12))


@pytest.mark.parametrize(
    ("multiplier", "std", "least"),
    [(31.6, 0.5, 160), (31.6, 1.0, 109), (31.6, 2.0, 86), (31.6, 3.0, 80), (316.0, 1.0, 11_800)],
)
def test_reference_steps_of_the_penalty_bit(multiplier, std, least):
    event, begin = PenaltyBit(std / multiplier, std), time.process_time()
    by_renyi, _ = epsilon_from_renyi(lambda orders: least * renyi(event, orders), 1e-6)
    assert time.process_time() - begin < 2  # the Rényi way alone is enough for the least number, and quick
    assert by_renyi <= 1.0
    steps = max_steps(event, 1.0, 1e-6)
    assert time.process_time() - begin < 20
    assert steps >= least
    if std == 1.0:
        assert steps <= {31.6: 129, 316.0: 13_809}[multiplier]


@given(st.floats(0.2, 3.0), st.floats(0.3, 3.0), st.integers(1, 3), st.floats(0.0, 0.8), st.floats(-1.0, 1.0))
@settings(max_examples=10, deadline=None)
def test_penalty_is_never_below_adaptive_trees(tree_delta, shift, std, depth, part, offset):
    ts = std**2 / 2 + offset + std * np.array([-2.0, -1.0, 0.0, 1.0])
    pairs = []
    for t in ts:
        both = np.array([t + shift, t])
        accept, reject = penalty_log_accept(both, std), penalty_log_reject(both, std)
        laws = [(float(accept[i]), float(reject[i])) for i in range(2)]
        pairs += [laws, laws[::-1]]
    at = part * shift * depth
    truth = float(tree_delta(depth, np.array([at]), pairs)[0])
    assert delta(Repeat(PenaltyBit(shift, std), depth), at) >= truth * (1 - 1e-12)


def test_mixed_events_are_never_below_a_mixed_tree():
    first, second = PenaltyBit(0.8, 1.0), BarkerBit(0.5)
    event = Compose((first, second))
    p = [math.exp(float(penalty_log_accept(np.array([t]), 1.0)[0])) for t in (1.0, 0.2)]
    q = [1 / (1 + math.exp(-t)) for t in (0.25, -0.25)]
    for at in (0.1, 0.5, 1.0):
        truth = 0.0
        for a in (0, 1):
            for b in (0, 1):
                law = [(p[i] if a else 1 - p[i]) * (q[i] if b else 1 - q[i]) for i in (0, 1)]
                truth += max(0.0, law[0] - math.exp(at) * law[1])
        assert delta(event, at) >= truth


# Gaussians, against three independent libraries


@pytest.mark.parametrize(("multiplier", "count"), [(2.0, 1), (10.0, 20), (30.0, 50)])
def test_gaussian_against_dp_accounting(multiplier, count):
    from dp_accounting.pld import privacy_loss_distribution as pld

    ours = epsilon(Repeat(Gaussian(multiplier), count), 1e-6)
    theirs = [
        pld.from_gaussian_mechanism(multiplier, pessimistic_estimate=up, use_connect_dots=False)
        .self_compose(count)
        .get_epsilon_for_delta(1e-6)
        for up in (False, True)
    ]
    assert theirs[0] <= ours <= theirs[1]
    assert ours.method.startswith("analytic Gaussian")


@pytest.mark.parametrize("multiplier", [0.5, 2.0, 10.0])
def test_gaussian_against_autodp(multiplier):
    from autodp.mechanism_zoo import ExactGaussianMechanism

    for target in (1e-3, 1e-6):
        theirs = ExactGaussianMechanism(sigma=multiplier).get_approxDP(target)
        assert epsilon(Gaussian(multiplier), target) == pytest.approx(theirs, rel=1e-5)


def test_poisson_gaussian_against_prv_accountant():
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import PoissonSubsampledGaussianMechanism

    prv = PoissonSubsampledGaussianMechanism(sampling_probability=0.01, noise_multiplier=1.0)
    accountant = PRVAccountant(prvs=[prv], max_self_compositions=[500], eps_error=0.01, delta_error=1e-10)
    low, _, high = accountant.compute_epsilon(delta=1e-6, num_self_compositions=[500])
    ours = epsilon(Repeat(SubsampledGaussian(1.0, 10_000, 100, "poisson", ADD_REMOVE), 500), 1e-6)
    assert low <= ours <= high * 1.01
    assert ours.method.startswith("PLD")


@pytest.mark.parametrize("rate", [0.1, 1.0])
@pytest.mark.parametrize("at", [0.2, 1.0])
def test_poisson_substitution_moves_by_twice_the_norm(rate, at):
    """One release by hand: q N(1) + (1−q) N(0) against q N(−1) + (1−q) N(0), σ = 2, by quadrature."""
    x = np.linspace(-25, 25, 200_001)
    normal = lambda mean: np.exp(-((x - mean) ** 2) / 8) / math.sqrt(8 * math.pi)  # noqa: E731
    p, q = (rate * normal(m) + (1 - rate) * normal(0.0) for m in (1.0, -1.0))
    truth = float(np.sum(np.maximum(0.0, p - math.exp(at) * q)) * (x[1] - x[0]))
    ours = delta(SubsampledGaussian(2.0, 10, round(10 * rate), "poisson"), at)
    assert truth * (1 - 1e-6) <= ours <= truth * 1.01 + 1e-9
    if rate == 1.0:
        assert ours == pytest.approx(delta(Gaussian(1.0), at), rel=1e-2)  # multiplier 2 over twice the norm


def test_steps_of_gaussians_are_the_largest_that_fit():
    for multiplier in (3.0, 30.0):
        steps = max_steps(Gaussian(multiplier), 1.0, 1e-6)
        assert (
            delta(Repeat(Gaussian(multiplier), steps), 1.0)
            <= 1e-6
            < delta(Repeat(Gaussian(multiplier), steps + 1), 1.0)
        )


@pytest.mark.parametrize(
    "event",
    [BarkerBit(0.3), Selection(0.2), PenaltyBit(0.08, 1.0), Compose((Gaussian(40.0), Repeat(BarkerBit(0.05), 3)))],
)
@pytest.mark.parametrize("budget", [Budget(0.5, 1e-5), Budget(3.0, 1e-8)])
def test_steps_fit_and_epsilon_agrees(event, budget):
    steps = max_steps(event, budget.epsilon, budget.delta)
    assert steps > 0
    assert fits(Repeat(event, int(steps)), budget)
    assert epsilon(Repeat(event, int(steps)), budget.delta) <= budget.epsilon * (1 + 1e-9)
    assert epsilon(Repeat(event, 2 * int(steps) + 2), budget.delta) > budget.epsilon


def test_pure_privacy_and_free_events():
    bits = Repeat(BarkerBit(0.25), 4)
    assert epsilon(bits, 0.0) == pytest.approx(1.0, rel=1e-12)
    assert epsilon(bits, 0.0) >= 1.0
    assert max_steps(BarkerBit(0.25), 1.0, 0.0) in (3, 4)
    assert delta(bits, 1.1) == 0.0
    assert pure(Compose((bits, Selection(2.0)))) == pytest.approx(3.0)
    assert math.isinf(pure(PenaltyBit(0.1, 1.0)))
    assert epsilon(Repeat(BarkerBit(0.0), 10**9), 0.0) == 0.0
    assert max_steps(PenaltyBit(0.0, 1.0), 0.1, 1e-6) == sys.maxsize
    assert max_steps(BarkerBit(30.0), 1e-3, 1e-9) == 0


@pytest.mark.parametrize(
    "event", [NonPrivate("shown for comparison"), MetropolisBit(0.05), Compose((BarkerBit(0.1), NonPrivate()))]
)
def test_what_is_not_private_has_no_guarantee(event):
    assert math.isinf(epsilon(event, 1e-6))
    assert delta(event, 100.0) == 1.0
    assert max_steps(event, 100.0, 1e-6) == 0


@pytest.mark.parametrize(
    "event", [BarkerBit(0.01), BarkerBit(20.0), PenaltyBit(0.5, 1.0), Selection(3.0), Gaussian(2.0)]
)
def test_huge_budgets_are_quick(event):
    begin = time.process_time()
    steps = max_steps(event, 1e6, 1e-6)
    assert time.process_time() - begin < 2
    assert steps > 10_000
    assert epsilon(Repeat(event, int(steps)), 1e-6) <= 1e6 * (1 + 1e-9)


def test_calibration_finds_the_edge():
    budget = Budget(1.0, 1e-6)
    multiplier = calibrate(lambda m: Repeat(Gaussian(m), 100), budget, bracket=(0.1, 1000.0))
    assert max_steps(Gaussian(multiplier), 1.0, 1e-6) == 100
    assert not fits(Repeat(Gaussian(multiplier / 1.0011), 100), budget)
    shift = calibrate(lambda s: Repeat(BarkerBit(s), 30), budget, bracket=(1e-6, 1.0))
    assert fits(Repeat(BarkerBit(shift), 30), budget)
    assert not fits(Repeat(BarkerBit(shift * 1.002), 30), budget)
    for bracket in ((1.0, 2.0), (1e-9, 1e-8)):
        with pytest.raises(ValueError, match="end"):
            calibrate(lambda s: Repeat(BarkerBit(s), 30), budget, bracket=bracket)
    with pytest.raises(ValueError, match="bracket"):
        calibrate(BarkerBit, budget, bracket=(0.0, 1.0))


def test_answers_say_how_they_were_found():
    bound = epsilon(Compose((Gaussian(40.0), PenaltyBit(0.1, 1.0))), 1e-6)
    assert isinstance(bound, float)
    assert bound.method.startswith("Rényi (CKS20) at order")
    assert bound.method in str(bound)
    assert repr(Bound(0.5, "pure")) == "Bound(0.5, 'pure')"
    for answer in (bound, max_steps(Gaussian(5.0), 1.0, 1e-6)):
        again = pickle.loads(pickle.dumps(answer))
        assert (again, again.method) == (answer, answer.method)


def test_bad_parameters():
    for bad in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match=r"delta .*got"):
            epsilon(BarkerBit(0.1), bad)
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=r"epsilon .*got"):
            delta(BarkerBit(0.1), bad)
        with pytest.raises(ValueError, match=r"epsilon .*got"):
            max_steps(BarkerBit(0.1), bad, 1e-6)
    for event in (PenaltyBit(0.1, 1.0), Gaussian(3.0), NonPrivate()):
        with pytest.raises(ValueError, match="no"):
            epsilon(event, 0.0)
        with pytest.raises(ValueError, match="no"):
            max_steps(event, 1.0, 0.0)


def test_accounting_never_loads_jax():
    import subprocess

    code = "import sys, dpmcmc.privacy as p; p.epsilon(p.Gaussian(3.0), 1e-6); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
