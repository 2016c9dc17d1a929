"""DP-Fast MH as published: for comparison only. It is not private and no guarantee is issued for it."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import one_of, positive, within
from dpmcmc.chain.acceptance.base import Decision, RandomWords
from dpmcmc.chain.acceptance.tuna import (
    PoissonMinibatch,
    distance,
    key_of,
    metropolis,
    minibatch_log_ratio,
    poisson_count,
)
from dpmcmc.chain.proposals.base import Move
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, NonPrivate

VARIANTS = ("text", "as_coded", "as_coded_logistic", "reversible")
"""What Algorithm 2 prints; what the authors' mixture code runs; what their logistic-regression code runs; and what its
Theorem 3 needs: the normal noise of the text, with the branch of the code and a penalty only where there is noise.

The code draws uniform noise where the text has normal noise, takes the minibatch where the *rate* λ + CM is below K
where the text asks that of the drawn B, and subtracts no penalty where no noise is added. The logistic-regression code
moreover takes 2 log(1 + 1/(λCM)) for the sensitivity 2 log(1 + CM/λ).
"""


@dataclass(frozen=True)
class PublishedFastMHFull(PoissonMinibatch):
    """DP-Fast MH on all records, as published: Metropolis, with noise only where the sensitivity Δ exceeds ε.

    ``epsilon`` and ``delta`` are what the paper claims for one step.

    Guarantee: none. Where Δ ≤ ε no noise is added, and a rejection can have probability 0 on one data set and
    1 − e^{−Δ} on its neighbour, so no δ below 1 − e^{−Δ} holds, whatever ε; cᵢ is computed from the records besides.

    Choose it to compare with; :class:`~dpmcmc.chain.acceptance.Barker` is what it wants to be.
    Reference: Zhang & Zhang (2023), Algorithm 2 with B ≥ K always, Theorem 2; docs/theory/fast-mh.md.
    """

    epsilon: float = 0.05
    delta: float = 1e-5
    variant: str = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(f"{type(self).__name__}: epsilon", self.epsilon)
        within(f"{type(self).__name__}: delta", self.delta, 0, 1, "()")
        one_of(f"{type(self).__name__}: variant", self.variant, VARIANTS)

    def event(self, n: int, temperature: float) -> Event | None:
        return NonPrivate(
            f"Zhang & Zhang (2023) claim ({self.epsilon:g}, {self.delta:g})-DP for a step of DP-Fast MH, but a "
            "rejection alone can give a record away: docs/theory/fast-mh.md"
        )

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        noise_key, coin_key = jax.random.split(key_of(random_words))
        length = distance(here, move.position)
        t = public + self._on_all_records(noise_key, posterior, cache, here, move.position, length)
        return Decision(metropolis(coin_key, t), cache)

    def _on_all_records(
        self, key: Array, posterior: Posterior, cumulative: Array, here: PyTree, there: PyTree, length: Array
    ) -> Array:
        ratios = posterior.record_log_likelihoods(there) - posterior.record_log_likelihoods(here)
        exact = posterior.temperature * jnp.sum(ratios, dtype=jnp.float64)
        sensitivity = 2 * largest(cumulative) * length
        return exact + self._noise(key, sensitivity, jnp.float64(self.epsilon), jnp.float64(self.delta))

    def _noise(self, key: Array, sensitivity: Array, epsilon: Array, delta: Array) -> Array:
        """Noise minus its penalty: N(0, σ²Δ²) − σ²Δ²/2, σ = √(2 log(1.25/δ))/ε; no noise where Δ ≤ ε."""
        std = jnp.sqrt(2 * jnp.log(jnp.maximum(1.25 / delta, 1.0))) / epsilon * sensitivity
        free = sensitivity <= epsilon
        if self.variant == "text":
            return jnp.where(free, 0.0, std * jax.random.normal(key, dtype=jnp.float64)) - std**2 / 2
        if self.variant == "reversible":
            return jnp.where(free, 0.0, std * jax.random.normal(key, dtype=jnp.float64) - std**2 / 2)
        return jnp.where(free, 0.0, std * jax.random.uniform(key, dtype=jnp.float64) - std**2 / 2)


@dataclass(frozen=True)
class PublishedFastMH(PublishedFastMHFull):
    """DP-Fast MH on minibatches, as published: the counts of TunaMH with a fixed ``rate`` λ, all records where B ≥ K.

    ``largest_batch`` is K. A minibatch is allowed ε' = εC/(6K max c) and δ' = δC/(2K max c).

    Guarantee: none. In the noise-free branch a rejection can have probability 0 on one data set and 1 − e^{−m} on its
    neighbour, m the largest change of one record's energy; and cᵢ, C and the rate λ + CM are computed from the records.

    Choose it to compare with; :class:`~dpmcmc.chain.acceptance.PoissonBarker` is the repaired one.
    Reference: Zhang & Zhang (2023), Algorithm 2 and Theorem 2; docs/theory/fast-mh.md.
    """

    rate: float = 10.0
    largest_batch: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("PublishedFastMH: rate", self.rate)
        positive("PublishedFastMH: largest_batch", self.largest_batch)

    def decide(
        self, random_words: RandomWords, posterior: Posterior, cache: Array, here: PyTree, move: Move, public: Array
    ) -> Decision:
        count_key, batch_key, noise_key, coin_key = jax.random.split(key_of(random_words), 4)
        there, length = move.position, distance(here, move.position)
        mean = self.rate + cache[-1] * length  # λ + C M
        count = poisson_count(count_key, mean)
        small = (count if self.variant == "text" else mean) < self.largest_batch
        drawn = jnp.where(small, count, 0)

        def on_minibatch() -> Array:
            few = minibatch_log_ratio(batch_key, posterior, cache, here, there, jnp.float64(self.rate), drawn)
            spread = cache[-1] / (self.largest_batch * largest(cache))  # C / (K max c)
            noise = self._noise(noise_key, self._sensitivity(mean), self.epsilon * spread / 6, self.delta * spread / 2)
            return few + noise

        def on_all_records() -> Array:
            return self._on_all_records(noise_key, posterior, cache, here, there, length)

        t = jax.lax.cond(small, on_minibatch, on_all_records)  # only the drawn branch, where chains run one by one
        return Decision(metropolis(coin_key, public + t), cache)

    def _sensitivity(self, mean: Array) -> Array:
        """Δ of one draw, 2 log(1 + CM/λ) (Lemma 1)."""
        reach = mean - self.rate
        odds = 1 / (self.rate * reach) if self.variant == "as_coded_logistic" else reach / self.rate
        return 2 * jnp.log1p(odds)


def largest(cumulative: Array) -> Array:
    """max cᵢ from the cumulative sums."""
    return jnp.max(jnp.diff(cumulative, prepend=np.float64(0.0)))
