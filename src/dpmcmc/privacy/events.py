"""Events: what a mechanism did to the records, as a frozen fact.

An event names a mechanism and its public parameters and nothing else. What it costs is worked out by
:func:`dpmcmc.privacy.renyi` and :func:`dpmcmc.privacy.epsilon`; the meaning of an event never changes when the
accounting of it improves.

    Repeat(BarkerBit(shift=0.01), 2000)          # 2000 accept bits of Barker's test
    Compose((Gaussian(noise_multiplier=20.0), Repeat(BarkerBit(0.01), 1500)))

Neighbouring data sets differ in the value of one record ("substitution") unless an event says otherwise; events of
different relations (:mod:`dpmcmc.privacy.relations`) cannot be composed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import singledispatch
from typing import ClassVar

from dpmcmc.arguments import instance, not_negative, one_of, positive, shown, whole, within
from dpmcmc.plain import LEFT_OUT, Plain
from dpmcmc.privacy.relations import ADD_REMOVE, SUBSTITUTION, ZERO_OUT


def _positive(event: Event, **values: float) -> None:
    """The values as float64, also on the event: a narrower type would be priced in its own arithmetic."""
    for name, value in values.items():
        object.__setattr__(event, name, float(positive(f"{type(event).__name__}: {name}", value)))


def _non_negative(event: Event, **values: float) -> None:
    """As :func:`_positive`, with 0."""
    for name, value in values.items():
        object.__setattr__(event, name, float(not_negative(f"{type(event).__name__}: {name}", value)))


def _batch(event: Event, n: int, batch: int) -> None:
    object.__setattr__(event, "n", whole(f"{type(event).__name__}: n", n))
    object.__setattr__(event, "batch", whole(f"{type(event).__name__}: batch", batch, 1, n))


@dataclass(frozen=True)
class Event(Plain):
    """What a mechanism did. Frozen, comparable, hashable, printable, and a plain dictionary when saved.

    An event of your own is a frozen dataclass that derives from this class and registers what it costs
    (:func:`dpmcmc.privacy.renyi_of`; :func:`dpmcmc.privacy.zcdp_of` where it has a zCDP).
    """

    relation = SUBSTITUTION

    largest_epsilon: ClassVar[float] = math.inf
    """Largest ε at which the mechanism is proven in machine arithmetic."""


@dataclass(frozen=True)
class BarkerBit(Event):
    """One accept bit of Barker's test on all records: Bernoulli(logistic(t)), t moved by at most ``shift``."""

    shift: float
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        _non_negative(self, shift=self.shift)
        _known_relation(self.relation)


@dataclass(frozen=True)
class PenaltyBit(Event):
    """One accept bit of the penalty test: normal noise of standard deviation ``std`` is added to t, not released."""

    shift: float
    std: float
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        _non_negative(self, shift=self.shift)
        _positive(self, std=self.std)
        _known_relation(self.relation)


@dataclass(frozen=True)
class MetropolisBit(Event):
    """One accept bit of the plain Metropolis test, min(1, exp t). It has no finite cost for δ < 1 − exp(−shift)."""

    shift: float

    def __post_init__(self) -> None:
        _non_negative(self, shift=self.shift)


@dataclass(frozen=True)
class SubsampledBarkerBit(Event):
    """One accept bit of the corrected Barker test on ``batch`` of ``n`` records drawn without replacement.

    Per-record terms y are scaled to [−1, 1], the statistic Σy/√batch + public is clamped to ±``clamp``, and normal
    noise of variance ``noise_variance`` − Var(y) and a draw of the correction distribution are added.
    ``correction`` holds its atoms as (value, probability) pairs; ``None`` is the optimal one for ``noise_variance``.
    """

    n: int
    batch: int
    noise_variance: float = 2.0
    clamp: float = 40.0
    correction: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        _batch(self, self.n, self.batch)
        _positive(self, clamp=self.clamp, noise_variance=self.noise_variance)
        largest = "1 is the largest batch variance of terms in [-1, 1]"
        within("SubsampledBarkerBit: noise_variance", self.noise_variance, 1, math.inf, "()", largest)


@dataclass(frozen=True)
class SubsampledPenaltyBit(Event):
    """One accept bit of the minibatch penalty test on ``batch`` of ``n`` records drawn without replacement.

    Per-record log ratios lie in [−``bound``, ``bound``] and are tempered by ``temperature``; the statistic is
    n·temperature·mean(r) − s²/2 + public with s² its estimated sampling variance; noise of standard deviation
    ``std`` and its penalty are added.
    """

    n: int
    batch: int
    bound: float
    std: float
    temperature: float = 1.0

    def __post_init__(self) -> None:
        _batch(self, self.n, self.batch)
        _positive(self, bound=self.bound, std=self.std, temperature=self.temperature)


@dataclass(frozen=True)
class PoissonBarkerBit(Event):
    """One accept bit of the exact minibatch test: Poisson counts as auxiliary variables, then Barker.

    ``bound`` is m, the largest change of one record's energy; ``rate`` is λ; about rate + n·bound records are read.
    """

    n: int
    bound: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", whole("PoissonBarkerBit: n", self.n))
        _positive(self, bound=self.bound, rate=self.rate)


@dataclass(frozen=True)
class Selection(Event):
    """One choice among any number of candidates with probability ∝ exp(utility).

    ``range`` is the largest max − min over candidates of the change of utility between neighbours.
    """

    range: float
    relation: str = field(default=SUBSTITUTION, metadata=LEFT_OUT)

    def __post_init__(self) -> None:
        _non_negative(self, range=self.range)
        _known_relation(self.relation)


@dataclass(frozen=True)
class Gaussian(Event):
    """A vector released with Gaussian noise: standard deviation ``noise_multiplier`` × its L2 sensitivity."""

    noise_multiplier: float
    relation: str = SUBSTITUTION

    def __post_init__(self) -> None:
        _positive(self, noise_multiplier=self.noise_multiplier)
        _known_relation(self.relation)


@dataclass(frozen=True)
class SubsampledGaussian(Event):
    """A sum over a random batch released with Gaussian noise.

    ``noise_multiplier`` is the noise's standard deviation over the largest L2 norm of one record's term, so under
    substitution the sum may move by twice that norm. ``sampling`` is "poisson" (each record with probability
    ``batch`` / ``n``) or "without_replacement" (exactly ``batch`` records): the two cost differently and are named.
    """

    noise_multiplier: float
    n: int
    batch: int
    sampling: str
    relation: str = SUBSTITUTION

    largest_epsilon: ClassVar[float] = 9.0  # docs/theory/gaussian-sums.md, Batches

    def __post_init__(self) -> None:
        _positive(self, noise_multiplier=self.noise_multiplier)
        _batch(self, self.n, self.batch)
        remedy = "zero-out is proven for sums over all records, not over batches"
        one_of("SubsampledGaussian: relation", self.relation, (SUBSTITUTION, ADD_REMOVE), remedy)
        one_of("SubsampledGaussian: sampling", self.sampling, ("poisson", "without_replacement"))


@dataclass(frozen=True)
class Repeat(Event):
    """The same event ``count`` times, adaptively."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        check_event("Repeat: event", self.event)
        object.__setattr__(self, "count", whole("Repeat: count", self.count, 0))

    @property
    def relation(self) -> str:  # type: ignore[override]
        return self.event.relation


@dataclass(frozen=True)
class Compose(Event):
    """Several events one after another, adaptively. All must speak of the same neighbouring relation."""

    events: tuple[Event, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.events, Iterable):
            raise TypeError(f"Compose: events must be a tuple of events, got {shown(self.events)}")
        object.__setattr__(self, "events", tuple(check_event("Compose: events", event) for event in self.events))
        relations = sorted({event.relation for event in self.events})
        if len(relations) > 1:
            raise ValueError(
                f"Compose: events of different neighbouring relations ({', '.join(relations)}) have no common "
                "guarantee; state every event under one relation"
            )

    @property
    def relation(self) -> str:  # type: ignore[override]
        return self.events[0].relation if self.events else SUBSTITUTION


@dataclass(frozen=True)
class NonPrivate(Event):
    """Records were used with no privacy at all. No budget covers it."""

    reason: str = ""


def check_event(what: str, event: Event) -> Event:
    """An event, and not its class or a number."""
    return instance(what, event, Event, "an event such as privacy.BarkerBit(shift=0.01)")  # type: ignore[no-any-return]


def check_speaks_of(event: Event, relation: str) -> Event:
    """The event, if it speaks of the ``relation`` that it is to be charged under; one of nothing speaks of all."""
    if event.relation != relation and event != Compose(()):
        raise ValueError(
            f"what is charged under {relation} must be stated under it, and {event!r} speaks of {event.relation}: take "
            "the event of the same mechanism under that relation"
        )
    return event


@singledispatch
def range_of(event: Event) -> float | None:
    """η of the bounded-range family, to which Barker's bit and selection belong; None for other events.

    The log ratio of any outcome's probabilities under two neighbours lies within an interval of width η. An event that
    registers its η is priced by Rényi divergence, in zCDP and by the exact recursion (docs/theory/selection.md).
    """
    return None


@range_of.register
def _(event: BarkerBit) -> float | None:
    return event.shift


@range_of.register
def _(event: Selection) -> float | None:
    return event.range


def _known_relation(relation: str) -> None:
    one_of("relation", relation, (SUBSTITUTION, ZERO_OUT, ADD_REMOVE))
