"""What a ledger says of itself: in words and a table, and as plain data."""

from __future__ import annotations

from typing import Any

from dpmcmc.ledger.book import Book, receipt_of
from dpmcmc.ledger.entries import Reservation
from dpmcmc.privacy import SUBSTITUTION, ZcdpFilter

HEADER = ("entry", "when", "by", "for", "n", "guarantee", "zCDP", "state")


def summary(book: Book) -> dict[str, Any]:
    """All that is shown, as plain data (``dpmcmc ledger show --json``)."""
    balance, states = book.balance, book.states()
    return {
        "dataset": book.opening.dataset,
        "guarantee": balance.guarantee.to_dict(),
        "unit": balance.unit,
        "created": book.opening.at,
        "zcdp": {"limit": balance.limit, "spent": balance.spent, "left": balance.left},
        "about_epsilon": {"spent": about(book, balance.spent), "left": about(book, balance.left)},
        "head": book.head,
        "records": "admitted only" if book.admitted else "any",
        "charges": [
            {
                "entry": number,
                "at": entry.at,
                "by": entry.by,
                "purpose": entry.purpose,
                "n": entry.n,
                "epsilon": entry.receipt.get("epsilon"),
                "delta": entry.receipt.get("delta"),
                "relation": relation_of(entry),
                "zcdp": entry.zcdp,
                "state": states[number],
            }
            for number, entry in book.reservations
        ],
    }


def relation_of(entry: Reservation) -> str:
    """What a charge was stated under: its price here is that of the ledger's relation."""
    receipt = receipt_of(entry)
    return "?" if receipt is None else receipt.relation


def about(book: Book, rho: float) -> float:
    """The ε of so much zCDP at the ledger's δ, for the eye: the guarantee is the whole budget's."""
    return float(ZcdpFilter(rho).epsilon(book.balance.budget.delta)) if rho > 0 else 0.0


def cells(charge: dict[str, Any]) -> tuple[str, ...]:
    """One charge as a row of the table."""
    epsilon, delta = charge["epsilon"], charge["delta"]
    promise = f"({epsilon:.4g}, {delta:.2g})" if isinstance(epsilon, float) and isinstance(delta, float) else "?"
    promise += "" if charge["relation"] == SUBSTITUTION else f" {charge['relation']}"
    when = charge["at"].replace("T", " ")[:16]
    return (
        str(charge["entry"]),
        when,
        charge["by"],
        charge["purpose"],
        str(charge["n"]),
        promise,
        f"{charge['zcdp']:.4g}",
        charge["state"],
    )


def statement(book: Book) -> str:
    """The budget, what was spent of it and what is left."""
    balance = book.balance
    share = balance.spent / balance.limit
    return "\n".join(
        [
            f"Ledger of {book.opening.dataset}: everything charged to it is together {balance.guarantee}.",
            f"Spent: {balance.spent:.4g} of {balance.limit:.4g} zCDP ({share:.0%}), about epsilon = "
            f"{about(book, balance.spent):.3g}.",
            f"Left: {balance.left:.4g} zCDP, about epsilon = {about(book, balance.left):.3g} at delta = "
            f"{balance.budget.delta:g}. Costs add up in zCDP, and not in epsilon.",
            f"Head: {book.head}",
        ]
    )


def described(book: Book) -> str:
    """The statement, and a table of the charges."""
    charges = [cells(charge) for charge in summary(book)["charges"]]
    if not charges:
        return f"{statement(book)}\nNothing was charged yet."
    rows = [HEADER, *charges]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([statement(book), "", *table])
