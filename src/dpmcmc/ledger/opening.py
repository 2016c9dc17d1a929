"""How a ledger begins, and which of several is meant."""

from __future__ import annotations

import getpass
import platform
from datetime import UTC, datetime

from dpmcmc.ledger.balance import RULE, reserved
from dpmcmc.ledger.entries import FORMAT, Opening
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.privacy import Budget


def new_opening(dataset: str, budget: Budget, unit: str, key: str) -> Opening:
    """The first entry of a ledger, after mistakes have been refused; ``key`` is the commitment to its key."""
    for name, value in (("dataset", dataset), ("unit", unit)):
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 200:
            raise LedgerError(f"{name} must be a name of 1 to 200 printable characters, got {value!r}")
    if not isinstance(budget, Budget):
        raise TypeError(f"budget must be a dp.Budget(epsilon, delta), got {budget!r}")
    aside = reserved()
    aside.ideal(budget)  # refuses what finite precision would use up
    return Opening(
        FORMAT,
        dataset,
        float(budget.epsilon),
        float(budget.delta),
        unit,
        budget.relation,
        RULE,
        aside.log_error,
        aside.tail,
        key,
        now(),
        who(),
    )


def chosen(where: str, there: list[str], dataset: str | None) -> str:
    if dataset is None and len(there) == 1:
        return there[0]
    if dataset not in there:
        asked = "say which data set" if dataset is None else f"there is no ledger of {dataset!r}"
        raise LedgerError(f"{asked}: {where} has {', '.join(map(repr, there)) or 'none'}")
    assert dataset is not None
    return dataset


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def who() -> str:
    try:
        return f"{getpass.getuser()}@{platform.node()}"
    except (KeyError, OSError, ImportError):
        return f"@{platform.node()}"
