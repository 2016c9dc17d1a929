"""Cryptographic randomness: one ChaCha20 stream per purpose, with a key that moves forward only.

Accept bits are private because nobody can predict or recompute their coins, so coins never come from a statistical
generator. A :class:`RandomSource` holds a 256-bit key; each chunk of a chain draws from streams derived from the key,
one per purpose, and then the key is replaced by its own hash. Who finds the key of a later chunk learns nothing about
the coins of an earlier one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpmcmc.arguments import whole

_KEY_BYTES = 32
_ZEROS = memoryview(bytes(2**16))


def _pieces(flat: np.ndarray) -> Iterator[np.ndarray]:
    return (flat[begin : begin + len(_ZEROS)] for begin in range(0, len(flat), len(_ZEROS)))


def _derive(key: bytes, purpose: str) -> bytes:
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=_KEY_BYTES, person=b"dpmcmc").digest()


def check_seed(seed: int | None) -> None:
    """A seed is a whole number, or there is none."""
    if seed is not None:
        whole("seed", seed, 0, remedy="or leave it out: with a seed there is no guarantee")


class RandomSource:
    """Streams of random bits for one run.

    ``RandomSource()`` is seeded by the operating system. ``RandomSource(seed)`` is reproducible and therefore not
    private: it is for tests and public data.
    """

    def __init__(self, seed: int | None = None) -> None:
        check_seed(seed)
        self.reproducible = seed is not None
        self._key = secrets.token_bytes(_KEY_BYTES) if seed is None else _derive(b"public seed", str(int(seed)))

    def __repr__(self) -> str:
        return f"RandomSource({'public seed' if self.reproducible else 'operating system'})"

    def __reduce__(self) -> Any:
        raise TypeError("a RandomSource cannot be pickled: its key would undo the guarantee of every draw made with it")

    def random_words(self, purpose: str, shape: tuple[int, ...], dtype: type = np.uint64) -> np.ndarray:
        """Uniform bits for ``purpose`` under the present key. Same key, purpose and shape: same bits."""
        return self.stream(purpose)(np.empty(shape, np.dtype(dtype).newbyteorder("<")))

    def stream(self, purpose: str) -> Callable[[np.ndarray], np.ndarray]:
        """The bits for ``purpose`` under the present key, piece by piece: a function that fills the array it is given.

        The array lies in one piece; its type is of whole numbers, least significant byte first.
        """
        cipher = Cipher(ChaCha20(_derive(self._key, purpose), nonce=bytes(16)), mode=None).encryptor()

        def fill(out: np.ndarray) -> np.ndarray:
            for piece in _pieces(out.reshape(-1).view(np.uint8)):
                cipher.update_into(_ZEROS[: len(piece)], piece.data)
            return out

        return fill

    def advance(self) -> None:
        """Replace the key by its hash. Earlier streams can no longer be derived."""
        self._key = _derive(self._key, "advance")

    def reveal_key(self) -> bytes:
        """The present key, for a checkpoint: a secret that determines every coin still to come."""
        return self._key

    @classmethod
    def from_key(cls, key: bytes, *, reproducible: bool) -> RandomSource:
        """The source as it was when :meth:`reveal_key` was called."""
        if len(key) != _KEY_BYTES:
            raise ValueError(f"a key has {_KEY_BYTES} bytes, got {len(key)}")
        source = cls.__new__(cls)
        source._key = bytes(key)
        source.reproducible = reproducible
        return source
