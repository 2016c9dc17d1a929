"""Tables in files: CSV read by what is declared, so that no cell decides on a column's type; and Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.records.cells import PLURAL, Cells, Kind, guarded, of_array
from dpmcmc.records.columns import Column

MISSING_MARKS = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NaT", "None", "null", "NULL", "<NA>")
"""Cells of a CSV file that are missing values, except in columns in which one of them is declared as a level."""


def pyarrow() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("files and Arrow tables need pyarrow: pip install 'dpmcmc[tables]'") from None
    return pyarrow


@dataclass(frozen=True)
class File:
    """A file's public part: names, and a table of its types without rows if it has types. ``load`` reads columns."""

    names: list[str]
    empty: Any
    load: Callable[[Mapping[str, Column]], Any]


def open_file(source: str | os.PathLike[str]) -> File:
    """The header of a CSV file, or the footer of a Parquet file: names and types, and no value."""
    path = Path(source)
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"a table in a file ends in .csv or .parquet, got {str(path)!r}: read it yourself first")
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if path.suffix.lower() == ".csv":
        names = csv_header(path)
        return File(names, None, lambda columns: read_csv(path, columns, len(names)))
    pyarrow()
    from pyarrow import parquet

    problem = f"{str(path)!r} cannot be read as a Parquet file"
    schema = guarded(lambda: parquet.read_schema(path), problem)
    return File(
        list(schema.names),
        schema.empty_table(),
        lambda columns: guarded(lambda: parquet.ParquetFile(path).read(columns=list(columns)), problem),
    )


def csv_header(path: Path) -> list[str]:
    """The names in the first line. The lines after it are not decoded."""
    with path.open("rb") as file:
        line = file.readline()
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"the header of {str(path)!r} is not UTF-8: save the file as UTF-8") from None
    names = next(csv.reader([text.rstrip("\r\n")]), [])
    if not names or text.count('"') % 2:
        raise ValueError(f"{str(path)!r} has no header: its first line must name the columns, separated by commas")
    return names


def read_csv(path: Path, columns: Mapping[str, Column], width: int) -> dict[str, Cells]:
    """The columns of a CSV file, each as the kind of cells that its declaration reads."""
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    convert = arrow_csv.ConvertOptions(
        include_columns=list(columns),
        column_types=dict.fromkeys(columns, arrow.string()),
        null_values=[],
        strings_can_be_null=False,
    )
    parse = arrow_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=width > 1)
    table = guarded(
        lambda: arrow_csv.read_csv(path, parse_options=parse, convert_options=convert),
        f"{str(path)!r} cannot be read as a CSV file: it must be UTF-8, separated by commas, with as many cells in "
        "every line as the header has names",
    )
    return {name: _read_written(table[name], column, name) for name, column in columns.items()}


def _read_written(text: Any, column: Column, name: str) -> Cells:
    """A column of text as the kind that its declaration reads first."""
    from pyarrow import compute

    kind = column.kinds[0]
    if kind != "text":
        text = compute.utf8_trim_whitespace(text)
    marks = [mark for mark in MISSING_MARKS if mark not in column.texts]
    missing = compute.is_in(text, value_set=pyarrow().array(marks)).to_numpy().astype(bool)
    present = compute.if_else(missing, None, text)
    return guarded(
        lambda: _converted(present, missing, kind, name),
        f"column {name!r} holds cells that cannot be read as {PLURAL[kind]} ({_WRITTEN[kind]}), "
        f"and are not among the marks of missing values: correct the file, or declare another type",
    )


_WRITTEN: dict[Kind, str] = {
    "number": "such as 12, -0.5 or 1e3",
    "boolean": "true, false, 1 or 0; declare other words, such as dp.Boolean({'yes': True, 'no': False})",
    "date": "such as 2020-12-31 or 2020-12-31 23:59:59, without a time zone",
    "text": "text",
}


def _converted(present: Any, missing: np.ndarray, kind: Kind, name: str) -> Cells:
    from pyarrow import compute

    if kind == "text":
        return Cells(kind, np.array(compute.fill_null(present, "").to_pylist(), dtype=object), missing, "text")
    if kind == "boolean":  # also 1.0 and 0.0, which other libraries write for booleans with missing values
        present = compute.replace_substring_regex(compute.utf8_lower(present), "^([01])[.]0$", "\\1")
    types = {"number": "float64", "boolean": "bool", "date": "timestamp[us]"}
    fill: Any = {"number": 0.0, "boolean": False, "date": np.datetime64(0, "us")}[kind]
    values = compute.cast(present, types[kind])
    cells = of_array(compute.fill_null(values, pyarrow().scalar(fill, values.type)).to_numpy(), name)
    return Cells(kind, cells.values, missing | cells.missing, "text")
