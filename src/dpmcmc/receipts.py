"""Guarantees and receipts: what was paid, in words and as plain data."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass, field, replace
from typing import Any

from dpmcmc import privacy
from dpmcmc.plain import Plain
from dpmcmc.privacy import ZERO_OUT, Event, GaussianFilter, RenyiFilter, ZcdpFilter
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
    whom it protects: one record, or all records of one person. ``relation`` is what of it: its values (substitution),
    or whether it is there (zero-out).
    """

    epsilon: float
    delta: float
    relation: str
    method: str
    arithmetic: float = 0.0
    unit: str = RECORD

    def __str__(self) -> str:
        whom = "one record" if self.unit == RECORD else f"all records of one {self.unit}"
        cost = f"({round_up(self.epsilon)}, {round_up(self.delta)})"
        said = f"{cost}-differentially private under {self.relation} of {whom}"
        if self.relation != ZERO_OUT:
            return said
        slot = "it is" if self.unit == RECORD else "they are"
        return f"{said}: what is protected is whether {slot} there, and the number of {self.unit}s is public"

    def under_substitution(self) -> tuple[float, float]:
        """(ε, δ) for the values of a record, rounded up: to replace it is to take it away and to put another there.

        Of a zero-out guarantee that is (2ε, (1 + e^ε)δ), in machine arithmetic too: docs/theory/relations.md, Claim 4.
        """
        if self.relation != ZERO_OUT:
            return self.epsilon, self.delta
        delta = (1 + math.exp(min(self.epsilon, 700.0))) * self.delta
        return 2 * self.epsilon, min(delta * (1 + 2**-50), 1.0)


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
        """The neighbouring relation: that of the event or of the filter."""
        return (self.event or self.filter or privacy.Compose(())).relation

    def under(self, relation: str) -> Receipt:
        """The same charge under another relation; refused where what it costs there is not known."""
        try:
            event, rule = (one if one is None else privacy.under(one, relation) for one in (self.event, self.filter))
        except ValueError as error:
            raise ValueError(f"{self.purpose!r} was charged under {self.relation}: {error}") from None
        return replace(self, event=event, filter=rule)


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
