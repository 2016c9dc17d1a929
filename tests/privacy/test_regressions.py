"""Counterexamples that once gave too small an answer."""

import math

import numpy as np
import pytest

from dpmcmc.privacy import (
    BarkerBit,
    Gaussian,
    PenaltyBit,
    PoissonBarkerBit,
    Repeat,
    SubsampledGaussian,
    delta,
    epsilon,
    max_steps,
    renyi,
)
from dpmcmc.privacy.gaussian import gaussian_log_delta
from dpmcmc.privacy.renyi import renyi_of


class Strange(BarkerBit):
    """An event whose curve is not a number."""


@renyi_of.register
def _(event: Strange, orders: np.ndarray) -> np.ndarray:
    return np.full_like(orders, np.nan)


def test_a_cost_that_is_not_a_number_is_no_bound():
    assert np.all(np.isinf(renyi(Strange(0.1), [2.0, 3.0])))


@pytest.mark.parametrize("arguments", [(1, 30.0, 1e3), (1, 100.0, 100.0), (15, 27.49, 174645.7), (10, 1.0, 0.01)])
def test_poisson_bits_of_extreme_settings_cost_at_least_their_range(arguments):
    n, bound, rate = arguments
    event = PoissonBarkerBit(n, bound, rate)
    r = rate / (n * bound)
    pure = max(2 * bound, bound * (1 + 1 / r + r / (1 + r)))  # attained at t = ∓∞ by φ = 0 against φ = m
    assert renyi(event, [1e9])[0] >= pure * (1 - 1e-6)
    assert epsilon(event, 1e-6) > 0.9 * pure
    assert max_steps(event, 1.0, 1e-6) == 0


@pytest.mark.parametrize(("bound", "rate"), [(1e-6, 1e2), (1e-14, 1.0), (1e-17, 1.0)])
def test_poisson_bits_of_high_rate_cost_what_full_data_costs(bound, rate):
    assert renyi(PoissonBarkerBit(1, bound, rate), [2.0])[0] >= 2 * (2 * bound) ** 2 / 8


@pytest.mark.parametrize("sampling", ["poisson", "without_replacement"])
def test_batches_with_much_noise_cost_something(sampling):
    for order, least in ((1.001, 5e-15), (2.0, 9.99e-15)):
        claimed = renyi(SubsampledGaussian(1e7, 2, 1, sampling), [order])[0]
        assert claimed >= (least if sampling == "without_replacement" else least / 4)
    event = Repeat(SubsampledGaussian(1e9, 2, 1, "without_replacement"), 9 * 10**18)
    assert epsilon(event, 1e-6) > 1


def test_cheap_is_not_free():
    assert max_steps(PenaltyBit(1e-100, 1.0), 1.0, 1e-6) > 10**18
    assert delta(Repeat(BarkerBit(1.0), 2000), 1990.0) > 0
    assert delta(Gaussian(1.0), 60.0) > 0
    with pytest.raises(ValueError, match="has none"):
        epsilon(Gaussian(1e150), 0.0)


def test_many_compositions_by_tables_are_not_optimistic():
    event = Repeat(SubsampledGaussian(300.0, 10, 10, "poisson"), 90_000)  # surely sampled: a Gaussian, known exactly
    mu = 2 * math.sqrt(90_000) / 300
    for eps in (mu**2 / 2 + 3 * mu, mu**2 / 2 + 5 * mu, mu**2 / 2 + 6.5 * mu):
        assert delta(event, eps) >= math.exp(gaussian_log_delta(mu, eps)) * (1 - 1e-9)


def test_narrow_types_are_priced_as_float64():
    assert Gaussian(np.float16(300)).noise_multiplier == 300.0
    assert renyi(Gaussian(np.float16(300)), [2.0])[0] >= 2 / (2 * 300.0**2)
    assert type(BarkerBit(np.float32(0.1)).shift) is float
    assert Repeat(BarkerBit(0.1), np.int64(3)) == Repeat(BarkerBit(0.1), 3)


@pytest.mark.parametrize(("shift", "order"), [(1.0203190191, 9.29e6), (33.3, 77.4), (0.01, 1e6)])
def test_barker_curves_at_high_orders(shift, order):
    import mpmath

    with mpmath.workdps(60):
        a, b = mpmath.expm1(mpmath.mpf(order) * shift), mpmath.expm1(mpmath.mpf(shift))
        alpha = mpmath.mpf(order)
        exact = mpmath.log((a - b) / ((alpha - 1) * b)) - alpha * mpmath.log(alpha * (a - b) / ((alpha - 1) * a))
        assert renyi(BarkerBit(shift), [order])[0] >= float(exact / (alpha - 1)) * (1 - 2e-16)
