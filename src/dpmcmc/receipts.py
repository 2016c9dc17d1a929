"""Guarantees and receipts: what was paid, in words and as plain data."""

from __future__ import annotations

import decimal
import math
from dataclasses import asdict, dataclass
from typing import Any

from dpmcmc.privacy import RenyiFilter, ZcdpFilter
from dpmcmc.privacy.events import Event, event_from_dict

_FILTERS: dict[str, Any] = {"ZcdpFilter": ZcdpFilter, "RenyiFilter": RenyiFilter}


def round_up(value: float, digits: int = 6) -> float:
    """The next number of so many digits that is not below ``value``: a printed bound is a bound."""
    if value == 0 or not math.isfinite(value):
        return value
    with decimal.localcontext(prec=digits, rounding=decimal.ROUND_CEILING):
        return float(+decimal.Decimal(value))


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ)-differential privacy of everything released together, burn-in and all chains included.

    ``method`` names the accounting that gave it, ``arithmetic`` the part of ε that pays for finite precision.
    """

    epsilon: float
    delta: float
    relation: str
    method: str
    arithmetic: float = 0.0

    def __str__(self) -> str:
        epsilon, delta = round_up(self.epsilon), round_up(self.delta)
        return f"({epsilon:g}, {delta:g})-differentially private under {self.relation} of one record"


def receipts_of(released: Any) -> tuple[Receipt, ...]:
    """The receipts of a fit or release, or of several; refused where one was made without a guarantee."""
    found: list[Receipt] = []
    released = () if released is None else released
    for one in released if isinstance(released, tuple | list) else (released,):
        if hasattr(one, "budget") or not hasattr(one, "guarantee"):
            raise TypeError(f"after= takes what was released, a fit or a release; got a {type(one).__name__}")
        if one.guarantee is None:
            raise ValueError("after= was given something without a guarantee (made with seed=, or not private)")
        found += one.receipts if hasattr(one, "receipts") else (one.receipt,)
    return tuple(found)


@dataclass(frozen=True)
class Receipt:
    """One charge: the event that was paid for before any record was read, or the filter that bounded a varying cost."""

    purpose: str
    epsilon: float
    delta: float
    event: Event | None = None
    filter: ZcdpFilter | RenyiFilter | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "purpose": self.purpose,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "event": None if self.event is None else self.event.to_dict(),
            "filter": None if self.filter is None else {"kind": type(self.filter).__name__, **asdict(self.filter)},
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Receipt:
        event, rule = saved["event"], saved["filter"]
        if rule is not None:
            rule = {key: tuple(value) if isinstance(value, list) else value for key, value in rule.items()}
        return cls(
            saved["purpose"],
            saved["epsilon"],
            saved["delta"],
            None if event is None else event_from_dict(event),
            None if rule is None else _FILTERS[rule.pop("kind")](**rule),
        )
