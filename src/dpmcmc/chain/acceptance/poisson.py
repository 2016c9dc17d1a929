"""Barker's test on a Poisson minibatch: exact, private without added noise, and reading few records."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import positive
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.acceptance.minibatch import batch_log_ratios
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin, stream
from dpmcmc.mechanisms.poisson_counts import LAW_ERROR, MOST_PLACES, CountTable, count_table, places
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, PoissonBarkerBit

LEVELS = 2**24
"""A record's place φ in [0, m] takes one of 2·LEVELS + 1 values, symmetric about m/2."""

CLAMP = 100.0
"""The statistic is clamped to ±CLAMP, where logistic differs from 0 or 1 by 2⁻¹⁴⁴."""

TILE = 2**12
"""Slots worked on together."""

LEAST_RATE = 0.7072
"""Least rate over n·bound: from 1/√2 on the costliest record is the extreme one, in every slot."""


@dataclass(frozen=True)
class PoissonBarker:
    """Barker's test with Poisson counts as auxiliary variables: about rate + n·bound records are read a step.

    ``bound`` is m, a public bound on the change of one record's energy, temperature·|log p(x|θ') − log p(x|θ)|, for
    every move and every possible record; changes are clipped to it. ``rate`` is λ; None takes 3·n·bound, from where
    on the bit costs what the full-data test costs. A larger rate reads more records and accepts more.

    With a = λ/n, φᵢ = (Uᵢ(θ') − Uᵢ(θ) + m)/2 and B ~ Poisson(λ + n m), B uniform indices are drawn, each kept with
    probability (a + φᵢ)/(a + m), and the move is accepted with probability
    logistic(Σ_kept log((a + m − φᵢ)/(a + φᵢ)) + public).

    Guarantee: one :class:`~dpmcmc.privacy.PoissonBarkerBit` a decision under substitution of one record, whether or
    not the bound is true. The chain targets the posterior exactly if the bound is true; if records are clipped it is
    still private, but its target is not known. The largest possible batch is processed at every step, so neither B nor
    what was kept shows in the work done.

    Choose it where n is large and n·bound is small (tempered posteriors, short moves): it reads 4·n·bound records
    where the full-data test reads n. Where 8·bound exceeds 1, the full-data test is faster and costs no more.

    Reference: docs/theory/poisson.md; Zhang, Cooper & De Sa (2020) for the auxiliary variables; Zhang & Zhang (2023),
    whose private version this repairs.
    """

    bound: float
    rate: float | None = None

    def __post_init__(self) -> None:
        positive("PoissonBarker: bound", self.bound)
        if self.rate is not None:
            positive("PoissonBarker: rate", self.rate)

    def event(self, n: int, temperature: float) -> Event | None:
        return PoissonBarkerBit(n, float(self.bound), self._setting(n).rate)

    def event_at(self, shift: float) -> Event:
        raise TypeError("every decision of PoissonBarker costs the same; ask event(n, temperature)")

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        return jnp.float64(2 * self.bound)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"coin": coin.BITS_SHAPE, "batch": stream.KEY_SHAPE}

    def inexact_draws(self, n: int) -> int:
        """One for the last comparison, and as many as cover the errors of counts, thinning and weights."""
        return 1 + math.ceil(self._setting(n).relative_error / coin.COIN_ERROR)

    def prepare(self, posterior: Posterior, position: PyTree) -> PyTree:
        return ()

    def records_read(self, random_words: RandomWords, n: int) -> Array:
        """B, the size of the minibatch before thinning. It does not depend on the data."""
        return self._setting(n).table.draw(stream.words(random_words["batch"], 2))

    def log_ratio(
        self, random_words: RandomWords, posterior: Posterior, here: PyTree, there: PyTree, public: Array
    ) -> Array:
        """t = Σ_kept w(φᵢ) + public, clamped: a whole number of units. Private."""
        setting, key = self._setting(posterior.n), random_words["batch"]
        drawn, ratios = setting.table.draw(stream.words(key, 2)), _log_ratios(posterior, here, there, setting.slots)

        def tile(number: Array) -> Array:
            """What a tile's slots add: few enough that words, records and levels stay in the cache."""
            first = number * TILE
            index, rest = places(stream.words(key, TILE, 1 + number * (TILE // stream.WORDS_OF_BLOCK)), posterior.n)
            level = self._level(ratios(index) * posterior.temperature)
            kept = (first + jnp.arange(TILE) < drawn) & (rest >= setting.drop(level))
            return jnp.sum(jnp.where(kept, setting.weight(level), 0))

        total = jnp.sum(jax.lax.map(tile, jnp.arange(-(-setting.slots // TILE))))
        return setting.statistic(total, public)

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        t = self.log_ratio(random_words, posterior, here, move.position, public)
        accepted = coin.flip(random_words["coin"], *probabilities(t)) & (public > -jnp.inf)
        return Decision(accepted, cache)

    def _level(self, log_ratio: Array) -> Array:
        """A record's whole-numbered place, −LEVELS..LEVELS, odd in the move; NaN counts as 0, ±∞ as the bound."""
        scaled = jnp.clip(log_ratio.astype(jnp.float64) / self.bound, -1, 1) * (LEVELS + 0.5)
        return jnp.clip(jnp.round(jnp.where(jnp.isnan(scaled), 0, scaled)), -LEVELS, LEVELS)

    def _setting(self, n: int) -> _Setting:
        rate = 3 * n * self.bound if self.rate is None else self.rate
        return _Setting(n, float(self.bound), float(rate))


@dataclass(frozen=True)
class _Setting:
    """What the test does with levels, for n records; public. φ = (m/2)(1 − level/(LEVELS + ½)) ∈ (0, m)."""

    n: int
    m: float
    rate: float

    def __post_init__(self) -> None:
        if self.n > MOST_PLACES:
            raise ValueError(
                f"PoissonBarker draws from up to {MOST_PLACES:,} records, got {self.n:,}; take a test on all records, "
                "such as dp.dp_barker, or a subset of them"
            )
        if self.rate < LEAST_RATE * self.n * self.m:
            raise ValueError(
                f"PoissonBarker: rate = {self.rate:.4g} is too small for n = {self.n} records with bound {self.m:.4g}: "
                f"give at least {LEAST_RATE * self.n * self.m:.4g}, or leave it out for 3·n·bound"
            )

    @property
    def a(self) -> float:
        return self.rate / self.n

    @property
    def table(self) -> CountTable:
        return count_table(self.rate + self.n * self.m)

    @property
    def slots(self) -> int:
        return self.table.slots

    @property
    def largest_weight(self) -> float:
        return math.log1p(self.m / self.a)

    @property
    def unit(self) -> float:
        """A power of two: all weights and the public term add up to less than 2⁶² of them."""
        return 2.0 ** math.ceil(math.log2(self.slots * self.largest_weight + 2 * CLAMP) - 60)

    def drop(self, level: Array) -> Array:
        """2⁶⁴ times the probability (m − φ)/(a + m) that a drawn record is dropped."""
        dropped = (1 + level / (LEVELS + 0.5)) * (self.m / (2 * (self.a + self.m)))
        return (dropped * 2.0**64).astype(jnp.uint64)

    def weight(self, level: Array) -> Array:
        """w(φ) = log((a + m − φ)/(a + φ)) = 2 artanh((m − 2φ)/(2a + m)) in units, odd in the level."""
        x = jnp.abs(level) * (self.m / ((LEVELS + 0.5) * (2 * self.a + self.m)))
        size = jnp.round(jnp.log1p(2 * x / (1 - x)) / self.unit).astype(jnp.int64)
        return jnp.where(level < 0, -size, size)

    def statistic(self, total: Array, public: Array) -> Array:
        far, edge = 2.0**61, math.ceil(CLAMP / self.unit)
        public_units = jnp.round(jnp.clip(public / self.unit, -far, far)).astype(jnp.int64)
        return jnp.clip(total + public_units, -edge, edge).astype(jnp.float64) * self.unit

    @property
    def relative_error(self) -> float:
        """A bound on the error of log P(accept) and log P(reject), the last comparison's apart.

        (a + m) z² ((z − 1)·keep + 2z·weight) + law/rarest, z = 1 + m/a; docs/theory/poisson.md.
        """
        z = 1 + self.m / self.a
        keep = z * (2 * self.n * 2.0**-64 + 2.0**-49)  # index and thinning, relative
        weight = self.unit / 2 + self.largest_weight * 2.0**-49
        batch = 1.01 * (self.a + self.m) * z**2 * ((z - 1) * keep + 2 * z * weight)
        return batch + 2 * LAW_ERROR / coin.RAREST


def probabilities(t: Array) -> tuple[Array, Array]:
    """P(accept) and P(reject): logistic(t), replaced by a fair coin with probability 2·RAREST (post-processing)."""
    rare = jnp.exp(-jnp.abs(t))
    likely, rare = 1 / (1 + rare), coin.RAREST + (1 - 2 * coin.RAREST) * (rare / (1 + rare))
    return jnp.where(t >= 0, likely, rare), jnp.where(t >= 0, rare, likely)


def _log_ratios(posterior: Posterior, here: PyTree, there: PyTree, slots: int) -> Callable[[Array], Array]:
    """log p(x|θ') − log p(x|θ) of drawn records; of all records first where that is less work."""
    if slots < posterior.n:
        return lambda index: batch_log_ratios(posterior, index, here, there)
    ratios = posterior.record_log_likelihoods(there) - posterior.record_log_likelihoods(here)
    return lambda index: ratios[index]
