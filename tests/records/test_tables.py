"""Tables that do not fit: each has the treatment that was declared, or an error with its column, class and remedy."""

import datetime as dt
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpmcmc as dp

SECRET, SECRET_TEXT, SECRET_DAY = 987654.125, "planted-marker", dt.date(1987, 6, 5)


def no_whole_days():
    """Arrow's dates in milliseconds, with some hours that its own conversions refuse and quote."""
    hours = (DAY - dt.date(1970, 1, 1)).days * 86_400_000 + 12_345_678
    return pa.chunked_array([pa.array([hours], pa.int64()).view(pa.date64())])


MARKS = ("987654", "planted", "1987")  # in no message, nor in any error behind it

AGE, WHOLE = dp.Number(0, 120), dp.Number(0, 120, integer=True)
PLAN = dp.Category(["free", "full"])
GRADE = dp.Category([1, 2, 3])
OPEN = dp.Category(["free", "full"], unknown="other", missing="level")
HEALTH = dp.Ordered(["poor", "good"], missing="good")
SMOKER, YES = dp.Boolean(), dp.Boolean({"yes": True, "no": False})
ONE_TWO = dp.Boolean({1: True, 2: False}, unknown=False, missing="level")
VISIT = dp.Date("2000-01-01", "2020-12-31")
MOMENT = dp.Date("2000-01-01 00:00", "2000-01-03 00:00", missing="2000-01-02 00:00")
DAY = dt.date(2000, 1, 3)


def objects(*cells):
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


class Hostile(float):
    """A cell that says more than it should when it is touched."""

    def __ne__(self, other):
        raise ValueError(SECRET_TEXT)

    def __float__(self):
        raise ValueError(SECRET_TEXT)

    __hash__ = float.__hash__


REFUSED = {  # what is declared, the values, words of the error
    "text in a number column": (AGE, np.array(["1", SECRET_TEXT]), "stored as text .text.: convert it first"),
    "numeric text in a pandas column": (AGE, pd.Series(["1", "2"]), "stored as str .text.: convert it first"),
    "numeric text in a polars column": (AGE, pl.Series(["1", "2"]), "stored as String .text.: convert it first"),
    "numeric text in a list": (AGE, ["1", "2"], "not all of its cells are numbers"),
    "text among numbers in a list": (AGE, [1.0, SECRET_TEXT], "not all of its cells are numbers.*convert"),
    "text among numbers in an object column": (AGE, pd.Series([1, SECRET_TEXT], dtype=object), "mixed types: convert"),
    "text among numbers in a polars object": (AGE, pl.Series([1, SECRET_TEXT], dtype=pl.Object), "mixed types"),
    "numbers among text": (PLAN, ["free", SECRET], "not all of its cells are text.*convert the column"),
    "bytes": (PLAN, np.array([b"free"]), "stored as .S4, which no declaration reads: convert"),
    "bytes in a list": (PLAN, [b"free"], "not all of its cells are text"),
    "bytes in polars": (PLAN, pl.Series([b"free"]), "stored as Binary, which no declaration reads"),
    "bytes in arrow": (PLAN, pa.array([b"free"]), "stored as binary, which no declaration reads"),
    "complex": (AGE, np.array([1j]), "stored as complex128, which no declaration reads: convert"),
    "complex in pandas": (AGE, pd.Series([1j]), "stored as complex128, which no declaration reads"),
    "complex in a list": (AGE, [1 + 0j], "not all of its cells are numbers"),
    "lists in polars": (AGE, pl.Series([[1, 2], [3]]), "stored as List.Int64., which no declaration reads"),
    "lists in arrow": (AGE, pa.array([[1, 2], [3]]), "stored as list<.*, which no declaration reads"),
    "structs in arrow": (AGE, pa.array([{"a": 1}]), "stored as struct<.*, which no declaration reads"),
    "lists in a list": (AGE, [[1, 2], [3, 4]], "not all of its cells are numbers"),
    "arrays in an object column": (AGE, objects(np.ones(2), np.ones(2)), "not all of its cells are numbers"),
    "two dimensions": (AGE, np.ones((3, 2)), r"has 2 dimensions, shape \(3, 2\).*column of its own"),
    "no dimension": (AGE, np.float64(3.0), "has 0 dimensions"),
    "a single text": (PLAN, "free", "is a str: give an array, a series or a list"),
    "a single number": (AGE, 3.0, "is a float: give an array"),
    "a set": (PLAN, {"free"}, "is a set: give an array"),
    "a generator": (AGE, (x for x in [1]), "is a generator: give an array"),
    "durations": (AGE, np.array([3], "m8[s]"), "stored as timedelta64.*no declaration reads"),
    "times of the day": (VISIT, pl.Series([dt.time(1)]), "stored as Time, which no declaration reads"),
    "periods": (VISIT, pd.Series(pd.period_range("2000", periods=2)), "stored as period.*no declaration reads"),
    "sparse": (AGE, pd.Series([1.0, 0.0], dtype="Sparse[float]"), "stored as Sparse.*no declaration reads: convert"),
    "datetimes in a number column": (AGE, pd.to_datetime(pd.Series(["1987-06-05"])), "stored as datetime64.*dates"),
    "dates in a number column": (AGE, pl.Series([SECRET_DAY]), "stored as Date .dates.: convert"),
    "dates in a list of numbers": (AGE, [SECRET_DAY], "not all of its cells are numbers"),
    "numbers in a date column": (VISIT, np.array([SECRET]), "stored as float64 .numbers.: convert"),
    "text in a date column": (VISIT, pd.Series(["1987-06-05"]), "stored as str .text.: convert it first, or give the"),
    "text dates in a list": (VISIT, ["1987-06-05"], "not all of its cells are dates"),
    "a time zone in pandas": (VISIT, pd.Series(pd.to_datetime(["1987-06-05"], utc=True)), "with a time zone.*remove"),
    "a time zone in polars": (
        VISIT,
        pl.Series([dt.datetime(1987, 6, 5, tzinfo=dt.UTC)]),
        "with a time zone: convert it to the zone",
    ),
    "a time zone in arrow": (VISIT, pa.array([0], pa.timestamp("us", "UTC")), "with a time zone"),
    "a time zone in a list": (VISIT, [dt.datetime(1987, 6, 5, tzinfo=dt.UTC)], "not all of its cells are dates"),
    "booleans in a number column": (AGE, np.array([True]), "stored as bool .booleans.: declare it with dp.Boolean"),
    "booleans in a list of numbers": (AGE, [1.0, True], "not all of its cells are numbers"),
    "booleans for levels": (PLAN, np.array([True]), "declare it with dp.Boolean"),
    "numbers for levels of text": (PLAN, np.array([1, 2]), "declare its levels as whole numbers"),
    "text for levels of numbers": (GRADE, np.array(["1"]), "reads numbers, but is stored as text"),
    "text for a boolean without coding": (
        SMOKER,
        np.array(["yes"]),
        "reads booleans or numbers, but is stored as text",
    ),
    "numbers for a boolean coded as text": (YES, np.array([1, 0]), "reads text or booleans, but is stored as int64"),
    "dates for a boolean": (SMOKER, pl.Series([SECRET_DAY]), "stored as Date"),
    "booleans coded 1 and 2": (SMOKER, np.array([1, 2]), "values that are not declared.*a coding such as"),
    "booleans coded 1 and 2 in a list": (SMOKER, [1, 2, None][:2], "values that are not declared"),
    "a number that is no boolean": (SMOKER, np.array([0.0, SECRET]), "values that are not declared"),
    "a word that is no boolean": (YES, np.array(["yes", SECRET_TEXT]), "values that are not declared"),
    "booleans and words mixed": (YES, ["yes", True], "mixed types"),
    "an unknown level": (PLAN, np.array(["free", SECRET_TEXT]), "not declared.*from public.*unknown='other'"),
    "an unknown whole number": (GRADE, np.array([1, 987654]), "not declared"),
    "a fraction among levels": (GRADE, np.array([1, 1.5]), "not declared"),
    "an unknown ordered level": (HEALTH, ["poor", SECRET_TEXT], "not declared"),
    "an unknown category of pandas": (PLAN, pd.Series([SECRET_TEXT], dtype="category"), "not declared"),
    "an unknown level in arrow": (PLAN, pa.array([SECRET_TEXT]).dictionary_encode(), "not declared"),
    "an enum for numbers": (AGE, pl.Series([SECRET_TEXT], dtype=pl.Enum([SECRET_TEXT])), "stored as Enum .text."),
    "a category of text for numbers": (AGE, pd.Series([SECRET_TEXT], dtype="category"), "not all of its cells are num"),
    "a number outside": (dp.Number(0, 9, outside="refuse"), np.array([SECRET]), "outside its bounds.*outside='clip'"),
    "infinity refused": (dp.Number(0, 9, outside="refuse"), np.array([np.inf]), "outside its bounds"),
    "a date outside": (dp.Date("2000-01-01", "2001-01-01", outside="refuse"), [SECRET_DAY], "outside its bounds"),
    "NaN": (AGE, np.array([SECRET, np.nan]), "has missing values, and its declaration refuses them: declare .*number"),
    "None": (AGE, [SECRET, None], "has missing values"),
    "a masked number": (AGE, np.ma.array([SECRET, 1.0], mask=[True, False]), "has missing values"),
    "NA of pandas": (AGE, pd.Series([1, None], dtype="Int64"), "has missing values"),
    "a null of polars": (AGE, pl.Series([1, None]), "has missing values"),
    "a null of arrow": (AGE, pa.array([1, None]), "has missing values"),
    "a column of nothing": (AGE, pl.Series([None, None]), "has missing values"),
    "NaN of polars": (AGE, pl.Series([1.0, float("nan")]), "has missing values"),
    "a missing level": (PLAN, ["free", None], "has missing values.*missing='level', or missing=<one of the levels>"),
    "a missing boolean": (SMOKER, pd.Series([True, None], dtype="boolean"), "has missing values.*missing=False"),
    "a missing date": (VISIT, pd.to_datetime(pd.Series(["2001-01-01", None])), "has missing values.*a date within"),
    "a cell that raises": (AGE, [Hostile(1)], "cells that cannot be compared: convert"),
    "no rows": (AGE, np.array([]), "is empty: its columns 'x' have 0 records"),
    "no rows in a list": (PLAN, [], "is empty"),
}

TREATED = {  # what is declared, the values, what they become
    "outside numbers": (AGE, [-5.0, 500.0, np.inf, -np.inf], [0, 120, 120, 0]),
    "integers beyond 2^53": (dp.Number(0, 2**53, integer=True), np.array([2**53 + 1, 2**63 - 1]), [2**53, 2**53]),
    "arrow integers beyond 2^53": (AGE, pa.array([2**53 + 1, 3]), [120, 3]),
    "integers beyond every float": (AGE, [10**400, -(10**400)], [120, 0]),
    "128 bits": (AGE, pl.Series([2**100, 7], dtype=pl.Int128), [120, 7]),
    "unsigned": (AGE, np.array([2**64 - 1], np.uint64), [120]),
    "long doubles": (AGE, np.array([1e300, 1.5], np.longdouble) * np.array([1e300, 1], np.longdouble), [120, 1.5]),
    "half precision": (AGE, np.array([1.5], np.float16), [1.5]),
    "decimals": (AGE, [Decimal("1.5"), Decimal(3)], [1.5, 3]),
    "decimals of polars": (AGE, pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), [1.5]),
    "decimals of arrow": (AGE, pa.array([Decimal("1.5")]), [1.5]),
    "rounded to whole numbers": (WHOLE, [0.4, 0.6, 119.5, 500.0], [0, 1, 120, 120]),
    "numbers of a category by label": (AGE, pd.Series([30, 20], dtype="category"), [30, 20]),
    "a category by label": (PLAN, pd.Series(["full", "free"], dtype=pd.CategoricalDtype(["full", "free"])), [1, 0]),
    "a category of polars by label": (PLAN, pl.Series(["full", "free"], dtype=pl.Categorical), [1, 0]),
    "an enum of polars by label": (PLAN, pl.Series(["free"], dtype=pl.Enum(["full", "free"])), [0]),
    "a dictionary of arrow by label": (PLAN, pa.array(["full", "free"]).dictionary_encode(), [1, 0]),
    "a dictionary of numbers": (GRADE, pa.array([3, 1]).dictionary_encode(), [2, 0]),
    "a category of numbers with NaN": (dp.Category([1, 2], missing=2), pd.Series([1, None], dtype="category"), [0, 1]),
    "whole numbers as floats": (dp.Category([1, 2], missing="level"), np.array([2.0, np.nan]), [1, 2]),
    "other and missing": (OPEN, ["free", SECRET_TEXT, None], [0, 2, 3]),
    "missing of pandas text": (OPEN, pd.Series(["full", None]), [1, 3]),
    "missing of a category": (OPEN, pd.Series(["full", None], dtype="category"), [1, 3]),
    "missing of an arrow dictionary": (OPEN, pa.array(["full", None]).dictionary_encode(), [1, 3]),
    "missing text of arrow": (OPEN, pa.array(["full", None], pa.string_view()), [1, 3]),
    "the word nan is text": (OPEN, np.array(["nan", "free"]), [2, 0]),
    "NumPy strings": (OPEN, np.array(["full", None], np.dtypes.StringDType(na_object=None)), [1, 3]),
    "a missing ordered level": (HEALTH, ["poor", None], [0, 1]),
    "booleans": (SMOKER, np.array([True, False]), [1, 0]),
    "booleans as 0 and 1": (SMOKER, np.array([1.0, 0.0]), [1, 0]),
    "booleans with a coding": (YES, pl.Series([True, False]), [1, 0]),
    "words": (YES, ["yes", "no"], [1, 0]),
    "1 and 2, others": (ONE_TWO, np.array([1, 2, 7, np.nan]), [1, 0, 0, 2]),
    "booleans with NA": (dp.Boolean(missing=True), pd.Series([False, None], dtype="boolean"), [0, 1]),
    "object booleans with None": (dp.Boolean(missing="level"), pd.Series([False, None], dtype=object), [0, 2]),
    "masked booleans": (dp.Boolean(missing="level"), np.ma.array([True, True], mask=[0, 1]), [1, 2]),
    "NaT": (dp.Date("2000-01-01", "2001-01-01", missing="2000-01-02"), [DAY, pd.NaT, None], [2, 1, 1]),
    "pandas NA among numbers": (dp.Number(0, 9, missing=4), [1, pd.NA, np.nan, None, Decimal("nan")], [1, 4, 4, 4, 4]),
    "a column of nothing": (dp.Number(0, 9, missing=4), pa.nulls(2), [4, 4]),
    "datetimes count as their day": (VISIT, [dt.datetime(2000, 1, 3, 23, 59)], [2]),
    "datetimes before 1970": (dp.Date("1960-01-01", "1970-01-01"), np.array(["1960-01-02T23"], "M8[ns]"), [1]),
    "moments": (MOMENT, np.array(["2000-01-01T12", "NaT", "1900-01-01"], "M8[us]"), [0.5, 1, 0]),
    "nanoseconds": (VISIT, np.array(["2000-01-03"], "M8[ns]"), [2]),
    "months": (VISIT, np.array(["2000-02"], "M8[M]"), [31]),
    "years beyond nanoseconds": (VISIT, np.array(["9999-01-01"], "M8[s]"), [7670]),
    "days beyond datetimes in arrow": (VISIT, pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), [7670]),
    "days beyond datetimes in polars": (VISIT, pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date), [7670]),
    "seconds beyond all": (VISIT, pa.array([2**62], pa.timestamp("s")), [7670]),
    "dates of arrow in milliseconds": (VISIT, pa.array([DAY], pa.date64()), [2]),
    "dates in milliseconds that are no whole days": (VISIT, no_whole_days(), [2]),
    "dates in milliseconds in pandas": (VISIT, pd.Series(pd.arrays.ArrowExtensionArray(no_whole_days())), [2]),
    "dates of pandas with arrow": (VISIT, pd.Series([DAY], dtype=pd.ArrowDtype(pa.date32())), [2]),
    "NumPy dates in a list": (VISIT, [np.datetime64("2000-01-03")], [2]),
    "timestamps in a list": (VISIT, [pd.Timestamp("2000-01-03 10:00")], [2]),
    "a range": (AGE, range(3), [0, 1, 2]),
    "a tuple": (AGE, (1, 2.5), [1, 2.5]),
    "a pandas array": (dp.Number(0, 9, missing=4), pd.array([1, None], dtype="Int64"), [1, 4]),
}


def chain(error):
    """The error and all that led to it, as text."""
    found, todo = [], [error]
    while todo:
        one = todo.pop()
        if one is not None:
            found.append(f"{one!r} {one}")
            todo += [one.__cause__, one.__context__]
    return " ".join(found)


def shown(call):
    """The text of the error that a call raises, after a look for private values in all of it."""
    try:
        call()
    except Exception as error:
        text = chain(error)
        assert not any(mark in text for mark in MARKS), text
        return str(error)
    raise AssertionError("no error")


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_with_column_and_remedy(case):
    declared, values, words = REFUSED[case]
    message = shown(lambda: dp.Schema(x=declared).encode({"x": values}))
    assert "'x'" in message
    assert re.search(words, message), message


@pytest.mark.parametrize("case", TREATED)
def test_what_does_not_fit_has_the_declared_treatment(case):
    declared, values, expected = TREATED[case]
    found = dp.Schema(x=declared).encode({"x": values})["x"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


FRAMES = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame, pa.Array: pa.table}


@pytest.mark.parametrize("case", [case for case in TREATED if isinstance(TREATED[case][1], tuple(FRAMES))])
def test_data_frames_and_mappings_are_read_alike(case):
    declared, values, expected = TREATED[case]
    table = next(frame({"x": values}) for series, frame in FRAMES.items() if isinstance(values, series))
    np.testing.assert_allclose(dp.Schema(x=declared).encode(table)["x"], expected)


TABLES = {  # the table, words of the error
    "a column is missing": ({"age": [1]}, "no column 'plan'; its columns are: 'age'. Rename.*only="),
    "all are missing": ({}, "no column 'age', 'plan'; its columns are: none"),
    "a data frame without columns": (pd.DataFrame(), "no column 'age', 'plan'"),
    "a data frame with numbers for names": (pd.DataFrame([[1, 2]]), "its columns are: 0, 1"),
    "columns twice": (pd.DataFrame([[1, 2, "free"]], columns=["age", "age", "plan"]), "more than one column .*'age'"),
    "columns twice in arrow": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array(["free"])], names=["age", "age", "plan"]),
        "more than one column called 'age': rename",
    ),
    "unequal lengths": ({"age": [1, 2], "plan": ["free"]}, "different lengths .'age': 2, 'plan': 1."),
    "an empty data frame": (pd.DataFrame({"age": np.array([], float), "plan": pd.Series([], dtype=str)}), "is empty"),
    "a lazy frame": (pl.LazyFrame({"age": [1], "plan": ["free"]}), "a lazy LazyFrame: collect it first"),
    "an array without names": (np.ones((3, 2)), "array without column names: give a mapping"),
    "a list of rows": ([{"age": 1, "plan": "free"}], "a table is a pandas or polars data frame.*got list"),
    "nothing": (None, "got NoneType"),
    "a number": (3, "got int"),
    "a series": (pd.Series([1]), "got Series"),
    "a structured array with subarrays": (
        np.zeros(2, [("age", float, 3), ("plan", "U4")]),
        r"column 'age' has 2 dimensions, shape \(2, 3\)",
    ),
    "a file of another kind": ("table.xlsx", "ends in .csv or .parquet, got 'table.xlsx'"),
    "no file": ("nowhere.csv", "there is no file 'nowhere.csv'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_cannot_be_read(case):
    table, words = TABLES[case]
    with pytest.raises((TypeError, ValueError, FileNotFoundError), match=words):
        dp.Schema(age=AGE, plan=PLAN).encode(table)


def test_other_tables():
    schema = dp.Schema(age=AGE, plan=PLAN)
    expected = {"age": [1, 2], "plan": [1, 0]}
    rows = np.array([(1.0, "full", 9), (2.0, "free", 9)], [("age", float), ("plan", "U4"), ("rest", int)])
    masked = np.ma.array(rows)
    frame = pd.DataFrame(rows)
    batch = pa.record_batch(pa.table({"age": [1, 2], "plan": ["full", "free"]}).to_batches()[0])
    reader = batch.schema.empty_table().to_reader().from_batches(batch.schema, [batch])
    twice = pd.concat([frame, frame[["rest"]]], axis=1)  # what is not declared may be anything
    for table in (rows, masked, rows.view(np.recarray), frame, batch, reader, twice):
        found = schema.encode(table)
        assert list(found) == ["age", "plan"]
        for name, values in expected.items():
            np.testing.assert_array_equal(found[name], values)


def test_only_some_columns_in_their_order():
    schema = dp.Schema(age=AGE, plan=PLAN, smoker=SMOKER)
    found = schema.encode({"smoker": [True], "age": [3], "plan": object()}, only=["smoker", "age"])
    assert list(found) == ["smoker", "age"]
    with pytest.raises(ValueError, match=r"declares no column 'agee' .did you mean 'age'"):
        schema.encode({}, only=["agee"])
    with pytest.raises(TypeError, match="a list of names"):
        schema.encode({}, only="age")


def test_refusals_do_not_depend_on_which_record_or_how_many():
    schema = dp.Schema(x=PLAN)
    one = shown(lambda: schema.encode({"x": ["free"] * 9 + [SECRET_TEXT]}))
    many = shown(lambda: schema.encode({"x": [SECRET_TEXT, "another"] * 5}))
    assert one == many


def test_cells_do_not_show_values():
    from dpmcmc.records.tables import read

    assert "not shown" in repr(read({"x": [SECRET_TEXT]}, {"x": PLAN})["x"])
    assert SECRET_TEXT not in repr(read({"x": [SECRET_TEXT]}, {"x": PLAN}))
