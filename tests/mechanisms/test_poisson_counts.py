"""Counts and indices of Poisson minibatches, and the stream they come from."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from randomgen import ChaCha
from scipy.stats import chisquare

from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.poisson_counts import LAW_ERROR, count_table, places
from dpmcmc.randomness import RandomSource


def test_the_stream_is_chacha20():
    """RFC 8439, appendix A.1, vectors 1 and 2 (zero key, blocks 0 and 1), and a library's stream for another key."""
    with jax.enable_x64(True):
        zero = np.asarray(stream.words(jnp.zeros(4, jnp.uint64), 16)).astype("<u8").tobytes().hex()
        assert zero.startswith("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7")
        assert zero[128:].startswith("9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed")
        key = RandomSource(1).random_words("key", (4,))
        ours = np.asarray(jax.jit(lambda k: stream.words(k, 1003))(key))
    whole = int.from_bytes(key.astype("<u8").tobytes(), "little")
    assert np.array_equal(ours, ChaCha(key=whole, rounds=20).random_raw(1003))
    assert np.array_equal(ours, stream.host_words(key, 1003))


@pytest.mark.parametrize("mean", [0.25, 3.7, 240.0, 5000.0])
def test_the_law_of_the_count_is_poisson_to_the_error_stated(mean):
    """The whole law in 80-digit arithmetic: total variation, what the truncation leaves out included."""
    table = count_table(mean)
    thresholds = [int(h) * 2**64 + int(l) for h, l in zip(table.high, table.low, strict=True)]
    assert thresholds == sorted(thresholds)
    mpmath.mp.dps = 80
    law = np.diff([0, *thresholds, 2**128])
    pmf, distance, left = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(1)
    for count, mass in zip(range(table.first, table.slots + 1), law, strict=True):
        pmf = (
            mpmath.exp(count * mpmath.log(mean) - mean - mpmath.loggamma(count + 1))
            if count == table.first
            else pmf * mean / count
        )
        left -= pmf
        distance += abs(pmf - mpmath.mpf(int(mass)) / 2**128)
    assert (distance + left) / 2 < LAW_ERROR


def test_draws_have_the_law_of_the_table():
    table = count_table(6.0)
    words = RandomSource(0).random_words("count", (40_000, 2))
    with jax.enable_x64(True):
        draws = np.asarray(jax.vmap(table.draw)(words))
        ends = [int(table.draw(jnp.asarray(w, jnp.uint64))) for w in ([0, 0], [2**64 - 1, 2**64 - 1])]
        hit = int(table.draw(jnp.asarray([table.high[3], table.low[3]])))
    assert ends == [table.first, table.slots]
    assert hit == table.first + 4  # a threshold itself belongs to the next count
    top = 14
    law = np.diff([0, *(table.high.astype(float) / 2.0**64)])[:top]
    seen = np.bincount(np.minimum(draws, top), minlength=top + 1)
    assert chisquare(seen, 40_000 * np.append(law, 1 - law.sum())).pvalue > 1e-4


@pytest.mark.parametrize("n", [1, 3, 1000, 2**31 - 1])
def test_indices_are_the_high_half_of_the_product(n):
    words = np.append(RandomSource(2).random_words("index", (2000,)), np.array([0, 2**64 - 1], np.uint64))
    with jax.enable_x64(True):
        index, rest = map(np.asarray, places(jnp.asarray(words), n))
    assert index.tolist() == [int(word) * n >> 64 for word in words]
    assert rest.tolist() == [int(word) * n % 2**64 for word in words]


@given(st.integers(1, 50), st.integers(0, 2**8), st.integers(0, 49))
def test_an_index_and_its_rest_are_independent_up_to_a_word(n, least, index):
    """All words enumerated, of 8 bits: #{word: ⌊word·n/2⁸⌋ = i, word·n mod 2⁸ ≥ t} is (2⁸ − t)/n up to one."""
    index = index % n
    found = sum(word * n >> 8 == index and word * n % 2**8 >= least for word in range(2**8))
    assert abs(found - (2**8 - least) / n) < 1


def test_too_large_a_batch_is_refused():
    with pytest.raises(ValueError, match="use all records"):
        count_table(1e9)
