"""Studies against their tables and ledgers: what only shows there is refused too, and nothing is charged or written."""

import json
import os
import warnings
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import dpmcmc as dp
from dpmcmc.cli import app, main
from dpmcmc.commands.fit import _kept
from dpmcmc.method import RunFailed
from dpmcmc.records import CSV
from dpmcmc.study import Study, StudyError, new_study
from dpmcmc.study.places import Places
from dpmcmc.study.running import counted, prepared
from tests.reporting.releases import release_of
from tests.study.studies import GOOD, TABLE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text(TABLE)
    (tmp_path / "study.toml").write_text(GOOD)
    return tmp_path


def refused(folder, text, *parts):
    (folder / "study.toml").write_text(text)
    there = sorted(os.listdir(folder))
    with pytest.raises((StudyError, ValueError)) as raised:
        prepared(Study.read("study.toml"))
    for part in parts:
        assert part in str(raised.value), raised.value
    assert sorted(os.listdir(folder)) == there, "something was written"


def test_a_study_that_is_right_is_ready(folder):
    ready = prepared(Study.read("study.toml"))
    assert ready.plan.n == 3
    assert ready.makes_ledger
    assert not (folder / "ledger.db").exists()


def test_persons_are_counted_and_protected(folder):
    text = GOOD.replace('protects = "record"', 'protects = "person"\nmost = 2')
    (folder / "study.toml").write_text(text)
    study = Study.read("study.toml")
    assert counted(study) == 2
    assert prepared(study).plan.guarantee.unit == "person"


def test_mistakes_that_the_table_shows(folder):
    refused(folder, GOOD.replace("visits.csv", "nowhere.csv"), "study.toml, line 2: table", "nowhere.csv")
    refused(folder, GOOD.replace("columns.age", "columns.old").replace("age +", "old +").replace("\nage =", "\nold ="),
            "columns.old", "'age'")  # fmt: skip
    refused(folder, GOOD.replace('"record"', '"who"\nmost = 2'), "privacy.protects", "'person'")
    (folder / "visits.csv").write_text(TABLE.replace("full", "secret"))
    with pytest.raises(StudyError, match=r"study\.toml, line \d+: columns\.plan: .* unknown = \"other\"") as raised:
        prepared(Study.parse(GOOD, "study.toml"))
    assert "secret" not in str(raised.value)
    (folder / "visits.csv").write_text(TABLE.splitlines()[0] + "\n")
    refused(folder, GOOD, "study.toml, line 2: table", "0 records")


def test_mistakes_that_files_show(folder):
    (folder / "release.npz").write_text("")
    refused(folder, GOOD, "output.release", "exists already")
    (folder / "release.npz").unlink()
    refused(folder, GOOD.replace("report.html", "no/report.html"), "output.report", "no such folder")
    refused(folder, GOOD.replace("ledger.db", "no/ledger.db"), "ledger.file", "no such folder")
    refused(folder, GOOD.replace("ledger.db", "visits.csv"), "ledger.file")
    refused(folder, GOOD.replace("release.npz", "/proc/release.npz"), "output.release", "cannot be written to")
    refused(folder, GOOD.replace("ledger.db", "/proc/ledger.db"), "ledger.file", "cannot be written to")


def test_a_release_that_cannot_be_stored_where_it_should_is_stored_elsewhere(folder):
    release = release_of()
    failed = RunFailed(SimpleNamespace(guarantee=release.guarantee, receipts=release.receipts), OSError("full"))
    assert _kept(failed, folder / "release.npz") is failed
    failed.release = release
    said = str(_kept(failed, folder / "release.npz"))
    file = next(folder.glob("release-*/release.npz"))
    assert str(file) in said
    assert dp.Release.load(file).guarantee == release.guarantee


def test_mistakes_that_the_ledger_shows(folder):
    dp.Ledger.create("ledger.db", dataset="clinic", budget=dp.Budget(3.0, 1e-5))
    assert not prepared(Study.read("study.toml")).makes_ledger
    refused(folder, GOOD.replace("epsilon = 3.0", "epsilon = 4.0"), "line 19: ledger.epsilon = 4.0", "allowed: 3")
    refused(folder, GOOD.replace('"clinic"', '"other"'), "ledger.dataset", "'clinic'")
    refused(folder, GOOD.replace('"record"', '"person"\nmost = 2'), "privacy.protects", "record")
    refused(folder, GOOD.replace("epsilon = 1.0", "epsilon = 9.0"), "privacy.epsilon = 9.0", "left")
    assert len(dp.Ledger("ledger.db").entries) == 1


def test_a_ledger_that_is_not_made_yet_must_be_able_to_pay(folder):
    refused(folder, GOOD.replace("epsilon = 1.0", "epsilon = 9.0"), "privacy.epsilon = 9.0", "zCDP")


def test_no_is_an_answer_and_nobody_is_none(folder):
    said = CliRunner().invoke(app, ["fit", "study.toml"], input="n\n")
    assert said.exit_code == 4
    assert "Nothing was charged" in said.output
    nobody = CliRunner().invoke(app, ["fit", "study.toml"])
    assert nobody.exit_code == 2
    assert "--yes" in nobody.output
    assert sorted(os.listdir(folder)) == ["study.toml", "visits.csv"]


def test_new_reads_the_header_alone(folder):
    values = (folder / "visits.csv").read_bytes().split(b"\n", 1)[0] + b"\n\xff\xfe not even text \x00\n"
    (folder / "visits.csv").write_bytes(values)
    said = CliRunner().invoke(app, ["new", "visits.csv", "--out", "new.toml", "--json"])
    assert json.loads(said.output) == {"study": "new.toml"}
    text = (folder / "new.toml").read_text()
    for name in TABLE.split("\n")[0].split(","):
        assert f"[columns.{name}]" in text
    with pytest.raises(StudyError, match=r"new.toml, line 11: model.formula = '...'"):
        Study.read("new.toml")


def test_new_never_overwrites(folder):
    said = CliRunner().invoke(app, ["new", "visits.csv", "--out", "study.toml"])
    assert said.exit_code == 2
    assert (folder / "study.toml").read_text() == GOOD


def test_new_warns_where_the_first_line_looks_like_a_record(folder):
    (folder / "visits.csv").write_text("3,41.5,free\n2,30,full\n")
    said = CliRunner().invoke(app, ["new", "visits.csv", "--out", "new.toml"])
    assert said.exit_code == 0
    assert "Warning: columns are called by numbers" in said.output


def test_warnings_are_a_line_without_places_in_the_code(folder, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["dpmcmc", "fit", "study.toml", "--yes"])
    monkeypatch.setattr("warnings.showwarning", warnings.showwarning)
    (folder / "study.toml").write_text(
        GOOD.replace("delta = 1e-6", "delta = 0.5").replace("epsilon = 1.0", "epsilon = 9.0")
    )
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr().err
    assert "Warning: delta = 0.5 is not below 1/n" in said
    assert "running.py" not in said


def test_a_european_file(folder):
    (folder / "eu.txt").write_text("Größe;plan\n1,5;a\n", encoding="cp1252")
    text = new_study(CSV(folder / "eu.txt", separator=";", decimal=",", encoding="cp1252"), folder / "study.toml")
    assert '[columns."Größe"]' in text
    filled = text.replace('formula = "..."', 'formula = "Größe ~ plan"').replace(
        'family = "..."', 'family = "gaussian"'
    )
    filled = filled.replace('[columns."Größe"]\ntype = "..."', '[columns."Größe"]\ntype = "number"\nbounds = [0, 3]')
    filled = filled.replace('[columns.plan]\ntype = "..."', '[columns.plan]\ntype = "category"\nlevels = ["a", "b"]')
    study = Study.parse(filled, "study.toml", folder)
    assert counted(study) == 1
    assert study.model.encode(study.table)["y"].shape == (1,)


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters='",\r\n')), min_size=1, max_size=5, unique=True)
)
def test_any_header_gives_a_study_file_that_is_toml(tmp_path_factory, names):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_text(",".join(f'"{name}"' for name in names) + "\n", encoding="utf-8")
    try:
        text = new_study(path, path.with_name("study.toml"))
    except ValueError:
        return  # a header of ours refuses, such as an empty one
    with pytest.raises(StudyError, match=r"model.formula = '...'|the section is missing"):  # none can be declared
        Study.parse(text, "study.toml")


@given(st.text(max_size=300))
def test_no_text_is_anything_but_a_study_or_a_mistake(text):
    for candidate in (text, GOOD.replace("age", text, 1), GOOD[: len(text) * 5] + text):
        assert _outcome(candidate).startswith("my.toml")


def _outcome(text):
    try:
        return Study.parse(text, "my.toml").places.source
    except StudyError as error:
        return str(error)


def test_lines_of_keys_in_every_form_of_toml():
    text = 'a = 1\n\n[b]\nc = """\nx = 3\n]\n"""\nd = [ # one\n  "]",\n  2,\n]\n[b.e]\n"f g" = {h = 1}\n[[k]]\nl = 1\n'
    lines = Places(text, "x").lines
    assert lines[("a",)] == 1
    assert lines[("b", "c")] == 4
    assert lines[("b", "d")] == 8
    assert lines[("b", "e", "f g")] == 13
    assert lines[("k", "l")] == 15
