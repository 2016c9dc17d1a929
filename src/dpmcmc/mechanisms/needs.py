"""What a step needs of secret randomness: 64-bit words of some shape, or a batch of records; for many steps at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from dpmcmc.mechanisms.batches import Batches
from dpmcmc.randomness import RandomSource

Need = tuple[int, ...] | Batches
Needs = Mapping[str, Need]

_BLOCK = 2**18  # words that become batches at a time


def drawn(
    source: RandomSource, needs: Needs, lead: tuple[int, ...], again: dict[str, np.ndarray] | None = None
) -> dict[str, np.ndarray]:
    """What ``lead`` steps need, by purpose, under the source's present key. Same key, needs and lead: same draws.

    ``again`` holds earlier draws for the same needs and lead whose memory may be written over.
    """
    return {purpose: _drawn(source, purpose, need, lead, (again or {}).get(purpose)) for purpose, need in needs.items()}


def kinds(needs: Needs, lead: tuple[int, ...]) -> dict[str, Any]:
    """Shapes and types of what :func:`drawn` gives."""
    return {
        purpose: jax.ShapeDtypeStruct((*lead, need.size), np.uint32)
        if isinstance(need, Batches)
        else jax.ShapeDtypeStruct((*lead, *need), np.uint64)
        for purpose, need in needs.items()
    }


def _drawn(
    source: RandomSource, purpose: str, need: Need, lead: tuple[int, ...], again: np.ndarray | None
) -> np.ndarray:
    if not isinstance(need, Batches):
        return source.random_words(purpose, (*lead, *need))
    count = int(np.prod(lead, dtype=np.int64))
    batches = np.empty((count, need.size), np.uint32) if again is None else again.reshape(count, need.size)
    stream = source.stream(purpose)
    at_once = max(1, min(_BLOCK // max(need.words, 1), count))
    room, words = need.room(at_once), np.empty((at_once, need.words), np.dtype("<u4"))
    for begin in range(0, count, at_once):
        rows = min(at_once, count - begin)
        need.draw(stream(words[:rows]), room, batches[begin : begin + rows])
    return batches.reshape(*lead, need.size)


class Ahead:
    """The draws of the next chunk, made while the device works on this one. Their memory is used in turn."""

    def __init__(self) -> None:
        self._key = b""
        self._draws: dict[str, np.ndarray] = {}
        self._before: dict[str, np.ndarray] = {}

    def take(self, source: RandomSource, needs: Needs, lead: tuple[int, ...]) -> dict[str, np.ndarray]:
        """What :func:`drawn` gives, from what was prepared where that is for the source's present key.

        The device must be done with what was taken before.
        """
        if self._key != source.reveal_key():
            self._draws = drawn(source, needs, lead)
        draws = self._draws
        self._key, self._draws, self._before = b"", self._before, draws
        return draws

    def prepare(self, source: RandomSource, needs: Needs, lead: tuple[int, ...]) -> None:
        """Draw for the key that follows the source's."""
        following = RandomSource.from_key(source.reveal_key(), reproducible=source.reproducible)
        following.advance()
        self._key, self._draws = following.reveal_key(), drawn(following, needs, lead, self._draws)
