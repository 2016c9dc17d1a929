"""Mistakes in study files: each is refused with file, line, key, value and what is allowed, before a table is read."""

import re

import pytest

from dpmcmc.study import Study, StudyError
from tests.study.studies import GOOD, line_of

MISTAKES = [
    # what stands in the good study, what in its place, where the mistake is, and what the message must show of it
    ('title = "Visits"', "title = 3", "title", "3"),
    ('title = "Visits"', 'title = ""', "title", "''"),
    ('title = "Visits"', 'titel = "Visits"', "titel", "Visits"),
    ('table = "visits.csv"', "table = 7", "table", "7"),
    ('table = "visits.csv"', 'table = "..."', "table", "..."),
    ('table = "visits.csv"', 'table = "visits.xlsx"', "table", "visits.xlsx"),
    ('table = "visits.csv"', 'table = "visits.csv"\ncsv = 3', "csv", "3"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\nseparator = ",,"', "csv.separator", ",,"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\nseparator = 1', "csv.separator", "1"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\ndecimal = ":"', "csv.decimal", ":"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\nencoding = "utf-16"', "csv.encoding", "utf-16"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\nmissing = "-99"', "csv.missing", "-99"),
    ('table = "visits.csv"', 'table = "visits.csv"\n[csv]\nquote = "x"', "csv.quote", "x"),
    ("[model]", "[modell]", "modell", "model"),
    ('formula = "visits ~ age', 'formulas = "visits ~ age', "model.formulas", "visits ~ age"),
    ('"visits ~ age + plan + log(income)"', '"..."', "model.formula", "..."),
    ('"visits ~ age + plan + log(income)"', "12", "model.formula", "12"),
    ('"visits ~ age + plan + log(income)"', '"visits"', "model.formula", "visits"),
    ('"visits ~ age + plan + log(income)"', '"visits ~"', "model.formula", "visits ~"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ age +"', "model.formula", "visits ~ age +"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ age + nothing"', "model.formula", "nothing"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ age**2"', "model.formula", "age**2"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ center(age)"', "model.formula", "center(age)"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ age + age"', "model.formula", "age"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ visits"', "model.formula", "visits"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ log(plan)"', "model.formula", "log(plan)"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ (1|age)"', "model.formula", "age"),
    ('"visits ~ age + plan + log(income)"', '"visits ~ age + note"', "columns.note.type", "..."),
    ('family = "poisson"', 'family = "poison"', "model.family", "poison"),
    ('family = "poisson"', "family = 3", "model.family", "3"),
    ('family = "poisson"', 'family = "..."', "model.family", "..."),
    ('family = "poisson"', 'family = "bernoulli"', "model.family", "bernoulli"),
    ('family = "poisson"', 'family = "poisson"\nsigma = 1.0', "model.sigma", "1.0"),
    ('family = "poisson"', 'family = "poisson"\nsigma = -1', "model.sigma", "-1"),
    ('family = "poisson"', 'family = "poisson"\ndf = "many"', "model.df", "many"),
    ('family = "poisson"', 'family = "poisson"\noffset = "plan"', "model.offset", "plan"),
    ('family = "poisson"', 'family = "poisson"\noffset = "nothing"', "model.offset", "nothing"),
    ('family = "poisson"', 'family = "poisson"\nweights = "plan"', "model.weights", "plan"),
    ('family = "poisson"', 'family = "poisson"\nlink = "log"', "model.link", "log"),
    ("age = {mean = 0, std = 0.05}", "age = 3", "priors.age", "3"),
    ("age = {mean = 0, std = 0.05}", "age = {mean = 0}", "priors.age", "mean"),
    ("age = {mean = 0, std = 0.05}", "age = {mean = 0, std = -1}", "priors.age", "-1"),
    ("age = {mean = 0, std = 0.05}", "age = {mean = nan, std = 1}", "priors.age", "nan"),
    ("age = {mean = 0, std = 0.05}", 'age = {mean = "0", std = 1}', "priors.age", "'0'"),
    ("age = {mean = 0, std = 0.05}", "aage = {mean = 0, std = 1}", "priors.aage", "aage"),
    ('protects = "record"', "protects = 1", "privacy.protects", "1"),
    ('protects = "record"', 'protects = "person"', "privacy.protects", "person"),
    ('protects = "record"', 'protects = "record"\nmost = 5', "privacy.most", "5"),
    ('protects = "record"', 'protects = "person"\nmost = 0', "privacy.most", "0"),
    ('protects = "record"', 'protects = "person"\nmost = 2.5', "privacy.most", "2.5"),
    ('protects = "record"', 'protects = "Record "\nmost = 5', "privacy.protects", "Record "),
    ("epsilon = 1.0", "epsilon = 0", "privacy.epsilon", "0"),
    ("epsilon = 1.0", "epsilon = -1.0", "privacy.epsilon", "-1.0"),
    ("epsilon = 1.0", "epsilon = inf", "privacy.epsilon", "inf"),
    ("epsilon = 1.0", "epsilon = nan", "privacy.epsilon", "nan"),
    ("epsilon = 1.0", 'epsilon = "1"', "privacy.epsilon", "'1'"),
    ("epsilon = 1.0", "epsilon = true", "privacy.epsilon", "true"),
    ("epsilon = 1.0", "epsilom = 1.0", "privacy.epsilom", "epsilon"),
    ("delta = 1e-6", "delta = 0", "privacy.delta", "0"),
    ("delta = 1e-6", "delta = 1", "privacy.delta", "1"),
    ("delta = 1e-6", "", "privacy", "delta"),
    ('file = "ledger.db"', "file = 1", "ledger.file", "1"),
    ('file = "ledger.db"', "", "ledger", "file"),
    ('file = "ledger.db"', 'file = "postgresql://me:secret@host/db"', "ledger.file", "password"),
    ('dataset = "clinic"', 'dataset = ""', "ledger.dataset", "''"),
    ("epsilon = 3.0", "epsilon = -3.0", "ledger.epsilon", "-3.0"),
    ("delta = 1e-5", "delta = 2", "ledger.delta", "2"),
    ('release = "release.npz"', 'release = "release.txt"', "output.release", "release.txt"),
    ('release = "release.npz"', "", "output", "release"),
    ('report = "report.html"', 'report = "report.pdf"', "output.report", "report.pdf"),
    ('report = "report.html"', 'report = ["report.html"]', "output.report", "report.html"),
    ('bounds = [18, 90]\nunit = "year"', 'unit = "year"', "columns.age", "bounds"),
    ("bounds = [18, 90]", 'bounds = ["...", 90]', "columns.age.bounds", "..."),
    ("bounds = [18, 90]", "bounds = [90, 18]", "columns.age.bounds", "90"),
    (
        'type = "number"\nbounds = [18, 90]\nunit = "year"',
        'type = "date"\nbounds = ["01.02.2003", "2004-01-01"]',
        "columns.age.bounds",
        "without quotes",
    ),
    (
        'type = "number"\nbounds = [18, 90]\nunit = "year"',
        'type = "date"\nbounds = [2004-01-01, 2003-01-01]',
        "columns.age.bounds",
        "[2004-01-01, 2003-01-01]",
    ),
    ("bounds = [18, 90]", "bounds = [18]", "columns.age.bounds", "18"),
    ("bounds = [18, 90]", "bounds = [18, inf]", "columns.age.bounds", "inf"),
    ("bounds = [18, 90]", 'bounds = "eighteen"', "columns.age.bounds", "eighteen"),
    ('unit = "year"', "unit = 5", "columns.age.unit", "5"),
    ('unit = "year"', 'missing = "level"', "columns.age.missing", "level"),
    ('unit = "year"', "missing = 200", "columns.age.missing", "200"),
    ('unit = "year"', 'outside = "drop"', "columns.age.outside", "drop"),
    ('unit = "year"', 'unknown = "x"', "columns.age.unknown", "x"),
    ("integer = true", 'integer = "yes"', "columns.visits.integer", "yes"),
    ("bounds = [0, 50]", "bounds = [0, 50.5]", "columns.visits.bounds", "50.5"),
    ('type = "category"', 'type = "factor"', "columns.plan.type", "factor"),
    ('type = "category"', "type = 3", "columns.plan.type", "3"),
    ('type = "category"', 'type = "..."', "columns.plan.type", "..."),
    ('type = "category"', 'type = "category"\nreference = "none"', "columns.plan.reference", "none"),
    ('  "full",\n', '  "free",\n', "columns.plan.levels", "free"),
    ('  "free",\n  "full",\n', '  "...",\n', "columns.plan.levels", "..."),
    ("[columns.note]", "[columns._note]", "columns._note", "_note"),
    ("[columns.note]", "[column.note]", "column", "columns"),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_is_named_by_file_line_key_and_value(number):
    before, after, key, shown = MISTAKES[number]
    assert GOOD.count(before) == 1 or before.startswith(("epsilon", "delta")), "the case is not what it seems"
    text = GOOD.replace(before, after, 1)
    if key == "columns._note":
        text = text.replace('[columns._note]\ntype = "..."', '[columns._note]\ntype = "boolean"')
    with pytest.raises(StudyError) as raised:
        Study.parse(text, "my.toml")
    said = str(raised.value)
    place = re.match(r"my\.toml, line (\d+): (\S+?)(?: =|:)", said)
    assert place, said
    assert place[2] == key or place[2].startswith(f"{key}.") or key == "csv" == place[2].split(".")[0], said
    assert abs(int(place[1]) - _expected(text, key)) == 0, f"line {_expected(text, key)}: {said}"
    assert shown in said, said
    assert "allowed: " in said, said
    assert "secret" not in said
    assert "\n" not in said
    assert len(said) < 900


def _expected(text, key):
    """The line of a key as a person would find it: under its section's header, or the header itself."""
    *section, name = key.split(".")
    lines, header = text.splitlines(), f"[{'.'.join(section)}]"
    if f"[{key}]" in lines:
        return lines.index(f"[{key}]") + 1
    first = lines.index(header) if section and header in lines else 0
    for number in range(first, len(lines)):
        if re.match(rf"{re.escape(name)}\s*=", lines[number]):
            return number + 1
    return next((at + 1 for at, line in enumerate(lines) if line.startswith(f"[{key}.")), 1)


def test_there_are_enough_of_them():
    assert len(MISTAKES) >= 60


def test_the_study_without_mistakes_is_read():
    study = Study.parse(GOOD, "my.toml")
    assert study.model.outcome == "visits"
    assert "note" not in study.schema
    assert study.places.line("columns", "plan", "levels") == line_of(GOOD, "levels = [")
    assert study.places.line("priors", "age", "std") == line_of(GOOD, "age = {mean")


@pytest.mark.parametrize(
    "text", ["title = ", "title = 'a'\ntitle = 'b'", "= 3", "[model", "a = [1,\n2", "\x00", "a" * 10]
)
def test_what_is_no_toml_is_named_by_file_and_line(text):
    with pytest.raises(StudyError, match=r"my\.toml cannot be read as TOML"):
        Study.parse(text, "my.toml")
