"""Records on many machines: Ray's actors hold or stream a shard each, and give nothing but totals of whole numbers."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from dpmcmc.records import RefusedType, RefusedValue
from dpmcmc.records.batches import TableFiles
from dpmcmc.sources.base import Program, PyTree, SourceError, block_rows, joined
from dpmcmc.sources.datasets import Dataset
from dpmcmc.sources.encoding import Encode
from dpmcmc.sources.files import CHANGED, probe
from dpmcmc.sources.shards import Answer, Shard, fixed

ATTEMPTS = 4
"""Times that one shard is read in a pass, if its actors are lost."""

MOST_PROGRAMS = 64

UNANSWERED = "an actor could not answer; see its log on the machine that it ran on"

FIXED: dict[str, type[Exception]] = {one.__name__: one for one in (SourceError, RefusedValue, RefusedType)}
"""Errors in fixed words, by name."""


class OnRay:
    """Records of a table that is read on the machines of a Ray cluster, encoded there, and never brought here.

        dp.sample(model, dp.OnRay("s3://bucket/visits/", model.encode, actors=16), epsilon=1.0, delta=1e-6)
        dp.sample(model, ray.data.read_parquet("s3://bucket/visits/"), epsilon=1.0, delta=1e-6)

    - ``place``: whatever :class:`~dpmcmc.sources.files.Files` reads, where all machines see it, or a Ray data set;
    - ``encode``: as for :class:`~dpmcmc.sources.files.Files`; it runs on the actors;
    - ``actors``: how many; each has an equal part of the blocks, and one processor;
    - ``hold``: keep encoded records in the actors' memory after the first pass, else read them again in each.

    An actor that is lost is replaced, and its shard read again: the same whole numbers come out, and nothing is charged
    twice. Guarantee: the totals of :class:`~dpmcmc.sources.files.Files`, bit for bit, for any number of actors; noise
    is added by the process that asks, after the sum. A shard that is not what it was in the first pass is refused.
    """

    def __init__(self, place: Any, encode: Encode, actors: int = 4, *, hold: bool = True) -> None:
        ray = _ray()
        if not callable(encode):
            raise TypeError(f"OnRay: encode must be a function from tables to records, got {encode!r}")
        if isinstance(actors, bool) or not isinstance(actors, int) or actors < 1:
            raise ValueError(f"OnRay: actors must be a whole number of at least 1, got {actors!r}")
        self.place, self.hold, self._ray = place, hold, ray
        tables = Dataset.of(ray, place) if is_dataset(place) else TableFiles.at(place)
        self.wanted, self._types, self._n = self._outcome(self._looked_up(tables, encode))
        self._what = ray.put((tables, self.wanted, encode, self._types))
        blocks = -(-self._n // block_rows(self._types))
        ends = [blocks * part // actors for part in range(actors + 1)]
        self.shards = [(a, b) for a, b in pairwise(ends) if a < b]
        self._secret = secrets.token_hex(32)
        self._actors = [self._new(shard) for shard in self.shards]
        self._seen: list[bytes] | None = None
        self._programs: dict[int, tuple[Program, str, Any]] = {}

    @property
    def n(self) -> int:
        return self._n

    @property
    def types(self) -> PyTree:
        return self._types

    def total(self, program: Program, arguments: PyTree = (), every: int = 1) -> np.ndarray:
        """Σ program over every so manieth block, each where it is. Private."""
        if id(program) not in self._programs:
            if len(self._programs) >= MOST_PROGRAMS:
                self._programs.clear()
            self._programs[id(program)] = (program, secrets.token_hex(8), self._ray.put(program))
        _, name, reference = self._programs[id(program)]
        given = jax.tree.map(np.asarray, arguments)
        answers = self._asked(lambda actor: actor.total.remote(name, [reference], given, every))
        return np.asarray(sum(answer.whole for answer in answers if answer.whole is not None), np.int64)

    def marks(self, key: str) -> tuple[str, ...]:
        answers = self._asked(lambda actor: actor.marks.remote(key))
        return joined(self._types, self._n, [block for answer in answers for block in answer.marks or []], key)

    def _asked(self, ask: Callable[[Any], Any]) -> list[Answer]:
        """The answers of all shards; actors that are lost meanwhile are replaced."""
        waiting = [ask(actor) for actor in self._actors]
        answers = [self._outcome(self._got(at, reference, ask)) for at, reference in enumerate(waiting)]
        seen = [answer.seen for answer in answers]
        if self._seen is not None and seen != self._seen:
            raise SourceError(CHANGED)
        self._seen = seen
        return answers

    def _got(self, at: int, reference: Any, ask: Callable[[Any], Any]) -> Any:
        for attempt in range(ATTEMPTS):
            try:
                return self._ray.get(reference)
            except self._ray.exceptions.RayTaskError:  # raised there, and may quote a record
                break
            except self._ray.exceptions.RayError:
                if attempt + 1 < ATTEMPTS:
                    self._actors[at] = self._new(self.shards[at])
                    reference = ask(self._actors[at])
        else:
            raise SourceError(f"the actors of one shard were lost {ATTEMPTS} times in one pass: give them more memory")
        raise SourceError(UNANSWERED)

    def _looked_up(self, tables: Any, encode: Encode) -> Any:
        try:
            return self._ray.get(self._ray.remote(_looked_up).remote(tables, encode))
        except self._ray.exceptions.RayError:
            pass
        raise SourceError(UNANSWERED)

    def _new(self, shard: tuple[int, int]) -> Any:
        return self._ray.remote(num_cpus=1)(Shard).remote(self._what, shard, self._secret, self.hold)

    @staticmethod
    def _outcome(answer: Any) -> Any:
        """An answer, or the refusal that is in its place."""
        refused = answer.refused if isinstance(answer, Answer) else None
        if refused is None:
            return answer
        kind, message = refused
        raise FIXED.get(kind, RuntimeError)(message)

    def __repr__(self) -> str:
        what = repr(self.place) if isinstance(self.place, str | os.PathLike) else type(self.place).__name__
        return f"OnRay({what}, n={self.n}, actors={len(self.shards)}, records not shown)"

    def __reduce__(self) -> Any:
        raise TypeError("OnRay stands for private records and cannot be pickled; save the Release instead")


def _looked_up(tables: Any, encode: Encode) -> Any:
    """Columns, types and number of records: on a machine of the cluster, so that no value comes here."""
    try:
        wanted, types = probe(tables, encode)
        number = tables.count()
        return wanted, types, sum(rows.number for rows in tables.read(wanted)) if number is None else number
    except Exception as error:
        return Answer(refused=fixed(error))


def is_dataset(data: Any) -> bool:
    """Whether data are a Ray data set; Ray is not loaded to see that."""
    return type(data).__module__.startswith("ray.data") and hasattr(data, "to_arrow_refs")


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ImportError("records on many machines need Ray: pip install 'dpmcmc[ray]'") from None
    if not ray.is_initialized():
        if os.environ.get("RAY_ADDRESS"):
            ray.init(log_to_driver=False)  # the cluster that it names
        else:
            start_alone(ray)
    return ray


LOOPBACK = "127.0.0.1"


def start_alone(ray: Any, **settings: Any) -> None:
    """Ray on this machine alone, out of reach of others: whoever reaches its ports can run code, and read records.

    Ray turns 127.0.0.1 into an address that other machines reach, except on systems on which it has no clusters; so it
    is told that this is one. What came of that is looked at.
    """
    from ray._private import ray_constants

    before = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init("local", include_dashboard=False, log_to_driver=False, _node_ip_address=LOOPBACK, **settings)
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
    if any(node["NodeManagerAddress"] != LOOPBACK for node in ray.nodes()):
        ray.shutdown()
        raise SourceError(
            f"Ray {ray.__version__} would listen to other machines. Start it yourself, within a network of your own, "
            "with ray.init(...), before dp.OnRay is called (SECURITY.md)"
        )
