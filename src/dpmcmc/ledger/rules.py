"""What a ledger refuses, beside what its budget does not pay for, before anything is charged."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

from dpmcmc.ledger.book import Book
from dpmcmc.ledger.errors import LedgerDamaged, LedgerError
from dpmcmc.receipts import Receipt


class Booking(NamedTuple):
    """A reservation: its entry, and the receipt by its name. ``resumed`` if it was made by a run that was cut off."""

    number: int
    receipt: Receipt
    resumed: bool = False


def check_known(book: Book, earlier: list[Receipt]) -> None:
    """Refuse what was spent elsewhere: the ledger's guarantee would not cover it."""
    for receipt in earlier:
        if not book.knows(receipt):
            raise LedgerError(
                f"spent= holds {receipt.purpose!r}, which was not charged to this ledger, so its guarantee would "
                "not cover it: run that with ledger= too, or leave the ledger out"
            )


def begun(book: Book, receipt: Receipt, place: str) -> Booking:
    """The reservation of the run that wrote the checkpoint. Its receipt's name is part of what that is for."""
    for number, entry in reversed(book.reservations):
        booked = replace(receipt, purpose=f"{receipt.purpose} ({entry.name})")
        if entry.checkpoint == place and entry.receipt == booked.to_dict():
            return Booking(number, booked, resumed=True)
    raise LedgerError(
        f"the checkpoint {place!r} is not of a run that this ledger was charged for by the same plan: give the plan "
        "and the ledger that it was made with, or another file, to be charged for a new run"
    )


def check_records(book: Book, shape: str, marks: tuple[str, ...]) -> None:
    """What is refused, or said, depends on the records: it is for whoever holds them (docs/theory/ledger.md)."""
    dataset = book.opening.dataset
    if book.admitted:
        if not set(marks) <= book.admitted:
            raise LedgerError(
                f"these records were not admitted as {dataset!r}; nothing was charged. If they are that data set, its "
                "custodian can admit them: ledger.admit(data)"
            )
        return
    alike = book.read_before.get(shape, {})
    if alike and marks not in alike:
        warnings.warn(
            f"these records have the shape of those of entry {max(alike.values())} of the ledger of {dataset!r}, and "
            "not the same values: if they are of another data set, the wrong ledger is being charged",
            stacklevel=2,
        )


def check_head(book: Book, head: str) -> None:
    """Refuse a book that does not go on from a ``head`` that was kept."""
    number, _, digest = head.partition(":") if isinstance(head, str) else ("", "", "")
    if not number.isdecimal() or len(digest) != 64:
        raise LedgerError(f"a head looks like 12:0a1b... (a number and 64 digits), got {head!r}")
    if int(number) > book.number:
        raise LedgerDamaged(
            f"entry {number} was there when the head was kept, and the ledger now ends with {book.number}",
            book.number + 1,
        )
    if book.digests[int(number)] != digest.lower():
        raise LedgerDamaged(f"the entries up to {number} are not those of the head that was kept", int(number))
