"""What a mechanism claims, in the two units in which it is audited: ε at every δ, and μ where it is Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dpmcmc import privacy
from dpmcmc.privacy import Event, Gaussian

DELTAS = (1e-6, 1e-3, 1e-2, 0.03, 0.1, 0.2)
"""δ at which an event's claim is tried. Few runs see nothing of what happens once in a million, and an event claims an
ε for every δ: at a large one no less."""

LEAST_EPSILON = 0.02
"""Claims of a smaller ε are not tried: the error of an audit would be many times as large."""


@lru_cache(maxsize=512)
def _epsilon(event: Event, delta: float) -> float:
    return float(privacy.epsilon(event, delta))


@dataclass(frozen=True)
class Claim:
    """An upper bound on the privacy loss that somebody states: of an ``event``, or of one ``point`` (ε, δ)."""

    event: Event | None = None
    point: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if (self.event is None) == (self.point is None):
            raise ValueError("a claim is an event or a point (epsilon, delta), one of the two")

    @classmethod
    def of(cls, stated: Claim | Event | tuple[float, float]) -> Claim:
        """A claim from an event of :mod:`dpmcmc.privacy` or from (ε, δ)."""
        if isinstance(stated, Claim):
            return stated
        if isinstance(stated, Event):
            return cls(event=stated)
        epsilon, delta = stated
        if not (epsilon >= 0 and math.isfinite(epsilon) and 0 <= delta < 1):
            raise ValueError(f"a claim (epsilon, delta) needs 0 <= epsilon < inf and 0 <= delta < 1, got {stated!r}")
        return cls(point=(float(epsilon), float(delta)))

    @cached_property
    def epsilons(self) -> dict[float, float]:
        """The ε that is claimed, by δ: finite ones that an audit can test."""
        if self.point is not None:
            return {self.point[1]: self.point[0]}
        assert self.event is not None
        found = {delta: _epsilon(self.event, delta) for delta in DELTAS}
        return {delta: epsilon for delta, epsilon in found.items() if LEAST_EPSILON <= epsilon < math.inf}

    @cached_property
    def mu(self) -> float | None:
        """μ of Gaussian differential privacy, where nothing but Gaussian releases is claimed: √Σ 1/multiplier²."""
        parts = {} if self.event is None else privacy.parts(self.event)
        if not parts or not all(isinstance(part, Gaussian) for part in parts):
            return None
        return math.sqrt(sum(times / part.noise_multiplier**2 for part, times in parts.items()))  # type: ignore[attr-defined]
