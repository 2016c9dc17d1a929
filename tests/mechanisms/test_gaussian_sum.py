"""Noisy vector sums: sensitivity in whole numbers on the worst records, and noise of the law that is charged for."""

import itertools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import stats

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc.mechanisms.blocks import BLOCK, block_of
from dpmcmc.mechanisms.gaussian_sum import (
    BASE_STD,
    CHARGED_STD,
    DRAWS,
    FARTHEST,
    FORWARD,
    LARGEST_BOUND,
    LEAST_MULTIPLIER,
    MOST_COORDINATES,
    NOISE_ERROR,
    NOISE_STD,
    NOISE_TAIL,
    RATIO,
    WORDS,
    GaussianSum,
    discrete_gaussian,
    inside,
    noisy_sum,
    record_gradients,
    table_draw,
    thresholds,
    whole_sum,
)
from dpmcmc.randomness import RandomSource
from dpmcmc.sources import MOST_RECORDS
from dpmcmc_experiments.targets import Banana


def whole(total: GaussianSum, vectors) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(total.whole_sum)(jnp.asarray(vectors)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("multiplier", "dimension"), [(1.0, 1), (7.3, 3), (300.0, 50), (1e5, 30), (40.0, 900)])
def test_one_record_moves_the_sum_by_no_more_than_is_charged(multiplier, dimension, dtype):
    total = GaussianSum.of_multiplier(0.7, multiplier)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(200, dimension))
    halves = (rng.integers(-3, 4, size=(200, dimension)) + 0.5) * total.unit  # as far from whole numbers as can be
    on_the_sphere = directions / np.linalg.norm(directions, axis=1, keepdims=True) * 0.7
    extremes = [np.full(dimension, v) for v in (np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-40, 0.0)]
    records = np.concatenate([directions * 1e6, halves, on_the_sphere, *[e[None] for e in extremes]]).astype(dtype)
    with jax.enable_x64(True):
        terms = np.asarray(jax.jit(jax.vmap(lambda v: total.whole_sum(v[None])))(jnp.asarray(records)))
    norms = np.linalg.norm(terms.astype(float), axis=1)
    assert np.all(norms <= total.bound)
    assert norms.max() > total.bound - math.sqrt(dimension) - 1  # and the ball is used
    assert np.all(terms[-7:-4] == 0)
    pairs = itertools.combinations(range(0, len(terms), 37), 2)
    assert max(np.linalg.norm((terms[i] - terms[j]).astype(float)) for i, j in pairs) <= 2 * total.bound
    assert total.event(10) == privacy.Gaussian(CHARGED_STD / (2 * total.bound))
    assert total.event(10).noise_multiplier >= multiplier * (1 - 1e-9)
    assert 2 * total.bound * total.unit <= 2 * 0.7 * (1 + 1e-12)


def squares_to(target: int, size: int, rng) -> list[int]:
    """``size`` random whole numbers and a few more, the squares of all of which add up to ``target``."""
    found = [int(w) for w in rng.integers(0, math.isqrt(target // (2 * max(size, 1))) + 1, size=size)]
    while left := target - sum(w**2 for w in found):
        found.append(math.isqrt(left))
    return found


def test_the_check_of_norms_is_exact():
    """Lemma 1: floats decide as integers do, one unit of the squared norm apart and far beyond 2^53."""
    rng = np.random.default_rng(2)
    columns, radii = [], []
    for radius in (2, 1000, 2**20 + 1, LARGEST_BOUND - 1, LARGEST_BOUND):
        for beyond, size in itertools.product((0, 1, -1, 2), (0, 3, 500, 16_000)):
            column = squares_to(radius**2 + beyond, size, rng)
            columns.append(rng.permutation(column + [0] * (MOST_COORDINATES - len(column))))
            radii.append(radius)
    for count in (2, 31, 32, 33, 1000, MOST_COORDINATES):  # sums of squares up to 2^62
        columns.append(np.r_[np.full(count, LARGEST_BOUND), np.zeros(MOST_COORDINATES - count, np.int64)])
        radii.append(LARGEST_BOUND)
    whole = np.stack(columns, axis=1).astype(np.int64)
    exact = [sum(int(w) ** 2 for w in column) <= radius**2 for column, radius in zip(whole.T, radii, strict=True)]
    with jax.enable_x64(True):
        numbers, limits = jnp.asarray(whole, jnp.float64), jnp.asarray(radii, jnp.float64)
        assert np.array_equal(jax.jit(inside)(numbers, limits), exact)
        assert np.array_equal(jax.jit(inside)(numbers[::-1], limits), exact)
    assert 20 < sum(exact) < len(exact) - 20


@pytest.mark.parametrize("unit", [None, 1e-300, 1e-9, 0.0, -1.0, np.nan, np.inf, 1e300])
@pytest.mark.parametrize("bound", [0, 3, 40_000, LARGEST_BOUND, 2**40, -7])
def test_no_term_is_longer_than_the_bound_that_the_program_is_given(bound, unit):
    """Whatever the unit is; and no bound is so large that a multiplier below 1 would run."""
    rng = np.random.default_rng(4)
    records = rng.normal(size=(300, 7)) * 10.0 ** rng.uniform(-8, 12, size=(300, 1))
    unit = 1 / max(bound, 1) if unit is None else unit
    with jax.enable_x64(True):
        terms = jax.jit(jax.vmap(lambda v, b, u: whole_sum(v[None], b, u), in_axes=(0, None, None)))
        found = np.asarray(terms(jnp.asarray(records), jnp.int64(bound), jnp.float64(unit)))
    most = min(max(bound, 0), LARGEST_BOUND)
    assert all(sum(int(w) ** 2 for w in row) <= most**2 for row in found)
    if unit == 1 / max(bound, 1) and bound > 3:
        assert np.abs(found).max() > 0.9 * most  # and the ball is used


def test_one_program_serves_all_clips_and_multipliers_and_gives_the_same_bits():
    vectors = np.random.default_rng(5).normal(size=(1200, 3))
    words = RandomSource(2).random_words("noise", (3, *WORDS))
    run = jax.jit(lambda w, data, bound, unit: noisy_sum(w, data, lambda rows: rows * 2.0, bound, unit))
    with jax.enable_x64(True):
        for clip, multiplier in [(1.0, 1.0), (0.3, 7.7), (20.0, 900.0)]:
            total = GaussianSum.of_multiplier(clip, multiplier)
            fixed = jax.jit(lambda w, data, total=total: total.of_records(w, data, lambda rows: rows * 2.0))
            assert np.array_equal(run(words, vectors, total.bound, total.unit), fixed(words, vectors))
    assert run._cache_size() == 1


def test_columns_of_zeros_change_nothing_but_a_margin():
    vectors = np.random.default_rng(6).normal(size=(1100, 5)) * 0.2
    wide = np.concatenate([vectors, np.zeros((1100, 59))], axis=1)
    total = GaussianSum.of_multiplier(1.0, 12.0)
    narrow, padded = whole(total, vectors), whole(total, wide)
    assert np.all(padded[5:] == 0)
    assert np.max(np.abs(padded[:5] - narrow)) <= 1100 * (math.sqrt(64) / 2 + 1)
    few = vectors / np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True)) * 0.9  # nothing is clipped
    assert np.array_equal(whole(total, few), whole(total, np.concatenate([few, np.zeros((1100, 59))], axis=1))[:5])


def test_blocks_are_smaller_for_wide_vectors_and_add_up_to_the_same():
    assert block_of(1) == block_of(200) == BLOCK > block_of(1024) > block_of(MOST_COORDINATES) >= 32
    records = np.random.default_rng(7).normal(size=(700, 512)) * 0.01
    total, words = GaussianSum.of_multiplier(1.0, 3.0), RandomSource(3).random_words("noise", (512, *WORDS))
    assert 2 * block_of(512) < 700 < 2 * BLOCK
    with jax.enable_x64(True):
        by_blocks = jax.jit(lambda w, data: total.of_records(w, data, lambda rows: rows))(words, records)
        assert np.array_equal(by_blocks, jax.jit(total)(words, records))


def test_the_charged_multiplier_is_not_above_the_true_one():
    """σ² = 32² Σ 16^{2j} is a whole number; s² = σ² − 1/12 and s/(2B) in 80 digits."""
    mpmath.mp.dps = 80
    std = mpmath.sqrt(mpmath.mpf(BASE_STD**2 * sum(RATIO ** (2 * j) for j in range(DRAWS))) - mpmath.mpf(1) / 12)
    assert std * (1 - 2**-49) < CHARGED_STD < std
    for relation, moved in (("substitution", 2), ("zero-out", 1)):
        for multiplier in np.geomspace(1, 4e6, 200):
            total = GaussianSum.of_multiplier(0.37, multiplier, relation)
            assert total.noise_multiplier <= std / (moved * total.bound)
            assert total.noise_multiplier >= multiplier * (1 - 2**-47)
            assert total.event(10) == privacy.Gaussian(total.noise_multiplier, relation)
        least = GaussianSum.of_multiplier(1.0, LEAST_MULTIPLIER * (1 - 1e-9), relation)
        assert least.bound == math.floor(CHARGED_STD / moved) <= LARGEST_BOUND
        assert least.noise_multiplier >= LEAST_MULTIPLIER
    assert LARGEST_BOUND < 2**26  # docs/theory/gaussian-sums.md, Lemma 1
    assert LARGEST_BOUND < 2**25.01  # and "Blocks" in isolation.md
    assert MOST_RECORDS * LARGEST_BOUND < 2**62


def test_32_bits_are_refused():
    with pytest.raises(ValueError, match="enable_x64"):
        whole_sum(jnp.ones((3, 2)), 1000, 0.1)


def test_the_sum_is_right_where_nothing_is_clipped_and_the_same_in_any_order():
    vectors = np.random.default_rng(1).normal(size=(1000, 4))
    total = GaussianSum.of_multiplier(10.0, 1.5)
    sums = whole(total, vectors)
    assert np.allclose(sums * total.unit, vectors.sum(0), atol=1000 * total.unit)
    assert np.array_equal(sums, whole(total, vectors[::-1]))
    far = 50 * vectors[:1]
    assert np.allclose(whole(total, far) * total.unit, far[0] / np.linalg.norm(far) * 10.0, rtol=1e-5)


def test_the_table_is_the_discrete_gaussian_to_192_bits():
    mpmath.mp.dps = 80
    weights = [mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * BASE_STD**2)) for k in range(-FARTHEST, FARTHEST + 1)]
    total, running = mpmath.fsum(weights), mpmath.mpf(0)
    for row, weight in zip(thresholds(), weights[:-1], strict=False):
        running += weight
        value = (int(row[0]) << 128) + (int(row[1]) << 64) + int(row[2])
        assert abs(value - running / total * 2**192) <= 1
    tail = 2 * mpmath.fsum(mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * BASE_STD**2)) for k in range(FARTHEST + 1, 2000))
    assert tail / (BASE_STD * mpmath.sqrt(2 * mpmath.pi)) < 1e-35


def test_the_stated_errors_hold():
    """The terms of docs/theory/gaussian-sums.md, in high precision."""
    mpmath.mp.dps = 80
    stds = [BASE_STD * mpmath.sqrt(sum(mpmath.mpf(RATIO) ** (2 * i) for i in range(j + 1))) for j in range(DRAWS)]
    assert abs(stds[-1] / NOISE_STD - 1) < 1e-15
    smooth = [2 * mpmath.exp(-2 * mpmath.pi**2 * (stds[j] * BASE_STD / stds[j + 1]) ** 2) for j in range(DRAWS - 1)]
    table = 2 / mpmath.mpf(2) ** 192 / (mpmath.exp(-(mpmath.mpf(FARTHEST) ** 2) / 2048) / (BASE_STD * 2.51))
    std, charged = stds[-1], mpmath.sqrt(stds[-1] ** 2 - mpmath.mpf(1) / 12)

    def cell(k):  # the rounded Gaussian over the discrete one
        return mpmath.ncdf((k + 0.5) / charged) - mpmath.ncdf((k - 0.5) / charged)

    ratios = [
        cell(mpmath.mpf(int(t * NOISE_STD))) * std * mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(k**2 / (2 * std**2))
        for t in (0, 0.5, 1, 3, 6, 9, 11.5)
        for k in [mpmath.mpf(int(t * NOISE_STD))]
    ]
    rounding = max(abs(ratio - 1) for ratio in ratios)
    # mean and variance of the j-th draw given the sum at 11.5 standard deviations
    cut = mpmath.mpf(0)
    for j in range(DRAWS):
        share = mpmath.mpf(RATIO) ** j * BASE_STD / std
        far = (FARTHEST - 11.5 * share * BASE_STD) / (BASE_STD * mpmath.sqrt(1 - share**2))
        cut += 2 * mpmath.ncdf(-far)
    assert rounding < 1e-27
    assert sum(smooth) < 1e-32
    assert cut < 1e-29
    assert MOST_COORDINATES * (DRAWS * table + sum(smooth) + rounding + 2 * cut) < NOISE_ERROR / 8
    assert MOST_COORDINATES * 2 * mpmath.ncdf(-10.5) < NOISE_TAIL / 4


def test_noise_is_calibrated():
    words = RandomSource(3).random_words("noise", (60_000, *WORDS))
    with jax.enable_x64(True):
        noise = np.asarray(jax.jit(discrete_gaussian)(words))
        base = np.asarray(jax.jit(table_draw)(*(words[:, 0, i] for i in range(3))))
    assert stats.kstest(noise / NOISE_STD, "norm").pvalue > 1e-4
    assert abs(noise.std() / NOISE_STD - 1) < 5 / math.sqrt(2 * len(noise))
    values = np.arange(-60, 61)
    expected = np.exp(-(values**2) / (2 * BASE_STD**2)) / (BASE_STD * math.sqrt(2 * math.pi)) * len(base)
    counts = (base[:, None] == values).sum(0)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(values)) > 1e-4
    total = GaussianSum.of_multiplier(2.0, 3.0)
    with jax.enable_x64(True):
        noisy = jax.jit(jax.vmap(lambda w: total(w, jnp.zeros((5, 2)))))
        sums = np.asarray(noisy(words[:40_000].reshape(20_000, 2, *WORDS)))
    assert abs(sums.std() / 12.0 - 1) < 5 / math.sqrt(2 * sums.size)
    assert abs(np.corrcoef(sums.T)[0, 1]) < 5 / math.sqrt(20_000)


def test_ends_of_the_table():
    most = np.uint64(2**64 - 1)
    with jax.enable_x64(True):
        low, high = (jax.jit(table_draw)(*(jnp.asarray(word),) * 3) for word in (np.uint64(0), most))
    assert (int(low), int(high)) == (-FARTHEST, FARTHEST)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: GaussianSum.of_multiplier(1.0, 0.5), "below 1"),
        (lambda: GaussianSum.of_multiplier(-1.0, 2.0), "positive"),
        (lambda: GaussianSum.of_multiplier(1.0, math.nan), "positive"),
        (lambda: GaussianSum.of_multiplier(1.0, 1e8), "multipliers up to"),
        (lambda: GaussianSum.of_multiplier(1.0, 1e5).check_dimension(3000), "multipliers up to"),
    ],
)
def test_public_mistakes_are_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_batch_is_charged_as_a_batch():
    total = GaussianSum.of_multiplier(1.0, 4.0)
    assert total.event(100, 100 // 10) == privacy.SubsampledGaussian(
        2 * total.noise_multiplier, 100, 10, "without_replacement"
    )
    # a batch of everything is the whole sum: the two events agree on what the multiplier is relative to
    whole_batch, everything = total.event(100, 100), total.event(100)
    assert np.allclose(privacy.renyi(whole_batch, [2.0, 8.0]), privacy.renyi(everything, [2.0, 8.0]), rtol=1e-9)


@pytest.mark.parametrize(
    ("n", "dimension"), [(700, 2), (2 * BLOCK, FORWARD + 4), pytest.param(2 * BLOCK + 37, 2, marks=pytest.mark.slow)]
)
def test_gradients_summed_by_blocks_are_the_gradients_summed_at_once(n, dimension):
    model = Banana(dimension, 3.0)
    rng = np.random.default_rng(0)
    records, theta = rng.normal(size=(n, dimension)), rng.normal(size=dimension)
    total, words = GaussianSum.of_multiplier(2.0, 5.0), RandomSource(1).random_words("noise", (dimension, *WORDS))
    with jax.enable_x64(True):
        posterior = dp.Posterior(model, jnp.asarray(records))
        by_blocks = total.of_gradients(words, posterior, jnp.asarray(theta), lambda flat: flat)
        rows = jax.vmap(jax.grad(model.log_likelihood), in_axes=(None, 0))(jnp.asarray(theta), posterior.data)
        assert np.allclose(record_gradients(posterior, jnp.asarray(theta), lambda flat: flat), rows, rtol=1e-12)
        assert np.all(np.abs(np.asarray(by_blocks - total(words, rows))) <= 2 * total.unit)  # a rounding at an edge


def test_gradients_of_models_with_reverse_mode_only():
    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))
    model = dp.Model(log_prior=lambda t: 0.0, log_likelihood=lambda t, x: -square(x - t), init=0.0)
    with jax.enable_x64(True):
        posterior = dp.Posterior(model, jnp.arange(3.0))
        found = record_gradients(posterior, jnp.array([1.0]), lambda flat: flat[0])
    np.testing.assert_allclose(found[:, 0], [-2.0, 0.0, 2.0])
