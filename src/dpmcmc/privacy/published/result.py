"""What a published bound returns, and the checks and searches that all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable


class Published(float):
    """An ε (or a number of steps) that a paper claims: a float that remembers where it comes from.

    ``sound`` is ``False`` where the paper's claim does not hold; ``order`` is the Rényi order that gave it, if any.

    >>> Published(0.5, "H19 Cor. 1", order=12)
    Published(0.5, source='H19 Cor. 1', sound=True, order=12)
    """

    source: str
    sound: bool
    order: float | None

    def __new__(cls, value: float, source: str, *, sound: bool = True, order: float | None = None) -> Published:
        self = super().__new__(cls, value)
        self.source, self.sound, self.order = source, sound, order
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[float, str], dict[str, object]]:
        return (float(self), self.source), {"sound": self.sound, "order": self.order}

    def __repr__(self) -> str:
        return f"Published({float(self)!r}, source={self.source!r}, sound={self.sound}, order={self.order})"


def positive(**values: float) -> None:
    """Raise unless every value is positive and finite."""
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be positive and finite, got {value!r}")


def non_negative(**values: float) -> None:
    """Raise unless every value is at least 0 and finite."""
    for name, value in values.items():
        if not (value >= 0 and math.isfinite(value)):
            raise ValueError(f"{name} must be at least 0 and finite, got {value!r}")


def valid_delta(delta: float) -> None:
    """Raise unless 0 < δ < 1: none of the published bounds is pure."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta!r}; these bounds have no pure form")


def valid_order(order: float) -> None:
    """Raise unless the Rényi order exceeds 1."""
    if not (order > 1 and math.isfinite(order)):
        raise ValueError(f"order must be finite and exceed 1, got {order!r}; Rényi DP is stated for orders above 1")


def valid_batch(n: float, batch: float) -> None:
    """Raise unless 1 ≤ batch ≤ n."""
    if not 1 <= batch <= n:
        raise ValueError(f"batch must be between 1 and n = {n}, got {batch!r}")


def one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of the known ones."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")


def largest(fits: Callable[[int], bool], start: int = 0) -> int:
    """The largest whole number k ≥ ``start`` that fits, by doubling and bisection (R21 Algorithm 2).

    ``fits`` must be decreasing, and is taken to be true at ``start``.
    """
    low, high = start, max(2 * start, 1)
    while fits(high):
        low, high = high, 2 * high
        if high > 10**15:
            raise ValueError(f"{high} steps still fit the budget: the mechanism costs nothing measurable")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
