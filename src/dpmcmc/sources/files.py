"""Records in files: tables that are read and encoded block by block, and never held whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from dpmcmc.records import RefusedValue
from dpmcmc.records.batches import Rows, TableFiles, joined_tables
from dpmcmc.records.columns import Column
from dpmcmc.records.files import File
from dpmcmc.sources.base import Block, Local, Maker, PyTree, SourceError, block_rows, counted_of, filled, marks_of
from dpmcmc.sources.datasets import Dataset
from dpmcmc.sources.encoding import Encode, encoded

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
        self._seen: dict[int, bytes] = {}  # a hash of every block, from when it was first read
        self._whole = False  # whether all were

    @property
    def n(self) -> int:
        if self._n is None:
            self.total(_nothing)  # a pass counts them
        assert self._n is not None
        return self._n

    @property
    def types(self) -> PyTree:
        return self._types

    def makers(self, every: int = 1) -> Iterator[Maker]:
        if every > 1 and not self._whole:
            self.total(_nothing)  # what is seen later is compared with it
        read = 0
        for index, parts in raw_blocks(self.tables, self.wanted, self._types, every=every):
            read += sum(part.number for part in parts)
            yield partial(self._made, index, parts)
        if self._n is not None and read != counted_of(self._n, self._types, every):
            raise SourceError(CHANGED)
        if every == 1:
            self._n, self._whole = read, True

    def _made(self, index: int, parts: list[Rows]) -> Block:
        """A block, which is what it was when it was first read."""
        block = encoded_block(parts, self.encode, self._types)
        mark = b"".join(marks_of(block, self._key))
        if self._seen.setdefault(index, mark) != mark:
            raise SourceError(CHANGED)
        return block

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


def raw_blocks(
    tables: TableFiles | Dataset,
    wanted: list[str],
    types: PyTree,
    first: int = 0,
    last: int | None = None,
    every: int = 1,
) -> Iterator[tuple[int, list[Rows]]]:
    """Blocks from number ``first`` up to ``last``, as rows that are not encoded yet, with their numbers.

    With ``every``, those whose number it divides; the others are not read, where files can do without.
    """
    rows = block_rows(types)
    if every > 1 and tables.seekable:
        for index in range(-(-first // every) * every, _end(tables, rows) if last is None else last, every):
            found = next(raw_blocks(tables, wanted, types, index, index + 1), None)
            if found is not None:
                yield found
        return
    index, parts, held = first, list[Rows](), 0
    for batch in tables.read(wanted, first * rows):
        if index == last:
            return
        parts.append(batch)
        held += batch.number
        while held >= rows:
            held -= rows
            here, rest = parts[-1].cut(parts[-1].number - held)
            if index % every == 0:
                yield index, [*parts[:-1], here]
            index, parts = index + 1, [rest] if held else []
            if index == last:
                return
    if held and index % every == 0:
        yield index, parts


def _end(tables: TableFiles | Dataset, rows: int) -> int:
    return -(-(tables.count() or 0) // rows)


def encoded_block(parts: list[Rows], encode: Encode, types: PyTree) -> Block:
    """The records of a block, filled up."""
    made, counted = [], 0
    for table, number in joined_tables(parts):
        records = encoded(encode, table)
        found = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), records)
        if found != types or any(len(leaf) != number for leaf in jax.tree.leaves(records)):
            raise SourceError(
                "encode must give one record for each row of a table, and records of the same types for every table"
            )
        made.append(records)
        counted += number
    whole = made[0] if len(made) == 1 else jax.tree.map(lambda *leaves: np.concatenate(leaves), *made)
    return Block(filled(whole, block_rows(types)), counted)
