"""The exact minibatch bit, against direct sums over all counts (docs/theory/poisson.md)."""

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import poisson

from dpmcmc.privacy.events import PoissonBarkerBit
from dpmcmc.privacy.poisson import log_odds_range
from dpmcmc.privacy.renyi import renyi

ORDERS = np.array([1.05, 2.0, 10.0, 50.0, 500.0, 5000.0])


def bit(event, places, t):
    """(accept, reject) of the whole test: all counts of all records summed out."""
    a, m = event.rate / event.n, event.bound
    log_ratio, weight = np.zeros(1), np.ones(1)
    for phi in places:
        s = np.arange(int(a + m + 10 * np.sqrt(a + m) + 25))
        w = np.log((a + m - phi) / (a + phi))
        log_ratio = (log_ratio[:, None] + s * w).ravel()
        weight = (weight[:, None] * poisson.pmf(s, a + phi)).ravel()
    x = t[:, None] + log_ratio
    return expit(x) @ weight, expit(-x) @ weight


def divergence(p, q):
    out = np.zeros_like(ORDERS)
    for first, second in ((p, q), (q, p)):
        for i, order in enumerate(ORDERS):
            terms = [order * np.log(u) + (1 - order) * np.log(v) for u, v in zip(first, second, strict=True)]
            out[i] = max(out[i], np.max(np.logaddexp(*terms)) / (order - 1))
    return out


@pytest.mark.parametrize("bound", [0.05, 0.4, 1.5])
@pytest.mark.parametrize("ratio", [0.15, 0.6, 0.71, 1.0, 3.0])
def test_one_record_all_places(bound, ratio):
    event = PoissonBarkerBit(1, bound, ratio * bound)
    claimed, t = renyi(event, ORDERS), np.linspace(-30, 30, 241)
    laws = [bit(event, (phi,), t) for phi in np.linspace(0, bound, 13)]
    worst = np.max([divergence(p, q) for p, q in product(laws, laws)], axis=0)
    assert np.all(worst <= claimed * (1 + 1e-9) + 1e-12)
    if ratio >= 0.6:
        assert np.all(claimed[:4] <= 1.06 * worst[:4])
    span = max(np.max(np.abs(np.log(p[0] / p[1]) - np.log(q[0] / q[1]))) for p, q in product(laws, laws))
    assert span <= log_odds_range(event)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from([0.1, 0.8]),
    st.sampled_from([0.3, 1.0, 4.0]),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.floats(-8, 8),
)
def test_two_records(bound, ratio, places, t):
    event = PoissonBarkerBit(2, bound, ratio * 2 * bound)
    other, here, there = (bound * p for p in places)
    p, q = (bit(event, (other, phi), np.array([t])) for phi in (here, there))
    assert np.all(divergence(p, q) <= renyi(event, ORDERS) * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("bound", [1e-3, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize("ratio", [3.0, 5.0, 30.0])
def test_costs_what_full_data_costs(bound, ratio):
    n, orders = 10_000, np.geomspace(1.01, 1e5, 100)
    start = time.process_time()
    curve = renyi(PoissonBarkerBit(n, bound, ratio * n * bound), orders)
    assert time.process_time() - start < 4
    assert np.all(curve <= 1.02 * orders * (2 * bound) ** 2 / 8)


@pytest.mark.parametrize("ratio", [0.75, 1.0, 3.0, 50.0])
def test_range_tends_to_its_closed_form(ratio):
    closed = 0.2 * (1 + 1 / ratio + ratio / (1 + ratio))
    assert closed <= log_odds_range(PoissonBarkerBit(100, 0.2, ratio * 20)) <= closed * 1.001


def test_derivative_lemma():
    """−∂p/∂φ = E[ρ(e^T, z) σ'(T)], T = t + sw, z = e^−w, and ρ lies between 2 and z² + 2z − 1 for z > 0.281."""
    a, m, t, step = 0.4, 0.3, 0.7, 1e-6

    def p(phi):
        s = np.arange(60)
        return expit(t + s * np.log((a + m - phi) / (a + phi))) @ poisson.pmf(s, a + phi)

    for phi in (0.05, 0.15, 0.25):
        z = (a + phi) / (a + m - phi)
        s = np.arange(60)
        x = t - s * np.log(z)
        e = np.exp(x)
        rho = (1 + e) * (2 * z**2 + (z**2 + 2 * z - 1) * e) / (z + e) ** 2
        slope = -(rho * expit(x) * expit(-x)) @ poisson.pmf(s, a + phi)
        assert slope == pytest.approx((p(phi + step) - p(phi - step)) / (2 * step), rel=1e-6)
        ends = sorted((2.0, z**2 + 2 * z - 1))
        assert np.all((rho >= ends[0] - 1e-12) & (rho <= ends[1] + 1e-12))


@pytest.mark.parametrize(("n", "bound", "rate"), [(0, 1.0, 1.0), (5, 0.0, 1.0), (5, 1.0, -1.0), (5, 1.0, np.nan)])
def test_bad_parameters(n, bound, rate):
    with pytest.raises(ValueError, match="PoissonBarkerBit"):
        PoissonBarkerBit(n, bound, rate)
