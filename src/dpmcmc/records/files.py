"""Tables in files: CSV read by what is declared, so that no cell decides on a column's type; and Parquet."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.records.cells import PLURAL, Cells, Kind, RefusedValue, guarded, of_array
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


SEPARATORS = {",": "commas", ";": "';'", "\t": "tabs", "|": "'|'"}
"""Those in common use, as errors call them."""


@dataclass(frozen=True)
class CSV(os.PathLike[str]):
    """A CSV file and how it is written, wherever a table is asked for.

        model.encode(dp.CSV("visits.csv", separator=";", decimal=",", encoding="cp1252", missing=["-99", "k. A."]))

    - ``separator``: between cells, one character (``"\\t"`` for tabs);
    - ``decimal``: the sign before the decimals of a number, "." or ",". The other one is refused within numbers;
    - ``encoding``: of the text, one in which ASCII is itself, such as "cp1252" or "latin-1";
    - ``missing``: cells that are missing values, in every column and beside the usual marks (empty, NA, null, …),
      except where they are declared as a level. Those that are numbers are so however they are written: -99, -99.0;
    - ``dates``: how the last day of 2020 is written, "31.12.2020", "31/12/2020" or "12/31/2020", if not "2020-12-31".

    A path alone stands for a file with the usual settings.
    """

    path: str | os.PathLike[str]
    _: KW_ONLY
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    missing: Sequence[str | int] = ()
    dates: str = "2020-12-31"

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike) or isinstance(self.path, CSV):
            raise TypeError(f"CSV: path must be the path of a file, got {self.path!r}")
        one = isinstance(self.separator, str) and len(self.separator) == 1 and self.separator.isascii()
        if not one or self.separator.isalnum() or self.separator in '"\r\n.-+':
            raise ValueError(f"CSV: separator must be one character such as ';' or '\\t', got {self.separator!r}")
        if self.decimal not in (".", ","):
            raise ValueError(f"CSV: decimal must be '.' or ',', got {self.decimal!r}")
        if self.dates not in _ORDERS:
            raise ValueError(f"CSV: dates must be one of {', '.join(map(repr, _ORDERS))}, got {self.dates!r}")
        if not _keeps_ascii(self.encoding):
            raise ValueError(
                f"CSV: encoding must be one in which ASCII is itself, such as 'utf-8', 'cp1252' or 'latin-1', got "
                f"{self.encoding!r}: save the file as UTF-8"
            )
        if not isinstance(self.missing, list | tuple) or not all(
            isinstance(mark, str | int) and not isinstance(mark, bool) for mark in self.missing
        ):
            raise TypeError(
                f"CSV: missing must be a list of texts or whole numbers, such as ['-99'], got {self.missing!r}"
            )
        object.__setattr__(self, "missing", tuple(map(str, self.missing)))

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    @property
    def marks(self) -> tuple[str, ...]:
        return (*MISSING_MARKS, *map(str, self.missing))

    def number(self, text: str) -> float | None:
        """What a mark is as a number, if it is one."""
        if "_" in text or (self.decimal == "," and "." in text):
            return None
        try:
            return float(text.replace(self.decimal, "."))
        except ValueError:
            return None


def _keeps_ascii(encoding: Any) -> bool:
    ascii_bytes = bytes(range(128))
    try:
        return ascii_bytes.decode(encoding) == ascii_bytes.decode("ascii")
    except (LookupError, TypeError, ValueError):
        return False


@dataclass(frozen=True)
class File:
    """A file's public part: names, and a table of its types without rows if it has types. ``load`` reads columns."""

    names: list[str]
    empty: Any
    load: Callable[[Mapping[str, Column]], Any]
    separated: str = ""  # by what the names of a CSV file are, in words


def open_file(source: str | os.PathLike[str]) -> File:
    """The header of a CSV file, or the footer of a Parquet file: names and types, and no value."""
    path = Path(source)
    if not isinstance(source, CSV) and path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(
            f"a table in a file ends in .csv or .parquet, got {str(path)!r}: read it yourself first, or give "
            "dp.CSV(path, separator=...) if it is a text file with a header"
        )
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if isinstance(source, CSV) or path.suffix.lower() == ".csv":
        how = source if isinstance(source, CSV) else CSV(path)
        names = csv_header(how)
        return File(names, None, lambda columns: read_csv(how, columns, len(names)), _words(how.separator))
    pyarrow()
    from pyarrow import parquet

    problem = f"{str(path)!r} cannot be read as a Parquet file"
    schema = guarded(lambda: parquet.read_schema(path), problem)
    return File(
        list(schema.names),
        schema.empty_table(),
        lambda columns: guarded(lambda: parquet.ParquetFile(path).read(columns=list(columns)), problem),
    )


def separated(file: CSV) -> str:
    """By what the cells of a file are separated, in words."""
    return _words(file.separator)


def _words(separator: str) -> str:
    return SEPARATORS.get(separator, repr(separator))


def open_rows(rows: Sequence[Any], written: CSV | None = None) -> File:
    """Some rows of files, Arrow batches, as a table: of text, if it says how that is ``written``."""
    table = pyarrow().Table.from_batches(list(rows))

    def load(columns: Mapping[str, Column]) -> Any:
        if written is None:
            return table.select(list(columns))
        return {name: _read_written(table[name], column, name, written) for name, column in columns.items()}

    return File(list(table.column_names), None, load, "" if written is None else _words(written.separator))


HEADER_BYTES = 2**20


def csv_header(file: CSV, opened: Any = None) -> list[str]:
    """The names in the first line, of a stream if one is given. The lines after it are not decoded."""
    path = str(Path(file))
    with Path(file).open("rb") if opened is None else opened as stream:
        line = stream.read(HEADER_BYTES).split(b"\n", 1)[0].removeprefix(b"\xef\xbb\xbf")
    try:
        text = line.decode(file.encoding).rstrip("\r\n")
    except UnicodeDecodeError:
        raise RefusedValue(
            f"the header of {path!r} is not {file.encoding}: save the file as UTF-8, or say what it is, "
            "dp.CSV(path, encoding=...)"
        ) from None
    try:
        names = next(csv.reader([text], delimiter=file.separator), [])
    except csv.Error:  # a carriage return within a line, or a name of more than 131 072 characters
        names = []
    if not names or text.count('"') % 2:
        raise RefusedValue(
            f"{path!r} has no header: its first line must name the columns, separated by {_words(file.separator)}"
        )
    others = [other for other in SEPARATORS if other in text and other != file.separator]
    if len(names) == 1 and others and not text.startswith('"'):
        raise RefusedValue(
            f"the header of {path!r} is a single name with {_words(others[0])} in it: if names are separated by these, "
            f"say so, dp.CSV(path, separator={others[0]!r}) or, for `dpmcmc new`, --separator {others[0]!r}; if not, "
            "put the name in double quotes"
        )
    return names


def read_csv(file: CSV, columns: Mapping[str, Column], width: int) -> dict[str, Cells]:
    """The columns of a CSV file, each as the kind of cells that its declaration reads."""
    pyarrow()
    from pyarrow import csv as arrow_csv

    options = _options(file, list(columns), width)
    table = guarded(lambda: arrow_csv.read_csv(Path(file), **options), _unread(file))
    return {name: _read_written(table[name], column, name, file) for name, column in columns.items()}


def csv_batches(file: CSV, open_stream: Callable[[], Any], columns: Sequence[str]) -> Iterator[Any]:
    """The columns of a CSV file as text, some rows at a time."""
    from pyarrow import csv as arrow_csv

    options = _options(file, list(columns), len(csv_header(file, open_stream())))
    reader = guarded(lambda: arrow_csv.open_csv(open_stream(), **options), _unread(file))
    while (batch := guarded(lambda: next(reader, None), _unread(file))) is not None:
        yield batch


def _options(file: CSV, columns: list[str], width: int) -> dict[str, Any]:
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    return {
        "convert_options": arrow_csv.ConvertOptions(
            include_columns=columns,
            column_types=dict.fromkeys(columns, arrow.string()),
            null_values=[],
            strings_can_be_null=False,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=file.separator, newlines_in_values=True, ignore_empty_lines=width > 1
        ),
        "read_options": arrow_csv.ReadOptions(encoding=file.encoding),
    }


def _unread(file: CSV) -> str:
    return (
        f"{str(Path(file))!r} cannot be read as a CSV file: it must be {file.encoding.upper()}, separated by "
        f"{_words(file.separator)}, with as many cells in every line as the header has names"
    )


def _read_written(text: Any, column: Column, name: str, file: CSV) -> Cells:
    """A column of text as the kind that its declaration reads first."""
    from pyarrow import compute

    kind = column.kinds[0]
    comma = kind == "number" and file.decimal == ","
    if kind != "text":
        text = compute.utf8_trim_whitespace(text)
    marks = [mark for mark in file.marks if mark not in column.values and file.number(mark) not in column.values]
    missing = compute.is_in(text, value_set=pyarrow().array(marks)).to_numpy().astype(bool)
    present = compute.if_else(missing, None, text)
    if comma:
        for old, new in ((".", "?"), (",", ".")):  # a point is no part of a number then, and makes none
            present = compute.replace_substring(present, old, new)
    if kind == "date" and (order := _ORDERS[file.dates]):
        present = compute.replace_substring_regex(present, "^([0-9]+-.*)$", "?\\1")  # none that is written otherwise
        present = compute.replace_substring_regex(present, f"^{order[0]}( .*)?$", order[1])
        for _ in ("month", "day"):  # of one digit
            present = compute.replace_substring_regex(present, "-([0-9])(-|$| )", "-0\\1\\2")
    written = _WRITTEN[kind].replace("2020-12-31", file.dates)
    cells = guarded(
        lambda: _converted(present, missing, kind, name),
        f"column {name!r} holds cells that cannot be read as {PLURAL[kind]} "
        f"({'such as 12, -0,5 or 1e3, without points' if comma else written}), "
        f"and are not among the marks of missing values: correct the file, or declare another type, or how the file "
        "is written, with dp.CSV(path, decimal=..., missing=[...], dates='31.12.2020') or [csv] in a study file",
    )
    if kind != "number":
        return cells
    numbers = [number for number in map(file.number, marks) if number is not None]
    return Cells(kind, cells.values, cells.missing | np.isin(cells.values, numbers), cells.storage)


_ORDERS: dict[str, tuple[str, str] | None] = {  # how a date is written, and how ISO has it
    "2020-12-31": None,
    "31.12.2020": (r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})", r"\3-\2-\1\4"),
    "31/12/2020": (r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})", r"\3-\2-\1\4"),
    "12/31/2020": (r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})", r"\3-\1-\2\4"),
}
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
