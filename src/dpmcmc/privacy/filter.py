"""Filters: stop before the budget is passed, when the costs themselves arise along the way.

The cost of a step may depend on what was released before it (a clip bound proportional to the length of the proposal,
say). A filter looks at the next event's price *before* it runs and refuses it when the sum would pass a limit fixed
in advance. Two kinds are proven (Feldman & Zrnic 2021):

- zCDP: Σρ_t ≤ ρ almost surely gives ρ-zCDP, whichever order is used to convert afterwards;
- Rényi at orders and limits fixed in advance: Σ R_α,t ≤ B(α) for *every* order kept. Going on while some order fits
  is not proven, and not offered.

    meter = Filter.for_budget(epsilon=1.0, delta=1e-6)
    while meter.charge(BarkerBit(next_shift())):
        ...                                      # run the step that was just paid for

Reference: docs/theory/filter.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpmcmc.privacy.account import parts
from dpmcmc.privacy.bound import Bound
from dpmcmc.privacy.convert import epsilon_at, epsilon_from_renyi, least_over_orders, renyi_limit, zcdp_limit
from dpmcmc.privacy.events import BarkerBit, Event, Gaussian, PenaltyBit, Selection
from dpmcmc.privacy.renyi import renyi

_ROUND_UP = 1 + 2**-50


def zcdp(event: Event) -> float:
    """ρ such that R_α ≤ ρ α at every order, ``inf`` where no such bound is known."""
    total = 0.0
    for part, count in parts(event).items():
        total = (total + count * _zcdp_of(part)) * _ROUND_UP
    return total


def _zcdp_of(event: Event) -> float:
    if isinstance(event, BarkerBit):
        return event.shift**2 / 8 * _ROUND_UP  # Lemma 2
    if isinstance(event, Selection):
        return event.range**2 / 8 * _ROUND_UP  # Lemma 6
    if isinstance(event, PenaltyBit):
        return (event.shift / event.std) ** 2 / 2 * _ROUND_UP  # that of the Gaussian, which is its limit at high orders
    if isinstance(event, Gaussian):
        return 0.5 / event.noise_multiplier**2 * _ROUND_UP
    return 0.0 if np.all(renyi(event, [2.0]) == 0) else math.inf


def best_order(event: Event, epsilon: float, delta: float) -> float:
    """The order that allows the most repetitions of a typical ``event`` within (ε, δ): to be fixed in advance."""

    def fewer(orders: np.ndarray) -> np.ndarray:
        cost = renyi(event, orders)
        limit = renyi_limit(epsilon, delta, orders)
        return -np.divide(limit, cost, out=np.zeros_like(cost), where=cost > 0)

    steps, order = least_over_orders(fewer)
    if steps == 0:
        raise ValueError(f"no order allows even part of {event!r} within epsilon = {epsilon!r}, delta = {delta!r}")
    return order


@dataclass(frozen=True)
class ZcdpFilter:
    """Σ ρ_t ≤ ``limit``.

    Guarantee: whatever passes is ``limit``-zCDP, hence (ε, δ)-DP at every δ by :meth:`epsilon`.
    """

    limit: float

    def __post_init__(self) -> None:
        if not (self.limit > 0 and math.isfinite(self.limit)):
            raise ValueError(f"ZcdpFilter: limit must be positive and finite, got {self.limit!r}")

    @classmethod
    def for_budget(cls, epsilon: float, delta: float) -> ZcdpFilter:
        """The filter whose limit just implies (ε, δ)-DP."""
        return cls(zcdp_limit(epsilon, delta))

    @property
    def limits(self) -> tuple[float, ...]:
        return (self.limit,)

    def price(self, event: Event) -> tuple[float, ...]:
        """(ρ,) of one event; ValueError where the event has none, whatever the data."""
        rho = zcdp(event)
        if math.isinf(rho):
            raise ValueError(f"{event!r} has no zCDP bound; use a RenyiFilter")
        return (rho,)

    def epsilon(self, delta: float) -> Bound:
        """ε at any δ of everything that passes the filter."""
        value, order = epsilon_from_renyi(lambda orders: self.limit * orders * _ROUND_UP, delta)
        return Bound(value, f"zCDP filter, order {order:.4g}")


@dataclass(frozen=True)
class RenyiFilter:
    """Σ R_α,t ≤ limits[i] at every order orders[i]; orders and limits are fixed in advance.

    Guarantee: whatever passes has Rényi divergence at most limits[i] at orders[i], for each i, hence (ε, δ)-DP by
    any one of them.
    """

    orders: tuple[float, ...]
    limits: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "orders", tuple(float(order) for order in np.atleast_1d(self.orders)))
        object.__setattr__(self, "limits", tuple(float(limit) for limit in np.atleast_1d(self.limits)))
        if len(self.orders) != len(self.limits) or not self.orders:
            raise ValueError(f"RenyiFilter: one limit for each order, got {self.orders!r} and {self.limits!r}")
        if not all(1 < order < math.inf for order in self.orders):
            raise ValueError(f"RenyiFilter: orders must be finite and exceed 1, got {self.orders!r}")
        if not all(0 < limit < math.inf for limit in self.limits):
            raise ValueError(f"RenyiFilter: limits must be positive and finite, got {self.limits!r}")

    @classmethod
    def for_budget(
        cls, epsilon: float, delta: float, typical: Event | None = None, order: float | None = None
    ) -> RenyiFilter:
        """One order, given or the best for a ``typical`` event, with the limit that just implies (ε, δ)-DP."""
        if (typical is None) == (order is None):
            raise ValueError("RenyiFilter.for_budget: give either a typical event or an order")
        chosen = best_order(typical, epsilon, delta) if typical is not None else float(order or 0.0)
        return cls((chosen,), (float(renyi_limit(epsilon, delta, chosen)),))

    def price(self, event: Event) -> tuple[float, ...]:
        """R_α of one event at each order kept."""
        return tuple(float(cost) for cost in renyi(event, self.orders))

    def epsilon(self, delta: float) -> Bound:
        """ε at any δ of everything that passes the filter, by the best of its orders."""
        values = epsilon_at(np.array(self.orders), np.array(self.limits), delta)
        i = int(np.argmin(values))
        return Bound(float(values[i]), f"Rényi filter, order {self.orders[i]:.4g}")


class Filter:
    """A filter and what was spent so far. ``charge`` pays for one event, before it runs, or refuses it."""

    def __init__(self, spec: ZcdpFilter | RenyiFilter) -> None:
        self.spec = spec
        self.spent: tuple[float, ...] = (0.0,) * len(spec.limits)

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, typical: Event | None = None) -> Filter:
        """zCDP, or Rényi at the best order for a ``typical`` event where one is given."""
        if typical is None:
            return cls(ZcdpFilter.for_budget(epsilon, delta))
        return cls(RenyiFilter.for_budget(epsilon, delta, typical))

    def admits(self, event: Event) -> bool:
        """Whether the next event still fits, at every order kept."""
        return all(total <= limit for total, limit in zip(self._after(event), self.spec.limits, strict=True))

    def charge(self, event: Event) -> bool:
        """Pay for ``event`` if it fits. False, and nothing paid, if it does not: then it must not run."""
        if not self.admits(event):
            return False
        self.spent = self._after(event)
        return True

    def _after(self, event: Event) -> tuple[float, ...]:
        prices = self.spec.price(event)
        return tuple((spent + price) * _ROUND_UP for spent, price in zip(self.spent, prices, strict=True))

    def __repr__(self) -> str:
        return f"Filter({self.spec!r}, spent={self.spent!r})"
