"""The accountant: ε, δ and steps of an event, by the tightest valid method at hand.

    epsilon(Repeat(BarkerBit(0.01), 2000), delta=1e-6)          # Bound(0.94…, 'exact adaptive recursion')
    max_steps(BarkerBit(0.01), epsilon=1.0, delta=1e-6)         # Steps(2237, 'exact adaptive recursion')

Every answer is an upper bound (steps: a lower one), rounding included, and names its method. Each method is valid by
itself, so the least of their answers is too.
"""

from __future__ import annotations

import math
import sys
from functools import singledispatch

import numpy as np

from dpmcmc.arguments import instance
from dpmcmc.privacy import blocks, gaussian, pair_recursion, pld, recursion
from dpmcmc.privacy.bound import Bound, Steps
from dpmcmc.privacy.budget import Budget
from dpmcmc.privacy.convert import (
    check_delta,
    check_epsilon,
    delta_from_renyi,
    epsilon_from_renyi,
    least_over_orders,
    renyi_limit,
)
from dpmcmc.privacy.events import (
    BarkerBit,
    Compose,
    Event,
    Gaussian,
    MetropolisBit,
    PenaltyBit,
    Repeat,
    SubsampledGaussian,
    check_event,
    range_of,
)
from dpmcmc.privacy.pair_recursion import Curves
from dpmcmc.privacy.renyi import renyi

_EXACT_GAUSSIAN = "analytic Gaussian (Balle & Wang 2018)"
_RECURSION = "exact adaptive recursion"
_BLOCKS = "adaptive recursion in blocks"
_PRODUCT = "product of dominating pairs"
_PLD = "PLD (dp-accounting)"
_PURE = "pure composition"
_FREE = "no cost"
_ROUND_UP = 1 + 2**-48


def parts(event: Event) -> dict[Event, int]:
    """The basic events of which ``event`` is composed, each with the number of times it happens."""
    check_event("event", event)
    counts: dict[Event, int] = {}

    def add(inner: Event, times: int) -> None:
        if isinstance(inner, Repeat):
            add(inner.event, times * inner.count)
        elif isinstance(inner, Compose):
            for one in inner.events:
                add(one, times)
        elif times > 0:
            counts[inner] = counts.get(inner, 0) + times

    add(event, 1)
    return counts


def pure(event: Event) -> float:
    """The ε of pure DP (δ = 0), ``inf`` where there is none: ranges of Barker's bits and of selections add up."""
    total = 0.0
    for part, count in parts(event).items():
        if is_free(part):
            continue
        shift = range_of(part)
        if shift is None:
            return math.inf
        total = (total + count * shift) * _ROUND_UP
    return total


def epsilon(event: Event, delta: float) -> Bound:
    """The least ε known for which ``event`` is (ε, δ)-DP under its relation; ``inf`` where no finite one holds.

    δ = 0 asks for pure DP and is refused where the event has none.
    Reference: docs/theory/conversion.md, docs/theory/recursion.md.
    """
    check_delta(delta, zero=True)
    counts = parts(event)
    best = Bound(pure(event), _PURE)
    if best == 0.0:
        return Bound(0.0, _FREE)
    if delta == 0:
        if math.isinf(best):
            raise ValueError(f"delta = 0 needs a pure bound and {event!r} has none; give a delta above 0")
        return best
    value, order = epsilon_from_renyi(lambda orders: renyi(event, orders), delta)
    best = _less(best, value, _renyi_at(order))
    if mu := _gaussian_mu(counts):
        best = _less(best, gaussian.gaussian_epsilon(mu, delta), _EXACT_GAUSSIAN)
    elif _is_pld(counts) and math.isfinite(best):
        best = _less(best, pld.pld_epsilon(counts, delta), _PLD)
    elif (bits := _constant_range(counts)) and math.isfinite(best) and recursion.affordable(*bits, float(best)):
        best = _less(best, recursion.epsilon(*bits, delta, float(best)), _RECURSION)
    elif (kind := _one_kind(counts)) and math.isfinite(best):
        best = _less(best, *_epsilon_of_kind(*kind, delta, _steering(order), float(best)))
    return best if math.isfinite(best) else Bound(math.inf, "no finite bound")


def delta(event: Event, epsilon: float) -> Bound:
    """The least δ known for which ``event`` is (ε, δ)-DP under its relation; 1 where nothing better is known."""
    check_epsilon(epsilon)
    counts = parts(event)
    if pure(event) <= epsilon:
        return Bound(0.0, _PURE)
    value, order = delta_from_renyi(lambda orders: renyi(event, orders), epsilon)
    best = _less(Bound(1.0, "no bound"), value, _renyi_at(order))
    if mu := _gaussian_mu(counts):
        best = _less(best, math.exp(max(gaussian.gaussian_log_delta(mu, epsilon), -708.0)) * _ROUND_UP, _EXACT_GAUSSIAN)
    elif _is_pld(counts):
        best = _less(best, pld.pld_delta(counts, epsilon), _PLD)
    elif (bits := _constant_range(counts)) and recursion.affordable(*bits, epsilon):
        best = _less(best, recursion.delta(*bits, epsilon), _RECURSION)
    elif kind := _one_kind(counts):
        best = _less(best, *_delta_of_kind(*kind, epsilon, _steering(order), float(best)))
    return Bound(max(float(best), sys.float_info.min), best.method)  # what underflows is not 0


def max_steps(event: Event, epsilon: float, delta: float) -> Steps:
    """The largest k known for which ``Repeat(event, k)`` is (ε, δ)-DP; 0 if there is none.

    An event that costs nothing allows ``sys.maxsize``.
    """
    check_epsilon(epsilon)
    check_delta(delta, zero=True)
    counts, single = parts(event), pure(event)
    if single == 0:
        return Steps(sys.maxsize, _FREE)
    best = Steps(_floor(epsilon / single), _PURE)
    if delta == 0:
        if math.isinf(single):
            raise ValueError(f"delta = 0 needs a pure bound and {event!r} has none; give a delta above 0")
        return best

    def fewer(orders: np.ndarray) -> np.ndarray:
        cost = renyi(event, orders)
        limit = renyi_limit(epsilon, delta, orders)
        fewer: np.ndarray = -np.divide(limit, cost, out=np.zeros_like(cost), where=cost > 0)
        return fewer

    value, order = least_over_orders(fewer)
    best = _more(best, _floor(-value), _renyi_at(order))
    if mu := _gaussian_mu(counts):
        best = _more(best, _floor((gaussian.gaussian_mu_limit(epsilon, delta) / mu) ** 2), _EXACT_GAUSSIAN)
    elif _is_pld(counts):
        best = _more(best, pld.pld_max_count(counts, epsilon, delta, int(best)), _PLD)
    elif (bits := _constant_range(counts)) and recursion.affordable(bits[0], _beyond(best, bits[1]), epsilon):
        shift, each = bits
        found = recursion.max_count(shift, epsilon, delta, _beyond(best, each))
        best = _more(best, (found or 0) // each, _RECURSION)
    elif kind := _one_kind(counts):
        best = _more(best, *_steps_of_kind(*kind, epsilon, delta, _steering(order), int(best)))
    return best if best > 0 else Steps(0, "no method fits one step")


def fits(event: Event, budget: Budget) -> bool:
    """Whether ``event`` is proven (ε, δ)-DP for the budget. Cheap methods are asked first."""
    instance("budget", budget, Budget, "a Budget(epsilon, delta)")
    return fits_cheaply(event, budget) or delta(event, budget.epsilon) <= budget.delta


def fits_cheaply(event: Event, budget: Budget) -> bool:
    """The same by Rényi divergences and pure composition alone; False means not proven by these."""
    if pure(event) <= budget.epsilon:
        return True
    return delta_from_renyi(lambda orders: renyi(event, orders), budget.epsilon)[0] <= budget.delta


def _renyi_at(order: float) -> str:
    return f"Rényi (CKS20) at order {order:.4g}"


def _less(best: Bound, value: float | None, method: str) -> Bound:
    return Bound(value, method) if value is not None and value < best else best


def _more(best: Steps, value: int, method: str) -> Steps:
    return Steps(value, method) if value > best else best


def _floor(value: float) -> int:
    return min(sys.maxsize, max(0, math.floor(value * (1 - 2**-45))))


@singledispatch
def is_free(event: Event) -> bool:
    """Whether the event's parameters say that no record can move it; what is merely cheap is never free."""
    return range_of(event) == 0


@is_free.register
def _(event: PenaltyBit) -> bool:
    return event.shift == 0


@is_free.register
def _(event: MetropolisBit) -> bool:
    return event.shift == 0


def _gaussian_mu(counts: dict[Event, int]) -> float | None:
    total = 0.0
    for part, count in counts.items():
        if not isinstance(part, Gaussian):
            return None
        total += count / part.noise_multiplier**2
    return math.sqrt(total) * _ROUND_UP


def _constant_range(counts: dict[Event, int]) -> tuple[float, int] | None:
    """(η, count) when all parts that cost are choices of one range."""
    ranges = {part: range_of(part) for part in counts}
    shifts = {shift for shift in ranges.values() if shift != 0}
    if len(shifts) != 1 or None in shifts:
        return None
    (shift,) = shifts
    return float(shift), sum(count for part, count in counts.items() if ranges[part] == shift)  # type: ignore[arg-type]


def _one_kind(counts: dict[Event, int]) -> tuple[Event, int] | None:
    """(event, count) when everything that costs is of one kind, so that a block of it is nothing else."""
    if bits := _constant_range(counts):
        return BarkerBit(bits[0]), bits[1]
    costly = [(part, count) for part, count in counts.items() if not is_free(part)]
    return costly[0] if len(costly) == 1 else None


def _whole(event: Event, count: int, epsilon: float, order: float) -> Curves | None:
    """The recursion over all steps with all cells kept, where that is affordable."""
    return pair_recursion.penalty_curves(event, count, epsilon, order) if type(event) is PenaltyBit else None


def _epsilon_of_kind(event: Event, count: int, delta: float, order: float, at_most: float) -> tuple[float | None, str]:
    if whole := _whole(event, count, at_most, order):
        return recursion.read_epsilon(whole.values[count], whole.low, whole.h, delta), _RECURSION
    return blocks.epsilon(event, count, delta, order, at_most), _across(event)


def _delta_of_kind(event: Event, count: int, epsilon: float, order: float, about: float) -> tuple[float | None, str]:
    if whole := _whole(event, count, epsilon, order):
        return recursion.read_curve(whole.values[count], whole.low, whole.h, epsilon), _RECURSION
    return blocks.delta(event, count, epsilon, order, about), _across(event)


def _steps_of_kind(event: Event, each: int, epsilon: float, delta: float, order: float, known: int) -> tuple[int, str]:
    limit = _beyond(known, each)
    if whole := _whole(event, limit, epsilon, order):
        fitting = [recursion.read_curve(one, whole.low, whole.h, epsilon) <= delta for one in whole.values]
        most = fitting.index(False) - 1 if False in fitting else limit
        return most // each, _RECURSION
    if not known:  # refused at once: a block, which takes seconds, would hardly find a step that Rényi does not
        return 0, _across(event)
    found = blocks.max_count(event, epsilon, delta, order, known * each, limit) // each
    while found > known and not _within(event, found * each, epsilon, delta):  # as epsilon() sees it, now and later
        found = min(found - 1, math.floor(found * (1 - 1e-4)))
    return found, _across(event)


def _across(event: Event) -> str:
    return _PRODUCT if isinstance(event, SubsampledGaussian) else _BLOCKS


def _within(event: Event, count: int, epsilon: float, delta: float) -> bool:
    repeated = Repeat(event, count)
    value, order = epsilon_from_renyi(lambda orders: renyi(repeated, orders), delta)
    found = _epsilon_of_kind(event, count, delta, _steering(order), value)[0]
    return found is not None and found <= epsilon


def _steering(order: float) -> float:
    """The best Rényi order, coarsely: it only decides where the recursion is fine."""
    return max(1.1, float(f"{order:.1g}"))


def _beyond(best: int, each: int) -> int:
    """Bits beyond which no accountant can go, given what Rényi divergences allow: about a tenth more than they do."""
    return math.ceil(1.2 * best * each) + 16


def _is_pld(counts: dict[Event, int]) -> bool:
    return all(
        isinstance(part, Gaussian) or (isinstance(part, SubsampledGaussian) and part.sampling == "poisson")
        for part in counts
    )
