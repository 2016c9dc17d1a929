"""Random bits: cryptographic, separate by purpose, moving forward only, never stored by accident."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpmcmc.randomness import RandomSource


def test_the_operating_system_seeds_each_source_anew():
    assert not RandomSource().reproducible
    assert not np.array_equal(RandomSource().random_words("coin", (4,)), RandomSource().random_words("coin", (4,)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**80), st.integers(0, 2**80))
def test_streams_differ_by_seed_and_purpose_and_repeat_otherwise(one, two):
    assert np.array_equal(RandomSource(one).random_words("coin", (8,)), RandomSource(one).random_words("coin", (8,)))
    assert not np.array_equal(
        RandomSource(one).random_words("coin", (8,)), RandomSource(one).random_words("proposal", (8,))
    )
    if one != two:
        assert not np.array_equal(
            RandomSource(one).random_words("coin", (8,)), RandomSource(two).random_words("coin", (8,))
        )


def test_the_stream_is_chacha20():
    # RFC 8439's block function with a zero key, zero nonce and counter 0 begins 76 b8 e0 ad a0 f1 3d 90 ...
    from randomgen import ChaCha

    first = ChaCha(key=0, rounds=20).random_raw(1).view(np.uint8)
    assert bytes(first) == bytes.fromhex("76b8e0ada0f13d90")


def test_advancing_gives_new_bits_and_a_key_restores_the_present():
    source = RandomSource(3)
    before = source.random_words("coin", (8,))
    source.advance()
    after = source.random_words("coin", (8,))
    assert not np.array_equal(before, after)
    again = RandomSource.from_key(source.reveal_key(), reproducible=True)
    assert np.array_equal(again.random_words("coin", (8,)), after)


def test_bits_are_uniform():
    bytes_ = RandomSource(11).random_words("coin", (1 << 17,)).view(np.uint8)
    counts = np.bincount(bytes_, minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-4  # seed fixed


def test_a_source_neither_prints_nor_pickles_its_key():
    source = RandomSource()
    assert repr(source) == "RandomSource(operating system)"
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(source)
