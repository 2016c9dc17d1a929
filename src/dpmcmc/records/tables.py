"""Tables of any library as columns of cells: data frames, Arrow tables, mappings of arrays, files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from dpmcmc.records import cells as reading
from dpmcmc.records.cells import Cells, RefusedType, RefusedValue, guarded, unreadable
from dpmcmc.records.columns import Column
from dpmcmc.records.files import File, open_file, pyarrow

READABLE = (
    "a pandas or polars data frame, a pyarrow Table, a mapping of arrays, a NumPy structured array, "
    "the path of a .csv or .parquet file, or dp.CSV(path, separator=...)"
)


def read(table: Any, columns: Mapping[str, Column]) -> dict[str, Cells]:
    """The cells of the declared columns, after every mistake that public information shows has been refused."""
    table = check_columns(table, columns)
    if isinstance(table, str | os.PathLike | File):
        table = (table if isinstance(table, File) else open_file(table)).load(columns)
    found = {name: read_column(table[name], name) for name in columns}
    check_lengths({name: len(cells) for name, cells in found.items()})
    return found


def check_columns(table: Any, wanted: Iterable[str]) -> Any:
    """The table, as what can be read again, after it was seen to have every wanted column once. No value is read."""
    if isinstance(table, str | os.PathLike | File):
        file = table if isinstance(table, File) else open_file(table)
        check_names(file.names, wanted, file.separated)
        return table
    table = opened(table)
    check_names(names_of(table), wanted)
    return table


def opened(table: Any) -> Any:
    """The table as something with names, each of which gives a column."""
    table = nw.to_native(table, pass_through=True)
    if isinstance(table, Mapping) or is_structured(table) or isinstance(getattr(table, "column_names", None), list):
        return table
    if nw.dependencies.is_pandas_like_dataframe(table) or nw.dependencies.is_polars_dataframe(table):
        return table
    if isinstance(nw.from_native(table, pass_through=True), nw.LazyFrame):
        raise RefusedType(f"the table is a lazy {type(table).__name__}: collect it first, with table.collect()")
    if isinstance(table, np.ndarray):
        raise RefusedType("the table is an array without column names: give a mapping such as {'age': array[:, 0]}")
    if hasattr(table, "__arrow_c_stream__"):
        arrow = pyarrow()
        return guarded(lambda: arrow.table(table), f"a table is {READABLE}; got {type(table).__name__}")
    raise RefusedType(f"a table is {READABLE}; got {type(table).__name__}")


def is_structured(table: Any) -> bool:
    return isinstance(table, np.ndarray) and table.dtype.names is not None


def names_of(table: Any) -> list[Any]:
    """The names of the columns, in order and with repetitions."""
    if isinstance(table, Mapping):
        return list(table)
    if is_structured(table):
        return list(table.dtype.names)
    names = getattr(table, "column_names", None)
    return list(table.columns if names is None else names)


def check_names(names: Sequence[Any], wanted: Iterable[str], separated: str = "") -> None:
    """Every declared column is there, once.

    Names in a line, ``separated`` by something, may be values, since a CSV file may lack its header: they are not
    shown, but for those like a declared one.
    """
    counts = Counter(names)
    absent = [name for name in wanted if not counts[name]]
    if absent:
        listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        has = (
            f"its columns are: {listed or 'none'}"
            if not separated
            else f"its first line should name them{_alike(absent, names) or f', separated by {separated}'}"
        )
        raise RefusedValue(
            f"the table has no column {', '.join(map(repr, absent))}; {has}. "
            "Rename a column, or leave out what is not needed with encode(table, only=[...])"
        )
    repeated = [name for name in wanted if counts[name] > 1]
    if repeated:
        listed = ", ".join(map(repr, dict.fromkeys(repeated)))
        raise RefusedValue(f"the table has more than one column called {listed}: rename or drop the others")


def _alike(absent: list[str], names: Sequence[str]) -> str:
    folded = {name.strip().lower(): name for name in names}
    alike = [folded[name.lower()] for name in absent if name.lower() in folded]
    return f" (it has {', '.join(map(repr, alike))})" if alike else ""


def check_lengths(lengths: Mapping[str, int]) -> None:
    """All columns have one length, the public number of records."""
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r}: {length}" for name, length in lengths.items())
        raise RefusedValue(f"the columns have different lengths ({listed}): every record needs a cell in each column")
    if not any(lengths.values()):
        raise RefusedValue(f"the table is empty: its columns {', '.join(map(repr, lengths))} have 0 records")


def read_column(values: Any, name: str) -> Cells:
    """The cells of one column of whatever library."""
    if isinstance(values, Cells):
        return values
    if isinstance(values, np.ndarray):
        return reading.of_array(values, name)
    if isinstance(values, list | tuple):
        return reading.of_list(values, name)
    if hasattr(values, "type") and hasattr(values, "dictionary_encode") and not hasattr(values, "chunks"):
        values = pyarrow().chunked_array([values])  # an Arrow array that is not in chunks
    series = nw.from_native(values, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        return _of_series(series, name)
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return reading.of_list(values, name)
    if hasattr(values, "__array__"):
        return reading.of_array(np.asarray(values), name)
    raise RefusedType(f"column {name!r} is a {type(values).__name__}: give an array, a series or a list of its values")


def _of_series(series: Any, name: str) -> Cells:
    """A series, by its storage type. An object column of pandas is no text because its cells happen to be."""
    native, storage = series.to_native(), storage_of(series)
    if storage.startswith("date64"):
        return guarded(lambda: _of_milliseconds(native, storage), _unread(name, storage))
    if storage.lower() == "null":  # an Arrow or polars column without a type has no values
        return Cells(None, np.full(len(series), None, dtype=object), np.ones(len(series), bool), storage)
    if series.dtype == nw.Categorical and hasattr(native, "unify_dictionaries"):
        return read_column(_decoded(native), name)
    pandas_categories = series.dtype in (nw.Categorical, nw.Enum) and hasattr(native, "cat") and hasattr(native, "iloc")
    if pandas_categories or storage == "object" or series.dtype == nw.Object:
        values = np.asarray(series.to_numpy() if series.dtype == nw.Object else native)
        return reading.of_array(values, name)
    kind = kind_of(series.dtype)
    if kind is None:
        raise unreadable(name, storage)
    if kind == "date" and getattr(series.dtype, "time_zone", None):
        raise RefusedType(
            f"column {name!r} is stored as {storage}, with a time zone: convert it to the zone in which its bounds are "
            "declared, and remove the zone"
        )
    return guarded(lambda: _of_kind(series, kind, storage, name), _unread(name, storage))


def _unread(name: str, storage: str) -> str:
    return f"column {name!r}, stored as {storage}, cannot be read: convert it to a NumPy array first"


def _of_milliseconds(native: Any, storage: str) -> Cells:
    """Arrow's dates in milliseconds, cell by cell: those that are no whole days count as their fraction of one."""
    column = native if hasattr(native, "chunks") else pyarrow().chunked_array([pyarrow().array(native)])
    missing = np.asarray(column.is_null())
    milliseconds = np.asarray(column.cast("int64").fill_null(0), np.float64)
    return Cells("date", milliseconds / 86_400_000, missing, storage)


def _decoded(native: Any) -> Any:
    """Arrow dictionaries by label, not by code."""
    return pyarrow().chunked_array([chunk.dictionary_decode() for chunk in native.chunks], native.type.value_type)


def storage_of(series: Any) -> str:
    """How a series is stored, in the words of its library."""
    native = series.to_native()
    if series.dtype == nw.Enum:  # in full, it lists its levels
        return "Enum"
    return str(native.dtype if hasattr(native, "dtype") else native.type)


def kind_of(dtype: Any) -> reading.Kind | None:
    """What a storage type holds; None if no declaration reads it."""
    if dtype.is_numeric():
        return "number"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        return "text"
    return "date" if dtype in (nw.Date, nw.Datetime) else None


def _of_kind(series: Any, kind: reading.Kind, storage: str, name: str) -> Cells:
    missing = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if kind == "text":
        text = ["" if gone else str(cell) for cell, gone in zip(series.to_list(), missing, strict=True)]
        return Cells(kind, np.array(text, dtype=object), missing, storage)
    if kind == "date":
        values = series.to_numpy()
        if values.dtype == object:  # dates of Arrow within pandas
            values = series.cast(nw.Datetime("us")).to_numpy()
    else:
        if series.dtype.is_decimal() or series.dtype in (nw.Int128, nw.UInt128):
            series = series.cast(nw.Float64)
        values = series.fill_null(False if kind == "boolean" else 0).to_numpy()
    found = reading.of_array(values, name)
    return Cells(kind, found.values, missing | found.missing, storage)
