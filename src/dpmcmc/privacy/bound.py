"""Answers of the accountant: numbers that say which method gave them."""

from __future__ import annotations


class Bound(float):
    """An upper bound on ε or δ, a float in every respect, with the name of the ``method`` that gave it.

    >>> Bound(0.5, "pure")
    Bound(0.5, 'pure')
    """

    method: str

    def __new__(cls, value: float, method: str) -> Bound:
        bound = super().__new__(cls, value)
        bound.method = method
        return bound

    def __repr__(self) -> str:
        return f"Bound({float(self)!r}, {self.method!r})"

    def __str__(self) -> str:
        return f"{float(self):.6g} by {self.method}"

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.method


class Steps(int):
    """A number of steps that fits a budget (never too many), with the name of the ``method`` that proves it."""

    method: str

    def __new__(cls, value: int, method: str) -> Steps:
        steps = super().__new__(cls, value)
        steps.method = method
        return steps

    def __repr__(self) -> str:
        return f"Steps({int(self)!r}, {self.method!r})"

    def __str__(self) -> str:
        return f"{int(self)} by {self.method}"

    def __getnewargs__(self) -> tuple[int, str]:  # type: ignore[override]
        return int(self), self.method
