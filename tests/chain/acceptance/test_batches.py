"""Batches are subsets, all of them equally likely, and reproducible from their words alone."""

import math
from collections import Counter
from itertools import combinations

import jax
import numpy as np
import pytest
from scipy.stats import binom, chi2

from dpmcmc.mechanisms.batches import FAILURE, draw, words
from dpmcmc.randomness import RandomSource


def batches(n, batch, count, seed=1):
    bits = RandomSource(seed).random_words("batch", (count, words(n, batch)))
    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(lambda b: draw(b, n, batch)))(bits))


def reference(row, n, batch):
    """Word by word in whole numbers: the first different indices, skipping void words."""
    few, seen = min(batch, n - batch), []
    for word in map(int, row):
        if (word * n) % 2**64 >= 2**64 % n and (word * n) >> 64 not in seen:
            seen.append((word * n) >> 64)
    chosen = seen[:few] if len(seen) >= few else list(range(few))
    return set(chosen) if few == batch else set(range(n)) - set(chosen)


@pytest.mark.parametrize(("n", "batch"), [(1, 1), (7, 3), (7, 6), (40, 20), (1000, 30), (2**32 - 1, 5)])
def test_a_batch_is_the_first_different_records(n, batch):
    """Against whole-number arithmetic, on words that repeat, are void, or yield too few different records."""
    rng, m = np.random.default_rng(0), words(n, batch)
    rows = rng.integers(0, 2**64, (60, m), np.uint64)
    awkward = np.array([0, 1, 2**32 - 1, 2**32, 2**62, 2**63, 2**64 - 1], np.uint64)
    for i, share in enumerate(np.repeat([0.0, 0.3, 0.8, 1.0], 15)):
        rows[i] = np.where(rng.random(m) < share, rng.choice(awkward, m), rows[i])
    with jax.enable_x64(True):
        drawn = np.asarray(jax.jit(jax.vmap(lambda b: draw(b, n, batch)))(rows))
    for row, batch_drawn in zip(rows, drawn.tolist(), strict=True):
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
    np.put_along_axis(member, batches(n, batch, count), 1.0, axis=1)
    q, pair = batch / n, batch * (batch - 1) / (n * (n - 1))
    together = member.T @ member / count
    z = (np.diag(together) - q) / np.sqrt(q * (1 - q) / count)
    assert np.max(np.abs(z)) < 4.5  # 60 comparisons
    off = together[np.triu_indices(n, 1)]
    assert np.max(np.abs(off - pair)) < 5.2 * np.sqrt(pair * (1 - pair) / count)  # 1770 comparisons


def test_draw_order_is_uniform_too():
    """The first of a batch is a uniform record, whichever others are in it."""
    n, count = 9, 20_000
    first = np.bincount(batches(n, 3, count)[:, 0], minlength=n)
    assert chi2.sf(np.sum((first - count / n) ** 2 / (count / n)), n - 1) > 1e-4


@pytest.mark.parametrize(("n", "batch"), [(10, 5), (100, 1), (10**6, 1000), (10**6, 500_000), (10**9, 100), (50, 49)])
def test_enough_words_and_not_many_more(n, batch):
    few, m = min(batch, n - batch), words(n, batch)
    waste = (few - 1) / n + n / 2**64
    assert binom.logsf(m - few, m, waste) < math.log(FAILURE)  # P(more than m − few wasted)
    assert m < 1.1 * few / (1 - waste) + 400
    if batch < n / 100:
        assert m < batch + 40


def test_all_records_need_no_words_and_bad_sizes_are_refused():
    assert words(5, 5) == 0
    assert batches(5, 5, 3).tolist() == [[0, 1, 2, 3, 4]] * 3
    for n, batch in ((5, 0), (5, 6), (2**32, 3)):
        with pytest.raises(ValueError, match=r"batch"):
            words(n, batch)
