"""What a ledger writes down, refuses and says."""

import os
import sqlite3
import warnings
from dataclasses import replace

import numpy as np
import pytest

import dpmcmc as dp
from dpmcmc.charge import OverBudget
from dpmcmc.ledger.entries import Failure, Opening, Reservation, Settlement
from dpmcmc.ledger.fingerprint import fingerprints, new_key
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Gaussian
from tests.ledger.places import BUDGET, RECORDS, charge


def test_a_ledger_is_found_as_it_was_left(filled, path):
    again = dp.Ledger(path)
    assert [type(entry) for entry in again.entries] == [Opening, *[Reservation] * 3, Settlement, Failure]
    assert (again.dataset, again.budget, again.unit, again.head) == ("clinic", BUDGET, "record", filled.head)
    assert again.spent == pytest.approx(3 * 0.5 / 50**2, rel=1e-12)
    assert again.spent + again.left == pytest.approx(again.book.balance.limit, rel=1e-12)
    assert again.verify() == filled.head
    assert str(again.guarantee) == "(1, 1e-06)-differentially private under substitution of one record"
    said = str(again)
    assert "together (1, 1e-06)-differentially private" in said
    for state, name in (("stored", "one"), ("failed", "two"), ("open", "three")):
        assert any(name in line and state in line for line in said.splitlines())


def test_it_is_its_owners_alone_and_on_disk(filled, path):
    assert path.stat().st_mode & 0o077 == 0
    with filled._store.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        with pytest.raises(sqlite3.OperationalError, match="locked"):  # BEGIN IMMEDIATE: nobody else may write
            sqlite3.connect(path, timeout=0.01, isolation_level=None).execute("BEGIN IMMEDIATE")


def test_entries_cannot_be_changed_by_accident(filled, path):
    with sqlite3.connect(path) as connection:
        for statement in ("DELETE FROM dpmcmc_entries", "UPDATE dpmcmc_entries SET line = ''"):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                connection.execute(statement)


def test_nothing_passes_the_budget(ledger):
    price = 0.5 / 10.0**2
    fits = int(ledger.left / price)
    for _ in range(fits):
        ledger.reserve((charge(10.0),), RECORDS)
    before = ledger.head
    with pytest.raises(OverBudget, match="nothing was charged"):
        ledger.reserve((charge(10.0),), RECORDS)
    assert ledger.head == before
    ledger.reserve((charge(1 / np.sqrt(2 * ledger.left) * (1 + 1e-6)),), RECORDS)
    with pytest.raises(OverBudget, match="is spent"):
        ledger.reserve((charge(1e3),), RECORDS)
    assert ledger.spent <= ledger.book.balance.limit


def test_two_views_of_a_ledger_see_each_other(ledger, path):
    other = dp.Ledger(path)
    for one in (ledger, other, other, ledger):
        one.reserve((charge(12.0),), RECORDS)
    assert ledger.spent == other.spent == pytest.approx(4 * 0.5 / 144, rel=1e-12)


def test_a_charge_has_a_name_of_its_own(ledger):
    one, two = (ledger.reserve((charge(),), RECORDS) for _ in range(2))
    assert one.receipt.purpose.startswith("sums (clinic #1, ")
    assert one.receipt.purpose != two.receipt.purpose
    assert (one.receipt.event, one.receipt.epsilon) == (charge().event, charge().epsilon)


def test_what_was_spent_elsewhere_is_not_covered(ledger):
    with pytest.raises(dp.LedgerError, match="was not charged to this ledger"):
        ledger.reserve((charge(), charge()), RECORDS)
    first = ledger.reserve((charge(),), RECORDS)
    ledger.reserve((first.receipt, charge()), RECORDS)
    ledger.reserve((*ledger.receipts, charge()), RECORDS)
    with pytest.raises(dp.LedgerError, match="was not charged to this ledger"):
        ledger.reserve((dp.Receipt("clinic, entries 0 to 1 (0123456789abcdef)", *([0.0] * 2), None), charge()), RECORDS)


def test_a_receipt_is_known_by_all_that_it_says(ledger):
    """By its purpose alone, one with a smaller event would have passed for all that was charged."""
    ledger.reserve((charge(),), RECORDS)
    (known,) = ledger.receipts
    ledger.reserve((known, charge()), RECORDS)
    ledger.reserve((known, charge()), RECORDS)  # still, after more was charged
    for changed in ({"filter": dp.privacy.ZcdpFilter(known.filter.limit / 2)}, {"epsilon": 0.1}, {"unit": "person"}):
        with pytest.raises(dp.LedgerError, match="was not charged to this ledger"):
            ledger.reserve((replace(known, **changed), charge()), RECORDS)


def test_all_that_is_left_can_be_planned_for(ledger):
    model = dp.models.GaussianMean(2)
    whole = dp.plan(model, 400, ledger.budget, method=dp.dp_barker(0.05, 0.01), spent=ledger)
    assert whole.guarantee.epsilon == 1.0
    ledger.reserve((charge(),), RECORDS)
    left = ledger.left
    plan = dp.plan(model, 400, ledger.budget, method=dp.dp_barker(0.05, 0.01), spent=ledger)
    ledger.reserve(plan.receipts, RECORDS)
    assert 0 <= ledger.left < 0.01 * left
    with pytest.raises(OverBudget):  # planned when there was more
        ledger.reserve(whole.receipts, RECORDS)


def test_other_records_of_the_same_shape_are_said_and_only_the_admitted_are_read_where_any_are(ledger):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ledger.reserve((charge(),), RECORDS)
        ledger.reserve((charge(),), RECORDS)
        ledger.reserve((charge(),), dp.Posterior(None, np.zeros(5)))
    changed = dp.Posterior(None, RECORDS.data + np.eye(6, 2) * 1e-9)
    with pytest.warns(UserWarning, match="shape of those of entry 2 .* not the same values"):
        ledger.reserve((charge(),), changed)
    ledger.admit(RECORDS.data)
    before = ledger.head
    with pytest.raises(dp.LedgerError, match="not admitted as 'clinic'; nothing was charged"):
        ledger.reserve((charge(),), changed)
    assert ledger.head == before
    ledger.reserve((charge(),), RECORDS)
    columns = {"a": np.arange(3.0), "b": np.ones(3)}
    ledger.admit(columns)
    ledger.reserve((charge(),), dp.Posterior(None, {"b": np.ones(3)}))  # a column of what was admitted


def test_what_is_admitted_is_given_as_it_is_to_sample(ledger, tmp_path):
    """A path of a table, read by the model as a run does, and one of an array."""
    schema = dp.Schema(x=dp.Number(-1, 1), y=dp.Boolean({1: True, 0: False}))
    model = dp.regression("y ~ x", schema, family="logistic")
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "\n".join(f"{i / 10},{i % 2}" for i in range(10)))
    ledger.admit(path, model)
    ledger.reserve((charge(),), Posterior.check(model, path))
    ledger.reserve((charge(),), Posterior.check(model, model.encode(path)))
    with pytest.raises(dp.LedgerError, match="not admitted"):
        ledger.reserve((charge(),), RECORDS)
    np.save(tmp_path / "rows.npy", RECORDS.data)
    ledger.admit(tmp_path / "rows.npy")
    ledger.reserve((charge(),), RECORDS)
    before = ledger.head
    with pytest.raises(TypeError, match="give the model as well"):
        ledger.admit(path)
    with pytest.raises(TypeError, match="group them once"):
        ledger.admit(path, dp.PerUnit(model, "y", most=2))
    assert ledger.head == before


def test_fingerprints_need_the_key(ledger, tmp_path):
    """The same records have other fingerprints in another ledger, and no export has the key."""
    other = dp.Ledger.create(tmp_path / "other.db", dataset="clinic", budget=BUDGET)
    for one in (ledger, other):
        one.reserve((charge(),), RECORDS)
    assert ledger.entries[1].records != other.entries[1].records
    assert ledger._key() not in str(ledger.export())
    assert len(ledger._key()) == 64


def test_an_export_does_not_tell_that_two_columns_are_equal(ledger):
    same = Posterior.check(dp.Model(lambda t: -(t**2), lambda t, r: -((r["a"] + r["b"] - t) ** 2), 0.0),
                           {"a": np.arange(3.0), "b": np.arange(3.0)})  # fmt: skip
    first, second = fingerprints(same, new_key())
    assert first != second


def test_releases_are_kept_and_found_again(filled, tmp_path):
    assert filled.recover(1, tmp_path / "a.npz").read_bytes() == b"a release"
    with pytest.raises(dp.LedgerError, match="keeps no release of entry 2"):
        filled.recover(2, tmp_path / "b.npz")
    with pytest.raises(dp.LedgerError, match="cannot be written: File exists"):
        filled.recover(1, tmp_path / "a.npz")


def test_a_head_that_was_kept_tells_an_older_copy(filled, path):
    head, copy = filled.head, path.read_bytes()
    filled.reserve((charge(),), RECORDS)
    later = filled.head
    assert filled.verify(head) == filled.verify(later) == later
    path.write_bytes(copy)
    older = dp.Ledger(path)
    assert older.verify() == head  # by itself it looks honest
    with pytest.raises(dp.LedgerDamaged, match="entry 6 was there when the head was kept"):
        older.verify(later)
    with pytest.raises(dp.LedgerDamaged, match="entry 6 was changed or removed"):  # who has seen more is not fooled
        filled.reserve((charge(),), RECORDS)
    older.reserve((charge(),), RECORDS)
    with pytest.raises(dp.LedgerDamaged, match="not those of the head"):
        older.verify(later)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dataset": ""}, "dataset must be a name"),
        ({"dataset": "a\nb"}, "dataset must be a name"),
        ({"unit": 3}, "unit must be a name"),
        ({"budget": (1.0, 1e-6)}, "budget must be a dp.Budget"),
        ({"where": ""}, "say where the ledger is"),
        ({"where": "no/such/folder/a.db"}, "No such file"),
        ({"where": "mysql://host/db"}, "SQLite files.* or by PostgreSQL.*got mysql://"),
        ({"where": "://"}, "looks like postgresql://"),
    ],
)
def test_mistakes_in_making_one(given, message, path):
    given = {"where": path, "dataset": "clinic", "budget": BUDGET} | given
    with pytest.raises((ValueError, TypeError), match=message):
        dp.Ledger.create(given.pop("where"), **given)
    assert not path.exists()


def test_mistakes_in_opening_one(ledger, path, tmp_path):
    with pytest.raises(dp.LedgerError, match="exists already"):
        dp.Ledger.create(path, dataset="clinic", budget=BUDGET)
    with pytest.raises(dp.LedgerError, match="there is no ledger"):
        dp.Ledger(tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    with pytest.raises(dp.LedgerError, match="no ledger of 'other'"):
        dp.Ledger(path, "other")
    for content in (b"", b"x" * 5000):
        (tmp_path / "bad.db").write_bytes(content)
        with pytest.raises(dp.LedgerError, match=r"bad\.db"):
            dp.Ledger(tmp_path / "bad.db")
    with pytest.raises(dp.LedgerError, match=r"cannot be used") as failed:
        dp.Ledger("postgresql://me:password@/nowhere?host=/nonexistent")
    assert "password" not in str(failed.value).replace(":***@", "")
    os.symlink(tmp_path / "elsewhere.db", tmp_path / "link.db")
    with pytest.raises(dp.LedgerError):
        dp.Ledger.create(tmp_path / "link.db", dataset="clinic", budget=BUDGET)


def test_one_server_has_ledgers_of_several_data_sets(server):
    ledgers = [dp.Ledger.create(server, dataset=name, budget=BUDGET) for name in ("server one", "server two")]
    number = ledgers[0].reserve((charge(),), RECORDS).number
    ledgers[0].settle(number, b"kept")
    assert [one.spent > 0 for one in ledgers] == [True, False]
    again = dp.Ledger(server, "server one")
    assert again.verify() == ledgers[0].head
    assert again.entries == ledgers[0].entries
    with pytest.raises(dp.LedgerError, match=r"say which data set.*'server one'"):
        dp.Ledger(server)
    with pytest.raises(dp.LedgerError, match="has a ledger of 'server one' already"):
        dp.Ledger.create(server, dataset="server one", budget=BUDGET)
    with pytest.raises(dp.LedgerError, match="never changed"), again._store.writing() as connection:
        connection.exec_driver_sql("DELETE FROM dpmcmc_entries")


def test_an_event_that_is_not_imported_is_counted_all_the_same(ledger, path, monkeypatch):
    """A custodian need not have the analyst's classes: the price is in the entry."""
    ledger.reserve((charge(),), RECORDS)
    monkeypatch.delitem(dp.privacy.events.Plain._kinds, Gaussian.__name__)
    again = dp.Ledger(path)
    assert again.spent == ledger.spent
    again.verify()
