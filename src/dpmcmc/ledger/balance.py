"""What was charged to a ledger so far, and whether it pays for more: one zCDP filter from its first release on.

The limit is that of the whole budget, less what a fixed number of decisions cost in machine arithmetic. It depends on
the budget alone, and was fixed when the ledger was created: what is run, and how much of it, may depend on everything
that was released before.

Guarantee: whatever was charged is together (ε, δ)-DP for the ledger's budget.
Reference: docs/theory/ledger.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from dpmcmc.charge import RESERVED_DRAWS, OverBudget, Purse, of_draws, price_in_zcdp
from dpmcmc.ledger.errors import LedgerError
from dpmcmc.privacy import Budget, Compose, GaussianFilter, ZcdpFilter
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.receipts import Guarantee, Receipt

RULE = f"zCDP filter, finite precision paid for {RESERVED_DRAWS} decisions"
"""The only rule so far; an opening entry names it, so that another can be told from it."""


def reserved() -> Arithmetic:
    """What a ledger sets aside for finite precision, whatever runs."""
    return of_draws(RESERVED_DRAWS)


@dataclass
class Balance:
    """The prices charged so far against a budget for whom ``unit`` names, all under the budget's relation."""

    budget: Budget
    unit: str
    prices: list[float] = field(default_factory=list)
    arithmetic: Arithmetic = field(default_factory=Arithmetic)

    def add(self, zcdp: float, arithmetic: Arithmetic) -> None:
        self.prices.append(zcdp)
        self.arithmetic += arithmetic

    @property
    def spent(self) -> float:
        """zCDP charged so far."""
        return math.fsum(self.prices)

    @cached_property
    def limit(self) -> float:
        """zCDP that may be charged in all."""
        return Purse(self.budget, Arithmetic(), (self._as_receipt("nothing", 0.0),), self.unit).zcdp

    @property
    def left(self) -> float:
        """zCDP that may still be charged."""
        return max(self.limit - self.spent, 0.0)

    def receipt(self, purpose: str) -> Receipt:
        """One receipt that stands for all that was charged, so that other charges can be put beside it."""
        return self._as_receipt(purpose, self.spent)

    @cached_property
    def guarantee(self) -> Guarantee:
        """What holds for everything charged to the ledger together, now and later."""
        purse = Purse(self.budget, Arithmetic(), (self._as_receipt("nothing", 0.0),), self.unit)
        found, _ = purse.charge("all entries", Compose(()))
        assert found is not None  # nothing is charged, so nothing is unproven
        return replace(found, method="zCDP filter over all entries of the ledger")

    def price(self, receipt: Receipt) -> float:
        """What one more receipt costs, after everything has been refused that the ledger cannot pay for."""
        try:
            here = receipt.under(self.budget.relation)
        except ValueError as error:
            raise LedgerError(f"the ledger is for {self.budget.relation}, and {error}") from None
        try:
            price = price_in_zcdp(here)
        except ValueError:
            raise LedgerError(
                f"{receipt.purpose!r} has no known cost in zCDP (batches, or a Rényi filter), the unit in which a "
                "ledger adds up releases: choose another kernel, such as dp.dp_barker or dp.dp_penalty on all records"
            ) from None
        if receipt.unit != self.unit:
            raise LedgerError(
                f"the ledger protects one {self.unit}, and this run one {receipt.unit}: what both cost together is "
                f"known for neither. Sample a model that protects one {self.unit}, or create a ledger for "
                f"unit={receipt.unit!r} before the first release"
            )
        purse = Purse(self.budget, receipt.arithmetic, (self.receipt("earlier entries"),), self.unit)
        if self.spent >= self.limit or price > purse.zcdp:
            raise OverBudget(self._too_little(price, receipt.delta), receipt.epsilon)
        guarantee, _ = purse.charge(receipt.purpose, here.event, here.filter)
        if guarantee is None:
            raise LedgerError(
                f"{receipt.purpose!r} is not proven in machine arithmetic at the ledger's epsilon = "
                f"{self.budget.epsilon:g}; charge it to a ledger with a smaller one"
            )
        return price

    def _as_receipt(self, purpose: str, spent: float) -> Receipt:
        """Nothing spent is a receipt too: with it, a purse adds up in zCDP from the first release on."""
        paid = {"filter": ZcdpFilter(spent, self.budget.relation)} if spent > 0 else {"event": Compose(())}
        return Receipt(purpose, self.budget.epsilon, self.budget.delta, self.arithmetic, unit=self.unit, **paid)

    def _too_little(self, price: float, delta: float) -> str:
        said = (
            f"the ledger has {self.left:.4g} of {self.limit:.4g} zCDP left, and this run costs {price:.4g}: it was not "
            "begun, and nothing was charged"
        )
        if self.left <= 1e-6 * self.limit:
            return f"{said}. The budget of this data set is spent"
        within = float(GaussianFilter(self.left, 1).epsilon(min(delta, self.budget.delta)))
        return (
            f"{said}. About epsilon = {0.95 * within:.2g} at the same delta would fit; to take all that is left, plan "
            "with the ledger's budget and spent=ledger"
        )
