"""A part of a table in the memory of one actor, which gives nothing but totals of whole numbers and keyed hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dpmcmc.records import Refused
from dpmcmc.records.batches import Rows
from dpmcmc.sources.base import MARK_BYTES, Block, Maker, Program, PyTree, SourceError, marks_of, total_of
from dpmcmc.sources.files import CHANGED, encoded_block, raw_blocks


class Answer(NamedTuple):
    """All that leaves an actor: whole numbers, or keyed hashes of blocks; and a keyed hash of what was read.

    Or why there is nothing: the fixed message of a refusal, as in :mod:`dpmcmc.records`, or none where a program
    failed, because what it said may hold a record.
    """

    whole: np.ndarray | None = None
    marks: list[list[bytes]] | None = None
    seen: bytes = b""
    refused: tuple[str, str] | None = None


class Shard:
    """Blocks ``first`` up to ``last`` of a table, in the memory of one actor.

    Its first pass reads all of them, whatever is asked: later ones, and those of whoever takes its place, must find
    the same.
    """

    def __init__(self, what: Any, blocks: tuple[int, int], secret: str, hold: bool) -> None:
        self.tables, self.wanted, self.encode, self.types = what
        self.first, self.last = blocks
        self.secret, self.hold = secret, hold
        self._programs: dict[str, Program] = {}
        self._held: dict[int, Block] = {}
        self._marks: dict[int, bytes] = {}  # a hash of every block, from the first pass
        self._seen = b""  # of all of them, once that is over

    def total(self, name: str, program: list[Any], arguments: PyTree, every: int = 1) -> Answer:
        """Σ program over the shard. ``program`` is a reference to it, looked up when it is new: compiled once."""
        import ray

        if name not in self._programs:
            self._programs[name] = ray.get(program[0])

        def read(makers: Iterator[Maker]) -> Answer:
            if not any(index % every == 0 for index in range(self.first, self.last)):
                list(makers)  # there are none, but a first pass is made
                return Answer()
            return Answer(total_of(makers, self._programs[name], arguments, threads=1))

        return self._answered(every, read)

    def marks(self, key: str) -> Answer:
        return self._answered(1, lambda makers: Answer(marks=[marks_of(make(), key) for make in makers]))

    def _answered(self, every: int, read: Callable[[Iterator[Maker]], Answer]) -> Answer:
        try:
            answer = read(self._makers(every))
            if not self._seen:
                digest = hashlib.blake2b(key=bytes.fromhex(self.secret), digest_size=MARK_BYTES)
                for index in range(self.first, self.last):
                    digest.update(self._marks[index])
                self._seen = digest.digest()
            return answer._replace(seen=self._seen)
        except _Refused as refusal:
            return Answer(refused=refusal.what)
        except Exception:
            return Answer(refused=("RuntimeError", "a program failed on a block of records"))

    def _makers(self, every: int) -> Iterator[Maker]:
        """The blocks whose number ``every`` divides."""
        if self._seen and self.hold:
            yield from (partial(self._held.__getitem__, at) for at in range(self.first, self.last) if at % every == 0)
            return
        only = every if self._seen else 1
        found = raw_blocks(self.tables, self.wanted, self.types, self.first, self.last, only)
        read = 0
        while (raw := _guarded(lambda: next(found, None))) is not None:
            index, parts = raw
            read += 1
            if index % every == 0:
                yield partial(self._made, index, parts)
            else:
                self._made(index, parts)
        if read != len(range(-(-self.first // only) * only, self.last, only)):
            raise _Refused((SourceError.__name__, CHANGED))

    def _made(self, index: int, parts: list[Rows]) -> Block:
        block = _guarded(lambda: encoded_block(parts, self.encode, self.types))
        mark = b"".join(marks_of(block, self.secret))
        if self._marks.setdefault(index, mark) != mark:
            raise _Refused((SourceError.__name__, CHANGED))
        if self.hold:
            self._held[index] = block
        return block


def _guarded(read: Callable[[], Any]) -> Any:
    """What ``read`` gives, or why not in fixed words, and nothing else."""
    refused: tuple[str, str] | None = None
    try:
        return read()
    except Exception as error:
        refused = fixed(error)
    raise _Refused(refused)


class _Refused(Exception):
    def __init__(self, what: tuple[str, str]) -> None:
        super().__init__()
        self.what = what


def fixed(error: Exception) -> tuple[str, str]:
    """An error in fixed words, which may leave an actor: that of a table, or none of its own."""
    if isinstance(error, SourceError | Refused):
        return type(error).__name__, str(error)
    return SourceError.__name__, "an actor could not read its part of the table"
