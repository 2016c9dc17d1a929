"""Prices of moves whose cost is known only when they are proposed, as a table that compiled code can read."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.chain.kernel import KernelLike
from dpmcmc.privacy import RenyiFilter, ZcdpFilter

_SPAN = 1e-3  # shifts below this share of the largest affordable one are charged like it: a millionth of the budget


@dataclass(frozen=True)
class PriceTable:
    """What a decision with a given shift costs in a filter's unit, rounded up to the next entry.

    Costs grow with the shift, so the price of the next larger entry is an upper bound; it overcharges by 0.2 % on
    average with a zCDP filter and by 3 % with a Rényi filter.
    A shift beyond the last entry costs more than the whole budget: its price is infinite.
    """

    shifts: np.ndarray
    prices: np.ndarray
    limit: float

    @classmethod
    def of(cls, kernel: KernelLike, filter: ZcdpFilter | RenyiFilter) -> PriceTable:
        def price(shift: float) -> float:
            return float(filter.price(kernel.event_at(shift)))

        low, high = 0.0, 1.0
        while price(high) <= filter.limit and high < 2.0**40:
            low, high = high, 2 * high
        for _ in range(40):  # the largest shift that the budget pays for once
            middle = (low + high) / 2
            low, high = (middle, high) if price(middle) <= filter.limit else (low, middle)
        shifts = np.geomspace(high * _SPAN, high, filter.prices_at_hand)
        prices = np.maximum.accumulate([price(shift) for shift in shifts])
        return cls(shifts, prices, float(filter.limit))

    def __call__(self, shift: Array) -> Array:
        entry = jnp.searchsorted(jnp.asarray(self.shifts), shift, side="left")
        price = jnp.asarray(np.append(self.prices, np.inf))[entry]
        return jnp.where(jnp.isnan(shift), jnp.inf, price)
