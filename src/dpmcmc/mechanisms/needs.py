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


def drawn(source: RandomSource, needs: Needs, lead: tuple[int, ...]) -> dict[str, np.ndarray]:
    """What ``lead`` steps need, by purpose, under the source's present key. Same key, needs and lead: same draws."""
    return {purpose: _drawn(source, purpose, need, lead) for purpose, need in needs.items()}


def kinds(needs: Needs, lead: tuple[int, ...]) -> dict[str, Any]:
    """Shapes and types of what :func:`drawn` gives."""
    return {
        purpose: jax.ShapeDtypeStruct((*lead, need.size), np.uint32)
        if isinstance(need, Batches)
        else jax.ShapeDtypeStruct((*lead, *need), np.uint64)
        for purpose, need in needs.items()
    }


def _drawn(source: RandomSource, purpose: str, need: Need, lead: tuple[int, ...]) -> np.ndarray:
    if not isinstance(need, Batches):
        return source.random_words(purpose, (*lead, *need))
    count = int(np.prod(lead, dtype=np.int64))
    batches, stream = np.empty((count, need.size), np.uint32), source.stream(purpose)
    at_once = max(1, _BLOCK // max(need.words, 1))
    for begin in range(0, count, at_once):
        rows = min(at_once, count - begin)
        batches[begin : begin + rows] = need.draw(stream((rows, need.words), np.uint32))
    return batches.reshape(*lead, need.size)


class Ahead:
    """The draws of the next chunk, made while the device works on this one."""

    def __init__(self) -> None:
        self._key = b""
        self._draws: dict[str, np.ndarray] = {}

    def take(self, source: RandomSource, needs: Needs, lead: tuple[int, ...]) -> dict[str, np.ndarray]:
        """What :func:`drawn` gives, from what was prepared where that is for the source's present key."""
        draws = self._draws if self._key == source.reveal_key() else drawn(source, needs, lead)
        self._key, self._draws = b"", {}
        return draws

    def prepare(self, source: RandomSource, needs: Needs, lead: tuple[int, ...]) -> None:
        """Draw for the key that follows the source's."""
        following = RandomSource.from_key(source.reveal_key(), reproducible=source.reproducible)
        following.advance()
        self._key, self._draws = following.reveal_key(), drawn(following, needs, lead)
