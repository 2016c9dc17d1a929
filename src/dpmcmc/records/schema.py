"""The declared table: columns, what their values mean, and what becomes of those that do not fit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from dpmcmc.arguments import instance
from dpmcmc.records import toml
from dpmcmc.records.columns import Column, reserved
from dpmcmc.records.numbers import Number
from dpmcmc.records.skeleton import skeleton
from dpmcmc.records.tables import read


class Schema(Mapping[str, Column]):
    """The columns of a table as declared from public knowledge, before anyone looks at the table.

        schema = dp.Schema(age=dp.Number(0, 120, unit="years"), plan=dp.Category(["free", "full"]))
        columns = schema.encode(table)

    A mapping of names to columns, equal where names, their order and declarations are. Numbers may be given as text
    (``age="0..120 years"``); names that are no Python names in a dictionary (``dp.Schema({"body mass": ...})``). A
    column cannot be called "intercept", which every regression has, nor begin with "_".

    Guarantee: :meth:`encode` treats every record by itself and by the declaration alone, so that tables which differ
    in one record are encoded as tables which differ in one record. Names, storage types and the number of records are
    public: mistakes in them raise with details. A value raises only where it is refused by declaration, with a fixed
    message.
    """

    __slots__ = ("_columns",)
    _columns: dict[str, Column]

    def __init__(self, columns: Mapping[str, Column | str] | None = None, /, **named: Column | str) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise TypeError(f"columns must be a mapping of names to columns, got {type(columns).__name__}")
        given = dict(columns or {})
        repeated = sorted(given.keys() & named.keys())
        if repeated:
            raise ValueError(f"columns declared twice: {', '.join(map(repr, repeated))}")
        declared = {check_name(name): check_column(name, column) for name, column in (given | named).items()}
        if not declared:
            raise ValueError("a schema declares at least one column, such as dp.Schema(age=dp.Number(0, 120))")
        object.__setattr__(self, "_columns", declared)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a schema does not change: schema.with_columns(...) gives another one")

    def __reduce__(self) -> Any:
        return type(self), (dict(self._columns),)

    def __getitem__(self, name: str) -> Column:
        if name not in self._columns:
            raise KeyError(_undeclared([name], self))
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and tuple(self.items()) == tuple(other.items())

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._columns)

    def encode(self, table: Any, *, only: Iterable[str] | None = None) -> dict[str, np.ndarray]:
        """The declared columns of a table as float64 arrays, one value a record and none of them NaN.

        Numbers are on their own scale, dates are days since their first bound, levels are codes. The table is a pandas
        or polars data frame, a pyarrow Table, a mapping of arrays or lists, a NumPy structured array, or the path of a
        .csv or .parquet file; columns that are not declared are ignored. ``only`` names the columns that are needed.
        A CSV file is read by what is declared, so that no cell decides on the type of its column.

        Guarantee: see :class:`Schema`. A refusal is for whoever holds the records, and is no release.
        """
        columns = self if only is None else self.subset(only)
        cells = read(table, columns)
        return {name: column.encode(cells[name], name) for name, column in columns.items()}

    def subset(self, names: Iterable[str]) -> Schema:
        """The schema of these columns, in this order."""
        if isinstance(names, str):
            raise TypeError(f"give a list of names, such as [{names!r}], got the text {names!r}")
        instance("names", names, Iterable, "a list of names")
        chosen = list(names)
        unknown = [name for name in chosen if name not in self._columns]
        if unknown:
            raise ValueError(_undeclared(unknown, self))
        return Schema({name: self._columns[name] for name in chosen})

    def with_columns(self, columns: Mapping[str, Column | str] | None = None, /, **named: Column | str) -> Schema:
        """The schema with more columns, or with these in the place of those that have their names."""
        return Schema(self._columns | dict(columns or {}) | named)

    def to_toml(self) -> str:
        """The schema as TOML text, which :meth:`from_toml` reads."""
        return toml.written(self)

    @classmethod
    def from_toml(cls, text: str, source: str = "the TOML text") -> Schema:
        """The schema that TOML text declares; ``source`` is what errors call it."""
        columns = toml.parsed(text, source)
        try:
            return cls(columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{source}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the schema to a TOML file."""
        path = Path(path)
        path.write_text(self.to_toml(), encoding="utf-8")
        return path

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """The schema in a TOML file."""
        path = Path(instance("path", path, (str, os.PathLike), "the path of a file"))
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {str(path)!r}")
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from None
        return cls.from_toml(text, str(path))

    @staticmethod
    def skeleton(table: Any) -> str:
        """TOML text with a place to fill in for whatever has to be declared of a table's columns.

        Reads the names of the columns, and their storage types where there are any, and no value.
        """
        return skeleton(table)

    def __repr__(self) -> str:
        return f"Schema({self._columns!r})"

    def __str__(self) -> str:
        rows = [("column", "type", "values", "missing", "others")]
        rows += [(name, column.type_name, *column.summary()) for name, column in self.items()]
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        return "\n".join("  ".join([*map(str.ljust, row[:4], widths), row[4]]) for row in rows)


def check_name(name: Any) -> str:
    """A name that a column may have."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a column must be text, got {name!r}")
    problem = reserved(name)
    if problem:
        raise ValueError(f"a column cannot be called {name!r}, {problem}: rename the column")
    return str(name)


def check_column(name: str, column: Any) -> Column:
    """A declared column, or bounds as text."""
    if isinstance(column, Column):
        return column
    if isinstance(column, str):
        try:
            return Number.parse(column)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}") from None
    called = " (a class: call it, with its bounds or levels)" if isinstance(column, type) else ""
    raise TypeError(
        f"column {name!r} must be declared by dp.Number, dp.Category, dp.Boolean, dp.Ordered or dp.Date, such as "
        f"{name}=dp.Number(0, 120), got {column!r}{called}"
    )


def _undeclared(names: list[Any], schema: Schema) -> str:
    close = [match for name in names for match in get_close_matches(str(name), schema, n=1)]
    meant = f" (did you mean {', '.join(map(repr, close))}?)" if close else ""
    return (
        f"the schema declares no column {', '.join(map(repr, names))}{meant}; it declares: "
        f"{', '.join(map(repr, schema))}"
    )
