"""Where to clip: outwards for tails that are longer than the model's, and to somewhere whatever the counts say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmcmc.scores import radius

SIZE, N = 3, 20_000
SIMULATED = np.random.default_rng(0).normal(size=(8192, SIZE))
LENGTHS = np.linalg.norm(SIMULATED, axis=1)
EDGES = radius.norm_edges(LENGTHS)


def counted(vectors, edges=EDGES):
    return np.bincount(np.searchsorted(edges[:-1], np.linalg.norm(vectors, axis=1)), minlength=len(edges)).astype(float)


def choose(counts, std=30.0, noise=20.0, least=0.9, simulated=SIMULATED, edges=EDGES, harm=None):
    harm = np.eye(simulated.shape[1]) if harm is None else harm
    tails = radius.Tails(edges, counts, std, np.linalg.norm(simulated, axis=1))
    return radius.choose(tails, simulated, harm, noise, least)


def tailed(seed, degrees, count=N):
    """Student t vectors with the spread of the simulated ones in the middle."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, SIZE)) / np.sqrt(rng.chisquare(degrees, (count, 1)) / degrees)


def test_records_like_the_simulated_ones_have_no_excess():
    """For noise of every size the radius is what it would be if the counts were those of the model exactly."""
    for noise in (1.0, 10.0, 100.0):
        found = choose(counted(np.random.default_rng(1).normal(size=(N, SIZE))), noise=noise)
        expected = choose(counted(SIMULATED) * N / len(SIMULATED), noise=noise)
        assert found.clip == pytest.approx(expected.clip, rel=0.15)
        assert abs(found.excess) < 0.01 * N
        assert 0 <= found.beyond < 0.2


def test_the_radius_moves_out_with_the_tail_of_the_records():
    light, heavy, heavier = (choose(counted(tailed(2, degrees))) for degrees in (100, 4, 2))
    assert light.clip < heavy.clip < heavier.clip
    assert heavier.excess > light.excess
    for degrees, found in ((4, heavy), (2, heavier)):
        over = np.maximum(np.linalg.norm(tailed(2, degrees), axis=1) - found.clip, 0).sum()
        more = np.maximum(LENGTHS - found.clip, 0).sum() * N / len(SIMULATED)
        assert abs(found.excess - (over - more)) < 4.5 * found.doubt + 0.4 * abs(over - more)


def test_a_tail_is_seen_through_noise():
    rng = np.random.default_rng(3)
    exact = counted(tailed(2, 2))
    clips = [choose(exact + 30 * rng.normal(size=len(EDGES))).clip for _ in range(20)]
    quiet = [choose(counted(SIMULATED) * N / 8192 + 30 * rng.normal(size=len(EDGES))).clip for _ in range(20)]
    assert min(clips) > max(quiet)
    assert max(clips) < 4 * min(clips)  # the harm is flat around the best radius


def test_the_smaller_the_noise_the_farther_out():
    clips = [choose(counted(tailed(2, 4)), noise=noise).clip for noise in (0.1, 10.0, 1000.0)]
    assert clips == sorted(clips, reverse=True)
    assert clips[0] > clips[-1]


@pytest.mark.parametrize("seed", range(10))
def test_noise_alone_gives_a_radius_near_the_model(seed):
    """A hundred records under noise of a thousand: what no count shows is not believed."""
    counts = counted(SIMULATED) * 100 / 8192 + 1000 * np.random.default_rng(seed).normal(size=len(EDGES))
    found = choose(counts, std=1000.0, noise=1000.0)
    assert np.quantile(LENGTHS, 0.9) <= found.clip <= 2 * LENGTHS.max()
    assert np.isfinite(found.excess)
    assert found.doubt >= 0


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), min_size=radius.BINS, max_size=radius.BINS),
    st.floats(1e-3, 1e5),
    st.floats(1e-3, 1e5),
    st.floats(0, 0.999),
    st.floats(-8, 8),
)
def test_whatever_the_counts_say_the_radius_is_positive_and_within_the_edges(counts, std, noise, least, log_scale):
    """And it is the same for vectors in other units."""
    found = choose(np.array(counts), std, noise, least)
    assert 0 < np.quantile(LENGTHS, least) * (1 - 1e-12) <= found.clip <= EDGES[-1]
    assert np.isfinite(found.excess)
    assert np.isfinite(found.doubt)
    assert found.doubt >= 0
    assert found.beyond >= 0
    scale = 10**log_scale
    other = choose(np.array(counts), std, noise, least, scale * SIMULATED, scale * EDGES)
    assert other.clip / scale == pytest.approx(found.clip, rel=0.2)  # a tie may fall to a neighbour among candidates


def test_edges_hold_every_simulated_norm_and_much_longer_ones():
    for scale in (1e-9, 1.0, 1e9):
        edges = radius.norm_edges(scale * LENGTHS)
        assert np.all(np.diff(edges) > 0)
        assert edges[-1] > 3.99 * scale * LENGTHS.max()
    assert np.all(np.diff(radius.norm_edges(np.zeros(100))) > 0)


def test_a_tail_points_where_its_records_do():
    skewed = np.abs(SIMULATED) * [1.0, 0.01, 0.01]
    assert np.linalg.norm(radius.tail_direction(SIMULATED)) < 0.1
    np.testing.assert_allclose(radius.tail_direction(skewed), [1.0, 0.0, 0.0], atol=0.02)
    assert np.all(np.isfinite(radius.tail_direction(np.zeros((10, 3)))))


def test_a_radius_is_not_just_at_a_length_that_many_have():
    """Scores of a yes or no have two lengths, and simulated ones may all be a little too short."""
    rng = np.random.default_rng(0)
    rows = np.where(rng.random(8192) < 0.48, -1.04, 0.96)[:, None]
    edges = radius.norm_edges(np.abs(rows[:, 0]))
    found = choose(counted(rows, edges) * N / 8192, noise=10.0, simulated=rows, edges=edges)
    assert 1.04 * (1 + radius.LENGTH) <= found.clip < 1.5
    assert not np.any(radius.more_lost(np.abs(rows[:, 0]), found.clip))
    assert np.all(radius.more_lost(np.full(5, 2.0), 1.0) == pytest.approx(radius.LENGTH))


def test_outliers_over_a_wide_range_are_seen_better_in_few_wide_bins():
    """One record of eighty, three to nine times as long as the tail begins, noise 30 in every count.

    Shares of 100 releases that find what they take to within a half; their standard error is below 0.05.
    """
    rng = np.random.default_rng(4)
    records, some = rng.normal(size=(N, SIZE)), N // 80
    records[:some] *= (EDGES[0] * rng.uniform(3, 9, some) / np.linalg.norm(records[:some], axis=1))[:, None]
    clip = 2 * EDGES[0]
    taken = np.maximum(np.linalg.norm(records, axis=1) - clip, 0).sum()

    def seen(edges):
        noisy = counted(records, edges) + 30 * rng.normal(size=(100, len(edges)))
        found = [radius.Tails(edges, counts, 30.0, LENGTHS).excess(clip)[0] for counts in noisy]
        return np.mean(np.abs(np.array(found) / taken - 1) < 0.5)

    narrow = np.geomspace(np.median(LENGTHS) / 4, EDGES[-1], 28)
    assert seen(EDGES) > seen(narrow) + 4.5 * 0.05
