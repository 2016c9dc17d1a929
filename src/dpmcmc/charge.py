"""The charge: from what will run, a budget, finite precision and what was spent before to a guarantee and a receipt.

Everything that reads records is charged here, before it runs:

    purse = Purse(budget, arithmetic, earlier=receipts_of(spent))
    guarantee, receipt = purse.charge("chains", event)

A purse without earlier receipts prices the event by the tightest accountant. With earlier receipts, what runs now may
depend on what was released then, so all of it must pass one filter, in zCDP, whose limit is that of the whole budget.
The guarantee then covers all of it.

Reference: docs/theory/filter.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmcmc import privacy
from dpmcmc.mechanisms.coin import COIN_ERROR
from dpmcmc.mechanisms.gaussian_sum import NOISE_ERROR, NOISE_TAIL
from dpmcmc.privacy import Bound, Budget, Event, GaussianFilter, RenyiFilter, Repeat, ZcdpFilter
from dpmcmc.privacy.account import fits_cheaply
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.privacy.gaussian import gaussian_mu_limit
from dpmcmc.receipts import RECORD, Guarantee, Receipt

RESERVED_DRAWS = 10**7
"""Inexact draws that finite precision is paid for, whatever runs, where a budget is shared with earlier releases: a
filter's limit must not depend on what was released."""

AnyFilter = ZcdpFilter | RenyiFilter | GaussianFilter

_ROUND_UP = 1 + 2**-50
_ROUND_DOWN = 1 - 1e-9
_REPEATED = 1 + 2**-40  # an account that is made again may round otherwise


def of_draws(count: int) -> Arithmetic:
    """So many decisions or releases of a chain: a Gaussian release counts as one, though its error is smaller."""
    return Arithmetic(COIN_ERROR * count, NOISE_TAIL * count)


def of_releases(count: int) -> Arithmetic:
    """So many Gaussian releases and nothing else."""
    return Arithmetic(NOISE_ERROR * count, NOISE_TAIL * count)


class OverBudget(ValueError):
    """What was asked for costs more than the budget has; ``cost`` is its ε."""

    def __init__(self, message: str, cost: float = math.inf) -> None:
        super().__init__(message)
        self.cost = cost


@dataclass(frozen=True)
class Purse:
    """A budget with what its finite precision takes and what was spent from it before, on the same records.

    ``unit`` is whom it protects; charges for different units have no common guarantee. The neighbouring relation is
    the budget's: what is charged must be stated under it, and what was spent is converted to it, or refused.
    """

    budget: Budget
    arithmetic: Arithmetic
    earlier: tuple[Receipt, ...] = ()
    unit: str = RECORD

    def __post_init__(self) -> None:
        others = sorted({receipt.unit for receipt in self.earlier} - {self.unit})
        if others:
            raise ValueError(
                f"spent= was given what protects one {others[0]}, and this run protects one {self.unit}: what both "
                "cost together is known for neither. Protect the same in all releases from the same records"
            )
        for receipt in self.earlier:
            receipt.under(self.budget.relation)
        if self.earlier:
            used = sum((receipt.arithmetic for receipt in self.earlier), self.arithmetic)
            if not used.within(of_draws(RESERVED_DRAWS)):
                raise ValueError(
                    f"with earlier releases, finite precision is paid for {RESERVED_DRAWS} private decisions in all; "
                    "take fewer steps"
                )

    @property
    def ideal(self) -> Budget:
        """What is left of the budget for ideal arithmetic."""
        return self.reserved.ideal(self.budget)

    @property
    def reserved(self) -> Arithmetic:
        """What is set aside for finite precision."""
        return of_draws(RESERVED_DRAWS) if self.earlier else self.arithmetic

    @property
    def mu(self) -> float:
        """The μ that Gaussian releases may have together, after what was spent: Σ 1/multiplier² ≤ μ².

        Where multipliers depend on what was released, charge ``GaussianFilter.of_mu(purse.mu, most_releases)``.
        With earlier receipts it is what zCDP leaves. A limit on Σμ² would be larger, but only for those who never run
        anything but Gaussian releases: who may choose after the first release whether to go on by one limit or by the
        other has neither theorem on their side (docs/theory/filter.md).
        """
        if self.earlier:
            return math.sqrt(2 * self.zcdp) * _ROUND_DOWN
        return gaussian_mu_limit(self.ideal.epsilon, self.ideal.delta) * _ROUND_DOWN

    @property
    def zcdp(self) -> float:
        """The ρ that may be spent in zCDP, after what was spent."""
        whole = ZcdpFilter.for_budget(self.ideal.epsilon, self.ideal.delta).limit
        spent = math.fsum(price_in_zcdp(one.under(self.budget.relation)) for one in self.earlier) * _ROUND_UP
        if spent >= whole:
            raise OverBudget(f"what was spent before costs {spent:.3g}-zCDP, all of the budget's {whole:.3g}")
        return (whole - spent) * (1 - 2**-50)

    def charge(
        self,
        purpose: str,
        event: Event | None = None,
        rule: AnyFilter | None = None,
        cost: Bound | None = None,
    ) -> tuple[Guarantee | None, Receipt]:
        """Pay for an ``event``, or for whatever passes a filter (``rule``); :class:`OverBudget` if it does not fit.

        ``cost`` is the event's ε where it is known already. No guarantee is issued where a mechanism is not proven in
        machine arithmetic at that ε (:attr:`~dpmcmc.privacy.Event.largest_epsilon`).
        """
        if (event is None) == (rule is None):
            raise ValueError("charge an event or a filter, one of the two")
        if event is not None:
            privacy.check_speaks_of(event, self.budget.relation)
        elif rule is not None and rule.relation != self.budget.relation:
            raise ValueError(f"a budget for {self.budget.relation} cannot pay for a filter for {rule.relation}: {rule}")
        if isinstance(rule, GaussianFilter) and not of_releases(rule.most_releases).within(self.arithmetic):
            raise ValueError(
                f"the filter allows {rule.most_releases} releases, more than finite precision is paid for "
                f"({self.arithmetic}); make the purse with of_releases({rule.most_releases})"
            )
        if self.earlier:
            guarantee = self._after(event, rule)
        elif event is not None:
            guarantee = self._alone(event, cost)
        else:
            assert rule is not None
            bound = rule.epsilon(self.ideal.delta)
            if not rule.fits(self.ideal.epsilon, self.ideal.delta):
                raise OverBudget(f"the filter's limit costs epsilon = {bound:.6g}", float(bound))
            guarantee = self._guarantee(self.budget.epsilon, bound.method)
        receipt = Receipt(purpose, guarantee.epsilon, guarantee.delta, self.arithmetic, event, rule, self.unit)
        proven = guarantee.epsilon - guarantee.arithmetic <= _proven_up_to((*self.earlier, receipt))
        return guarantee if proven else None, receipt

    def _alone(self, event: Event, cost: Bound | None) -> Guarantee:
        ideal = self.ideal
        cost = privacy.epsilon(event, ideal.delta) if cost is None else cost
        if cost > ideal.epsilon:
            raise OverBudget(
                f"the budget (epsilon = {self.budget.epsilon:g}, delta = {self.budget.delta:g}) does not pay for this, "
                f"which costs epsilon = {cost:.6g}",
                float(cost),
            )
        total = min((float(cost) + self.arithmetic.epsilon) * _ROUND_UP, self.budget.epsilon)
        return self._guarantee(total, cost.method)

    def _after(self, event: Event | None, rule: AnyFilter | None) -> Guarantee:
        """One zCDP filter with the whole budget's limit, over the earlier charges and this one."""
        price = price_in_zcdp(Receipt("this run", math.inf, 1.0, self.arithmetic, event=event, filter=rule))
        if price > self.zcdp:
            raise OverBudget("what was spent before leaves too little of the budget for this")
        earlier = f"{len(self.earlier)} earlier charge{'s' if len(self.earlier) > 1 else ''}"
        return self._guarantee(self.budget.epsilon, f"zCDP filter, {earlier} included")

    def _guarantee(self, epsilon: float, method: str) -> Guarantee:
        budget = self.budget
        return Guarantee(epsilon, budget.delta, budget.relation, method, self.reserved.epsilon, self.unit)


def check_guarantee(guarantee: Guarantee, receipts: tuple[Receipt, ...]) -> None:
    """Refuse (ValueError) a guarantee that does not follow from what was charged.

    The charge is made again, with the guarantee as its budget; so is that of every earlier receipt, for itself. Takes
    as long as planning did: seconds for long chains. What it cannot know is whether the receipts are those of the run.
    """
    if not receipts:
        raise ValueError("it has no receipt")
    if any(receipt.reproducible for receipt in receipts):
        raise ValueError("a run with seed= has no guarantee")
    *earlier, last = receipts
    for receipt in receipts:
        if not (receipt.arithmetic.log_error >= 0 and receipt.arithmetic.tail >= 0):
            raise ValueError(f"{receipt.purpose!r} has arithmetic that gains precision: {receipt.arithmetic}")
    for receipt in earlier:
        _charged_again(receipt, (), receipt.relation)
    proven = _charged_again(last, tuple(earlier), guarantee.relation)
    if proven is None:
        raise ValueError(f"{last.purpose!r} is not proven in machine arithmetic at epsilon = {last.epsilon:g}")
    claim = (guarantee.epsilon, guarantee.delta, guarantee.relation, guarantee.unit, guarantee.arithmetic)
    charged = (last.epsilon, last.delta, proven.relation, proven.unit, proven.arithmetic)
    if claim != charged:
        raise ValueError(f"it claims {claim} (epsilon, delta, relation, unit, arithmetic), and its receipts {charged}")


def _charged_again(receipt: Receipt, earlier: tuple[Receipt, ...], relation: str) -> Guarantee | None:
    budget = Budget(receipt.epsilon * _REPEATED, receipt.delta, relation)
    purse = Purse(budget, receipt.arithmetic, earlier, receipt.unit)
    cost = None if earlier or receipt.event is None else _cost_within(receipt.event, purse.ideal)
    return purse.charge(receipt.purpose, receipt.event, receipt.filter, cost)[0]


def _cost_within(event: Event, ideal: Budget) -> Bound:
    """The event's ε by any of the ways in which it may have been charged, if one of them fits the budget."""
    whole = Bound(ideal.epsilon, "within the budget")
    if fits_cheaply(event, ideal):
        return whole
    cost = privacy.epsilon(event, ideal.delta)
    if cost > ideal.epsilon and isinstance(event, Repeat) and event.count > 1:
        most = privacy.max_steps(event.event, ideal.epsilon, ideal.delta)
        return whole if event.count <= most else cost
    return cost


def _proven_up_to(receipts: tuple[Receipt, ...]) -> float:
    """The largest ε at which all that was charged is proven in machine arithmetic."""
    events = [receipt.event for receipt in receipts if receipt.event is not None]
    return min((part.largest_epsilon for event in events for part in privacy.parts(event)), default=math.inf)


def price_in_zcdp(receipt: Receipt) -> float:
    """What a receipt costs in zCDP, given all that was released before it; refused where that is not known."""
    if isinstance(receipt.filter, ZcdpFilter | GaussianFilter):
        return receipt.filter.limit
    rho = math.inf if receipt.event is None else privacy.zcdp(receipt.event)
    if math.isinf(rho):
        raise ValueError(
            f"{receipt.purpose!r} has no known cost in zCDP (a Rényi filter, or batches), so it cannot share a "
            "budget with other releases by spent=; give it a budget of its own"
        )
    return rho
