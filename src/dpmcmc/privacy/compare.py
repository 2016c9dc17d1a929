"""Side by side: what the papers' bounds allow, and what dpmcmc's accounting of the same algorithm allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dpmcmc.privacy import account
from dpmcmc.privacy.catalogue import Accounting, PublishedBound, Settings
from dpmcmc.privacy.events import Repeat
from dpmcmc.privacy.published.result import positive, valid_delta

Claim = tuple[str | None, float | None, bool | None]
"""Name, value and soundness of a published bound."""


@dataclass(frozen=True)
class Row:
    """One comparison. Steps at a budget, or ε at a number of steps; ``None`` where nothing is published."""

    algorithm: str
    settings: Settings
    published_name: str | None
    published: float | None
    published_sound: bool | None
    dpmcmc: float
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; an infinite ε is ``None``."""
        ours = self.dpmcmc if math.isfinite(self.dpmcmc) else None
        return {**self.__dict__, "settings": dict(self.settings), "dpmcmc": ours}


def compare_steps(accounting: Accounting, epsilon: float, delta: float, **settings: Any) -> list[Row]:
    """Iterations allowed at (ε, δ): one row for each published bound of the algorithm, ours beside it."""
    positive(epsilon=epsilon)
    valid_delta(delta)
    values = accounting.settings(**settings)
    event = accounting.event(values)
    claims = _claims(accounting, lambda bound: bound.max_steps(values, epsilon, delta))
    ours = account.max_steps(event, epsilon, delta)
    return [Row(accounting.name, values, *published, int(ours), ours.method) for published in claims]


def compare_epsilon(accounting: Accounting, steps: int, delta: float, **settings: Any) -> list[Row]:
    """ε of ``steps`` iterations at δ: one row for each published bound of the algorithm, ours beside it."""
    positive(steps=steps)
    valid_delta(delta)
    values = accounting.settings(**settings)
    event = Repeat(accounting.event(values), steps)
    claims = _claims(accounting, lambda bound: bound.epsilon(values, steps, delta))
    ours = account.epsilon(event, delta)
    return [Row(accounting.name, values, *published, float(ours), ours.method) for published in claims]


def _claims(accounting: Accounting, claim: Callable[[PublishedBound], float]) -> list[Claim]:
    """What each published bound says, if there is any. They cost little, and refuse settings that make no sense."""
    return [
        (bound.name, value, bound.sound and getattr(value, "sound", True))
        for bound in accounting.published
        for value in [claim(bound)]
    ] or [(None, None, None)]
