"""The exact adaptive recursion: never below enumeration, close to it, quick. See docs/theory/recursion.md."""

import math
import time
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logsumexp
from scipy.stats import binom

from dpmcmc.privacy import (
    BarkerBit,
    PenaltyBit,
    Repeat,
    Selection,
    delta,
    epsilon,
    max_steps,
    pair_recursion,
    recursion,
)
from dpmcmc.privacy.accept_bit import penalty_log_accept, penalty_log_reject


def barker_pairs(shift, ts):
    for t in ts:
        there, here = ([math.log(expit(x)), math.log(expit(-x))] for x in (t + shift, t))
        yield there, here
        yield here, there


def binomial_delta(shift, count, epsilon, t):
    """δ(ε) of ``count`` bits at one fixed t, exactly."""
    p, q = expit(t + shift), expit(t)
    ones = np.arange(count + 1)
    loss = ones * np.log(p / q) + (count - ones) * np.log((1 - p) / (1 - q))
    keep = loss > epsilon
    return float(np.sum(binom.pmf(ones[keep], count, p) * -np.expm1(epsilon - loss[keep])))


@given(st.floats(0.05, 3.0), st.integers(1, 3), st.floats(0.0, 1.0), st.floats(-1.0, 1.0))
@settings(max_examples=25, deadline=None)
def test_never_below_adaptive_trees(tree_delta, shift, depth, part, offset):
    at = part * shift * depth
    pairs = list(barker_pairs(shift, -shift / 2 + shift * np.linspace(-0.7, 0.7, 5) + 0.1 * offset))
    truth = float(tree_delta(depth, np.array([at]), pairs)[0])
    assert recursion.delta(shift, depth, at) >= truth * (1 - 1e-13)
    assert delta(Repeat(BarkerBit(shift), depth), at) >= truth * (1 - 1e-13) - 1e-18


@pytest.mark.parametrize(("shift", "depth", "at"), [(0.3, 5, 0.4), (1.0, 5, 2.0), (2.0, 4, 3.0)])
def test_deep_trees_are_bounded_and_nearly_reached(tree_delta, shift, depth, at):
    pairs = list(barker_pairs(shift, -shift / 2 + np.array([-0.5, 0.0, 0.5]) * shift))[::2]
    truth = float(tree_delta(depth, np.array([at]), pairs)[0])
    bound = recursion.delta(shift, depth, at)
    assert truth <= bound <= 1.5 * truth


@pytest.mark.parametrize("shift", [0.2, 1.0, 2.5])
def test_one_step_is_the_supremum_over_t(shift):
    for at in (0.0, 0.3 * shift, 0.8 * shift):
        truth = max(binomial_delta(shift, 1, at, t) for t in np.linspace(-6, 6, 4001))
        assert truth <= recursion.delta(shift, 1, at) <= truth * 1.001 + 1e-6


@given(st.integers(2, 4), st.floats(0.2, 2.0), st.integers(0, 10**6), st.floats(0.0, 0.9))
@settings(max_examples=20, deadline=None)
def test_never_below_adaptive_selections(tree_delta, candidates, spread, seed, part):
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(3):
        utility, change = rng.normal(size=candidates), rng.uniform(size=candidates)
        change = (change - change.min()) * spread / np.ptp(change)
        laws = [u - logsumexp(u) for u in (utility, utility + change)]
        pairs += [laws, laws[::-1]]
    at = 3 * part * spread
    truth = float(tree_delta(3, np.array([at]), pairs)[0])
    assert delta(Repeat(Selection(spread), 3), at) >= truth * (1 - 1e-13) - 1e-18


@pytest.mark.parametrize(
    ("shift", "count", "at"),
    [(0.02, 500, 1.0), (0.04, 140, 1.0), (0.1, 22, 1.0), (0.1, 400, 6.0), (0.5, 30, 5.0), (1.0, 8, 0.0)],
)
def test_never_below_fixed_choices(shift, count, at):
    truth = max(binomial_delta(shift, count, at, t) for t in np.linspace(-1.5, 1.0, 101))
    bound = recursion.delta(shift, count, at)
    assert truth <= bound <= 1.15 * truth + 1e-12


@pytest.mark.parametrize(("shift", "least", "hard_limit"), [(0.01, 2230, 2242), (0.04, 138, 140), (0.1, 22, 22)])
def test_reference_steps(shift, least, hard_limit):
    begin = time.process_time()
    steps = max_steps(BarkerBit(shift), 1.0, 1e-6)
    assert time.process_time() - begin < 20
    assert least <= steps <= hard_limit
    assert steps.method == "exact adaptive recursion"
    assert max(binomial_delta(shift, hard_limit + 1, 1.0, t) for t in np.linspace(-2, 2, 201)) > 1e-6
    begin = time.process_time()
    assert max_steps(BarkerBit(shift), 1.0, 1e-6) == steps
    assert time.process_time() - begin < 0.5  # remembered


@pytest.mark.parametrize(("shift", "count"), [(0.1, 30), (0.7, 12)])
def test_epsilon_and_delta_agree(shift, count):
    event = Repeat(BarkerBit(shift), count)
    for target in (1e-3, 1e-6, 1e-9):
        at = epsilon(event, target)
        assert delta(event, float(at)) <= target * (1 + 1e-3)
        assert max(binomial_delta(shift, count, float(at), t) for t in np.linspace(-1, 1, 81)) <= target


@pytest.mark.parametrize("m", [4, 8, 32])
@pytest.mark.parametrize("fine", [True, False])
def test_every_lattice_and_window_is_sound(m, fine):
    shift, count, at = 0.2, 10, 0.6
    truth = max(binomial_delta(shift, count, at, t) for t in np.linspace(-0.5, 0.5, 101))
    for low, high in ((-4 * m, 8 * m), (-m, 4 * m), (-11 * m, 11 * m)):
        curve = next(islice(recursion.curves(shift, m, low, high, fine), count, None))
        assert recursion.read_curve(curve, low, shift / m, at) >= truth
        assert np.all(np.diff(curve) <= 1e-12)


def test_long_chains_and_large_shifts_are_left_to_renyi():
    assert not recursion.affordable(1e-4, 10**7, 1.0)
    assert not recursion.affordable(50.0, 3, 1.0)
    begin = time.process_time()
    assert 21_000 < max_steps(BarkerBit(0.003), 1.0, 1e-6) < 25_000
    assert time.process_time() - begin < 20


def penalty_binomial_delta(shift, std, count, epsilon, t, reverse):
    """δ(ε) of ``count`` penalty bits at one fixed t, in one direction, exactly."""
    both = np.array([t, t + shift] if reverse else [t + shift, t])
    accept, reject = penalty_log_accept(both, std), penalty_log_reject(both, std)
    ones = np.arange(count + 1)
    loss = ones * (accept[0] - accept[1]) + (count - ones) * (reject[0] - reject[1])
    keep = loss > epsilon
    return float(np.sum(binom.pmf(ones[keep], count, np.exp(accept[0])) * -np.expm1(epsilon - loss[keep])))


@pytest.mark.parametrize(
    ("shift", "std", "count", "at"),
    [
        (0.03, 1.0, 100, 1.0),
        (0.1, 0.3, 20, 1.0),
        (0.5, 2.0, 10, 2.0),
        (1.0, 1.0, 1, 0.3),
        (2.0, 5.0, 5, 1.0),
        (0.0, 1.0, 3, 0.0),
    ],
)
def test_penalty_bits_never_below_fixed_choices(shift, std, count, at):
    ts = std**2 / 2 + std * np.linspace(-4, 4, 161)
    truth = max(penalty_binomial_delta(shift, std, count, at, t, way) for t in ts for way in (False, True))
    bound = delta(Repeat(PenaltyBit(shift, std), count), at)
    assert truth <= bound <= 2 * truth + 1e-12


@pytest.mark.parametrize(("std", "least"), [(0.5, 185), (1.0, 125), (2.0, 98), (3.0, 90)])
def test_penalty_reference_steps(std, least):
    shift = std / 31.6
    steps = max_steps(PenaltyBit(shift, std), 1.0, 1e-6)
    ts = std**2 / 2 + std * np.linspace(-2, 2, 81)
    hard_limit = int(steps)
    while max(penalty_binomial_delta(shift, std, hard_limit, 1.0, t, way) for t in ts for way in (False, True)) <= 1e-6:
        hard_limit += 1
    assert least <= steps < hard_limit <= 1.05 * least + 2


def test_every_cover_is_sound():
    shift, std, count, at = 0.3, 1.0, 6, 0.8
    ts = std**2 / 2 + std * np.linspace(-4, 4, 161)
    truth = max(penalty_binomial_delta(shift, std, count, at, t, way) for t in ts for way in (False, True))
    for order in (1.2, 5.0, 500.0):
        whole = pair_recursion.penalty_curves(PenaltyBit(shift, std), count, at, order)
        assert truth <= recursion.read_curve(whole.values[count], whole.low, whole.h, at) <= 2 * truth
