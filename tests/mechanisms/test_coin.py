"""Accept bits: exact comparisons, and probabilities that are right to a relative error."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.chain.acceptance import Barker
from dpmcmc.chain.acceptance.penalty import LARGEST_STD, SMALLEST_STD, clamp, penalty_probabilities
from dpmcmc.mechanisms.coin import CLAMP, COIN_ERROR, RAREST, flip
from dpmcmc.randomness import RandomSource


def compiled(probabilities, t, *std):
    with jax.enable_x64(True):
        return tuple(np.asarray(p) for p in jax.jit(probabilities)(jnp.asarray(t, jnp.float64), *std))


def barker_exact(t):
    t = mpmath.mpf(float(t))
    return 1 / (1 + mpmath.exp(-t)), 1 / (1 + mpmath.exp(t))


def penalty_exact(excess, std):
    """At t = excess + σ²/2."""
    std = mpmath.mpf(float(std))
    t = mpmath.mpf(float(excess)) + std**2 / 2

    def cdf(x):
        return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

    up = mpmath.exp(t) * cdf(-t / std - std / 2)
    return cdf(t / std - std / 2) + up, cdf(-t / std + std / 2) - up


def worst_error(t, probabilities, exact):
    worst = 0.0
    with mpmath.workdps(80):
        for row in zip(t, *probabilities, strict=True):
            for computed, right in zip(row[1:], exact(row[0]), strict=True):
                if right >= RAREST / 2:  # below, the coin uses RAREST
                    worst = max(worst, abs(float(computed / right - 1)))
                else:
                    assert computed <= RAREST
    return worst


def test_barkers_probabilities_have_a_fifth_of_the_stated_relative_error():
    rng = np.random.default_rng(1)
    t = np.concatenate([np.linspace(-CLAMP, CLAMP, 801), rng.uniform(-1, 1, 600), rng.uniform(-8, 8, 400)])
    assert worst_error(t, compiled(Barker(1.0).probabilities, t), barker_exact) <= COIN_ERROR / 5


STDS = [SMALLEST_STD, 0.1, 0.3, 1.0, 2.0, 4.0, 7.0, 9.0, 10.0, 12.0, 16.0, 20.0, 25.0, 30.0, 37.0, 70.0, LARGEST_STD]


@pytest.mark.parametrize("std", [*STDS, 1e3, 1e6])
def test_the_penaltys_probabilities_have_a_fifth_of_the_stated_relative_error_and_less_with_more_noise(std):
    rng, edge = np.random.default_rng(1), clamp(std)
    t = [np.linspace(-edge, edge, 101), std * rng.uniform(-10, 10, 400), std * rng.uniform(-1.5, 1.5, 200)]
    t = np.clip(np.concatenate([*t, -(std**2) / 2 + rng.uniform(-45, 3, 200)]), -edge, edge)
    allowed = COIN_ERROR / (5 if std < 1 else 30)
    assert worst_error(t, compiled(penalty_probabilities, t, std), lambda t: penalty_exact(t, std)) <= allowed


@pytest.mark.parametrize("std", [*STDS, 1e3])
def test_at_the_penaltys_clamp_the_rarer_outcome_has_the_least_probability_of_a_coin(std):
    with mpmath.workdps(80):
        assert penalty_exact(clamp(std), std)[1] < RAREST
        assert penalty_exact(-clamp(std), std)[0] < RAREST
    accept, reject = compiled(penalty_probabilities, [clamp(std), -clamp(std)], std)
    assert max(reject[0], accept[1]) < RAREST


@settings(max_examples=300, deadline=None)
@given(st.floats(RAREST, 0.5), st.integers(0, 2**128 - 1), st.booleans())
def test_a_flip_is_the_exact_comparison_of_a_128_bit_uniform(rarer, uniform, accept_is_rare):
    bits = np.array([uniform >> 64, uniform & (2**64 - 1)], np.uint64)
    rare = uniform < int(mpmath.mpf(rarer) * 2**128)  # exact: a float64 above 2⁻⁶⁰ is a multiple of 2⁻¹²⁸
    with jax.enable_x64(True):
        pair = (rarer, 1 - rarer) if accept_is_rare else (1 - rarer, rarer)
        accepted = bool(jax.jit(flip)(bits, *map(jnp.float64, pair)))
    assert accepted == (rare if accept_is_rare or rarer == 0.5 else not rare)


@pytest.mark.parametrize("rarer", [0.5, 0.25, 1e-3, RAREST])
def test_a_flip_changes_exactly_at_its_threshold(rarer):
    threshold = int(mpmath.mpf(rarer) * 2**128)
    with jax.enable_x64(True):
        for uniform, expected in ((threshold - 1, True), (threshold, False)):
            bits = np.array([uniform >> 64, uniform & (2**64 - 1)], np.uint64)
            assert bool(flip(jnp.asarray(bits), jnp.float64(rarer), jnp.float64(1 - rarer))) is expected


def test_coins_from_the_cryptographic_stream_have_the_right_frequency():
    count = 200_000
    bits = RandomSource(5).random_words("coin", (count, 2))
    for p in (0.5, 0.1, 0.9):
        with jax.enable_x64(True):
            heads = int(jnp.sum(flip(jnp.asarray(bits), jnp.float64(p), jnp.float64(1 - p))))
        assert abs(heads - count * p) < 4.5 * np.sqrt(count * p * (1 - p))  # false alarm 7e-6 each, seed fixed
