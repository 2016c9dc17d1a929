"""Gradient proposals without privacy, through the same frame: the references to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import positive, whole
from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.random_walk import check_real
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, NonPrivate


@dataclass(frozen=True)
class PlainGradient:
    """Moves by ``step`` along exact gradients of the log posterior. Not private."""

    step: float

    def __post_init__(self) -> None:
        positive(f"{type(self).__name__}: step", self.step)

    def init(self, position: PyTree) -> PyTree:
        check_real(position, type(self).__name__)
        return ()

    def event(self, n: int, temperature: float) -> Event:
        return NonPrivate("gradients of the records without noise")

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {}

    def inexact_draws(self, n: int) -> int:
        return 0


@dataclass(frozen=True)
class PlainLeapfrog(PlainGradient):
    """Hamiltonian Monte Carlo: ``steps`` leapfrog steps from a fresh standard normal momentum. Not private.

    Reference: Duane et al. (1987); Neal (2011), Section 3.
    """

    steps: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("PlainLeapfrog: steps", self.steps)

    def __str__(self) -> str:
        return f"{self.steps} leapfrog steps of {self.step:.4g} along exact gradients"

    def propose_privately(
        self, key: Any, random_words: dict[str, Array], posterior: Posterior, position: PyTree, memory: PyTree
    ) -> Move:
        flat, unravel = ravel_pytree(position)
        slope = jax.grad(lambda theta: log_posterior(posterior, unravel(theta)))
        start = jax.random.normal(key, flat.shape, flat.dtype)

        def leap(_: Any, now: tuple[Array, Array]) -> tuple[Array, Array]:
            theta, p = now
            p = p + self.step / 2 * slope(theta)
            theta = theta + self.step * p
            return theta, p + self.step / 2 * slope(theta)

        theta, p = jax.lax.fori_loop(0, self.steps, leap, (flat, start))
        return Move(unravel(theta), 0.5 * (start @ start - p @ p))


@dataclass(frozen=True)
class PlainLangevin(PlainGradient):
    """θ' = θ + (η/2) ∇ log π(θ) + N(0, η), η = ``step``, over all records or a batch of ``batch``. Not private.

    Reference: Welling & Teh (2011).
    """

    batch: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch is not None:
            whole("PlainLangevin: batch", self.batch)

    def __str__(self) -> str:
        return f"Langevin moves of step {self.step:.4g} along exact gradients"

    def propose_privately(
        self, key: Any, random_words: dict[str, Array], posterior: Posterior, position: PyTree, memory: PyTree
    ) -> Move:
        flat, unravel = ravel_pytree(position)
        noise_key, batch_key = jax.random.split(key)
        if self.batch is not None:
            chosen = jax.random.randint(batch_key, (self.batch,), 0, posterior.n)
            batch = jax.tree.map(lambda leaf: leaf[chosen], posterior.data)
            posterior = Posterior(posterior.model, batch, posterior.temperature * posterior.n / self.batch)
        slope = jax.grad(lambda theta: log_posterior(posterior, unravel(theta)))(flat)
        noise = jnp.sqrt(jnp.asarray(self.step, flat.dtype)) * jax.random.normal(noise_key, flat.shape, flat.dtype)
        return Move(unravel(flat + self.step / 2 * slope + noise))


def log_posterior(posterior: Posterior, theta: PyTree) -> Array:
    """log prior + temperature·Σ log likelihood."""
    return posterior.model.log_prior(theta) + posterior.temperature * jnp.sum(posterior.record_log_likelihoods(theta))
