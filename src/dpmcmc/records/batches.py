"""Tables in files that are read some rows at a time, in order: Parquet, Arrow and CSV, on disk or in object storage."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from dpmcmc.records.cells import guarded
from dpmcmc.records.files import CSV, File, csv_batches, csv_header, open_rows, pyarrow, separated

ROWS = 2**15
"""Read at a time."""

ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".csv": "csv"}


class Rows(NamedTuple):
    """Some rows of a table: an Arrow batch, and how text in it is written, if it is text."""

    batch: Any
    text: CSV | None = None

    @property
    def number(self) -> int:
        return int(self.batch.num_rows)

    @property
    def table(self) -> File:
        return open_rows([self.batch], self.text)

    def cut(self, at: int) -> tuple[Rows, Rows]:
        """The first ``at`` rows, and the others. Nothing is copied."""
        return Rows(self.batch.slice(0, at), self.text), Rows(self.batch.slice(at), self.text)


def joined_tables(parts: Sequence[Rows]) -> Iterator[tuple[File, int]]:
    """Rows that follow each other as tables, one for all that are of the same types, and how many rows each has."""
    for _, alike in groupby(parts, key=lambda one: (one.batch.schema, one.text is None)):
        some = list(alike)
        yield open_rows([one.batch for one in some], some[0].text), sum(one.number for one in some)


@dataclass(frozen=True)
class TableFiles:
    """A table in one or more files, whose rows follow each other in the order of the files' names.

    ``place`` is a path, a folder, or an address such as ``s3://bucket/visits/``; several of them; or a
    :class:`~dpmcmc.records.files.CSV`, which says how text is written.
    """

    files: tuple[str, ...]
    system: Any  # pyarrow's
    text: CSV | None = None

    @classmethod
    def at(cls, place: Any) -> TableFiles:
        arrow, text = pyarrow(), place if isinstance(place, CSV) else None
        places = [place] if isinstance(place, str | os.PathLike) else list(place)
        if not places or not all(isinstance(one, str | os.PathLike) for one in places):
            raise TypeError(f"records in files are given by a path, or a list of paths; got {type(place).__name__}")
        system, _ = _system(arrow, os.fspath(places[0]))
        files: list[str] = []
        for one in places:
            files += _listed(arrow, system, os.fspath(one), text is not None)
        return cls(tuple(files), system, text)

    @property
    def names(self) -> list[str]:
        """The columns of the first file. No value is read."""
        path, kind = self.files[0], self._kind(self.files[0])
        if kind == "csv":
            return csv_header(self._how(path), self.system.open_input_stream(path))
        if kind == "parquet":
            return list(self._parquet(path).schema_arrow.names)
        return list(self._arrow(path).schema.names)

    @property
    def header(self) -> File:
        """The columns as a table without rows."""
        text = self._kind(self.files[0]) == "csv"
        return File(self.names, None, lambda columns: {}, separated(self._how(self.files[0])) if text else "")

    def count(self) -> int | None:
        """How many rows there are, as far as files say so without being read."""
        return sum(self._counts.values()) if self.seekable else None

    @property
    def seekable(self) -> bool:
        """Whether rows can be read without those before them."""
        return all(self._kind(path) == "parquet" for path in self.files)

    @cached_property
    def _counts(self) -> dict[str, int]:
        """Rows of Parquet files, by what their ends say."""
        return {path: self._parquet(path).metadata.num_rows for path in self.files if self._kind(path) == "parquet"}

    def read(self, wanted: Sequence[str], first: int = 0) -> Iterator[Rows]:
        """Rows from number ``first`` on, of the columns ``wanted``."""
        for path in self.files:
            if first and first >= self._counts.get(path, first + 1):
                first -= self._counts[path]
                continue
            skipped, batches = self._open(path, list(wanted), first)
            first -= skipped
            text = self._how(path) if self._kind(path) == "csv" else None
            problem = f"{path!r} cannot be read as a {self._kind(path)} file, or lacks columns that others have"
            while (batch := guarded(lambda: next(batches, None), problem)) is not None:  # noqa: B023
                if batch.num_rows <= first:
                    first -= batch.num_rows
                    continue
                rows, first = batch.slice(first), 0
                yield Rows(rows, text)

    def _open(self, path: str, wanted: list[str], first: int) -> tuple[int, Iterator[Any]]:
        """Batches of a file from about row ``first`` on, and how many rows before them were passed over."""
        kind = self._kind(path)
        if kind == "csv":
            return 0, csv_batches(self._how(path), lambda: self.system.open_input_stream(path), wanted)
        if kind == "arrow":
            return 0, _arrow_batches(self._arrow(path), wanted)
        file, skipped, groups = self._parquet(path), 0, list[int]()
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if not groups and skipped + rows <= first:
                skipped += rows
            else:
                groups.append(group)
        return skipped, iter(file.iter_batches(ROWS, row_groups=groups, columns=wanted, use_threads=False))

    def _parquet(self, path: str) -> Any:
        from pyarrow import parquet

        problem = f"{path!r} cannot be read as a Parquet file"
        return guarded(lambda: parquet.ParquetFile(self.system.open_input_file(path)), problem)

    def _arrow(self, path: str) -> Any:
        from pyarrow import ipc

        problem = f"{path!r} cannot be read as an Arrow file"
        return guarded(lambda: ipc.open_file(self.system.open_input_file(path)), problem)

    def _kind(self, path: str) -> str:
        return "csv" if self.text is not None else ENDINGS[Path(path).suffix.lower()]

    def _how(self, path: str) -> CSV:
        return CSV(path) if self.text is None else replace(self.text, path=path)


def _arrow_batches(file: Any, wanted: list[str]) -> Iterator[Any]:
    for index in range(file.num_record_batches):
        batch = file.get_batch(index).select(wanted)
        for start in range(0, batch.num_rows, ROWS):
            yield batch.slice(start, ROWS)


def _system(arrow: Any, place: str) -> tuple[Any, str]:
    """The file system of a path or an address, and the path in it: Arrow's own, or one of fsspec's."""
    from pyarrow import fs

    if "://" not in place:
        return fs.LocalFileSystem(), os.path.abspath(place)
    try:
        found: tuple[Any, str] = fs.FileSystem.from_uri(place)
        return found
    except Exception:
        pass
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ImportError(
            f"{place!r} is no address that pyarrow reads; others need fsspec: pip install fsspec"
        ) from None
    system, path = guarded(lambda: url_to_fs(place), f"{place!r} is no address that pyarrow or fsspec can read")
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def _listed(arrow: Any, system: Any, place: str, text: bool) -> list[str]:
    """The files at a place, by name."""
    from pyarrow import fs

    _, path = _system(arrow, place)
    found = guarded(lambda: system.get_file_info(path), f"{place!r} cannot be looked up")
    if found.type == fs.FileType.NotFound:
        raise FileNotFoundError(f"there is no file {place!r}")
    if found.type == fs.FileType.File:
        if not text and Path(path).suffix.lower() not in ENDINGS:
            raise ValueError(
                f"a table in a file ends in {', '.join(ENDINGS)}, got {place!r}: give dp.CSV(path, separator=...) if "
                "it is a text file with a header, or convert it first"
            )
        return [path]
    inside = system.get_file_info(fs.FileSelector(path, recursive=True))
    files = sorted(one.path for one in inside if one.type == fs.FileType.File and _is_table(one.path, text))
    if not files:
        raise FileNotFoundError(f"the folder {place!r} holds no file that ends in {', '.join(ENDINGS)}")
    return files


def _is_table(path: str, text: bool) -> bool:
    hidden = Path(path).name.startswith(("_", "."))
    return not hidden and (text or Path(path).suffix.lower() in ENDINGS)
