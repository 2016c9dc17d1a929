"""Z23's claims are reproduced, marked as unsound, and refuted by enumeration."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, poisson

from dpmcmc.privacy.published import classical, zhang2023


def metropolis(t: float) -> float:
    return min(1.0, math.exp(t))


def test_the_free_branch_is_not_private():
    """Neighbours with log ratios 0 and −Δ: only the second can reject, so δ ≥ 1 − e^{−Δ} for every ε."""
    epsilon, delta, sensitivity = 0.05, 1e-5, 0.05
    claim = zhang2023.theorem2_full(epsilon, delta, sensitivity)
    assert claim.noise_std == 0
    assert not claim.sound
    reject, reject_neighbour = 1 - metropolis(-sensitivity), 1 - metropolis(0.0)
    for any_epsilon in (epsilon, 1.0, 100.0):
        needed = reject - math.exp(any_epsilon) * reject_neighbour
        assert needed == pytest.approx(claim.necessary_delta)
        assert needed > 1000 * claim.delta
    assert claim.necessary_delta == pytest.approx(0.0488, abs=5e-5)


def test_noise_as_published():
    epsilon, delta, sensitivity = 0.05, 1e-5, 0.2
    claim = zhang2023.theorem2_full(epsilon, delta, sensitivity)
    assert claim.noise_std == pytest.approx(sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    assert claim.necessary_delta == 0
    assert not claim.sound


def test_minibatch_claim():
    total, largest_constant, batch = 1000.0, 0.02, 60.0
    spread = total / (batch * largest_constant)
    arguments = {"largest_batch": batch, "total": total, "largest_constant": largest_constant}
    free = zhang2023.theorem2(0.05, 1e-5, 0.05 * spread / 6, **arguments)
    noisy = zhang2023.theorem2(0.05, 1e-5, 0.05 * spread / 6 + 1e-9, **arguments)
    assert free.noise_std == 0 < noisy.noise_std
    assert not free.sound
    assert not noisy.sound
    assert noisy.noise_std == pytest.approx(
        math.sqrt(2 * math.log(1.25 / (1e-5 * spread / 2))) / (0.05 * spread / 6) * (0.05 * spread / 6), rel=1e-6
    )


def test_sensitivity_as_coded_shrinks_with_the_distance():
    def sensitivity(distance: float, variant: str) -> float:
        return zhang2023.minibatch_sensitivity(500.0, distance, 10.0, variant=variant)

    assert sensitivity(0.02, "text") > sensitivity(0.01, "text") == pytest.approx(2 * math.log(1.5))
    assert sensitivity(0.02, "as_coded") < sensitivity(0.01, "as_coded") == pytest.approx(2 * math.log(1 + 1 / 50))


def test_composition():
    one = zhang2023.theorem2_full(0.05, 1e-5, 0.05)
    many = zhang2023.composition(one, 100, 1e-6)
    assert many.epsilon == pytest.approx(0.05 * math.sqrt(200 * math.log(1e6)) + 100 * 0.05 * math.expm1(0.05))
    assert many.delta == pytest.approx(1e-3 + 1e-6)
    assert many.necessary_delta == pytest.approx(1 - math.exp(-0.05 * 100))
    assert not many.sound


@given(st.floats(0.01, 0.99), st.floats(1e-9, 0.3), st.floats(0.1, 10.0))
def test_theorem_1_is_the_classical_gaussian_mechanism_and_true(epsilon, delta, sensitivity):
    """The tight δ(ε) of the normal mechanism with that σ is at most δ."""
    std = zhang2023.theorem1_std(epsilon, delta, sensitivity)
    assert classical.gaussian_delta(epsilon, sensitivity**2 / (2 * std**2)) <= delta


def worst_delta(total: float, epsilon: float, steps: int) -> float:
    """Randomised response run ``steps`` times, all outcomes enumerated."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    found = 0.0
    for answers in product((True, False), repeat=steps):
        here = math.prod(keep if a else 1 - keep for a in answers)
        there = math.prod(1 - keep if a else keep for a in answers)
        found += max(0.0, here - math.exp(total) * there)
    return found


@pytest.mark.parametrize("epsilon", [0.05, 0.7])
@pytest.mark.parametrize("total", [0.0, 0.1, 1.3])
def test_optimal_composition_is_what_the_worst_pure_steps_need(epsilon, total):
    for steps in (1, 2, 7):
        assert classical.pure_composition_delta(total, epsilon, steps) == pytest.approx(
            worst_delta(total, epsilon, steps)
        )


@given(st.floats(1e-3, 1.0), st.integers(1, 3000), st.floats(1e-9, 0.4))
def test_optimal_composition_is_never_above_the_others(epsilon, steps, delta):
    best = classical.optimal_pure_composition(epsilon, steps, delta)
    assert best <= steps * epsilon * (1 + 1e-12)
    assert best <= classical.advanced_composition(epsilon, steps, delta) * (1 + 1e-12)
    assert classical.pure_composition_delta(best * (1 + 1e-9), epsilon, steps) <= delta * (1 + 1e-6)


def test_the_best_case_of_the_claim_is_lower_and_still_needs_more_delta():
    claim = zhang2023.theorem2_full(0.05, 1e-5, 0.05)
    best, composed = zhang2023.best_composition(claim, 10_000, 1e-5), zhang2023.composition(claim, 10_000, 1e-5)
    assert best.epsilon == pytest.approx(33.0846, abs=1e-4)
    assert composed.epsilon == pytest.approx(49.6282, abs=1e-4)
    assert not best.sound
    assert best.necessary_delta > 0.99 > best.delta


SETTING = {"largest_batch": 60.0, "total": 900.0, "largest_constant": 0.02, "rate": 2e4, "reach": 0.1}


def test_the_three_way_trade_off_of_theorem_4():
    """What the paper concludes from it: the bound falls with K, C and A and rises with λ, ε and δ."""

    def bound(epsilon=0.05, delta=1e-5, **changed):
        return zhang2023.theorem4(epsilon, delta, **SETTING | changed)

    base = bound()
    assert 0 < base < 0.5
    for name in ("largest_batch", "total", "reach"):
        assert bound(**{name: 1.5 * SETTING[name]}) < base, name
    assert bound(rate=1.5 * SETTING["rate"]) > base
    assert bound(epsilon=0.1) > base
    assert bound(delta=1e-4) > base


@given(st.floats(0.0, 6.0), st.floats(-8.0, 8.0))
def test_noise_with_its_penalty_keeps_at_least_this_much_of_the_acceptance(std, t):
    """E min(1, e^{t + N(0, s²) − s²/2}) ≥ 2Φ(−s/2) min(1, e^t), with equality at t = 0; Theorem 4 has 1 − Φ(s²/2)."""
    noisy = metropolis(t)
    if std > 0:
        noisy = norm.cdf((t - std**2 / 2) / std) + math.exp(t) * norm.cdf(-(t + std**2 / 2) / std)
    kept = 2 * norm.cdf(-std / 2)
    assert noisy >= kept * metropolis(t) * (1 - 1e-9)
    assert norm.sf(std**2 / 2) <= kept * (1 + 1e-12)


def fast_mh_acceptance(energy: float, constant: float, rate: float, batch: float, by: str) -> float:
    """Algorithm 2 without noise on one record whose energy rises by ``energy``, M = 1: every pair of counts summed."""
    rise = (energy + constant) / 2
    kept = np.arange(300)
    chance = poisson.pmf(kept, rate + rise)
    small = poisson.cdf(math.ceil(batch) - 1 - kept, constant - rise) if by == "count" else rate + constant < batch
    ratio = np.minimum(1, ((rate + constant - rise) / (rate + rise)) ** kept)
    return float(np.sum(chance * small * ratio) + (1 - np.sum(chance * small)) * metropolis(-energy))


@pytest.mark.parametrize(("rate", "constant", "energy"), [(2.0, 2.0, 1.5), (1.0, 3.0, 2.0), (10.0, 5.0, 4.0)])
def test_theorem_3_fails_where_the_drawn_batch_size_decides(rate, constant, energy):
    """Detailed balance of Algorithm 2 without any noise: broken by "B < K", kept by the code's "λ + CM < K"."""
    broken = []
    for batch in (2.0, 4.0, 8.0, 20.0, 300.0):
        for by in ("count", "rate"):
            up, down = (fast_mh_acceptance(sign * energy, constant, rate, batch, by) for sign in (1, -1))
            balance = up / (math.exp(-energy) * down)
            if by == "rate" or batch == 300.0:
                assert balance == pytest.approx(1, abs=1e-9)
            else:
                broken.append(balance)
    assert max(broken) > 1.1


def two_point_gap(**given: float) -> float:
    """The exact share of the gap kept on two states that swap: the ratio of acceptances, code's branch, one record."""
    constant, rate, batch = given["total"], given["rate"], given["largest_batch"]
    kept = []
    for energy in (-constant, constant):
        kept.append(fast_mh_acceptance(energy, constant, rate, batch, "rate") / metropolis(-energy))
    return min(kept)


@pytest.mark.parametrize("constant", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("rate", [0.5, 2.0, 20.0])
def test_the_gap_that_is_kept_is_a_lower_bound(constant, rate):
    """On two states, without noise (a large ε), where everything can be summed."""
    given = {"largest_batch": 100.0, "total": constant, "largest_constant": constant, "rate": rate}
    bound = zhang2023.gap_kept(1e6, 1e-5, **given, reach=1.0)
    assert bound <= two_point_gap(**given)
    assert zhang2023.theorem4(1e6, 1e-5, **given, reach=1.0) <= bound


def test_theorem_4_leaves_out_the_branch_on_all_records():
    """A small K sends every step there; its noise stops the chain, and the printed bound does not see it."""
    given = {"largest_batch": 1.0, "total": 1000.0, "largest_constant": 1.0, "rate": 1e8, "reach": 3.0}
    assert zhang2023.theorem4(0.05, 1e-5, **given) > 0.25
    on_all_records = zhang2023.theorem2_full(0.05, 1e-5, zhang2023.full_sensitivity(1.0, 3.0)).noise_std
    assert 2 * norm.cdf(-on_all_records / 2) < 1e-100  # of Metropolis' acceptance at t = 0, exactly


def test_recommended_batches_differ_between_section_and_appendix():
    section = zhang2023.recommended_batch(0.05, 900.0, 0.02)
    assert section == pytest.approx(375)
    assert zhang2023.recommended_batch(0.05, 900.0, 0.02, section="E") == pytest.approx(6 * section)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: zhang2023.theorem2_full(0.0, 1e-5, 0.1), "0.0"),
        (lambda: zhang2023.theorem2_full(0.1, 1.0, 0.1), "1.0"),
        (lambda: zhang2023.theorem2_full(0.1, 1e-5, -0.1), "-0.1"),
        (lambda: zhang2023.minibatch_sensitivity(1.0, 1.0, 0.0), "0.0"),
        (lambda: zhang2023.minibatch_sensitivity(1.0, 1.0, 1.0, variant="other"), "other"),
        (lambda: zhang2023.composition(zhang2023.theorem2_full(0.1, 1e-5, 0.1), -1, 1e-6), "-1"),
        (lambda: zhang2023.theorem1_std(1.0, 1e-5, 0.1), "1.0"),
        (lambda: zhang2023.recommended_batch(0.1, 1.0, 0.1, section="7"), "7"),
        (lambda: zhang2023.theorem4(0.1, 0.5, **SETTING | {"largest_batch": 1.0}), "enlarge largest_batch"),
        (lambda: classical.optimal_pure_composition(0.1, 10, 0.0), "0.0"),
    ],
)
def test_bad_parameters_raise_with_the_value(call, value):
    with pytest.raises(ValueError, match=value.replace(".", r"\.")):
        call()
