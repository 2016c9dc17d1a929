"""The budget: one public pair (ε, δ), and the relation that it is for."""

from __future__ import annotations

from dataclasses import dataclass

from dpmcmc.arguments import positive, within
from dpmcmc.privacy.relations import SUBSTITUTION, check_relation


@dataclass(frozen=True)
class Budget:
    """An (ε, δ) that everything released together must not exceed.

    >>> Budget(epsilon=1.0, delta=1e-6)
    Budget(epsilon=1.0, delta=1e-06, relation='substitution')

    ``relation`` is what must not be told: the values of one record ("substitution"), or whether it is there, in one of
    a public number of slots ("zero-out"). Zero-out costs half the noise and promises less (docs/theory/relations.md).
    """

    epsilon: float
    delta: float
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon, "typical values are 0.1 to 10")
        within("delta", self.delta, 0, 1, "()", "choose it well below 1/n")
        check_relation("relation", self.relation)
