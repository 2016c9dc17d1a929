"""TunaMH: Metropolis–Hastings on a Poisson minibatch. Exact, fast, and not private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import positive
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.proposals.base import Move
from dpmcmc.isolation import each_record
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, NonPrivate

CHUNK = 64
"""Records that are drawn and looked at together."""


@dataclass(frozen=True)
class PoissonMinibatch:
    """Bounds |log p(xᵢ|θ') − log p(xᵢ|θ)| ≤ cᵢ‖θ' − θ‖ and a minibatch test that rests on them; not private.

    ``constants`` is c, the same for all records, or a function of one record. Log ratios beyond their bound are
    clipped to it.
    """

    constants: float | Callable[[PyTree], Any]

    def __post_init__(self) -> None:
        if not callable(self.constants) or isinstance(self.constants, type):
            positive(f"{type(self).__name__}: constants", self.constants, "or a function of one record")

    def event_at(self, shift: float) -> Event:
        raise TypeError(f"{type(self).__name__} is not private; ask event(n, temperature)")

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        return jnp.float64(jnp.inf)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"batch": (1,)}

    def inexact_draws(self, n: int) -> int:
        return 0

    def prepare(self, posterior: Posterior, position: PyTree) -> Array:
        """Cumulative sums of the tempered constants cᵢ: the last one is C."""
        c = self.constants
        each = each_record(c, (), posterior.data) if callable(c) else jnp.full(posterior.n, c)
        return jnp.cumsum(posterior.temperature * each.astype(jnp.float64))


@dataclass(frozen=True)
class TunaMH(PoissonMinibatch):
    """Metropolis–Hastings with Poisson counts as auxiliary variables, as published.

    About λ + CM records are read, where C = Σcᵢ and M = ‖θ' − θ‖. Give one of ``chi``, χ in λ = χC²M² (0.01 if neither
    is given), and ``rate``, a fixed λ.

    Guarantee: none. The chain targets the posterior exactly if the bounds are true; its accept bit is not private, as
    that of no Metropolis test is, and the work of a step depends on the move.

    Choose it as the non-private reference of :class:`~dpmcmc.chain.acceptance.PoissonBarker`.
    Reference: Zhang, Cooper & De Sa (2020), "Asymptotically optimal exact minibatch Metropolis–Hastings", Algorithm 2;
    with a fixed λ Zhang & Zhang (2023), Algorithm 1.
    """

    chi: float | None = None
    rate: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chi is not None and self.rate is not None:
            raise ValueError(f"TunaMH: give chi or rate, not both, got chi = {self.chi!r} and rate = {self.rate!r}")
        for name, value in (("chi", self.chi), ("rate", self.rate)):
            if value is not None:
                positive(f"TunaMH: {name}", value)

    def event(self, n: int, temperature: float) -> Event | None:
        return NonPrivate("TunaMH is a Metropolis test, whose accept bit has no finite privacy cost")

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        count_key, batch_key, coin_key = jax.random.split(key_of(random_words), 3)
        reach = cache[-1] * distance(here, move.position)  # C M
        rate = (self.chi or 0.01) * reach**2 if self.rate is None else jnp.float64(self.rate)
        count = poisson_count(count_key, rate + reach)
        t = public + minibatch_log_ratio(batch_key, posterior, cache, here, move.position, rate, count)
        return Decision(metropolis(coin_key, t), cache)


def key_of(random_words: RandomWords) -> Array:
    """A JAX key from one random word: for tests that are not private, whose coins need not be secret."""
    return jax.random.wrap_key_data(
        jax.lax.bitcast_convert_type(random_words["batch"][0], jnp.uint32), impl="threefry2x32"
    )


def distance(here: PyTree, there: PyTree) -> Array:
    """M = ‖θ' − θ‖, Euclidean."""
    return jnp.linalg.norm((ravel_pytree(there)[0] - ravel_pytree(here)[0]).astype(jnp.float64))


def metropolis(key: Array, t: Array) -> Array:
    """True with probability min(1, e^t)."""
    return jnp.log(jax.random.uniform(key, dtype=jnp.float64)) < t


def poisson_count(key: Array, mean: Array) -> Array:
    """A draw of Poisson(``mean``): arrivals before time ``mean`` with standard exponential gaps."""

    def add(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        chunk, time, count = carry
        times = time + jnp.cumsum(jax.random.exponential(jax.random.fold_in(key, chunk), (CHUNK,), jnp.float64))
        return chunk + 1, times[-1], count + jnp.sum(times < mean)

    start = (jnp.int64(0), jnp.float64(0.0), jnp.int64(0))
    return jax.lax.while_loop(lambda carry: carry[1] < mean, add, start)[2]


def minibatch_log_ratio(
    key: Array, posterior: Posterior, cumulative: Array, here: PyTree, there: PyTree, rate: Array, count: Array
) -> Array:
    """Σ over kept draws of log((aᵢ + φ'ᵢ)/(aᵢ + φᵢ)), aᵢ = λcᵢ/C, from ``count`` draws with probabilities cᵢ/C.

    φᵢ = (Uᵢ(θ') − Uᵢ(θ) + cᵢM)/2, φ'ᵢ = cᵢM − φᵢ, and a draw is kept with probability (aᵢ + φᵢ)/(aᵢ + cᵢM).
    """
    total, length = cumulative[-1], distance(here, there)

    def add(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        start, ratio = carry
        which, thin = jax.random.uniform(jax.random.fold_in(key, start), (2, CHUNK), jnp.float64)
        index = jnp.minimum(jnp.searchsorted(cumulative, which * total, side="right"), posterior.n - 1)
        c = cumulative[index] - jnp.where(index > 0, cumulative[index - 1], 0.0)
        bound, a = c * length, rate * c / total
        batch = Posterior(
            posterior.model, jax.tree.map(lambda leaf: leaf[index], posterior.data), posterior.temperature
        )
        change = batch.record_log_likelihoods(here) - batch.record_log_likelihoods(there)  # of energy, untempered
        tempered = jnp.clip(jnp.nan_to_num(posterior.temperature * change.astype(jnp.float64)), -bound, bound)
        phi = (tempered + bound) / 2
        kept = (start + jnp.arange(CHUNK) < count) & (thin * (a + bound) < a + phi)
        return start + CHUNK, ratio + jnp.sum(jnp.where(kept, jnp.log((a + bound - phi) / (a + phi)), 0.0))

    return jax.lax.while_loop(lambda carry: carry[0] < count, add, (jnp.int64(0), jnp.float64(0.0)))[1]
