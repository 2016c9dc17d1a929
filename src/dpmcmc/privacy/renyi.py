"""Rényi curves: what one event costs at every order.

``renyi(event, orders)`` is an upper bound on the Rényi divergence D_α between the outputs on any two neighbouring
data sets, both ways round. It adds up under adaptive composition (Mironov 2017, Prop. 1), so ``Repeat`` multiplies
and ``Compose`` sums. A new event joins by registering one function:

    @renyi_of.register
    def _(event: MyEvent, orders: np.ndarray) -> np.ndarray: ...

Reference: docs/theory/accept-bit.md, docs/theory/selection.md.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from dpmcmc.arguments import numbers, shown
from dpmcmc.privacy.accept_bit import barker_renyi, penalty_renyi
from dpmcmc.privacy.events import (
    Compose,
    Event,
    Gaussian,
    MetropolisBit,
    NonPrivate,
    PenaltyBit,
    Repeat,
    check_event,
    range_of,
)

_MEMORY: OrderedDict[tuple[Event, bytes], np.ndarray] = OrderedDict()
_MEMORY_SIZE = 4096


def renyi(event: Event, orders: float | Sequence[float] | np.ndarray) -> np.ndarray:
    """Upper bounds on the Rényi divergence of ``event`` at real ``orders`` > 1, in nats.

    Guarantee: for neighbours under ``event.relation`` and each order α, D_α ≤ the value returned (``inf`` where no
    finite bound holds), rounding included. Answers are remembered for each pair of event and orders.
    Reference: Mironov, "Rényi differential privacy" (2017).
    """
    check_event("event", event)
    alpha = np.atleast_1d(numbers("Rényi orders", orders, "be finite and exceed 1"))
    if alpha.ndim != 1 or not np.all(alpha > 1):
        raise ValueError(f"Rényi orders must be finite and exceed 1, got {shown(orders)}")
    key = (event, alpha.tobytes())
    if key not in _MEMORY:
        curve = np.array(renyi_of(event, alpha), dtype=np.float64)
        curve[~(curve >= 0)] = np.inf  # not a number, or below zero by rounding: no bound, and never free
        curve.setflags(write=False)
        _MEMORY[key] = curve
        while len(_MEMORY) > _MEMORY_SIZE:
            _MEMORY.popitem(last=False)
    _MEMORY.move_to_end(key)
    return _MEMORY[key]


@singledispatch
def renyi_of(event: Event, orders: np.ndarray) -> np.ndarray:
    """The registry behind :func:`renyi`: one function for each kind of event, orders already checked.

    Events of bounded range need none: :func:`~dpmcmc.privacy.range_of` says it all (docs/theory/selection.md).
    """
    if (width := range_of(event)) is not None:
        return barker_renyi(width, orders)
    raise TypeError(f"no Rényi curve is registered for {type(event).__name__}; register one with renyi_of.register")


_ROUND_UP = 1 + 2**-50


@renyi_of.register
def _(event: PenaltyBit, orders: np.ndarray) -> np.ndarray:
    return penalty_renyi(event.shift, event.std, orders)


@renyi_of.register
def _(event: MetropolisBit, orders: np.ndarray) -> np.ndarray:
    return np.full_like(orders, 0.0 if event.shift == 0 else np.inf)  # Lemma 4: one reject probability may be 0


@renyi_of.register
def _(event: Gaussian, orders: np.ndarray) -> np.ndarray:
    return orders / (2 * event.noise_multiplier**2) * _ROUND_UP  # Mironov 2017, Cor. 3


@renyi_of.register
def _(event: Repeat, orders: np.ndarray) -> np.ndarray:
    if event.count == 0:
        return np.zeros_like(orders)
    return event.count * renyi(event.event, orders) * _ROUND_UP


@renyi_of.register
def _(event: Compose, orders: np.ndarray) -> np.ndarray:
    total = np.zeros_like(orders)
    for part in event.events:
        total = (total + renyi(part, orders)) * _ROUND_UP
    return total


@renyi_of.register
def _(event: NonPrivate, orders: np.ndarray) -> np.ndarray:
    return np.full_like(orders, np.inf)
