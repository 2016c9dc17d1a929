"""Declarations: mistakes are refused with what was given and what is allowed; what is declared is what columns say."""

import copy
import dataclasses
import datetime as dt
import pickle

import numpy as np
import pandas as pd
import pytest

import dpmcmc as dp

MISTAKES = {  # a declaration, words of the error
    "bounds reversed": (lambda: dp.Number(120, 0), "lower one first, got .120, 0."),
    "bounds equal": (lambda: dp.Number(1, 1), "lower one first, got .1, 1."),
    "a list of bounds": (lambda: dp.Number([0, 120]), r"two numbers, as in dp.Number.0, 120., got .\[0, 120\]"),
    "one bound": (lambda: dp.Number(0), "two finite numbers"),
    "infinite": (lambda: dp.Number(0, np.inf), "two finite numbers"),
    "NaN": (lambda: dp.Number(np.nan, 1), "two finite numbers"),
    "an infinite width": (lambda: dp.Number(-1.7e308, 1.7e308), "two finite numbers"),
    "beyond float64": (lambda: dp.Number(0, 10**400), "two finite numbers"),
    "text bounds": (lambda: dp.Number("0", "120"), "two numbers"),
    "boolean bounds": (lambda: dp.Number(False, True), "two numbers"),
    "complex bounds": (lambda: dp.Number(0, 1j), "two numbers"),
    "no bounds": (lambda: dp.Number(None, None), "two numbers"),
    "fractions for whole numbers": (lambda: dp.Number(0, 1.5, integer=True), "whole numbers within"),
    "whole numbers that floats do not have": (lambda: dp.Number(0, 2**60, integer=True), "whole numbers within"),
    "integer as text": (lambda: dp.Number(0, 1, integer="yes"), "integer must be True or False, got 'yes'"),
    "a unit that is a number": (lambda: dp.Number(0, 1, unit=3), "unit must be a short text"),
    "a unit of two lines": (lambda: dp.Number(0, 1, unit="a\nb"), "unit must be a short text"),
    "missing outside": (lambda: dp.Number(0, 1, missing=2), "a number within the bounds .0.0, 1.0., got 2"),
    "missing NaN": (lambda: dp.Number(0, 1, missing=np.nan), "a number within the bounds"),
    "missing None": (lambda: dp.Number(0, 1, missing=None), "a number within the bounds"),
    "missing a word": (lambda: dp.Number(0, 1, missing="mean"), "'refuse' or a number within the bounds.*'mean'"),
    "missing a level of a number": (lambda: dp.Number(0, 1, missing="level"), "for columns with levels"),
    "missing a fraction": (lambda: dp.Number(0, 9, integer=True, missing=0.5), "whole number"),
    "outside a word": (lambda: dp.Number(0, 1, outside="drop"), "outside must be 'clip' .*'refuse', got 'drop'"),
    "text without dots": (lambda: dp.Number.parse("0-120"), "like '0..120 years'"),
    "text with two units": (lambda: dp.Number.parse("years 0..120 days"), "one unit"),
    "text with one bound": (lambda: dp.Number.parse("0.."), "like '0..120 years'"),
    "text reversed": (lambda: dp.Number.parse("9..1"), "lower one first"),
    "levels twice": (lambda: dp.Category(["a", "b", "a"]), "levels must differ, got more than one 'a'"),
    "a single level": (lambda: dp.Category(["a"]), "at least two levels"),
    "no level": (lambda: dp.Category([]), "at least two levels"),
    "a text for levels": (lambda: dp.Category("ab"), "levels must be a list.*got str: 'ab'"),
    "a set of levels": (lambda: dp.Category({"a", "b"}), "levels must be a list.*got set"),
    "levels of an array": (lambda: dp.Category(np.array(["a", "b"])), "from public knowledge.*got ndarray"),
    "levels that are fractions": (lambda: dp.Category([0.5, 1.5]), "a level must be text.*got 0.5"),
    "levels that are booleans": (lambda: dp.Category([True, False]), "a level must be text.*got True"),
    "levels that are None": (lambda: dp.Category(["a", None]), "a level must be text.*got None"),
    "levels mixed": (lambda: dp.Category(["a", 1]), "all text or all whole numbers"),
    "an empty level": (lambda: dp.Category(["", "a"]), "text that is not empty"),
    "levels too large": (lambda: dp.Category([1, 2**53]), "within ±2⁵³"),
    "a reference that is no level": (lambda: dp.Category(["a", "b"], reference="c"), "one of the levels .*got 'c'"),
    "missing that is no level": (lambda: dp.Category(["a", "b"], missing="c"), "'refuse', 'level' or one of.*got 'c'"),
    "missing None for levels": (lambda: dp.Ordered(["a", "b"], missing=None), "missing must be text.*got None"),
    "unknown True for levels": (lambda: dp.Ordered(["a", "b"], unknown=True), "unknown must be text"),
    "an ordered reference": (lambda: dp.Ordered(["a", "b"], reference="a"), "reference"),
    "codes for levels that are numbers": (
        lambda: dp.Category({1: 10, 2: 20}),
        "text where the table has codes.*got 10",
    ),
    "codes for True and False": (lambda: dp.Category({1: True, 2: False}), "got True .*declare dp.Boolean"),
    "codes for nothing": (lambda: dp.Category({1: "yes", 2: None}), "levels must be text.*got None"),
    "codes for an empty level": (lambda: dp.Ordered({1: "yes", 2: ""}), "text that is not empty"),
    "codes that are fractions": (lambda: dp.Category({1.0: "yes", 2.0: "no"}), "whole number within.*got 1.0"),
    "codes mixed": (lambda: dp.Category({1: "yes", "2": "no"}), "all text or all whole numbers"),
    "a code twice": (lambda: dp.Category([(1, "yes"), (1, "no")]), "differ, got more than one '1'"),
    "codes for one level": (lambda: dp.Category({1: "yes", 2: "yes"}), "at least two levels"),
    "no codes": (lambda: dp.Category({}), "at least two levels"),
    "a code for a reference": (lambda: dp.Category({1: "yes", 2: "no"}, reference=2), r"levels \['yes', 'no'\], got 2"),
    "a code for missing": (lambda: dp.Ordered({1: "yes", 2: "no"}, missing=2), r"levels \['yes', 'no'\], got 2"),
    "a separator of two": (lambda: dp.CSV("t.csv", separator=";;"), "separator must be one character.*got ';;'"),
    "a separator that is a quote": (lambda: dp.CSV("t.csv", separator='"'), "one character such as ';'"),
    "a decimal sign that is none": (lambda: dp.CSV("t.csv", decimal="'"), "decimal must be '.' or ','"),
    "an encoding that is none": (lambda: dp.CSV("t.csv", encoding="german"), "ASCII is itself.*got 'german'"),
    "two bytes a letter": (lambda: dp.CSV("t.csv", encoding="utf-16"), "save the file as UTF-8"),
    "a text for missing": (lambda: dp.CSV("t.csv", missing="-99"), r"such as \['-99'\], got '-99'"),
    "missing None in files": (lambda: dp.CSV("t.csv", missing=[None]), "a list of texts or whole numbers"),
    "a table for a path": (lambda: dp.CSV({"age": [1]}), "the path of a file, got"),
    "a coding that is a list": (lambda: dp.Boolean(["yes", "no"]), "coding must be a mapping such as"),
    "a coding to numbers": (lambda: dp.Boolean({"yes": 1, "no": 0}), "True or False for each value"),
    "a coding without False": (lambda: dp.Boolean({"yes": True, "y": True}), "what is True and what is False"),
    "a coding of one": (lambda: dp.Boolean({"yes": True}), "at least two"),
    "a mixed coding": (lambda: dp.Boolean({"yes": True, 0: False}), "all text or all whole numbers"),
    "a boolean missing a word": (lambda: dp.Boolean(missing="no"), "'refuse', 'level', True or False, got 'no'"),
    "a boolean missing 1": (lambda: dp.Boolean(missing=1), "True or False, got 1"),
    "a boolean unknown level": (lambda: dp.Boolean(unknown="level"), "unknown must be 'refuse', True or False"),
    "dates reversed": (lambda: dp.Date("2001-01-01", "2000-01-01"), "the earlier one first"),
    "dates equal": (lambda: dp.Date("2000-01-01", "2000-01-01"), "the earlier one first"),
    "one date": (lambda: dp.Date("2000-01-01"), "a bound must be a date such as '2020-12-31', got None"),
    "numbers for dates": (lambda: dp.Date(2000, 2020), "a bound must be a date such as"),
    "a day that does not exist": (lambda: dp.Date("2000-02-30", "2001-01-01"), "must be a date.*'2000-02-30'"),
    "other ways to write dates": (lambda: dp.Date("1.2.2000", "1.3.2000"), "such as '2020-12-31', got '1.2.2000'"),
    "NaT": (lambda: dp.Date(pd.NaT, "2001-01-01"), "must be a date"),
    "a date and a datetime": (lambda: dp.Date("2000-01-01", "2001-01-01 12:00"), "two dates or two datetimes"),
    "a time zone": (lambda: dp.Date("2000-01-01T00:00Z", "2001-01-01T00:00Z"), "without a time zone"),
    "a missing date outside": (lambda: dp.Date("2000-01-01", "2001-01-01", missing="1999-01-01"), "within the bounds"),
    "a missing date that is none": (lambda: dp.Date("2000-01-01", "2001-01-01", missing=0), "must be a date"),
    "no columns": (lambda: dp.Schema(), "at least one column"),
    "a tuple for a column": (lambda: dp.Schema(age=(0, 120)), "'age' must be declared by dp.Number.*got .0, 120."),
    "a class for a column": (lambda: dp.Schema(age=dp.Boolean), "a class: call it"),
    "a text that is no number": (lambda: dp.Schema(age="old"), "column 'age': bounds as text are like"),
    "a list of columns": (lambda: dp.Schema([dp.Boolean()]), "a mapping of names to columns, got list"),
    "a column twice": (lambda: dp.Schema({"a": dp.Boolean()}, a=dp.Boolean()), "declared twice: 'a'"),
    "the intercept": (
        lambda: dp.Schema(Intercept=dp.Boolean()),
        "'Intercept', a parameter of every regression: rename",
    ),
    "a reserved name": (lambda: dp.Schema(_x=dp.Boolean()), "names that begin with '_' are reserved"),
    "an empty name": (lambda: dp.Schema({"": dp.Boolean()}), "which is empty"),
    "a name with spaces": (lambda: dp.Schema({" a": dp.Boolean()}), "spaces around it"),
    "a name of two lines": (lambda: dp.Schema({"a\nb": dp.Boolean()}), "cannot be printed"),
    "a number for a name": (lambda: dp.Schema({0: dp.Boolean()}), "must be text, got 0"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes_are_refused_with_what_is_allowed(case):
    declare, words = MISTAKES[case]
    with pytest.raises((TypeError, ValueError), match=words):
        declare()


SCHEMA = dp.Schema(
    age=dp.Number(0, 120, unit="years"),
    plan=dp.Category(["free", "basic", "full"], reference="basic", unknown="other", missing="level"),
    smoker=dp.Boolean({"no": False, "yes": True}),
    health=dp.Ordered(["poor", "good"]),
    visit=dp.Date("2000-01-01", dt.date(2000, 12, 31)),
)


def test_columns_say_what_a_model_needs():
    assert {name: column.bounds for name, column in SCHEMA.items()} == {
        "age": (0, 120), "plan": (0, 4), "smoker": (0, 1), "health": (0, 1), "visit": (0, 365),
    }  # fmt: skip
    assert [column.n_levels for column in SCHEMA.values()] == [0, 5, 2, 2, 0]
    plan = SCHEMA["plan"]
    assert plan.labels == ("free", "basic", "full", "other", "missing")
    assert plan.code(plan.reference) == 1
    assert SCHEMA["smoker"].labels == ("false", "true")
    assert dp.Category([3, 1]).labels == ("3", "1")
    assert dp.Category([3, 1]).reference == 3
    assert dp.Category(["a", "b"], unknown="b", missing="a").labels == ("a", "b")
    with pytest.raises(ValueError, match="no level 'x'; the levels are 'free'"):
        plan.code("x")


def test_levels_with_codes_are_called_by_their_names():
    answer = dp.Category({1: "yes", 2: "no", 8: "no", 9: "missing"}, reference="no", missing="level")
    assert answer.labels == ("yes", "no", "missing")
    assert answer.reference == "no"
    assert answer.code("no") == 1
    assert answer.summary()[0] == "1 is yes, 2 or 8 is no (reference), 9 is missing"
    np.testing.assert_array_equal(dp.Schema(a=answer).encode({"a": [8, None, 9, 1]})["a"], [1, 2, 2, 0])
    assert dataclasses.replace(answer, reference="yes") == dp.Category(dict(answer.levels), missing="level")
    assert pickle.loads(pickle.dumps(answer)) == answer
    with pytest.raises(ValueError, match="no level 1; the levels are 'yes', 'no'"):
        answer.code(1)


def test_a_schema_is_a_frozen_mapping_equal_by_value():
    same = dp.Schema(dict(SCHEMA))
    assert same == SCHEMA
    assert hash(same) == hash(SCHEMA)
    assert pickle.loads(pickle.dumps(SCHEMA)) == copy.deepcopy(SCHEMA) == SCHEMA
    assert SCHEMA.subset(["plan", "age"]) != SCHEMA.subset(["age", "plan"])
    assert SCHEMA.subset(["plan", "age"]).names == ("plan", "age")
    wider = SCHEMA.with_columns({"body mass": "5..300 kg"}, age=dp.Number.age(missing=40))
    assert wider.names == (*SCHEMA.names, "body mass")
    assert wider["body mass"] == dp.Number(5, 300, unit="kg")
    assert wider["age"].missing == 40
    assert SCHEMA["age"].missing == "refuse"
    with pytest.raises(AttributeError, match="with_columns"):
        SCHEMA.extra = 1
    with pytest.raises(KeyError, match=r"no column 'agee' .did you mean 'age'"):
        SCHEMA["agee"]


def test_a_schema_prints_as_a_table():
    lines = str(SCHEMA).splitlines()
    assert len(lines) == 1 + len(SCHEMA)
    assert lines[1].split("  ")[0] == "age"
    assert "0 to 120 years" in lines[1]
    assert "free, basic (reference), full" in lines[2]
    assert "become 'missing'" in lines[2]
    assert "yes is true, no is false" in lines[3]
    assert "poor < good" in lines[4]
    assert "2000-01-01 to 2000-12-31" in lines[5]


@pytest.mark.parametrize("text", ["years 0..120", "0..120 years", "  years  0 .. 120 ", "years 0.0..1.2e2"])
def test_bounds_as_text(text):
    assert dp.Number.parse(text) == dp.Number(0, 120, unit="years")


def test_short_ways_to_common_bounds():
    assert dp.Number.parse("-.5...5") == dp.Number(-0.5, 0.5)
    assert dp.Number.parse("km/h 0..300", missing=0) == dp.Number(0, 300, unit="km/h", missing=0)
    assert dp.Number.percent() == dp.Number(0, 100, unit="%")
    assert dp.Number.age() == dp.Number(0, 120, unit="years")
    assert dp.Number.share() == dp.Number(0, 1)
    assert dp.Number.count(50) == dp.Number(0, 50, integer=True)


def test_dates_are_declared_in_many_ways():
    expected = dp.Date("2000-01-01", "2001-01-01")
    assert dp.Date(dt.date(2000, 1, 1), np.datetime64("2001-01-01")) == expected
    assert dp.Date(np.datetime64("2000"), np.datetime64("2001")) == expected
    moments = dp.Date("2000-01-01 00:00", "2001-01-01T00:00:00")
    assert dp.Date(pd.Timestamp("2000-01-01"), dt.datetime(2001, 1, 1)) == moments
    assert moments != expected
