"""What is promised under zero-out, as a promise under substitution: every event and filter has a twin there.

To replace a record is to empty its slot and to fill it again. A statistic that moves by Δ when a slot is emptied thus
moves by at most 2Δ when its record is replaced, and a mechanism that is ρ-zCDP for the one is 4ρ-zCDP for the other.
The way back is not proven: that the values of a record are protected says nothing of an empty slot, which has none.

Reference: docs/theory/relations.md, Claim 4.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any

from dpmcmc.privacy.events import BarkerBit, Compose, Gaussian, PenaltyBit, Repeat, Selection
from dpmcmc.privacy.filter import LEAST_MULTIPLIER, GaussianFilter, ZcdpFilter
from dpmcmc.privacy.relations import SUBSTITUTION, ZERO_OUT

_ROUND_UP = 1 + 2**-50
_ROUND_DOWN = 1 - 2**-50

MOST_ZCDP = 1 / (2 * (2 * LEAST_MULTIPLIER) ** 2)
"""Within so much zCDP no Gaussian release has a multiplier below 2, and so none below 1 under substitution."""


def under(stated: Any, relation: str) -> Any:
    """An event or filter as it is, or its twin under ``relation``; ValueError where there is none."""
    if stated.relation == relation or stated == Compose(()):
        return stated
    if (stated.relation, relation) != (ZERO_OUT, SUBSTITUTION):
        raise ValueError(
            f"a cost under {stated.relation} says nothing of one under {relation}, so the two have no sum. State all "
            "releases from the same records under one relation, or give this one a budget of its own"
        )
    return twin(stated)


@singledispatch
def twin(stated: Any) -> Any:
    """What is stated under zero-out, under substitution. An event of your own registers its twin here."""
    raise ValueError(
        f"{stated!r} is for zero-out, and what it costs under substitution is not known; give all releases from the "
        f"same records the relation {ZERO_OUT!r}, or give this one a budget of its own"
    )


@twin.register
def _(stated: BarkerBit) -> BarkerBit:
    return BarkerBit(2 * stated.shift)


@twin.register
def _(stated: PenaltyBit) -> PenaltyBit:
    return PenaltyBit(2 * stated.shift, stated.std)


@twin.register
def _(stated: Selection) -> Selection:
    return Selection(2 * stated.range)


@twin.register
def _(stated: Gaussian) -> Gaussian:
    if stated.noise_multiplier < 2 * LEAST_MULTIPLIER:
        raise ValueError(_too_little_noise(f"a noise multiplier of {stated.noise_multiplier:.4g}"))
    return Gaussian(stated.noise_multiplier / 2)


@twin.register
def _(stated: Repeat) -> Repeat:
    return Repeat(under(stated.event, SUBSTITUTION), stated.count)


@twin.register
def _(stated: Compose) -> Compose:
    return Compose(tuple(under(event, SUBSTITUTION) for event in stated.events))


@twin.register(ZcdpFilter)
@twin.register(GaussianFilter)
def _(stated: ZcdpFilter | GaussianFilter) -> ZcdpFilter | GaussianFilter:
    if stated.limit > MOST_ZCDP * _ROUND_DOWN:
        raise ValueError(_too_little_noise(f"a limit of {stated.limit:.4g}-zCDP"))
    return replace(stated, limit=4 * stated.limit * _ROUND_UP, relation=SUBSTITUTION)


def _too_little_noise(what: str) -> str:
    return (
        f"{what} under zero-out allows sums with less noise than is proven in machine arithmetic under substitution; "
        f"give all releases from the same records the relation {ZERO_OUT!r}"
    )
