"""The entries of one ledger as they were read and verified, one after another, and what they add up to."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from typing import Any

from dpmcmc.charge import price_in_zcdp
from dpmcmc.ledger.balance import RULE, Balance, reserved
from dpmcmc.ledger.entries import (
    FIRST,
    FORMAT,
    Admission,
    Entry,
    Failure,
    Opening,
    Reservation,
    Settlement,
    digest_after,
    entry_of,
)
from dpmcmc.ledger.errors import LedgerDamaged, LedgerError
from dpmcmc.privacy import Budget
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.privacy.relations import PROMISED
from dpmcmc.receipts import Receipt


class Book:
    """A ledger in memory: every entry in it has been checked against the chain of digests."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.lines: list[str] = []
        self.digests: list[str] = []
        self.receipts: dict[str, int] = {}
        self.admitted: set[str] = set()
        self.read_before: dict[str, dict[tuple[str, ...], int]] = {}
        self.balance: Balance

    @property
    def opening(self) -> Opening:
        opening: Opening = self.entries[0]
        return opening

    @property
    def number(self) -> int:
        """The number of the last entry; −1 where there is none yet."""
        return len(self.entries) - 1

    @property
    def digest(self) -> str:
        return self.digests[-1] if self.digests else FIRST

    @property
    def head(self) -> str:
        """The last entry's number and digest: who keeps it can tell whether anything before it was changed."""
        return f"{self.number}:{self.digest}"

    @property
    def reservations(self) -> list[tuple[int, Reservation]]:
        return [(number, entry) for number, entry in enumerate(self.entries) if isinstance(entry, Reservation)]

    def read(self, rows: Iterable[Any]) -> None:
        """The rows (number, line, digest) that follow, each checked against the one before it."""
        for number, line, digest in rows:
            self.add(number, line, digest)

    def add(self, number: Any, line: Any, digest: Any) -> None:
        """One more entry, after its place in the chain has been checked."""
        expected = len(self.entries)
        if number != expected:
            raise LedgerDamaged(f"entry {expected} is missing: what follows is numbered {number!r}", expected)
        if not isinstance(line, str) or digest != digest_after(self.digest, line):
            raise LedgerDamaged(f"entry {expected} is not what was written: its digest differs", expected)
        entry = entry_of(line, expected)
        if isinstance(entry, Opening) != (expected == 0):
            raise LedgerDamaged(f"entry {expected} is out of place: a ledger has one opening, its first", expected)
        self._count(expected, entry)
        self.entries.append(entry)
        self.lines.append(line)
        self.digests.append(digest)

    def _count(self, number: int, entry: Entry) -> None:
        if isinstance(entry, Opening):
            self.balance = _balance(entry)
        elif isinstance(entry, Reservation):
            self.balance.add(entry.zcdp, Arithmetic(entry.log_error, entry.tail))
            self.receipts[_text(entry.receipt)] = number
            self.read_before.setdefault(entry.shape, {})[entry.records] = number
        elif isinstance(entry, Settlement | Failure):
            if entry.of >= number or not isinstance(self.entries[entry.of], Reservation):
                raise LedgerDamaged(f"entry {number} is about entry {entry.of}, which is no reservation", number)
        elif isinstance(entry, Admission):
            self.admitted.update(entry.records)

    def knows(self, receipt: Receipt) -> bool:
        """Whether a receipt was charged here, or stands for all that was charged up to one of the entries."""
        saved = receipt.to_dict()
        if _text(saved) in self.receipts:
            return True
        numbers = [number for number in range(len(self.entries)) if receipt.purpose == self.up_to(number)]
        return any(saved == self._balance_at(number).receipt(receipt.purpose).to_dict() for number in numbers)

    def _balance_at(self, number: int) -> Balance:
        """What entries 0 to ``number`` add up to."""
        balance = Balance(self.balance.budget, self.balance.unit)
        for at, entry in self.reservations:
            if at <= number:
                balance.add(entry.zcdp, Arithmetic(entry.log_error, entry.tail))
        return balance

    def up_to(self, number: int) -> str:
        """What a receipt is called that stands for all entries up to ``number``."""
        return f"{self.opening.dataset}, entries 0 to {number} ({self.digests[number][:16]})"

    def recheck(self) -> None:
        """Prices that cannot be right, by the events that they are the prices of, and sums beyond the limit."""
        spent, used = 0.0, Arithmetic()
        for number, entry in self.reservations:
            receipt = receipt_of(entry)
            if receipt is not None and entry.zcdp < self._price(receipt, number) * (1 - 1e-9):
                raise LedgerDamaged(f"entry {number} has a lower price than what it charges for", number)
            spent, used = spent + entry.zcdp, used + Arithmetic(entry.log_error, entry.tail)
            if spent > self.balance.limit * (1 + 1e-9) or not used.within(_more(reserved())):
                raise LedgerDamaged(f"entry {number} passes the ledger's budget", number)

    def _price(self, receipt: Receipt, number: int) -> float:
        try:
            return price_in_zcdp(receipt.under(self.balance.budget.relation))
        except ValueError as error:
            raise LedgerDamaged(f"entry {number} cannot have been charged to this ledger: {error}", number) from None

    def states(self) -> dict[int, str]:
        """What became of every reservation: open (running, or cut off), failed, or stored."""
        found = {number: "open" for number, _ in self.reservations}
        for entry in self.entries:
            if isinstance(entry, Settlement):
                found[entry.of] = "stored"
            elif isinstance(entry, Failure) and found[entry.of] == "open":
                found[entry.of] = "failed"
        return found


def _balance(opening: Opening) -> Balance:
    if opening.format != FORMAT or opening.rule != RULE or opening.relation not in PROMISED:
        raise LedgerError(
            f"the ledger has format {opening.format}, relation {opening.relation!r} and rule {opening.rule!r}; this "
            f"version of dpmcmc goes by format {FORMAT}, the relations {', '.join(PROMISED)} and rule {RULE!r}"
        )
    if not reserved().within(_more(Arithmetic(opening.log_error, opening.tail))):
        raise LedgerDamaged("entry 0 sets too little aside for finite precision", 0)
    try:
        balance = Balance(Budget(opening.epsilon, opening.delta, opening.relation), opening.unit)
        _ = balance.limit
    except ValueError as error:
        raise LedgerDamaged(f"entry 0 has no budget that a ledger can have: {error}", 0) from None
    return balance


def receipt_of(entry: Reservation) -> Receipt | None:
    """What was charged; None where its event is of a class that has not been imported here, or has no price now."""
    try:
        receipt = Receipt.from_dict(entry.receipt)
        price_in_zcdp(receipt)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ZeroDivisionError, RecursionError):
        return None
    return receipt


def _more(arithmetic: Arithmetic) -> Arithmetic:
    return Arithmetic(arithmetic.log_error * (1 + 1e-9), arithmetic.tail * (1 + 1e-9))


def _text(receipt: dict[str, Any]) -> str:
    return json.dumps(receipt, sort_keys=True)


def verified(lines: Iterable[tuple[str, str]]) -> Book:
    """A book of (line, digest) pairs from elsewhere, such as an export."""
    book = Book()
    book.read((number, line, digest) for number, (line, digest) in zip(itertools.count(), lines))
    book.recheck()
    return book
