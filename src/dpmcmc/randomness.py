"""Cryptographic randomness: one ChaCha20 stream per purpose, with a key that moves forward only.

Accept bits are private because nobody can predict or recompute their coins, so coins never come from a statistical
generator. A :class:`RandomSource` holds a 256-bit key; each chunk of a chain draws from streams derived from the key,
one per purpose, and then the key is replaced by its own hash. Who finds the key of a later chunk learns nothing about
the coins of an earlier one.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np
from randomgen import ChaCha

from dpmcmc.arguments import whole

_KEY_BYTES = 32


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
        words = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        stream = ChaCha(key=int.from_bytes(_derive(self._key, purpose), "little"), rounds=20)
        raw = stream.random_raw(-(-words // 8)) if words else np.empty(0, np.uint64)
        return np.asarray(raw, np.uint64).view(np.uint8)[:words].view(dtype).reshape(shape)

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
