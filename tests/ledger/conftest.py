"""Ledgers to test with, in a file or on a server."""

import pytest

import dpmcmc as dp
from tests.ledger.places import BUDGET, RECORDS, charge
from tests.ledger.servers import postgresql


@pytest.fixture(scope="session")
def server():
    with postgresql() as address:
        yield address


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.db"


@pytest.fixture
def ledger(path):
    return dp.Ledger.create(path, dataset="clinic", budget=BUDGET)


@pytest.fixture
def filled(ledger):
    """Three charges, of which one was settled with its release in the ledger, and one failed."""
    first, second, _ = (ledger.reserve((charge(purpose=name),), RECORDS).number for name in ("one", "two", "three"))
    ledger.settle(first, b"a release")
    ledger.fail(second, RuntimeError())
    return ledger
