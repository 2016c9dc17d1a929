"""A stream of secret bits, on the device or on the host: ChaCha20 in counter mode, from 256 secret bits.

A step that needs many random words is given a key of four and expands it where it runs, so no table of secret bits is
carried through memory. The cipher is the one that :mod:`dpmcmc.randomness` uses; what an observer could learn from
the stream is what ChaCha20 lets them learn, and every key is used once.

Reference: Bernstein (2008); RFC 8439, section 2.3, whose test vectors are tested.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from jax import Array

KEY_SHAPE = (4,)
"""Secret 64-bit words that a stream starts from."""

WORDS_OF_BLOCK = 8

_CONSTANT = np.frombuffer(b"expand 32-byte k", "<u4")
_COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
_DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def words(key: Array, count: int, first: Array | int = 0) -> Array:
    """``count`` uniform 64-bit words from the secret ``key`` (four of them), from block ``first`` of the stream on."""
    blocks = -(-count // WORDS_OF_BLOCK)
    halves = [half.astype(jnp.uint32) for word in key for half in (word, word >> 32)]
    counter = jnp.uint32(first) + jnp.arange(blocks, dtype=jnp.uint32)
    start = tuple(jnp.broadcast_to(jnp.uint32(x), (blocks,)) for x in (*_CONSTANT, *halves, counter, 0, 0, 0))
    end = jax.lax.fori_loop(0, 10, lambda _, state: _double_round(state), start)
    block = [(x + y).astype(jnp.uint64) for x, y in zip(start, end, strict=True)]
    pairs = jnp.stack([low | (high << 32) for low, high in zip(block[::2], block[1::2], strict=True)], axis=1)
    return pairs.reshape(-1)[:count]


def host_words(key: np.ndarray, count: int) -> np.ndarray:
    """:func:`words`, the same ones, on the host: nothing is compiled."""
    cipher = Cipher(ChaCha20(np.asarray(key, "<u8").tobytes(), nonce=bytes(16)), mode=None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * count)), "<u8").astype(np.uint64)


def _double_round(state: tuple[Array, ...]) -> tuple[Array, ...]:
    x = list(state)
    for a, b, c, d in (*_COLUMNS, *_DIAGONALS):
        x[a], x[b], x[c], x[d] = _quarter_round(x[a], x[b], x[c], x[d])
    return tuple(x)


def _quarter_round(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array, Array, Array]:
    a = a + b
    d = _rotate(d ^ a, 16)
    c = c + d
    b = _rotate(b ^ c, 12)
    a = a + b
    d = _rotate(d ^ a, 8)
    c = c + d
    b = _rotate(b ^ c, 7)
    return a, b, c, d


def _rotate(x: Array, by: int) -> Array:
    return (x << by) | (x >> (32 - by))
