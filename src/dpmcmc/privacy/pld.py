"""Privacy loss distributions by dp-accounting, for Gaussian and Poisson-subsampled Gaussian releases.

Under substitution the pair (1−q) N(0, σ²) + q N(±1, σ²) dominates (docs/theory/conversion.md), the library's REPLACE
adjacency with sensitivity 1: the norm of one record's term, moved by twice that. A plain ``Gaussian`` event already
states its noise relative to the whole sensitivity, so it is composed as an unsampled one with sensitivity 1.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from dpmcmc.privacy.events import Event, Gaussian, SubsampledGaussian
from dpmcmc.privacy.relations import ADD_REMOVE

_MOST = 10**5  # repetitions; beyond, the rounding of the library's convolutions is not worth allowing for
_INTERVAL = 1e-4
_LEAST_MULTIPLIER = 0.2  # below it the loss is so spread that the tables grow too large; Rényi answers alone


@lru_cache(maxsize=64)
def _single(event: Event) -> Any:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as library

    add_remove = NeighboringRelation.ADD_OR_REMOVE_ONE
    if isinstance(event, Gaussian):
        return library.from_gaussian_mechanism(
            event.noise_multiplier, value_discretization_interval=_INTERVAL, neighboring_relation=add_remove
        )
    assert isinstance(event, SubsampledGaussian)
    return library.from_gaussian_mechanism(
        event.noise_multiplier,
        value_discretization_interval=_INTERVAL,
        sampling_prob=event.batch / event.n,
        neighboring_relation=add_remove if event.relation == ADD_REMOVE else NeighboringRelation.REPLACE_ONE,
    )


def _rounding(counts: dict[Event, int]) -> float:
    """Allowance on δ for the library's convolutions, whose error was measured to grow like 1e-16 a repetition."""
    return max(1e-12, 2e-15 * sum(counts.values()))


def _composed(counts: dict[Event, int], times: int = 1) -> Any:
    total = None
    if times * sum(counts.values()) > _MOST:
        return None
    for event, count in counts.items():
        if event.noise_multiplier < _LEAST_MULTIPLIER:  # type: ignore[attr-defined]
            return None
        composed = _single(event).self_compose(count * times) if count * times > 1 else _single(event)
        total = composed if total is None else total.compose(composed)
    return total


def pld_epsilon(counts: dict[Event, int], delta: float) -> float | None:
    """Upper bound on ε(δ) of the parts composed, or None."""
    total, rounding = _composed(counts), _rounding(counts)
    if total is None or delta <= 10 * rounding:
        return None
    return float(total.get_epsilon_for_delta(delta - rounding)) * (1 + 1e-12)


def pld_delta(counts: dict[Event, int], epsilon: float) -> float | None:
    """Upper bound on δ(ε) of the parts composed, or None."""
    total = _composed(counts)
    if total is None:
        return None
    return max(float(total.get_delta_for_epsilon(epsilon)), 0.0) + _rounding(counts)


def pld_max_count(counts: dict[Event, int], epsilon: float, delta: float, known: int) -> int:
    """The largest number of repetitions found to fit, at least ``known``, which fits already."""

    def fits(times: int) -> bool:
        value = pld_delta({event: count * times for event, count in counts.items()}, epsilon)
        return value is not None and value <= delta

    good, bad = known, 2 * known + 1
    while bad < 10**8 and fits(bad):
        good, bad = bad, 2 * bad
    while bad - good > max(1, good // 1000):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
