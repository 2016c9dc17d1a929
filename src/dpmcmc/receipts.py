"""Guarantees and receipts: what was paid, in words and as plain data."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field
from typing import Any

from dpmcmc.plain import Plain
from dpmcmc.privacy import Event, GaussianFilter, RenyiFilter, ZcdpFilter
from dpmcmc.privacy.arithmetic import Arithmetic

RECORD = "record"  # the unit of privacy where no other is declared


def round_up(value: float, digits: int = 6) -> str:
    """``value`` as it would usually be printed, or the next number of so many digits where that would be below it.

    A printed bound must be a bound: 0.1 prints as 0.1 and 1e-5 as 1e-05, but 0.99999996 as 1.
    """
    usual = f"{value:.{digits}g}"
    if not math.isfinite(value) or float(usual) >= value:
        return usual
    with decimal.localcontext(prec=digits, rounding=decimal.ROUND_CEILING):
        return f"{float(+decimal.Decimal(value)):.{digits}g}"


@dataclass(frozen=True)
class Guarantee(Plain):
    """(ε, δ)-differential privacy of everything released together, warm-up and all chains included.

    ``method`` names the accounting that gave it, ``arithmetic`` the part of ε that pays for finite precision, ``unit``
    whom it protects: one record, or all records of one person.
    """

    epsilon: float
    delta: float
    relation: str
    method: str
    arithmetic: float = 0.0
    unit: str = RECORD

    def __str__(self) -> str:
        whom = "one record" if self.unit == RECORD else f"all records of one {self.unit}"
        return (
            f"({round_up(self.epsilon)}, {round_up(self.delta)})-differentially private under {self.relation} of {whom}"
        )


@dataclass(frozen=True)
class Receipt(Plain):
    """One charge: the event that was paid for before any record was read, or the filter that bounded a varying cost.

    ``arithmetic`` is what finite precision may add to the cost of the event; ``epsilon`` includes it. ``unit`` is whom
    it protects. A ``reproducible`` run (made with a seed) has no guarantee, whatever it was charged.
    """

    purpose: str
    epsilon: float
    delta: float
    arithmetic: Arithmetic
    event: Event | None = None
    filter: ZcdpFilter | RenyiFilter | GaussianFilter | None = None
    unit: str = RECORD
    reproducible: bool = field(default=False, compare=False)

    @property
    def relation(self) -> str:
        """The neighbouring relation (what filters price, bits, selections and sums, speaks of substitution)."""
        return "substitution" if self.event is None else self.event.relation


def receipts_of(spent: Any) -> tuple[Receipt, ...]:
    """The receipts of a fit or release, or of several; refused where one was made without a guarantee."""
    found: list[Receipt] = []
    spent = () if spent is None else spent
    several = isinstance(spent, tuple | list) and not hasattr(spent, "receipts")
    for one in spent if several else (spent,):
        if not hasattr(one, "guarantee") or not hasattr(one, "receipts") or hasattr(one, "sample"):
            raise TypeError(f"spent= takes what was released, a fit or a release; got {type(one).__name__}")
        if one.guarantee is None:
            raise ValueError("spent= was given a release without a guarantee (made with seed=, or not private)")
        found += one.receipts
    return tuple(found)
