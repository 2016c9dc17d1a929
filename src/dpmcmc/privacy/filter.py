"""Filters: stop before the budget is passed, when the costs themselves arise along the way.

The cost of a step may depend on what was released before it (a clip bound proportional to the length of the proposal,
say). A filter looks at the next event's price *before* it runs and refuses it when the sum would pass a limit fixed
in advance. Three kinds are proven (Feldman & Zrnic 2021; Smith & Thakurta 2022):

- zCDP: Σρ_t ≤ ρ almost surely gives ρ-zCDP, whichever order is used to convert afterwards;
- Gaussian releases alone: Σμ_t² ≤ μ² gives what one Gaussian with multiplier 1/μ has;
- Rényi at orders and limits fixed in advance: Σ R_α,t ≤ B(α) for *every* order kept. Going on while some order fits
  is not proven, and not offered.

    meter = Filter.for_budget(epsilon=1.0, delta=1e-6)
    while meter.charge(BarkerBit(next_shift())):
        ...                                      # run the step that was just paid for

Reference: docs/theory/filter.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np

from dpmcmc.arguments import instance, positive, whole, within
from dpmcmc.plain import LEFT_OUT, Plain
from dpmcmc.privacy.account import is_free, parts
from dpmcmc.privacy.bound import Bound
from dpmcmc.privacy.convert import epsilon_at, epsilon_from_renyi, least_over_orders, renyi_limit, zcdp_limit
from dpmcmc.privacy.events import Event, Gaussian, PenaltyBit, check_speaks_of, range_of
from dpmcmc.privacy.gaussian import gaussian_epsilon, gaussian_mu_limit
from dpmcmc.privacy.relations import SUBSTITUTION, check_relation, reach
from dpmcmc.privacy.renyi import renyi

_ROUND_UP = 1 + 2**-50

LEAST_MULTIPLIER = 1.0
"""Gaussian releases with less noise are not proven in machine arithmetic: docs/theory/gaussian-sums.md, Claim 3."""


def zcdp(event: Event) -> float:
    """ρ such that R_α ≤ ρ α at every order, ``inf`` where no such bound is known."""
    total = 0.0
    for part, count in parts(event).items():
        total = (total + count * zcdp_of(part)) * _ROUND_UP
    return total


@singledispatch
def zcdp_of(event: Event) -> float:
    """The registry behind :func:`zcdp`: ρ of one basic event, rounded up; ``inf`` where none is known."""
    if (width := range_of(event)) is not None:
        return width**2 / 8 * _ROUND_UP  # bounded range: docs/theory/accept-bit.md, Lemma 2; selection.md, Lemma 6
    return 0.0 if is_free(event) else math.inf


@zcdp_of.register
def _(event: PenaltyBit) -> float:
    return (event.shift / event.std) ** 2 / 2 * _ROUND_UP  # that of the Gaussian, which is its limit at high orders


@zcdp_of.register
def _(event: Gaussian) -> float:
    return 0.5 / event.noise_multiplier**2 * _ROUND_UP


def best_order(event: Event, epsilon: float, delta: float) -> float:
    """The order that allows the most repetitions of a typical ``event`` within (ε, δ): to be fixed in advance."""

    def fewer(orders: np.ndarray) -> np.ndarray:
        cost = renyi(event, orders)
        limit = renyi_limit(epsilon, delta, orders)
        fewer: np.ndarray = -np.divide(limit, cost, out=np.zeros_like(cost), where=cost > 0)
        return fewer

    steps, order = least_over_orders(fewer)
    if steps == 0:
        raise ValueError(f"no order allows even part of {event!r} within epsilon = {epsilon!r}, delta = {delta!r}")
    return order


def _check_limit(spec: ZcdpFilter | GaussianFilter | RenyiFilter) -> None:
    positive(f"{type(spec).__name__}: limit", spec.limit)
    check_relation(f"{type(spec).__name__}: relation", spec.relation)


@dataclass(frozen=True)
class ZcdpFilter(Plain):
    """Σ ρ_t ≤ ``limit``.

    Guarantee: whatever passes is ``limit``-zCDP, hence (ε, δ)-DP at every δ by :meth:`epsilon`.
    """

    limit: float
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    prices_at_hand: ClassVar[int] = 4096
    """Entries of a table of prices; a price is a formula."""

    def __post_init__(self) -> None:
        _check_limit(self)

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, relation: str = SUBSTITUTION) -> ZcdpFilter:
        """The filter whose limit just implies (ε, δ)-DP."""
        return cls(zcdp_limit(epsilon, delta), relation)

    def fits(self, epsilon: float, delta: float) -> bool:
        """Whether whatever passes is (ε, δ)-DP."""
        return self.limit <= zcdp_limit(epsilon, delta)

    def price(self, event: Event) -> float:
        """ρ of one event, rounded up; ``inf`` where the event has none."""
        return zcdp(check_speaks_of(event, self.relation))

    def admits(self, spent: float, event: Event) -> bool:
        """Whether the event still fits after ``spent``; to be asked before it runs."""
        return _sum(spent, self.price(event)) <= self.limit

    def epsilon(self, delta: float, spent: float | None = None) -> Bound:
        """ε at any δ of everything that passes the filter, or of what ``spent`` of it paid for."""
        rho = self.limit if spent is None else spent
        value, order = epsilon_from_renyi(lambda orders: rho * orders * _ROUND_UP, delta)
        return Bound(value, f"zCDP filter, order {order:.4g}")


@dataclass(frozen=True)
class GaussianFilter(Plain):
    """Σ μ_t²/2 ≤ ``limit`` over Gaussian releases with noise multipliers 1/μ_t ≥ 1, at most ``most_releases`` of them.

    Multipliers, and whether to go on, may depend on what was released; :class:`~dpmcmc.privacy.spending.Spending` keeps
    count. Nothing but Gaussian releases may run under it.

    Guarantee: whatever passes is what one Gaussian release with multiplier 1/:attr:`mu` is, (ε, δ)-DP by
    :meth:`epsilon`; and ``limit``-zCDP.
    """

    limit: float
    most_releases: int
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        _check_limit(self)
        whole("GaussianFilter: most_releases", self.most_releases)

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, most_releases: int) -> GaussianFilter:
        """The filter whose limit just implies (ε, δ)-DP."""
        return cls.of_mu(gaussian_mu_limit(epsilon, delta), most_releases)

    @classmethod
    def of_mu(cls, mu: float, most_releases: int, relation: str = SUBSTITUTION) -> GaussianFilter:
        """The filter whose releases have ``mu`` together: Σ 1/multiplier² ≤ mu²."""
        return cls(mu**2 / 2 * (1 - 2**-50), most_releases, relation)

    @property
    def mu(self) -> float:
        """Sensitivity of the one release that stands for all, in standard deviations; rounded up."""
        return math.sqrt(2 * self.limit) * _ROUND_UP

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of a clipped sum that takes all of it, over its clip."""
        return reach(self.relation) / self.mu

    def fits(self, epsilon: float, delta: float) -> bool:
        """Whether whatever passes is (ε, δ)-DP."""
        return self.limit <= self.for_budget(epsilon, delta, self.most_releases).limit

    def epsilon(self, delta: float) -> Bound:
        """ε at any δ of everything that passes the filter."""
        return Bound(gaussian_epsilon(self.mu, delta), "Gaussian filter")


@dataclass(frozen=True)
class RenyiFilter(Plain):
    """Σ R_α,t ≤ ``limit`` at the one ``order`` α, fixed in advance.

    Guarantee: whatever passes has Rényi divergence at most ``limit`` at ``order``, hence (ε, δ)-DP by :meth:`epsilon`.
    """

    order: float
    limit: float
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    prices_at_hand: ClassVar[int] = 256
    """Entries of a table of prices; a price takes a search of 20 milliseconds."""

    def __post_init__(self) -> None:
        _check_limit(self)
        within("RenyiFilter: order", self.order, 1, math.inf, "()")

    @classmethod
    def for_budget(
        cls, epsilon: float, delta: float, typical: Event | None = None, *, order: float | None = None
    ) -> RenyiFilter:
        """The order given, or the best one for a ``typical`` event, with the limit that just implies (ε, δ)-DP."""
        if typical is not None and order is None:
            order = best_order(typical, epsilon, delta)
        elif typical is not None or order is None:
            raise ValueError("RenyiFilter.for_budget: give either a typical event or an order")
        limit = float(renyi_limit(epsilon, delta, order))
        if limit == 0:
            raise ValueError(f"order {order!r} leaves nothing to spend at epsilon = {epsilon!r}, delta = {delta!r}")
        return cls(order, limit)

    def fits(self, epsilon: float, delta: float) -> bool:
        """Whether whatever passes is (ε, δ)-DP."""
        return self.limit <= float(renyi_limit(epsilon, delta, self.order))

    def price(self, event: Event) -> float:
        """R_α of one event, rounded up."""
        return float(renyi(check_speaks_of(event, self.relation), [self.order])[0])

    def admits(self, spent: float, event: Event) -> bool:
        """Whether the event still fits after ``spent``; to be asked before it runs."""
        return _sum(spent, self.price(event)) <= self.limit

    def epsilon(self, delta: float, spent: float | None = None) -> Bound:
        """ε at any δ of everything that passes the filter, or of what ``spent`` of it paid for."""
        divergence = self.limit if spent is None else spent
        value = float(epsilon_at(np.array([self.order]), np.array([divergence]), delta)[0])
        return Bound(value, f"Rényi filter, order {self.order:.4g}")


@dataclass(frozen=True)
class CurveFilter(Plain):
    """Several Rényi filters at once: an event passes only if *every* one of them admits it.

    Guarantee: that of each filter, so the least of their ε.
    """

    filters: tuple[RenyiFilter, ...]

    def __post_init__(self) -> None:
        instance("CurveFilter: filters", self.filters, Iterable, "a tuple of RenyiFilters")
        object.__setattr__(self, "filters", tuple(self.filters))
        for one in self.filters:
            instance("CurveFilter: filters", one, RenyiFilter, "a tuple of RenyiFilters")
        if not self.filters:
            raise ValueError("CurveFilter: filters must be at least one RenyiFilter, got none")

    def price(self, event: Event) -> tuple[float, ...]:
        """R_α of one event at each order kept."""
        return tuple(one.price(event) for one in self.filters)

    def admits(self, spent: tuple[float, ...], event: Event) -> bool:
        """Whether the event still fits at every order kept."""
        return all(one.admits(part, event) for one, part in zip(self.filters, spent, strict=True))

    def epsilon(self, delta: float) -> Bound:
        """ε at any δ of everything that passes, by the best of the orders kept."""
        return min(one.epsilon(delta) for one in self.filters)


def _sum(spent: float, price: float) -> float:
    return (spent + price) * _ROUND_UP


class Filter:
    """A filter and what was spent so far. ``charge`` pays for one event, before it runs, or refuses it."""

    def __init__(self, spec: ZcdpFilter | RenyiFilter | CurveFilter) -> None:
        self.spec = spec
        self.spent: Any = (0.0,) * len(spec.filters) if isinstance(spec, CurveFilter) else 0.0

    @classmethod
    def for_budget(cls, epsilon: float, delta: float, typical: Event | None = None) -> Filter:
        """zCDP, or Rényi at the best order for a ``typical`` event where one is given."""
        if typical is None:
            return cls(ZcdpFilter.for_budget(epsilon, delta))
        return cls(RenyiFilter.for_budget(epsilon, delta, typical))

    def admits(self, event: Event) -> bool:
        """Whether the next event still fits."""
        return self.spec.admits(self.spent, event)

    def charge(self, event: Event) -> bool:
        """Pay for ``event`` if it fits. False, and nothing paid, if it does not: then it must not run."""
        if not self.admits(event):
            return False
        price = self.spec.price(event)
        if isinstance(price, tuple):
            self.spent = tuple(_sum(spent, one) for spent, one in zip(self.spent, price, strict=True))
        else:
            self.spent = _sum(self.spent, price)
        return True

    def __repr__(self) -> str:
        return f"Filter({self.spec!r}, spent={self.spent!r})"
