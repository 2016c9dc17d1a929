"""One content, one encoding: whatever library or file holds the table, and whatever the other records are."""

import datetime as dt
import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import parquet

import dpmcmc as dp
from dpmcmc.records.files import MISSING_MARKS
from tests.records.test_tables import MARKS, SECRET_TEXT, shown

SCHEMA = dp.Schema(
    {
        "age": dp.Number(0, 120, missing=40),
        "children": dp.Number.count(9, missing=0),
        "plan": dp.Category(["free", "basic", "full, with ü"], unknown="other", missing="level"),
        "grade": dp.Category([3, 1, 2], reference=1, unknown="other", missing="level"),
        "body mass": dp.Ordered(["low", "high"], unknown="high", missing="low"),
        "answer": dp.Category({1: "yes", 2: "no", -9: "no"}, reference="no", unknown="other", missing="level"),
        "letter": dp.Ordered({"n": "never", "x; y": "often", "1": "often"}, unknown="never", missing="level"),
        "signed": dp.Boolean({1: True, 2: False, 9: False}, unknown=True, missing="level"),
        "ill": dp.Boolean(missing="level"),
        "day": dp.Date("2000-01-01", "2020-12-31", missing="2010-01-01"),
        "moment": dp.Date("2000-01-01 06:00", "2020-12-31 18:30", missing="2010-01-01 00:00"),
    }
)
TYPES = {
    "age": pa.float64(), "children": pa.int64(), "plan": pa.string(), "grade": pa.int32(), "body mass": pa.string(),
    "answer": pa.int64(), "letter": pa.string(), "signed": pa.int8(),
    "ill": pa.bool_(), "day": pa.date32(), "moment": pa.timestamp("us"),
}  # fmt: skip
words = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=5).filter(
    lambda word: word not in MISSING_MARKS  # a file has no other way to say so
)
times = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
VALUES = {
    "age": st.floats(allow_nan=False, width=64),
    "children": st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 12),
    "plan": st.sampled_from(["free", "basic", "full, with ü"]) | words,
    "grade": st.integers(0, 4),
    "body mass": st.sampled_from(["low", "high", 'a "quote"']),
    "answer": st.sampled_from([1, 2, -9, 9, 0, -1]),
    "letter": st.sampled_from(["n", "x; y", "1", "never", "often", "1.0"]),
    "signed": st.sampled_from([1, 2, 9, 0]),
    "ill": st.booleans(),
    "day": st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)),
    "moment": times,
}
rows = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})


def expected(row):
    """What one record becomes, written out by hand."""

    def days(value, low, high, missing):
        value = min(max(missing if value is None else value, low), high)
        return (value - low) / dt.timedelta(days=1)

    plans, grades = ["free", "basic", "full, with ü"], [3, 1, 2]
    return {
        "age": 40 if row["age"] is None else min(max(row["age"], 0), 120),
        "children": 0 if row["children"] is None else min(max(row["children"], 0), 9),
        "plan": 4 if row["plan"] is None else plans.index(row["plan"]) if row["plan"] in plans else 3,
        "grade": 4 if row["grade"] is None else grades.index(row["grade"]) if row["grade"] in grades else 3,
        "body mass": 0 if row["body mass"] in (None, "low") else 1,
        "answer": {None: 3, 1: 0, 2: 1, -9: 1}.get(row["answer"], 2),
        "letter": {None: 2, "x; y": 1, "1": 1}.get(row["letter"], 0),
        "signed": {None: 2, 2: 0, 9: 0}.get(row["signed"], 1),
        "ill": 2 if row["ill"] is None else int(row["ill"]),
        "day": days(row["day"], dt.date(2000, 1, 1), dt.date(2020, 12, 31), dt.date(2010, 1, 1)),
        "moment": days(
            row["moment"], dt.datetime(2000, 1, 1, 6), dt.datetime(2020, 12, 31, 18, 30), dt.datetime(2010, 1, 1)
        ),
    }


def forms(content, folder):
    """The table in every form in which it can be given."""
    columns = {name: [row[name] for row in content] for name in SCHEMA}
    table = pa.table({name: pa.array(columns[name], TYPES[name]) for name in columns})
    polars = pl.from_arrow(table)
    arrow_types = table.to_pandas(types_mapper=pd.ArrowDtype)
    parquet.write_table(table, folder / "t.parquet")
    arrow_csv.write_csv(table, folder / "arrow.csv")
    polars.write_csv(folder / "polars.csv")
    table.to_pandas().to_csv(folder / "pandas.csv", index=False)
    yield from (columns, table, polars, arrow_types, table.to_pandas(integer_object_nulls=True))
    yield from (polars.to_dict(), {name: np.array(cells, object) for name, cells in columns.items()})
    yield table.select(["plan"]).to_pandas(strings_to_categorical=True).join(table.to_pandas().drop(columns="plan"))
    yield from (folder / "t.parquet", str(folder / "arrow.csv"), folder / "polars.csv", folder / "pandas.csv")


@settings(max_examples=60, deadline=None)
@given(content=st.lists(rows, min_size=1, max_size=6))
def test_every_form_of_a_table_is_encoded_alike(content, tmp_path_factory):
    wanted = [expected(row) for row in content]
    for number, table in enumerate(forms(content, tmp_path_factory.mktemp("forms"))):
        found = SCHEMA.encode(table)
        assert list(found) == list(SCHEMA)
        for name, values in found.items():
            low, high = SCHEMA[name].bounds
            assert values.dtype == np.float64
            assert np.all((values >= low) & (values <= high)), name  # no NaN either
            by_hand = [row[name] for row in wanted]
            np.testing.assert_allclose(values, by_hand, rtol=0, atol=1e-9, err_msg=f"{name}, form {number}")


@settings(max_examples=30, deadline=None)
@given(content=st.lists(rows, min_size=2, max_size=5), other=rows)
def test_a_record_is_encoded_by_itself(content, other, tmp_path_factory):
    changed = [*content[:-1], other]
    folder = tmp_path_factory.mktemp("neighbours")
    for one, two in zip(list(forms(content, folder))[:-4], list(forms(changed, folder))[:-4], strict=True):
        before, after = SCHEMA.encode(one), SCHEMA.encode(two)
        for name in SCHEMA:
            np.testing.assert_array_equal(before[name][:-1], after[name][:-1])


def write(folder, text):
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return folder / "t.csv"


@pytest.mark.parametrize("cell", ["1.5", "1e3", "-7", "inf", "NA", "", " 3 "])
def test_no_cell_of_a_file_decides_on_the_type_of_its_column(cell, tmp_path):
    schema = dp.Schema(age=dp.Number(0, 120, missing=40), plan=dp.Category(["NA", "1"], unknown="other"))
    found = schema.encode(write(tmp_path, f'age,plan\n1,NA\n2,1\n{cell},"a\nb"\n'))
    assert found["age"].dtype == np.float64
    np.testing.assert_array_equal(found["age"][:2], [1, 2])
    number = float(cell) if cell not in ("NA", "") else 40
    assert found["age"][2] == min(max(number, 0), 120)
    np.testing.assert_array_equal(found["plan"], [0, 1, 2])  # NA is a level where it is declared


def test_booleans_and_dates_of_files(tmp_path):
    schema = dp.Schema(ill=dp.Boolean(missing="level"), yes=dp.Boolean({"j": True, "n": False}), day="0..1")
    schema = schema.with_columns(day=dp.Date("2000-01-01", "2001-01-01"), code=dp.Boolean({1: True, 2: False}))
    table = "ill,yes,day,code\nTRUE,j,2000-01-02,1\nfalse,n,2000-01-03 10:00,2\n1.0,n,1999-01-01T00:00:00,2\n"
    found = schema.encode(write(tmp_path, "\ufeff" + table + "0,j,2000-01-01,1.0\n,n,2000-01-01, 2\n"))
    np.testing.assert_array_equal(found["ill"], [1, 0, 1, 0, 2])
    np.testing.assert_array_equal(found["yes"], [1, 0, 0, 1, 0])
    np.testing.assert_array_equal(found["day"], [1, 2, 0, 0, 0])
    np.testing.assert_array_equal(found["code"], [1, 0, 0, 1, 0])


def test_an_empty_line_is_a_missing_value_of_a_single_column(tmp_path):
    schema = dp.Schema(age=dp.Number(0, 120, missing=40))
    np.testing.assert_array_equal(schema.encode(write(tmp_path, "age\n1\n\n3\n"))["age"], [1, 40, 3])


SECRETS = {  # the file, words of the error
    "text among numbers": (
        f"age,plan\n1,free\n{SECRET_TEXT},free\n",
        "column 'age' holds cells that cannot be read as nu",
    ),
    "a thousands separator": ('age,plan\n"987,654",free\n', "column 'age' holds cells.*such as 12, -0.5"),
    "an unknown level": (f"age,plan\n1,{SECRET_TEXT}\n", "column 'plan' has values that are not declared"),
    "a missing level": (f"age,plan\n987654,\n1,{SECRET_TEXT}\n", "column 'plan' has missing values"),
    "lines of other lengths": (f"age,plan\n1,free\n2,free,{SECRET_TEXT}\n", "cannot be read as a CSV file"),
    "no header": (f"987654,{SECRET_TEXT}\n1,free\n", "no column 'age', 'plan'; its first line should name them"),
    "another separator": (
        f"age;plan\n987654;{SECRET_TEXT}\n",
        r"a single name with ';' in it: if names are separated by these, say so, dp.CSV\(path, separator=';'\)",
    ),
    "tabs": (f"age\tplan\n987654\t{SECRET_TEXT}\n", r"a single name with tabs in it.*separator='\\t'"),
    "a decimal comma": ('age,plan\n"987654,5",free\n', r"column 'age' holds cells.*dp.CSV\(path, decimal=...,"),
    "other letters": (f"Age,plan\n987654,{SECRET_TEXT}\n", "no column 'age'; its first line .* .it has 'Age'."),
    "columns twice": (f"age,plan,age\n987654,{SECRET_TEXT},1\n", "more than one column called 'age'"),
    "no lines": ("age,plan\n", "the table is empty"),
    "nothing": ("", "has no header"),
    "an open quote in the header": (f'age,"plan\n987654,{SECRET_TEXT}\n', "has no header"),
}


@pytest.mark.parametrize("case", SECRETS)
def test_errors_of_files_hold_no_value(case, tmp_path):
    content, words = SECRETS[case]
    schema = dp.Schema(age=dp.Number(0, 120), plan=dp.Category(["free", "full"]))
    path = write(tmp_path, content)
    message = shown(lambda: schema.encode(path))
    assert re.search(words, message), message


def test_errors_of_other_columns_of_files_hold_no_value(tmp_path):
    path = write(tmp_path, f"x\n{SECRET_TEXT}\n1987-06-05T00:00:00Z\n")
    for declared in (dp.Date("2000-01-01", "2001-01-01"), dp.Boolean(), dp.Category([1, 2]), dp.Number(0, 1)):
        assert "column 'x' holds cells that cannot be read" in shown(lambda x=declared: dp.Schema(x=x).encode(path))
    path.write_bytes(b"x\n\xff\xfe planted\n")
    assert "UTF-8" in shown(lambda: dp.Schema(x=dp.Category(["a", "b"])).encode(path))
    broken = tmp_path / "t.parquet"
    broken.write_bytes(b"PAR1 planted 987654 PAR1")
    assert "cannot be read as a Parquet file" in shown(lambda: dp.Schema(x=dp.Boolean()).encode(broken))


def test_what_is_not_declared_is_not_read(tmp_path):
    path = write(tmp_path, f"rest,x,rest\n{SECRET_TEXT},1,\n,0,{MARKS[0]}\n")
    np.testing.assert_array_equal(dp.Schema(x=dp.Boolean()).encode(path)["x"], [1, 0])


def test_arrow_is_asked_for_by_name(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"dpmcmc\[tables\]"):
        dp.Schema(x=dp.Boolean()).encode(write(tmp_path, "x\n1\n"))
    assert dp.Schema(x="0..1").encode({"x": [0.5]})["x"] == [0.5]  # nothing else needs it
