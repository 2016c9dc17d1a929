"""The charge: from what will run, a budget, finite precision and what was spent before to a guarantee and a receipt.

Everything that reads records is charged here, before it runs:

    purse = Purse(budget, arithmetic, earlier=receipts_of(spent))
    guarantee, receipt = purse.charge("chains", event)

A purse without earlier receipts prices the event by the tightest accountant. With earlier receipts, what runs now may
depend on what was released then, so both must pass one filter whose limit is that of the whole budget: Σμ² for Gaussian
releases, zCDP for everything else. The guarantee then covers all of it.

Reference: docs/theory/filter.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpmcmc import privacy
from dpmcmc.mechanisms.coin import COIN_ERROR
from dpmcmc.mechanisms.gaussian_sum import NOISE_ERROR, NOISE_TAIL
from dpmcmc.privacy import Bound, Budget, Compose, Event, Gaussian, RenyiFilter, ZcdpFilter
from dpmcmc.privacy.arithmetic import Arithmetic
from dpmcmc.privacy.gaussian import gaussian_mu_limit
from dpmcmc.receipts import Guarantee, Receipt

RESERVED_DRAWS = 10**7
"""Inexact draws that finite precision is paid for, whatever runs, where a budget is shared with earlier releases: a
filter's limit must not depend on what was released."""

_ROUND_UP = 1 + 2**-50
_ROUND_DOWN = 1 - 1e-9


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
    """A budget with what its finite precision takes and what was spent from it before, on the same records."""

    budget: Budget
    arithmetic: Arithmetic
    earlier: tuple[Receipt, ...] = ()

    def __post_init__(self) -> None:
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
        """The μ that Gaussian releases may have together, after what was spent: Σ 1/multiplier² ≤ μ²."""
        if not self._all_gaussian:
            return math.sqrt(2 * self.zcdp) * _ROUND_DOWN
        ideal = self.ideal
        whole = gaussian_mu_limit(ideal.epsilon, ideal.delta) * _ROUND_DOWN
        if not self.earlier:
            return whole
        return self._left("GDP", whole**2, _mu_square(self._earlier_event), 0.5) ** 0.5 * _ROUND_DOWN

    @property
    def zcdp(self) -> float:
        """The ρ that may be spent in zCDP, after what was spent."""
        whole = ZcdpFilter.for_budget(self.ideal.epsilon, self.ideal.delta).limit
        return self._left("zCDP", whole, sum(_zcdp(receipt) for receipt in self.earlier)) * (1 - 2**-50)

    def charge(
        self,
        purpose: str,
        event: Event | None = None,
        rule: ZcdpFilter | RenyiFilter | None = None,
        cost: Bound | None = None,
    ) -> tuple[Guarantee, Receipt]:
        """Pay for an ``event``, or for whatever passes a filter (``rule``); :class:`OverBudget` if it does not fit.

        ``cost`` is the event's ε where it is known already.
        """
        if (event is None) == (rule is None):
            raise ValueError("charge an event or a filter, one of the two")
        if self.earlier:
            guarantee = self._after(event, rule)
        elif event is not None:
            guarantee = self._alone(event, cost)
        else:
            assert rule is not None
            bound = rule.epsilon(self.ideal.delta)
            if bound > self.ideal.epsilon * (1 + 1e-9):
                raise OverBudget(f"the filter's limit costs epsilon = {bound:.6g}", float(bound))
            guarantee = self._guarantee(self.budget.epsilon, privacy.SUBSTITUTION, bound.method)
        return guarantee, Receipt(
            purpose, guarantee.epsilon, guarantee.delta, event=event, filter=rule, arithmetic=self.arithmetic
        )

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
        return self._guarantee(total, event.relation, cost.method)

    def _after(self, event: Event | None, rule: ZcdpFilter | RenyiFilter | None) -> Guarantee:
        """Both filters have the whole budget's limit; either proves the guarantee if the sum stays within it."""
        relation = self._one_relation(event)
        if event is not None and _is_gaussian(event) and self._all_gaussian:
            fits, method = _mu_square(event) ** 0.5 <= self.mu * (1 + 1e-9), "Gaussian-DP filter"
        else:
            price = _zcdp(Receipt("this run", math.inf, 1.0, event=event, filter=rule))
            fits, method = price <= self.zcdp, "zCDP filter"
        if not fits:
            raise OverBudget("what was spent before leaves too little of the budget for this")
        earlier = f"{len(self.earlier)} earlier charge{'s' if len(self.earlier) > 1 else ''}"
        return self._guarantee(self.budget.epsilon, relation, f"{method}, {earlier} included")

    def _guarantee(self, epsilon: float, relation: str, method: str) -> Guarantee:
        return Guarantee(epsilon, self.budget.delta, relation, method, self.reserved.epsilon)

    def _left(self, unit: str, whole: float, spent: float, rho: float = 1.0) -> float:
        if spent >= whole:
            raise OverBudget(
                f"what was spent before costs {rho * spent:.3g}-zCDP, all of the budget's {rho * whole:.3g} ({unit})"
            )
        return whole - spent

    @property
    def _earlier_event(self) -> Event:
        return Compose(tuple(receipt.event for receipt in self.earlier if receipt.event is not None))

    @property
    def _all_gaussian(self) -> bool:
        return all(receipt.event is not None and _is_gaussian(receipt.event) for receipt in self.earlier)

    def _one_relation(self, event: Event | None) -> str:
        """The relation that all charges speak of; refused unless it is one."""
        relations = {receipt.relation for receipt in self.earlier}
        relations.add(privacy.SUBSTITUTION if event is None else event.relation)
        if len(relations) > 1:
            raise ValueError(
                f"spent= and this run speak of different neighbouring relations ({', '.join(sorted(relations))}), "
                "which have no common guarantee"
            )
        return relations.pop()


def _is_gaussian(event: Event) -> bool:
    return all(isinstance(part, Gaussian) for part in privacy.parts(event))


def _mu_square(event: Event) -> float:
    """Σ 1/multiplier² over Gaussian releases, rounded up."""
    return 2 * privacy.zcdp(event)


def _zcdp(receipt: Receipt) -> float:
    if isinstance(receipt.filter, ZcdpFilter):
        return receipt.filter.limit
    rho = math.inf if receipt.event is None else privacy.zcdp(receipt.event)
    if math.isinf(rho):
        raise ValueError(
            f"{receipt.purpose!r} has no known cost in zCDP (a Rényi filter, or batches), so it cannot share a "
            "budget with other releases by spent=; give it a budget of its own"
        )
    return rho
