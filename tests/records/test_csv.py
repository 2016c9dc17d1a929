"""CSV files as they are written elsewhere: whatever separates their cells, what is read is what was meant."""

import csv
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpmcmc as dp
from dpmcmc.records.files import MISSING_MARKS
from tests.records.test_tables import SECRET_TEXT, shown

SCHEMA = dp.Schema(
    {
        "größe": dp.Number(-1000, 1000, missing=7),
        "plan": dp.Category(["frei", "voll; mit ü"], unknown="other", missing="level"),
        "answer": dp.Category({1: "yes", 2: "no", -9: "no"}, unknown="other", missing="level"),
    }
)
MARKS = ("-99", "k. A.")
numbers = st.floats(-2000, 2000, allow_nan=False).filter(lambda number: number != -99) | st.integers(-2000, -100)
plans = st.sampled_from(["frei", "voll; mit ü", "99"]) | st.text(
    st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=4
).filter(lambda word: word not in (*MISSING_MARKS, *MARKS))
rows = st.tuples(st.none() | numbers, st.none() | plans, st.sampled_from([None, 1, 2, -9, 0, 3]))
files = st.fixed_dictionaries(
    {
        "separator": st.sampled_from([",", ";", "\t", "|", " "]),
        "decimal": st.sampled_from([".", ","]),
        "encoding": st.sampled_from(["utf-8", "cp1252", "latin-1", "utf-8-sig"]),
    }
)


def written(folder, content, how, marks):
    """The rows as text; each missing value is one of the marks, in the order in which they come."""

    def cell(value):
        if value is None:
            return next(marks)
        return value if isinstance(value, str) else repr(value).replace(".", how["decimal"])

    with (folder / "t.csv").open("w", encoding=how["encoding"], newline="") as file:
        table = csv.writer(file, delimiter=how["separator"])
        table.writerow(SCHEMA)
        table.writerows([map(cell, row) for row in content])
    return dp.CSV(folder / "t.csv", missing=MARKS, **how)


@settings(max_examples=80, deadline=None)
@given(content=st.lists(rows, min_size=1, max_size=5), how=files, data=st.data())
def test_what_is_read_is_what_was_meant(content, how, data, tmp_path_factory):
    marks = iter(lambda: data.draw(st.sampled_from(["", "NA", *MARKS])), None)
    path = written(tmp_path_factory.mktemp("csv"), content, how, marks)
    meant = {name: [row[at] for row in content] for at, name in enumerate(SCHEMA)}
    found = SCHEMA.encode(path)
    for name, values in SCHEMA.encode(meant).items():
        np.testing.assert_array_equal(found[name], values, err_msg=f"{name} {path}")


def write(folder, text, encoding="utf-8"):
    (folder / "t.csv").write_text(text, encoding=encoding)
    return folder / "t.csv"


def test_marks_that_are_numbers_are_so_however_they_are_written(tmp_path):
    """-99 moved to a bound would be an answer that looks right. A code that is declared is itself."""
    path = write(tmp_path, "x;y;z\n-99;-99;-99\n-99,0; -99;-99.0\n-9,9e1;3;4\n12,5;1;4\n")
    schema = dp.Schema(x=dp.Number(0, 20, missing=5), y=dp.Category({-99: "none", 1: "a", 3: "a"}))
    schema = schema.with_columns(z=dp.Category(["4", "-99.0"], missing="4"))
    found = schema.encode(dp.CSV(path, separator=";", decimal=",", missing=[-99]))
    np.testing.assert_array_equal(found["x"], [5, 5, 5, 12.5])
    np.testing.assert_array_equal(found["y"], [0, 0, 1, 1])
    np.testing.assert_array_equal(found["z"], [0, 1, 0, 0])  # text is compared as text


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_files_of_any_name_if_it_is_said_what_they_are(suffix, tmp_path):
    path = tmp_path / f"t{suffix}"
    path.write_text("x\ty\n1\t2\n")
    table, schema = dp.CSV(path, separator="\t"), dp.Schema(x="0..9", y="0..9")
    assert schema.encode(table)["y"] == [2]
    assert "[columns.y]" in dp.Schema.skeleton(table)
    model = dp.models.LogisticRegression({"x": (0, 2)})
    write(tmp_path, "x;ill;who\n1;0;a\n2;1;a\n")
    people = dp.PerUnit(model, "who", most=2).encode(dp.CSV(tmp_path / "t.csv", separator=";"), outcome="ill", seed=0)
    assert sorted(people["rows"]["y"][0]) == [0, 1]


def test_a_name_in_quotes_is_one_name(tmp_path):
    assert dp.Schema({"a;b": "0..9"}).encode(write(tmp_path, '"a;b"\n1\n'))["a;b"] == [1]
    with pytest.raises(ValueError, match=r"dp.CSV\(path, separator=';'\) or, .* --separator ';'; if not, put the name"):
        dp.Schema.skeleton(write(tmp_path, "a;b\n1;2\n"))


EUROPEAN = {  # the file, how it is said to be written, words of the error
    "points as decimals": ("x;y\n987654.5;a\n", {"decimal": ","}, "cannot be read as numbers .*-0,5 or 1e3, without"),
    "points in thousands": ("x;y\n9.876.54;a\n", {"decimal": ","}, "cannot be read as numbers"),
    "two commas": ("x;y\n987,654,5;a\n", {"decimal": ","}, "cannot be read as numbers"),
    "a decimal comma": ("x;y\n987654,5;a\n", {}, "cannot be read as numbers .such as 12, -0.5"),
    "text": (f"x;y\n{SECRET_TEXT};a\n", {}, "cannot be read as numbers"),
    "other lengths": (f"x;y\n1;a;{SECRET_TEXT}\n", {}, "cannot be read as a CSV file.*separated by ';'"),
    "another separator": (f"x,y\n1,{SECRET_TEXT}\n", {}, "a single name with commas in it"),
    "no header": (
        f"987654;{SECRET_TEXT}\n",
        {},
        "no column 'x', 'y'; its first line should name them, separated by ';'",
    ),
    "undeclared": (f"x;y\n1;{SECRET_TEXT}\n", {}, "column 'y' has values that are not declared"),
}


@pytest.mark.parametrize("case", EUROPEAN)
def test_errors_hold_no_value(case, tmp_path):
    content, how, words = EUROPEAN[case]
    schema = dp.Schema(x=dp.Number(0, 9), y=dp.Category(["a", "b"]))
    path = dp.CSV(write(tmp_path, content), separator=";", **how)
    message = shown(lambda: schema.encode(path))
    assert re.search(words, message), message


def test_another_encoding_is_said_and_not_guessed(tmp_path):
    path = write(tmp_path, "größe\n1\n", "cp1252")
    schema = dp.Schema({"größe": dp.Number(0, 9)})
    with pytest.raises(ValueError, match=r"is not utf-8: save the file as UTF-8, or say what it is, dp.CSV"):
        schema.encode(path)
    assert schema.encode(dp.CSV(path, encoding="cp1252"))["größe"] == [1]
    (tmp_path / "t.csv").write_bytes(b"x\n\x81 planted\n")  # no character of cp1252
    text = dp.Schema(x=dp.Category(["a", "b"]))
    assert "it must be CP1252" in shown(lambda: text.encode(dp.CSV(path, encoding="cp1252")))


@pytest.mark.parametrize(
    ("order", "cells", "days"),
    [
        ("31.12.2020", ["05.04.2025", "5.4.2025", "31.12.2025", "NA", "1.1.2025 23:59"], [94, 94, 364, 0, 0]),
        ("31/12/2020", ["05/04/2025", "5/4/2025"], [94, 94]),
        ("12/31/2020", ["05/04/2025", "5/4/2025"], [123, 123]),
        ("2020-12-31", ["2025-05-04"], [123]),
    ],
)
def test_dates_as_they_are_written_elsewhere(tmp_path, order, cells, days):
    schema = dp.Schema(x=dp.Date("2025-01-01", "2025-12-31", missing="2025-01-01"))
    path = write(tmp_path, "\n".join(["x;y", *(f"{cell};1" for cell in cells)]) + "\n")
    np.testing.assert_array_equal(schema.encode(dp.CSV(path, separator=";", dates=order))["x"], days)


def test_dates_written_elsewhere_in_streamed_files(tmp_path):
    schema = dp.Schema(x=dp.Date("2025-01-01", "2025-12-31"))
    path = write(tmp_path, "x;y\n" + "".join(f"{day:02d}.04.2025;1\n" for day in range(1, 31)))
    source = dp.Files(dp.CSV(path, separator=";", dates="31.12.2020"), schema.encode)
    found = source.total(lambda block, count, asked: np.array([block["x"][:count].sum()], np.int64))
    assert found.tolist() == [sum(range(90, 120))]


@pytest.mark.parametrize(
    ("order", "cell"),
    [("12/31/2020", "31/12/2025"), ("31.12.2020", "2025-05-04"), ("2020-12-31", "04.05.2025"), ("31.12.2020", "4.5.25"),
     ("31/12/2020", "04.05.2025"), ("31.12.2020", "30.2.2025")],
)  # fmt: skip
def test_dates_written_otherwise_are_refused_without_being_shown(tmp_path, order, cell):
    path = write(tmp_path, f"x;y\n{cell};1\n")
    with pytest.raises(ValueError, match="cannot be read as dates") as raised:
        dp.Schema(x=dp.Date("2025-01-01", "2025-12-31")).encode(dp.CSV(path, separator=";", dates=order))
    assert cell not in str(raised.value)


def test_an_unknown_way_to_write_dates_is_refused():
    with pytest.raises(ValueError, match=r"dates must be one of '2020-12-31', '31.12.2020'.*got '%d.%m.%Y'"):
        dp.CSV("t.csv", dates="%d.%m.%Y")
