"""Noisy counts: what one record can do to the table, by enumeration, and noise of the law that is charged for."""

import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmcmc import privacy
from dpmcmc.mechanisms.blocks import BLOCK
from dpmcmc.mechanisms.counts import LEAST_WEIGHT, Histograms, largest_weight, noisy_counts, whole_counts
from dpmcmc.mechanisms.gaussian_sum import BASE_STD, DRAWS, MOST_COORDINATES, NOISE_STD, RATIO, WORDS
from dpmcmc.privacy.relations import PROMISED
from dpmcmc.randomness import RandomSource


def counted(chosen, bins) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(whole_counts(jnp.asarray(chosen), np.shape(chosen)[1], bins))


def words_for(columns, bins, seed=0) -> np.ndarray:
    return RandomSource(seed).random_words("noise", (columns * bins, *WORDS))


def as_given(rows):
    return rows


@pytest.mark.parametrize(("columns", "bins"), [(1, 2), (1, 5), (2, 3), (3, 2), (3, 3), (2, 1)])
def test_one_record_moves_the_table_by_what_is_charged_and_some_do(columns, bins):
    """Every pair of values of one record, those out of range too, among others: 2·columns is reached, never passed."""
    values = list(itertools.product([*range(bins), -1, bins, 2**62, -(2**62)], repeat=columns))
    others = np.array([values[0], values[len(values) // 2], values[-1]])
    tables = np.stack([counted(np.concatenate([others[:2], [value], others[2:]]), bins) for value in values])
    moved = [int(((one - two) ** 2).sum()) for one, two in itertools.combinations(tables.astype(object), 2)]
    assert max(moved) == (2 * columns if bins > 1 else 0)
    assert Histograms(columns, 100).noise_multiplier * 100 * math.sqrt(2 * columns) == pytest.approx(
        NOISE_STD, rel=1e-9
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_every_record_is_in_one_bin_of_each_column_whatever_it_holds(dtype):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    chosen = rng.integers(limits.min, limits.max, size=(300, 4), dtype=dtype, endpoint=True)
    chosen[:150] = rng.integers(0, 9, size=(150, 4))
    chosen[-2:] = [[limits.min] * 4, [limits.max] * 4]
    with jax.enable_x64(True):
        each = np.asarray(jax.vmap(lambda row: whole_counts(row[None], 4, 7))(jnp.asarray(chosen)))
    assert np.all(each.sum(2) == 1)
    assert set(np.unique(each)) == {0, 1}
    expected = [np.bincount(np.clip(chosen[:150, j].astype(int), 0, 6), minlength=7) for j in range(4)]
    assert np.array_equal(counted(chosen[:150], 7), expected)


@pytest.mark.parametrize("n", [30, 2 * BLOCK, 2 * BLOCK + 91])
def test_counts_of_blocks_are_the_counts(n):
    """With the same noise, what two data sets differ in is what is in their bins."""
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 5, size=(2, n, 3))
    counts, words = Histograms.of_multiplier(3, 2.0), words_for(3, 5)
    with jax.enable_x64(True):
        noisy = [np.asarray(counts.of_records(words, x, as_given, 5)) for x in (one, two)]
    exact = [np.stack([np.bincount(x[:, j], minlength=5) for j in range(3)]) for x in (one, two)]
    np.testing.assert_allclose(noisy[0] - noisy[1], exact[0] - exact[1], atol=1e-7)


def test_the_noise_is_that_of_the_charge():
    """Variance within 5 standard errors, the law by Kolmogorov and Smirnov (10⁻⁴), cells uncorrelated, whole units."""
    columns, bins, releases = 2, 3, 5000
    counts = Histograms.of_multiplier(columns, 40.0)
    chosen = np.array([[0, 2]] * 500 + [[1, 1]] * 300)
    exact = np.array([[500, 300, 0], [0, 300, 500]])
    words = RandomSource(5).random_words("noise", (releases, columns * bins, *WORDS))
    with jax.enable_x64(True):
        noisy = np.asarray(jax.jit(jax.vmap(lambda w: counts.of_records(w, chosen, as_given, bins)))(words))
    away = (noisy - exact).reshape(releases, -1)
    assert counts.std == pytest.approx(40.0 * math.sqrt(2 * columns), rel=1e-4)
    assert abs(away.var() / counts.std**2 - 1) < 5 * math.sqrt(2 / away.size)
    assert abs(away.mean()) < 5 * counts.std / math.sqrt(away.size)
    assert stats.kstest(away.ravel() / counts.std, "norm").pvalue > 1e-4
    between = np.corrcoef(away.T)[np.triu_indices(away.shape[1], 1)]
    assert np.all(np.abs(between) < 5 / math.sqrt(releases))
    units = away * counts.weight
    assert np.all(np.abs(units - np.round(units)) < 1e-3)


def true_multiplier(columns, weight, relation):
    mpmath.mp.dps = 50
    variance = mpmath.mpf(BASE_STD**2 * sum(RATIO ** (2 * j) for j in range(DRAWS))) - mpmath.mpf(1) / 12
    return mpmath.sqrt(variance / ((2 if relation == "substitution" else 1) * columns)) / weight


@settings(max_examples=300, deadline=None)
@given(st.integers(1, MOST_COORDINATES), st.floats(0, 1), st.sampled_from(PROMISED))
def test_the_charged_multiplier_is_at_least_what_was_asked_for_and_at_most_the_true_one(columns, where, relation):
    wanted = (float(Histograms(columns, LEAST_WEIGHT, relation).noise_multiplier)) ** where
    counts = Histograms.of_multiplier(columns, wanted, relation)
    assert wanted <= counts.noise_multiplier <= true_multiplier(columns, counts.weight, relation)
    assert counts.noise_multiplier >= true_multiplier(columns, counts.weight, relation) * (1 - 2**-48)
    assert counts.noise_multiplier <= wanted * (1 + 1 / counts.weight) * (1 + 1e-9)  # and hardly more
    assert counts.event(10) == privacy.Gaussian(counts.noise_multiplier, relation)


@pytest.mark.parametrize("relation", PROMISED)
def test_the_largest_weights_have_multipliers_of_at_least_one(relation):
    for columns in range(1, MOST_COORDINATES + 1):
        most = largest_weight(columns, relation)
        assert Histograms(columns, most, relation).noise_multiplier >= 1
        assert most <= largest_weight(columns)  # what a program takes at most
    with pytest.raises(ValueError, match="whole number from 16 to"):
        Histograms(3, largest_weight(3, relation) + 1, relation)


def test_one_program_serves_all_multipliers_and_none_below_one():
    chosen, words = np.random.default_rng(3).integers(0, 4, size=(1100, 2)), words_for(2, 4)
    run = jax.jit(lambda w, data, weight: noisy_counts(w, data, as_given, 4, weight))
    with jax.enable_x64(True):
        for multiplier in (1.0, 17.0, 3000.0):
            counts = Histograms.of_multiplier(2, multiplier)
            fixed = counts.of_records(words, chosen, as_given, 4)
            assert np.array_equal(run(words, chosen, counts.weight), fixed)
        most = run(words, chosen, largest_weight(2))
        assert np.array_equal(run(words, chosen, 10**12), most)
        assert np.all(np.isfinite(run(words, chosen, 0)))
    assert run._cache_size() == 1


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Histograms.of_multiplier(2, 0.99), "multipliers from 1, .* got 0.99"),
        (lambda: Histograms.of_multiplier(2, math.nan), "got nan"),
        (lambda: Histograms.of_multiplier(2, 1e9), "got 1000000000.0"),
        (lambda: Histograms.of_multiplier(0, 2.0), "columns must be"),
        (lambda: Histograms(1.5, 100), "columns must be"),
        (lambda: Histograms(2, 15), "got 15"),
        (lambda: Histograms(2, 100.5), "got 100.5"),
        (lambda: Histograms(2, 100).of_records(words_for(3, 4), np.zeros((5, 2), int), as_given, 4), "2 × 4 counts"),
        (lambda: Histograms(2, 100).of_records(words_for(2, 4), np.zeros((5, 3), int), as_given, 4), r"shape \(5, 3\)"),
        (lambda: Histograms(2, 100).of_records(words_for(2, 4), np.zeros((5, 2)), as_given, 4), "got float64"),
        (lambda: noisy_counts(words_for(1, 7), np.zeros((5, 2), int), as_given, 4, 100), "multiple of bins"),
        (lambda: noisy_counts(np.zeros((2**15, *WORDS)), np.zeros((5, 2), int), as_given, 2**14, 100), "at most 16384"),
    ],
)
def test_public_mistakes_are_refused(make, says):
    with jax.enable_x64(True), pytest.raises(ValueError, match=says):
        make()


def test_32_bits_are_refused():
    with pytest.raises(ValueError, match="enable_x64"):
        whole_counts(jnp.zeros((3, 2), jnp.int32), 2, 4)
