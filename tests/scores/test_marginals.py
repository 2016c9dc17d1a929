"""The covariates one by one: known distributions are found again, and anything at all gives a distribution."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmcmc.scores import description
from dpmcmc.scores.marginals import ATOM, BINS, Marginals, first_edges
from dpmcmc.scores.reader import Noisy
from tests.scores.problems import MU, counts_between

RANKS = np.linspace(0.02, 0.98, 49)


class Counts:
    """Counts of numbers, with noise of the size that a release at ``mu`` has, or without (``noise=0``)."""

    def __init__(self, x, mu=MU, seed=0, noise=1.0):
        self.x, self.n, self.mu, self.loudness, self.rng = x, len(x), mu, noise, np.random.default_rng(seed)
        self.relation = "substitution"

    def covariate_counts(self, edges, share):
        std = np.sqrt(2 * len(edges)) / (self.mu * np.sqrt(share))
        exact = counts_between(edges, self.x)
        return Noisy(exact + self.loudness * std * self.rng.normal(size=exact.shape), std)


def learnt(x, levels=None, **settings):
    rows = np.reshape(x, (len(x), -1))
    return description._marginals(Counts(rows, **settings), levels or (0,) * rows.shape[1], False)


KNOWN = {
    "uniform": stats.uniform(-1, 2),
    "normal": stats.norm(0.2, 0.1),
    "skewed": stats.beta(2, 8, -1, 2),
    "narrow": stats.norm(0.3, 5e-4),  # 95 % within a thousandth of [−1, 1]
}


@pytest.mark.parametrize("name", KNOWN)
def test_quantiles_of_known_distributions_are_found_again(name):
    """Without noise: exact at every edge; between two of them a density that is linear moves a quarter of the bin.

    The narrow one's bins are as wide as its standard deviation: the even bins' width over 16 · 10, or so.
    """
    law = KNOWN[name]
    x = law.ppf((np.arange(100_000) + 0.5) / 100_000)
    found = learnt(x, mu=1e6)
    assert found.mass.max() < (0.5 if name == "narrow" else 0.15)
    inner = found.edges[0, 1:-1]
    np.testing.assert_allclose(found.cumulated[0, 1:-1], law.cdf(inner), atol=2e-5)
    away = law.cdf(found.quantiles(RANKS[:, None])[:, 0]) - RANKS
    assert np.abs(away).max() < found.mass.max() / 4
    middle = found.quantiles(np.array([[0.25], [0.5], [0.75]]))[:, 0]
    np.testing.assert_allclose(middle, law.ppf([0.25, 0.5, 0.75]), atol=0.25 * law.std())


@pytest.mark.parametrize("name", KNOWN)
def test_noise_leaves_the_distribution_where_it_is(name):
    """n = 20 000 at ε = 1: a sum of ten bins has noise of 133 records, 0.7 %; 4.5 of that, and two per cent of bins."""
    law, n = KNOWN[name], 20_000
    x = law.rvs(n, random_state=np.random.default_rng(1))
    found = learnt(x)
    away = law.cdf(found.quantiles(RANKS[:, None])[:, 0]) - RANKS
    assert np.abs(away).max() < 4.5 * np.sqrt(10) * np.sqrt(2) / (MU * np.sqrt(0.02)) / n + 0.02
    spread = found.quantiles(np.linspace(0.0005, 0.9995, 2000)[:, None]).std()
    assert 0.7 < spread / law.std() < 1.5  # noise in far bins would make the narrow one a thousand times wider


@pytest.mark.parametrize("std", [5e-4, 2e-3, 1e-2])
@pytest.mark.parametrize("centre", [0.0, 0.005, -0.085, 0.11, -0.115, 0.12])
def test_a_narrow_covariate_is_found_wherever_it_lies(centre, std):
    """Across the even bins' edges too: its spread within a factor of ten, which the moments then bring to one."""
    x = stats.norm(centre, std).rvs(20_000, random_state=np.random.default_rng(1))
    spread = learnt(x).quantiles(np.linspace(0.0005, 0.9995, 2000)[:, None]).std()
    assert 0.7 < spread / std < 10


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_two_values_stay_two(share):
    """0/1 covariates are at the bounds, in shares that are right within 4.5 standard deviations of their noise."""
    n = 20_000
    x = np.where(np.arange(n) < share * n, 1.0, -1.0)
    found = learnt(x)
    noise = np.sqrt(2) / (MU * np.sqrt(0.02)) / n
    assert found.mass[0, -1] == pytest.approx(share, abs=4.5 * noise)
    drawn = found.quantiles(np.random.default_rng(0).random((10_000, 1)))
    assert np.mean(np.abs(drawn) > 1 - 2 * ATOM) > 1 - BINS * 4.5 * noise
    assert np.mean(drawn > 0) == pytest.approx(share, abs=4.5 * noise + 4.5 * np.sqrt(share / 10_000))


@pytest.mark.parametrize("value", [-1.0, -0.3, 0.0, 0.11, 1.0])
def test_a_constant_is_nearly_one(value):
    found = learnt(np.full(5000, value), mu=1.0)
    assert np.abs(found.quantiles(RANKS[:, None]) - value).max() < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_a_distribution_still(seed):
    """Ten records, and noise of thousands."""
    found = learnt(np.linspace(-1, 1, 30).reshape(10, 3), mu=0.01, seed=seed)
    check_distribution(found)
    assert np.all(np.abs(found.from_normals(np.random.default_rng(0).normal(size=(100, 3)))) <= 1)


def check_distribution(found):
    assert np.all(found.mass >= 0)
    np.testing.assert_allclose(found.mass.sum(axis=1), 1.0)
    assert np.all(np.diff(found.edges, axis=1) >= 0)
    assert np.all(np.diff(found.cumulated, axis=1) > 0)
    assert np.all((found.edges[:, 0] == -1) & (found.edges[:, -1] == 1))


numbers = st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, -1e12, 1e12, 1e-300]))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(numbers, min_size=BINS, max_size=BINS), min_size=1, max_size=3),
    st.floats(1e-6, 1e6),
    st.integers(1, 10**7),
    st.booleans(),
)
def test_any_counts_give_a_distribution_and_edges_in_order(counts, std, n, last):
    """Twice, as counts in bins that the first ones chose may be anything again."""
    found = Marginals.from_counts(first_edges((0,) * len(counts)), np.array(counts), std, n)
    check_distribution(found)
    again = Marginals.from_counts(found.finer_edges(last), np.array(counts), std, n)
    check_distribution(again)
    check_distribution(Marginals(again.finer_edges(not last), again.mass, again.levels))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=50), st.floats(0, 1))
def test_ranks_and_quantiles_go_up_together(values, rank):
    found = learnt(np.array(values), mu=1e6)
    low, high = found.quantiles(np.array([[rank], [min(rank + 0.1, 1.0)]]))[:, 0]
    assert -1 <= low <= high + 1e-12  # rounding
    assert high <= 1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.integers(0, 10_000), st.booleans())
def test_levels_are_kept_as_they_are(count, seed, beside_a_number):
    """Without noise to speak of: the shares of every level, and no value between two of them."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(count))
    values = np.linspace(-1, 1, count)
    x = rng.choice(values, size=(5000, 1), p=shares)
    levels = (count,)
    if beside_a_number:
        x, levels = np.hstack([rng.normal(0.1, 0.2, (5000, 1)).clip(-1, 1), x]), (0, count)
    found = learnt(x, levels, mu=1e6)
    drawn = found.quantiles(np.tile(((np.arange(20_000) + 0.5) / 20_000)[:, None], (1, len(levels))))
    assert np.all(np.isin(drawn[:, -1], values))
    for value in values:
        assert abs(np.mean(drawn[:, -1] == value) - np.mean(x[:, -1] == value)) < 1e-3


def test_levels_under_noise_have_about_their_shares():
    """8 even levels of 20 000 at (1, 10⁻⁶): every share within 4.5 standard deviations of its noise."""
    x = np.random.default_rng(0).choice(np.linspace(-1, 1, 8), size=(20_000, 1))
    found = learnt(x, (8,))
    exact = np.array([np.mean(x == value) for value in np.linspace(-1, 1, 8)])
    noise = np.sqrt(2) / (MU * np.sqrt(0.02)) / 20_000
    assert np.all(np.abs(found.mass[0, :8] - exact) < 4.5 * noise)
    assert not np.any(found.mass[0, 8:])
