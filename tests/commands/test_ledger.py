"""dpmcmc ledger: made, shown, verified and exported, with exit codes and no tracebacks."""

import json

import pytest
from typer.testing import CliRunner

import dpmcmc as dp
from dpmcmc.cli import app
from tests.ledger.places import RECORDS, charge


def call(*arguments, code=0):
    result = CliRunner().invoke(app, ["ledger", *map(str, arguments)])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "study.db"
    said = call("init", path, "--dataset", "clinic-2024", "--epsilon", 3.0, "--delta", 1e-6)
    assert "clinic-2024: everything charged to it is together (3, 1e-06)-differentially private" in said
    number = dp.Ledger(path).reserve((charge(20.0),), RECORDS).number
    dp.Ledger(path).settle(number, b"kept")
    return path


def test_what_was_spent_is_shown(path):
    assert "stored" in call("show", path)
    found = json.loads(call("show", path, "--json"))
    assert found["dataset"] == "clinic-2024"
    assert found["zcdp"]["spent"] == pytest.approx(0.5 / 400, rel=1e-9)
    assert [(one["entry"], one["purpose"], one["state"]) for one in found["charges"]] == [(1, "sums", "stored")]
    assert found["guarantee"]["epsilon"] == 3.0


def test_a_ledger_and_its_export_are_verified(path, tmp_path):
    head = dp.Ledger(path).head
    assert head in call("verify", path)
    assert head in call("verify", path, "--head", head)
    copy = tmp_path / "copy.json"
    call("export", path, "--out", copy)
    assert json.loads(call("export", path)) == json.loads(copy.read_text())
    assert head in call("verify", copy, "--head", head)
    call("export", path, "--out", copy, code=2)
    dp.Ledger(path).reserve((charge(),), RECORDS)
    later = dp.Ledger(path).head
    assert "DAMAGED: entry 3 was there when the head was kept" in call("verify", copy, "--head", later, code=1)
    for old, new, said in (("sums", "fits", "entry 1 is not what was written"), (head, "2:0", "says that its head is")):
        edited = tmp_path / "edited.json"
        edited.write_text(copy.read_text().replace(old, new))
        assert f"DAMAGED: {said}" in call("verify", edited, code=1) or said in call("verify", edited, code=1)
    copy.write_text('{"entries": 3}')
    assert "is not what" in call("verify", copy, code=2)


def test_a_release_is_recovered(path, tmp_path):
    call("recover", path, 1, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == b"kept"
    assert "keeps no release of entry 7" in call("recover", path, 7, tmp_path / "b.npz", code=2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nowhere.db"), "there is no ledger 'nowhere.db'"),
        (("show", "{path}", "--dataset", "other"), "no ledger of 'other'"),
        (("verify", "{path}", "--head", "12"), "a head looks like"),
        (("init", "{path}", "--dataset", "a", "--epsilon", 1, "--delta", 1e-6), "exists already"),
        (("init", "{path}.b", "--dataset", "a", "--epsilon", -1, "--delta", 1e-6), "epsilon must be positive"),
        (("init", "{path}.b", "--dataset", "a", "--epsilon", 1), "delta"),
        (("show", "postgresql://nobody@/x?host=/nonexistent"), "cannot be used"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(path, arguments, said):
    assert said in call(*(str(one).replace("{path}", str(path)) for one in arguments), code=2)


def test_damage_is_exit_code_one(path):
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"purpose": "sums"', b'"purpose": "fits"'))
    for command in ("show", "verify", "export"):
        assert "DAMAGED: entry 1 is not what was written" in call(command, path, code=1)
