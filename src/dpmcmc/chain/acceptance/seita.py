"""The minibatch test that reads as many records as it needs. Not private."""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from dpmcmc.arguments import whole, within
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.acceptance.corrected_barker import mixture_probabilities
from dpmcmc.chain.acceptance.minibatch import batch_log_ratios
from dpmcmc.chain.proposals.base import Move
from dpmcmc.mechanisms import coin
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.correction import optimal_correction
from dpmcmc.privacy.events import Event, NonPrivate


@dataclass(frozen=True)
class GrowingBatch:
    """Seita et al.'s test: ``batch`` records more until the estimated log ratio has a sampling variance below 1.

    Then Δ* + N(0, C − s²) + V_cor > 0 decides, C = ``noise_variance``, with the optimal correction; both are integrated
    out. Records are drawn with replacement, so a pass costs its batch and not n. A step whose variance is still too
    large after ``passes`` passes goes on with what it has.

    Guarantee: none. How many records a step reads depends on them, and so does its noise: the event is ``NonPrivate``.
    When to choose: as the non-private reference for :class:`~dpmcmc.chain.acceptance.CorrectedBarker`, which keeps the
    condition by clipping instead of reading on.

    Reference: Seita et al. (2017), Algorithm 1 (its optional check of the normal approximation is left out; see
    :mod:`dpmcmc.chain.acceptance.error_bounds`).
    """

    batch: int
    noise_variance: float = 1.0
    passes: int = 1000

    def __post_init__(self) -> None:
        whole("GrowingBatch: batch", self.batch, 2)
        whole("GrowingBatch: passes", self.passes)
        within("GrowingBatch: noise_variance", self.noise_variance, 1, math.inf, "[)")

    def event(self, n: int, temperature: float) -> Event:
        return NonPrivate("a batch that grows until the records agree")

    def event_at(self, shift: float) -> Event:
        return self.event(1, 1.0)

    def shift(self, model: ModelLike, temperature: float, here: PyTree, there: PyTree) -> Array:
        return jnp.float64(jnp.inf)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"batch": (1,), "coin": coin.BITS_SHAPE}

    def inexact_draws(self, n: int) -> int:
        return 1

    def prepare(self, posterior: Posterior, position: PyTree) -> PyTree:
        return ()

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: PyTree, here: PyTree, move: Move, public: Array
    ) -> Decision:
        word = random_words["batch"][0]
        key = jax.random.wrap_key_data(jnp.stack([word >> 32, word & (2**32 - 1)]).astype(jnp.uint32))
        weight = posterior.temperature * posterior.n  # N₀
        largest = 1e30  # keeps an infinite log ratio from becoming NaN in the sums

        def variance(sums: tuple[Array, Array, Array]) -> Array:
            count, total, squares = sums  # s² = N₀² var(r) / b, the sample variance
            return weight**2 * jnp.maximum(squares - total**2 / count, 0.0) / ((count - 1) * count)

        def more(sums: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            count, total, squares = sums
            index = jax.random.randint(jax.random.fold_in(key, count.astype(jnp.int32)), (self.batch,), 0, posterior.n)
            ratios = batch_log_ratios(posterior, index, here, move.position).astype(jnp.float64)
            ratios = jnp.clip(jnp.where(jnp.isnan(ratios), 0.0, ratios), -largest, largest)
            return count + self.batch, total + jnp.sum(ratios), squares + jnp.sum(ratios**2)

        def unsure(sums: tuple[Array, Array, Array]) -> Array:
            return (sums[0] < self.passes * self.batch) & ~(variance(sums) < 1.0)

        zero = jnp.float64(0.0)
        sums = jax.lax.while_loop(unsure, more, more((zero, zero, zero)))
        delta = jnp.clip(weight * sums[1] / sums[0] + public, -coin.CLAMP, coin.CLAMP)
        noise = jnp.maximum(self.noise_variance - variance(sums), 1e-6)
        accept, reject = mixture_probabilities(delta, noise, optimal_correction(self.noise_variance))
        return Decision(coin.flip(random_words["coin"], accept, reject) & (public > -jnp.inf), ())
