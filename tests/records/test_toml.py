"""Schemas as files: what is written is what is read, mistakes name their place, and skeletons look at no value."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import dpmcmc as dp

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
numbers = st.floats(-1e300, 1e300) | st.integers(-(2**60), 2**60)
whole = st.integers(1 - 2**53, 2**53 - 1)
names = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda name: name.lower() != "intercept" and not name.startswith("_")
)


@st.composite
def number_columns(draw):
    integer = draw(st.booleans())
    bounds = draw(st.tuples(*[whole if integer else numbers] * 2).filter(lambda pair: float(pair[0]) < float(pair[1])))
    missing = draw(st.sampled_from(["refuse", *bounds]))
    outside = draw(st.sampled_from(["clip", "refuse"]))
    return dp.Number(*bounds, integer=integer, missing=missing, outside=outside, unit=draw(st.sampled_from(["", '"%'])))


@st.composite
def level_columns(draw):
    levels = draw(st.lists(text, min_size=2, unique=True, max_size=4) | st.lists(whole, min_size=2, unique=True))
    if draw(st.booleans()):  # codes, some of them texts that look like numbers
        codes = draw(st.sampled_from([text, whole, whole.map(str)]))
        named = st.lists(st.tuples(codes, text), min_size=2, max_size=4, unique_by=lambda pair: pair[0])
        levels = draw(named.map(dict).filter(lambda coding: len(set(coding.values())) > 1))
        return levels_of(draw, levels, list(levels.values()))
    return levels_of(draw, levels, levels)


def levels_of(draw, declared, levels):
    rules = {"unknown": draw(st.sampled_from(["refuse", "other", levels[0]]))}
    rules["missing"] = draw(st.sampled_from(["refuse", "level", levels[-1]]))
    if draw(st.booleans()):
        return dp.Ordered(declared, **rules)
    return dp.Category(declared, reference=draw(st.sampled_from([None, *levels])), **rules)


@st.composite
def boolean_columns(draw):
    words = draw(st.just([]) | st.lists(text, min_size=2, unique=True) | st.lists(whole, min_size=2, unique=True))
    meanings = [True, False, *draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))]
    missing = draw(st.sampled_from(["refuse", "level", True, False]))
    return dp.Boolean(
        dict(zip(words, meanings, strict=False)),
        missing=missing,
        unknown=draw(st.sampled_from(["refuse", True, False])),
    )


@st.composite
def date_columns(draw):
    kind = draw(st.sampled_from([st.dates(), st.datetimes()]))
    low, high = draw(st.tuples(kind, kind).filter(lambda pair: pair[0] < pair[1]))
    return dp.Date(low, high, missing=draw(st.sampled_from(["refuse", low, high])))


columns = number_columns() | level_columns() | boolean_columns() | date_columns()


@given(st.dictionaries(names, columns, min_size=1, max_size=4))
def test_what_is_written_is_what_is_read(declared):
    schema = dp.Schema(declared)
    again = dp.Schema.from_toml(schema.to_toml())
    assert again == schema
    assert hash(again) == hash(schema)
    assert again.to_toml() == schema.to_toml()
    assert str(again) == str(schema)


def test_files(tmp_path):
    schema = dp.Schema(age="0..120 years", größe=dp.Ordered(["klein", "groß"]))
    path = schema.save(tmp_path / "schema.toml")
    assert dp.Schema.load(path) == schema
    (tmp_path / "text.toml").write_text('[columns.age]\ntype = "number"\nbounds = "0..120 years"\n')
    assert dp.Schema.load(tmp_path / "text.toml") == schema.subset(["age"])
    (tmp_path / "text.toml").write_text('[columns.day]\ntype = "date"\nbounds = ["2000-01-01", "2001-01-01"]\n')
    assert dp.Schema.load(str(tmp_path / "text.toml"))["day"] == dp.Date("2000-01-01", "2001-01-01")


def test_codes_as_people_write_them():
    declared = 'levels = {1 = "yes", 2 = "no", -9 = "no"}'
    found = dp.Schema.from_toml(f'[columns.a]\ntype = "category"\n{declared}\nreference = "no"\n')
    assert found["a"] == dp.Category({1: "yes", 2: "no", -9: "no"}, reference="no")
    assert declared in found.to_toml()
    letters = dp.Schema.from_toml('[columns.a]\ntype = "ordered"\nlevels = {j = "ja", 1 = "nein"}\n')
    assert letters["a"] == dp.Ordered({"j": "ja", "1": "nein"})


MISTAKES = {
    "not TOML": ("age = ", "s.toml is not TOML"),
    "another table": ("[rows.age]", "s.toml: rows = .* is not part of a schema; allowed: tables .columns"),
    "columns that are no table": ("columns = 3", "s.toml: columns = 3 is not part"),
    "no columns": ("", "s.toml: a schema declares at least one column"),
    "a column that is no table": ("[columns]\nage = 3", "columns.age = 3 must be a table"),
    "no type": (
        "[columns.age]\nbounds = [0, 1]",
        "s.toml: columns.age.type = None is not a type; allowed: number, cat",
    ),
    "an unknown type": ('[columns.age]\ntype = "float"', "columns.age.type = 'float' is not a type; allowed: number"),
    "a type that is a number": ("[columns.age]\ntype = 3", "columns.age.type = 3 is not a type"),
    "an unknown setting": (
        '[columns.age]\ntype = "number"\nbounds = [0, 1]\nminimum = 0',
        "s.toml: columns.age.minimum = 0 is not a setting of type number; allowed: type, bounds, unit",
    ),
    "a setting of another type": (
        '[columns.age]\ntype = "ordered"\nlevels = ["a", "b"]\nreference = "a"',
        "columns.age.reference = 'a' is not a setting of type ordered",
    ),
    "no bounds": ('[columns.age]\ntype = "number"', "s.toml: columns.age has no bounds, which type number needs"),
    "no levels": ('[columns.age]\ntype = "category"', "columns.age has no levels"),
    "one bound": ('[columns.age]\ntype = "number"\nbounds = [0]', "columns.age: bounds must be a list of two"),
    "bounds reversed": ('[columns.age]\ntype = "number"\nbounds = [1, 0]', "columns.age: bounds must be two finite"),
    "an infinite bound": (
        '[columns.age]\ntype = "number"\nbounds = [0, inf]',
        "columns.age: bounds must be two finite",
    ),
    "both true and false": ('[columns.a]\ntype = "boolean"\ntrue = ["y"]\nfalse = ["y"]', "both true and false"),
    "a word for a list": ('[columns.a]\ntype = "boolean"\ntrue = "y"\nfalse = ["n"]', "true must be a list"),
    "a level that is no text": ('[columns.a]\ntype = "category"\nlevels = [0.5, 1]', "columns.a: a level must be text"),
    "a code that is a fraction": (
        '[columns.a]\ntype = "category"\nlevels = {0.5 = "a", 1 = "b"}',
        "columns.a: levels must be text where the table has codes for them, got {'5': 'a'}",
    ),
    "codes for one level": ('[columns.a]\ntype = "ordered"\nlevels = {1 = "a", 2 = "a"}', "at least two levels"),
    "a reserved name": ('[columns._a]\ntype = "boolean"', "s.toml: a column cannot be called '_a'"),
    "still to fill in": ('[columns.a]\ntype = "category"\nlevels = ["..."]', "columns.a.levels = .* filled in"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_name_file_key_value_and_what_is_allowed(case, tmp_path):
    content, words = MISTAKES[case]
    (tmp_path / "s.toml").write_text(content)
    with pytest.raises((TypeError, ValueError), match=words):
        dp.Schema.load(tmp_path / "s.toml")


def test_a_skeleton_of_a_csv_file_reads_its_header_and_no_value(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes('age,"body, mass",_row,größe\n'.encode() + b'\xff\xfe"planted-marker,,,,,\x00\n' * 50)
    skeleton = dp.Schema.skeleton(path)
    assert "[columns.age]\ntype" in skeleton
    assert '[columns."body, mass"]' in skeleton
    assert "_row" in skeleton
    assert "[columns._row]" not in skeleton
    assert "planted" not in skeleton
    with pytest.raises(ValueError, match=r"columns.age.type = '...' is not a type"):
        dp.Schema.from_toml(skeleton)
    filled = skeleton.replace('type = "..."', 'type = "boolean"')
    assert dp.Schema.from_toml(filled).names == ("age", "body, mass", "größe")


def test_a_skeleton_knows_storage_types_and_no_value(tmp_path):
    table = pa.table(
        {
            "age": pa.array([1.5]),
            "plan": pa.array(["planted-marker"]).dictionary_encode(),
            "ill": pa.array([True]),
            "day": pa.array([dt.date(1987, 6, 5)]),
            "lists": pa.array([[1]]),
            "nothing": pa.nulls(1),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet")
    enum = pl.Series(["planted-marker"], dtype=pl.Enum(["planted-marker"]))
    frame = pl.from_arrow(table).with_columns(plan=enum)
    pandas = table.to_pandas().set_index(pd.Index([-1.5]))
    rows = np.zeros(1, [("age", float), ("plan", "U9"), ("ill", bool), ("day", "M8[D]")])
    for source in (
        table,
        tmp_path / "t.parquet",
        frame,
        pandas,
        rows,
        {name: table[name] for name in table.column_names},
    ):
        skeleton = dp.Schema.skeleton(source)
        assert "planted" not in skeleton
        assert "1987" not in skeleton
        declared = skeleton.partition("[columns.age]")[2]
        assert declared.count('type = "number"\nbounds = ["...", "..."]') == 1
        assert '[columns.ill]  # stored as bool\ntype = "boolean"' in declared.replace("Boolean", "bool")
        if source is not pandas:  # whose categories and dates may be of anything
            assert 'type = "category"\nlevels = ["..."]' in declared
            assert 'type = "date"\nbounds = ["...", "..."]' in declared
        with pytest.raises(ValueError, match="filled in"):
            dp.Schema.from_toml(skeleton)


def test_a_skeleton_needs_distinct_names(tmp_path):
    (tmp_path / "t.csv").write_text("a,a\n1,2\n")
    with pytest.raises(ValueError, match="more than one column called 'a'"):
        dp.Schema.skeleton(tmp_path / "t.csv")
