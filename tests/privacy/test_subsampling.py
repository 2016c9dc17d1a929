"""Bits and sums on random batches, against exact enumeration of all subsets (docs/theory/subsampling.md)."""

import time
from functools import cache
from itertools import combinations, combinations_with_replacement

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, logsumexp, ndtr
from scipy.stats import norm

from dpmcmc.privacy.accept_bit import penalty_log_accept
from dpmcmc.privacy.batch_gaussian import subsampled_gaussian_renyi
from dpmcmc.privacy.correction import optimal_correction
from dpmcmc.privacy.events import Repeat, SubsampledBarkerBit, SubsampledGaussian, SubsampledPenaltyBit
from dpmcmc.privacy.renyi import renyi
from dpmcmc.privacy.subsampling import penalty_shift

ORDERS = np.array([1.05, 1.5, 2.0, 5.0, 20.0, 100.0, 1000.0])


def bit_divergence(p, q, orders=ORDERS):
    """D_α of two bits, both ways round, largest over all entries; from P(1), P(0) given apart to keep small ones."""
    worst = np.zeros_like(orders)
    for (a1, a0), (b1, b0) in (((p[0], p[1]), (q[0], q[1])), ((q[0], q[1]), (p[0], p[1]))):
        for i, order in enumerate(orders):
            one = order * np.log(a1) + (1 - order) * np.log(b1)
            zero = order * np.log(a0) + (1 - order) * np.log(b0)
            worst[i] = max(worst[i], np.max(np.logaddexp(one, zero)) / (order - 1))
    return worst


def barker_bits(event, batch, t):
    """(accept, reject) probabilities of the test on one batch, written from its definition."""
    pairs = event.correction or optimal_correction(event.noise_variance).pairs
    statistic = np.clip(np.sum(batch) / np.sqrt(event.batch) + t, -event.clamp, event.clamp)
    std = np.sqrt(event.noise_variance - np.var(batch))
    accept = sum(w * ndtr((statistic - z) / std) for z, w in pairs)
    reject = sum(w * ndtr((z - statistic) / std) for z, w in pairs)
    return np.array([accept, reject])


def penalty_bits(event, batch, t):
    r = event.bound * np.asarray(batch)
    scaled = event.n * event.temperature / event.batch * r
    statistic = scaled.sum() - np.sum((scaled - scaled.mean()) ** 2) / 2 + t
    accept = np.exp(penalty_log_accept(statistic, event.std))
    return np.array([accept, 1 - accept])


def enumerated(event, bits, alphabet, t):
    """The largest divergence over all data sets on an alphabet, all values of one record, all batches enumerated."""
    rows = {}

    def law(data):
        batches = [tuple(sorted(batch)) for batch in combinations(data, event.batch)]
        for batch in set(batches) - rows.keys():
            rows[batch] = bits(event, batch, t)
        return np.mean([rows[batch] for batch in batches], axis=0)

    worst = np.zeros_like(ORDERS)
    for others in combinations_with_replacement(alphabet, event.n - 1):
        laws = [law((*others, value)) for value in alphabet]
        for p, q in combinations(laws, 2):
            worst = np.maximum(worst, bit_divergence(p, q))
    return worst


BARKER = [
    SubsampledBarkerBit(5, 2, clamp=5.0),
    SubsampledBarkerBit(6, 3, clamp=4.0, noise_variance=1.5),
    SubsampledBarkerBit(7, 4, clamp=8.0),
    SubsampledBarkerBit(4, 4, clamp=3.0),
    SubsampledBarkerBit(4, 1, clamp=6.0),
    SubsampledBarkerBit(4, 2, clamp=4.0, correction=((-1.0, 0.2), (0.0, 0.5), (2.5, 0.3))),
]


@pytest.mark.parametrize("event", BARKER, ids=str)
def test_barker_bit_against_all_subsets(event):
    t = np.linspace(-event.clamp - 3, event.clamp + 3, 81)
    true = enumerated(event, barker_bits, (-1.0, 0.1, 1.0) if event.n > 4 else (-1.0, -0.4, 0.3, 1.0), t)
    claimed = renyi(event, ORDERS)
    assert np.all(true <= claimed * (1 + 1e-9))
    assert claimed[0] < 12 * true[0]  # not vacuous


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(BARKER[:3]),
    st.lists(st.floats(-1, 1), min_size=7, max_size=7),
    st.floats(-1, 1),
    st.floats(-10, 10),
)
def test_barker_bit_against_random_records(event, records, value, t):
    data, neighbour = records[: event.n], [*records[: event.n - 1], value]
    p, q = (
        np.mean([barker_bits(event, s, t) for s in combinations(x, event.batch)], axis=0) for x in (data, neighbour)
    )
    assert np.all(bit_divergence(p, q) <= renyi(event, ORDERS) * (1 + 1e-6) + 1e-12)


@pytest.mark.parametrize(
    "event",
    [
        SubsampledPenaltyBit(5, 2, bound=0.1, std=1.0),
        SubsampledPenaltyBit(6, 3, bound=0.5, std=0.7, temperature=0.5),
        SubsampledPenaltyBit(4, 4, bound=0.02, std=2.0),
    ],
    ids=str,
)
def test_penalty_bit_against_all_subsets(event):
    with np.errstate(divide="ignore"):
        true = enumerated(event, penalty_bits, (-1.0, 0.0, 1.0), np.linspace(-20, 4, 97))
    claimed = renyi(event, ORDERS)
    assert np.all(true <= claimed * (1 + 1e-6) + 1e-13)
    assert claimed[1] < 5 * true[1]


def test_penalty_sensitivity_is_reached():
    """2kc + 2k²c²(b−1)/b: the others all at the top, the record from there to the bottom."""
    event = SubsampledPenaltyBit(8, 4, bound=0.3, std=1.0)
    k = event.n / event.batch * event.bound

    def statistic(y):
        scaled = k * np.array([1.0, 1.0, 1.0, y])
        return scaled.sum() - np.sum((scaled - scaled.mean()) ** 2) / 2

    assert statistic(1.0) - statistic(-1.0) == pytest.approx(penalty_shift(event), rel=1e-12)


def test_published_size():
    """A million records, batches of a thousand: the bound is within 5 % of an attained value, and fast."""
    event = SubsampledBarkerBit(10**6, 1000)
    start = time.process_time()
    claimed = renyi(event, np.array([2.0, 28.0, 600.0]))
    assert time.process_time() - start < 4
    b, q = 1000, 1e-3
    pairs = optimal_correction(2.0).pairs
    attained = 0.0
    for w in (0.0, 0.5, 1.0):  # variance of the others, mean ±√(1−w)
        for m in (-np.sqrt(1 - w), np.sqrt(1 - w)):
            t = np.linspace(-4, 4, 801)
            law = []
            for y in (-1.0, 1.0):
                v = 2 - w * (b - 1) / b - (y - m) ** 2 * (b - 1) / b**2
                law.append(sum(p * ndtr((t + y / np.sqrt(b) - z) / np.sqrt(v)) for z, p in pairs))
            difference, g = q * (law[1] - law[0]), law[0]
            attained = max(attained, np.max(difference**2 / (g * (1 - g))) / 2)  # R_α/α to leading order
    assert attained * 2.0 * (1 - 1e-3) <= claimed[0] <= attained * 2.0 * 1.05


@pytest.mark.parametrize(
    "event",
    [
        SubsampledBarkerBit(10**6, 1000),
        SubsampledBarkerBit(10**5, 100, clamp=20.0),
        SubsampledBarkerBit(10**4, 50, noise_variance=1.3, clamp=25.0),
        SubsampledBarkerBit(40, 20, clamp=12.0),
    ],
    ids=str,
)
def test_large_batches_against_random_configurations(event):
    """Lemma 5's pair at random and extreme places, far into the tails, in logarithms, at orders up to 3e4."""
    rng, size, b, q = np.random.default_rng(5), 40_000, event.batch, event.batch / event.n
    t = rng.uniform(-1, 1, size) * (event.clamp + 1)
    t[::3] = rng.normal(0, 2, len(t[::3]))
    t[::7] = rng.choice([-1, 1], len(t[::7])) * (event.clamp - rng.exponential(0.05, len(t[::7])))
    w = np.where(rng.random(size) < 0.3, rng.integers(0, 2, size), rng.random(size))
    m = np.sqrt(1 - w) * np.where(rng.random(size) < 0.7, rng.choice([-1, 1], size), rng.uniform(-1, 1, size))
    atoms, weights = np.array(optimal_correction(event.noise_variance).pairs).T

    def logs(y):
        x = np.clip(t + y / np.sqrt(b), -event.clamp, event.clamp)
        v = event.noise_variance - w * (b - 1) / b - (y - m) ** 2 * (b - 1) / b**2
        u = (x[:, None] - atoms) / np.sqrt(v)[:, None]
        return [logsumexp(log_ndtr(sign * u), axis=1, b=weights) for sign in (1, -1)]

    a, a2, g = (
        logs(np.where(rng.random(size) < 0.8, rng.choice([-1, 1], size), rng.uniform(-1, 1, size))) for _ in range(3)
    )
    p, r = ([np.logaddexp(np.log(q) + x[i], np.log1p(-q) + g[i]) for i in (0, 1)] for x in (a, a2))
    for order in (1.5, 30.0, 600.0, 5000.0, 30_000.0):
        claimed = renyi(event, order)[0]
        terms = [order * p[i] + (1 - order) * r[i] for i in (0, 1)]
        true = np.max(np.logaddexp(*terms)) / (order - 1)
        assert true <= claimed * (1 + 1e-6) + 1e-11  # the right-hand term is the rounding of this check itself


def test_account_of_published_size():
    from dpmcmc.privacy import epsilon, max_steps

    event = SubsampledBarkerBit(10**6, 1000)
    assert float(epsilon(Repeat(event, 20_000), 1e-6)) <= 0.025
    assert int(max_steps(event, 1.0, 1e-6)) >= 20_000_000


# --- Gaussian sums ---------------------------------------------------------------------------------------------------


@cache
def mixture_divergence(order, std, first, second):
    """D_α between two Gaussian mixtures, by mpmath; each is a tuple of (probability, mean)."""

    def density(parts):
        return lambda x: sum(w * mpmath.npdf(x, mu, std) for w, mu in parts)

    p, q = density(first), density(second)
    points = sorted(
        {-30 * std, -8 * std, -3 * std, -1, 0, 1, 2, 3 * std, 8 * std, 4 * order + 8 * std, 4 * order + 30 * std}
    )
    return float(mpmath.log(mpmath.quad(lambda x: p(x) ** order * q(x) ** (1 - order), points)) / (order - 1))


def mixture_divergence_on_a_grid(order, std, first, second):
    """The same in float64 by the trapezoidal rule, which for such integrands converges faster than any power."""
    x = np.linspace(-12 - 30 * std, 12 + 4 * order + 30 * std, 40_001)
    log_p, log_q = (
        logsumexp([np.log(w) + norm.logpdf(x, mu, std) for w, mu in parts], axis=0) for parts in (first, second)
    )
    return float(np.log(np.trapezoid(np.exp(order * log_p + (1 - order) * log_q), x)) / (order - 1))


def test_the_grid_agrees_with_mpmath():
    first, second = ((0.5, -1.0), (0.5, 1.0)), ((0.5, -1.0), (0.5, -3.0))
    for order, std in ((1.3, 1.0), (3.0, 1.5)):
        exact = mixture_divergence(order, std, first, second)
        assert mixture_divergence_on_a_grid(order, std, first, second) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("std", "q", "order"), [(1.0, 0.01, 1.5), (0.7, 0.1, 2.0), (5.0, 0.3, 1.05), (2.0, 0.001, 7.3)]
)
def test_poisson_gaussian_by_quadrature(std, q, order):
    n, plus, minus, none = 10_000, ((q, 1), (1 - q, 0)), ((q, -1), (1 - q, 0)), ((1, 0),)
    event = SubsampledGaussian(std, n, round(q * n), "poisson")
    value = subsampled_gaussian_renyi(event, np.array([order]))[0]
    assert value == pytest.approx(mixture_divergence(order, std, plus, minus), rel=1e-7)
    event = SubsampledGaussian(std, n, round(q * n), "poisson", "add_remove")
    true = max(mixture_divergence(order, std, plus, none), mixture_divergence(order, std, none, plus))
    assert subsampled_gaussian_renyi(event, np.array([order]))[0] == pytest.approx(true, rel=1e-7)


def test_by_hand():
    """q = 1: α(2/σ)²/2 under substitution, α/2σ² under add/remove; α = 2 Poisson: log(1 + q²(e^(1/σ²) − 1))."""
    two = np.array([2.0])
    assert renyi(SubsampledGaussian(4.0, 9, 9, "without_replacement"), two)[0] == pytest.approx(0.25)
    assert renyi(SubsampledGaussian(4.0, 9, 9, "poisson", "add_remove"), two)[0] == pytest.approx(1 / 16)
    q, std = 0.05, 1.3
    sampled = renyi(SubsampledGaussian(std, 100, 5, "poisson", "add_remove"), two)[0]
    assert sampled == pytest.approx(np.log1p(q**2 * np.expm1(1 / std**2)), rel=1e-8)


@pytest.mark.parametrize(("n", "batch", "std"), [(2, 1, 1.0), (3, 2, 2.0), (3, 1, 1.5)])
def test_without_replacement_against_all_subsets(n, batch, std):
    event = SubsampledGaussian(std, n, batch, "without_replacement")
    for order in (1.3, 3.0):
        claimed = renyi(event, np.array([order]))[0]
        for others in combinations_with_replacement((-1.0, 1.0), n - 1):
            laws = []
            for value in (-1.0, 1.0):
                sums = [sum(s) for s in combinations((*others, value), batch)]
                laws.append(tuple((1 / len(sums), mu) for mu in sums))
            for p, q in ((laws[0], laws[1]), (laws[1], laws[0])):
                assert mixture_divergence_on_a_grid(order, std, p, q) <= claimed * (1 + 1e-6)


def test_against_dp_accounting_and_autodp():
    from autodp import rdp_bank
    from dp_accounting.rdp import rdp_privacy_accountant as library

    orders, q = np.array([2.0, 3.0, 8.0, 32.0, 64.0]), 0.01
    for std in (0.8, 2.0, 10.0):
        ours = renyi(SubsampledGaussian(std, 1000, 10, "poisson", "add_remove"), orders)
        theirs = [library._compute_rdp_poisson_subsampled_gaussian(q, std, [a])[0] for a in orders]
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
        ours = renyi(SubsampledGaussian(std, 1000, 10, "without_replacement"), orders)
        looser = [library._compute_rdp_sample_wor_gaussian(q, std / 2, [a])[0] for a in orders]  # sensitivity doubled
        assert np.all(ours <= np.array(looser) * (1 + 1e-6))
        whole = [rdp_bank.RDP_gaussian({"sigma": std / 2}, a) for a in orders]
        assert np.all(ours <= np.array(whole) * (1 + 1e-6))


def test_curves_grow_with_order():
    orders = np.geomspace(1.01, 3e4, 60)
    for event in (
        SubsampledBarkerBit(10**6, 1000),
        SubsampledPenaltyBit(10**6, 1000, 1e-5, 1.0),
        SubsampledGaussian(5.0, 1000, 10, "without_replacement"),
    ):
        curve = renyi(event, orders)
        assert np.all(np.isfinite(curve))
        assert np.all(curve[1:] >= curve[:-1] * (1 - 1e-6))


def test_bad_parameters():
    with pytest.raises(ValueError, match="fixed size"):
        renyi(SubsampledGaussian(1.0, 10, 2, "without_replacement", "add_remove"), 2.0)
    with pytest.raises(ValueError, match="sum to 1"):
        renyi(SubsampledBarkerBit(10, 2, correction=((0.0, 0.5),)), 2.0)
    with pytest.raises(ValueError, match="batch"):
        SubsampledBarkerBit(10, 11)
