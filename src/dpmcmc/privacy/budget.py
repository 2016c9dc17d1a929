"""The budget: one public pair (ε, δ)."""

from __future__ import annotations

from dataclasses import dataclass

from dpmcmc.arguments import positive, within


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) that everything released together must not exceed.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "typical values are 0.1 to 10")
        within("delta", self.delta, 0, 1, "()", "choose it well below 1/n")
