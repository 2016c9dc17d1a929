"""Batches are subsets, all of them equally likely, and reproducible from their words alone."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpmcmc.mechanisms.batches import FAILURE, Batches
from dpmcmc.mechanisms.needs import Ahead, drawn
from dpmcmc.randomness import RandomSource

SIZES = [(1, 1), (7, 3), (7, 6), (40, 20), (1000, 30), (10**6, 900), (2**31 + 1, 9), (2**32 - 1, 5)]


def batches(n, batch, count, seed=1):
    return drawn(RandomSource(seed), {"batch": Batches(n, batch)}, (count,))["batch"]


def reference(row, n, batch):
    """Word by word in whole numbers: the first different indices, skipping void words."""
    few, seen = min(batch, n - batch), []
    for word in map(int, row):
        if (word * n) % 2**32 >= 2**32 % n and (word * n) >> 32 not in seen:
            seen.append((word * n) >> 32)
    chosen = seen[:few] if len(seen) >= few else list(range(few))
    return set(chosen) if few == batch else set(range(n)) - set(chosen)


@pytest.mark.parametrize(("n", "batch"), SIZES)
def test_a_batch_is_the_first_different_records(n, batch):
    """Against whole-number arithmetic, on words that repeat, are void, or yield too few different records."""
    rng, m = np.random.default_rng(0), Batches(n, batch).words
    rows = rng.integers(0, 2**32, (60, m), np.uint32)
    awkward = np.array([0, 1, 2, 2**16 - 1, 2**16, 2**30, 2**31, 2**32 - 1], np.uint32)
    for i, share in enumerate(np.repeat([0.0, 0.01, 0.3, 1.0], 15)):
        rows[i] = np.where(rng.random(m) < share, rng.choice(awkward, m), rows[i])
    for row, batch_drawn in zip(rows, Batches(n, batch).draw(rows).tolist(), strict=True):
        assert len(set(batch_drawn)) == len(batch_drawn) == batch
        assert set(batch_drawn) == reference(row, n, batch)


@pytest.mark.parametrize(("n", "batch"), [(6, 3), (7, 2), (7, 5), (8, 4), (5, 1), (5, 4)])
def test_all_subsets_are_equally_likely(n, batch):
    count = 20_000
    seen = Counter(tuple(sorted(row)) for row in batches(n, batch, count).tolist())
    subsets = list(combinations(range(n), batch))
    expected = count / len(subsets)
    statistic = sum((seen[s] - expected) ** 2 / expected for s in subsets)
    assert chi2.sf(statistic, len(subsets) - 1) > 1e-4


def test_pairs_and_inclusion_in_larger_sets():
    n, batch, count = 60, 12, 20_000
    member = np.zeros((count, n))
    np.put_along_axis(member, batches(n, batch, count).astype(int), 1.0, axis=1)
    q, pair = batch / n, batch * (batch - 1) / (n * (n - 1))
    together = member.T @ member / count
    z = (np.diag(together) - q) / np.sqrt(q * (1 - q) / count)
    assert np.max(np.abs(z)) < 4.5  # 60 comparisons
    off = together[np.triu_indices(n, 1)]
    assert np.max(np.abs(off - pair)) < 5.2 * np.sqrt(pair * (1 - pair) / count)  # 1770 comparisons


def test_how_a_draw_went_says_nothing_about_the_records():
    """Given that a word was replaced, so that the draw took longer, a record is in the batch as often as ever."""
    n, size, count = 40, 4, 40_000
    bits = RandomSource(2).random_words("batch", (count, Batches(n, size).words), np.uint32)
    index = (bits[:, :size] * np.uint64(n)) >> np.uint64(32)
    longer = np.array([len(set(row)) < size for row in index.tolist()])
    seen = np.bincount(Batches(n, size).draw(bits)[longer].ravel(), minlength=n)
    assert 4000 < longer.sum() < 8000
    q, k = size / n, longer.sum()
    assert np.max(np.abs(seen - k * q)) < 4.5 * math.sqrt(k * q * (1 - q))  # 40 comparisons


@pytest.mark.parametrize("lead", [(3,), (700, 2), (0,)])
def test_draws_made_ahead_are_those_of_the_next_key_alone(lead):
    needs = {"batch": Batches(10**4, 300), "coin": (2,)}
    source, ahead = RandomSource(5), Ahead()
    ahead.prepare(source, needs, lead)
    now = ahead.take(source, needs, lead)  # not what was prepared
    ahead.prepare(source, needs, lead)
    source.advance()
    following = ahead.take(source, needs, lead)
    for key, draws in ((RandomSource(5), now), (source, following)):
        expected = drawn(key, needs, lead)
        assert all(np.array_equal(draws[name], expected[name]) for name in needs)
    assert lead == (0,) or not np.array_equal(now["batch"], following["batch"])


@pytest.mark.parametrize(("n", "batch"), [(10, 5), (100, 1), (10**6, 1000), (10**6, 500_000), (10**9, 100), (50, 49)])
def test_enough_words_and_not_many_more(n, batch):
    few, m = min(batch, n - batch), Batches(n, batch).words
    waste = (few - 1) / n + (2**32 % n) / 2**32
    assert binom.logsf(m - few, m, waste) < math.log(FAILURE)  # P(more than m − few wasted)
    assert m < 1.1 * few / (1 - waste) + 400
    if batch < n / 100:
        assert m < batch + 60 + 2 * batch * waste


def test_all_records_need_no_words_and_bad_sizes_are_refused():
    assert Batches(5, 5).words == 0
    assert batches(5, 5, 3).tolist() == [[0, 1, 2, 3, 4]] * 3
    for n, batch in ((5, 0), (5, 6), (2**32, 3)):
        with pytest.raises(ValueError, match=r"batch"):
            Batches(n, batch)
