"""Records in files: tables that are read and encoded block by block, and never held whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np

from dpmcmc.records import RefusedValue
from dpmcmc.records.batches import Rows, TableFiles
from dpmcmc.records.columns import Column
from dpmcmc.records.files import File
from dpmcmc.sources.base import Block, Local, PyTree, SourceError, block_rows, filled, marks_of
from dpmcmc.sources.encoding import Encode, encoded

PROBE = 64  # rows, to see what records look like

CHANGED = (
    "the files have changed since they were first read: nothing can be said about a mixture of old and new records. "
    "Keep them as they are while a run reads them"
)


class Files(Local):
    """Records in Parquet, Arrow or CSV files, on disk or in object storage, encoded as they are read.

        dp.sample(model, "visits.parquet", epsilon=1.0, delta=1e-6)                  # short for the next line
        dp.sample(model, dp.Files("visits.parquet", model.encode), epsilon=1.0, delta=1e-6)
        dp.Files("s3://bucket/visits/", lambda table: model.encode(table, outcome="seen"))

    - ``place``: a path, a folder whose files are read in the order of their names, an address (``s3://``, ``gs://``,
      and whatever fsspec knows), a list of these, or a ``dp.CSV``, which says how text is written;
    - ``encode``: a function from a table, of some of the rows, to records, one for each row by itself: the ``encode``
      method of a model or of a :class:`dpmcmc.Schema`.

    Every pass reads the files again. Guarantee: the same records, refusals and totals as with ``encode(place)`` in
    memory; files that change between two passes are refused.
    """

    def __init__(self, place: Any, encode: Encode) -> None:
        if not callable(encode):
            raise TypeError(f"Files: encode must be a function from tables to records, got {encode!r}")
        self.place, self.encode = place, encode
        self.tables = TableFiles.at(place)
        self.wanted, self._types = probe(self.tables, encode)
        self._n = self.tables.count()
        self._key = secrets.token_hex(32)
        self._seen: list[bytes] | None = None  # a hash of every block, from the first pass

    @property
    def n(self) -> int:
        if self._n is None:
            self.total(_nothing)  # a pass counts them
        assert self._n is not None
        return self._n

    @property
    def types(self) -> PyTree:
        return self._types

    def blocks(self) -> Iterator[Block]:
        seen, n = [], 0
        for index, block in enumerate(encoded_blocks(self.tables, self.wanted, self.encode, self._types)):
            seen.append(b"".join(marks_of(block, self._key)))
            if self._seen is not None and (index >= len(self._seen) or seen[-1] != self._seen[index]):
                raise SourceError(CHANGED)
            n += block.counted
            yield block
        if (self._seen is not None and len(seen) != len(self._seen)) or self._n not in (None, n):
            raise SourceError(CHANGED)
        self._seen, self._n = seen, n

    def __repr__(self) -> str:
        number = "not counted yet" if self._n is None else f"n={self._n}"
        return f"Files({self.place!r}, {number}, records not shown)"


def _nothing(block: PyTree, count: int, arguments: Any) -> np.ndarray:
    return np.zeros(0, np.int64)


def probe(tables: TableFiles, encode: Encode) -> tuple[list[str], PyTree]:
    """The columns that ``encode`` reads, and the types of a record: of the first rows."""
    header, asked = tables.header, dict[str, Column]()

    def load(columns: Mapping[str, Column]) -> Any:
        asked.update(columns)
        first = next(tables.read(list(columns)), None)
        if first is None:
            raise RefusedValue("the data are empty: 0 records")
        return first.table.load(columns)

    records = encoded(encode, File(header.names, None, load, header.separated))
    if not asked:
        raise TypeError("encode must read the table that it is given: it asked for none of its columns")
    types = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), records)
    return list(asked), types


def encoded_blocks(
    tables: TableFiles, wanted: list[str], encode: Encode, types: PyTree, first: int = 0
) -> Iterator[Block]:
    """Blocks from number ``first`` on, encoded a batch of rows at a time."""
    rows, parts, held = block_rows(types), [], 0
    for batch in tables.read(wanted, first * rows):
        parts.append(_encoded(batch, encode, types))
        held += batch.number
        while held >= rows:
            whole = _joined(parts)
            yield Block(_cut(whole, 0, rows), rows)
            held -= rows
            parts = [_cut(whole, rows, None)] if held else []
    if held:
        yield Block(filled(_joined(parts), rows), held)


def _encoded(batch: Rows, encode: Encode, types: PyTree) -> PyTree:
    records = encoded(encode, batch.table)
    found = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), records)
    if found != types or any(len(leaf) != batch.number for leaf in jax.tree.leaves(records)):
        raise SourceError(
            "encode must give one record for each row of a table, and records of the same types for every table"
        )
    return records


def _joined(parts: list[PyTree]) -> PyTree:
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _cut(records: PyTree, start: int, stop: int | None) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[start:stop], records)
