"""Hamiltonian trajectories with noisy gradients: the proposal of DP-HMC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import numbers, positive, truth, whole
from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.random_walk import check_real, nested_tuple
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event, Repeat
from dpmcmc.privacy.relations import SUBSTITUTION


@dataclass(frozen=True)
class Leapfrog:
    """``steps`` leapfrog steps of size ``step`` from a fresh momentum N(0, ``mass``), along noisy clipped gradients.

    Per-record gradients are clipped at L2 norm ``clip`` and summed with Gaussian noise of ``noise_multiplier`` times
    the sensitivity, 2·``clip`` (under zero-out ``clip``); the sum is tempered, the prior's gradient added as it is.
    ``mass`` is None (identity), one number per parameter, or a symmetric positive definite matrix.

    Clipping and noise bend the path, not the target: with an exact test the chain is exact whatever they are, because
    a path and its reverse read the same gradients with the same noise (docs/theory/dp-hmc.md).

    With ``reuse_gradient`` the gradient at the end of an accepted path is kept and starts the next one. The chain is
    exact on positions and kept gradients together. Its very first path has one leapfrog step less, because it must
    begin by a gradient.

    Guarantee: ``steps`` + 1 Gaussian releases a proposal (``steps`` with ``reuse_gradient``, the first proposal
    included) under substitution or zero-out of one record; the test pays for its own bit.

    Choose it where the posterior has many dimensions and the budget pays for several gradients a decision; at ε about 1
    a random walk is usually the better buy.

    Reference: Räisä (2021), Algorithm 4, with the step size in the position update and the logarithm in the test;
    Duane et al. (1987).
    """

    step: float
    steps: int
    clip: float
    noise_multiplier: float
    mass: Any = None
    reuse_gradient: bool = False
    relation: str = field(default=SUBSTITUTION, kw_only=True)

    def __post_init__(self) -> None:
        positive("Leapfrog: step", self.step)
        whole("Leapfrog: steps", self.steps)
        positive("Leapfrog: clip", self.clip)
        positive("Leapfrog: noise_multiplier", self.noise_multiplier)
        truth("Leapfrog: reuse_gradient", self.reuse_gradient)
        self._sum()
        if self.mass is not None:
            mass = numbers("Leapfrog: mass", self.mass)
            if mass.ndim not in (1, 2) or (mass.ndim == 2 and mass.shape[0] != mass.shape[1]):
                raise ValueError(f"Leapfrog: mass must be a vector or a square matrix, got shape {mass.shape}")
            matrix = np.diag(mass) if mass.ndim == 1 else mass
            if not np.array_equal(matrix, matrix.T):
                raise ValueError("Leapfrog: mass must be symmetric as a matrix")
            if not np.linalg.eigvalsh(matrix)[0] > 0:
                raise ValueError("Leapfrog: mass must be positive (as a matrix, positive definite)")
            object.__setattr__(self, "mass", nested_tuple(mass))

    def __str__(self) -> str:
        return f"{self.steps} leapfrog steps of {self.step:.4g} along gradients clipped at {self.clip:.4g}"

    def _sum(self) -> GaussianSum:
        return GaussianSum.of_multiplier(self.clip, self.noise_multiplier, self.relation)

    @property
    def gradients(self) -> int:
        """Noisy gradients a proposal takes."""
        return self.steps if self.reuse_gradient else self.steps + 1

    def event(self, n: int, temperature: float) -> Event:
        return Repeat(self._sum().event(n), self.gradients)

    def random_words(self, n: int) -> dict[str, tuple[int, ...]]:
        return {"gradient": stream.KEY_SHAPE}

    def inexact_draws(self, n: int) -> int:
        """Releases whose arithmetic takes a share of the budget."""
        return self.gradients

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "Leapfrog")
        size = sum(leaf.size for leaf in jax.tree.leaves(position))
        self._sum().check_dimension(size)
        if self.mass is not None and len(self.mass) != size:
            raise ValueError(f"mass has {len(self.mass)} entries for {size} parameters")
        if not self.reuse_gradient:
            return ()
        return {"gradient": jnp.zeros(size, jnp.float64), "known": jnp.asarray(False)}

    def propose_privately(
        self, key: Array, random_words: dict[str, Array], posterior: Posterior, position: PyTree, memory: PyTree
    ) -> Move:
        flat, unravel = ravel_pytree(position)
        words = stream.words(random_words["gradient"], self.gradients * flat.size * int(np.prod(WORDS)))
        noise = words.reshape(self.gradients, flat.size, *WORDS)
        known = memory["known"] if self.reuse_gradient else jnp.asarray(False)
        kept = memory["gradient"] if self.reuse_gradient else jnp.zeros(flat.size, jnp.float64)

        def gradient(q: Array, words: Array) -> Array:
            here = q.astype(flat.dtype)
            prior = jax.grad(lambda raveled: posterior.model.log_prior(unravel(raveled)))(here)
            noisy = self._sum().of_gradients(words, posterior, here, unravel)
            return posterior.temperature * noisy + prior.astype(jnp.float64)

        def leap(at: tuple[Array, Array], now: tuple[Array, Array, Array]) -> Any:
            (q, p), (drift, kick, words) = at, now
            q = q + drift * self._velocity(p)
            g = gradient(q, words)
            return (q, p + kick * g), g

        # a kept gradient makes the first half kick; without one the first drift is nought and a gradient is taken here
        h, first = self.step, jnp.where(known, self.step, 0.0)
        drifts = jnp.full(self.gradients, h).at[0].set(first)
        kicks = jnp.full(self.gradients, h).at[0].set(first / 2 + h / 2).at[-1].add(-h / 2)
        start = self._momentum(jax.random.normal(key, flat.shape, jnp.float64))
        begin = (flat.astype(jnp.float64), start + first / 2 * kept)
        (q, p), seen = jax.lax.scan(leap, begin, (drifts, kicks, noise))
        there = unravel(q.astype(flat.dtype))
        log_correction = self._kinetic(start) - self._kinetic(p)
        if not self.reuse_gradient:
            return Move(there, log_correction)
        here_gradient = jnp.where(known, kept, seen[0])
        return Move(
            there,
            log_correction,
            {"gradient": seen[-1], "known": jnp.asarray(True)},
            {"gradient": here_gradient, "known": jnp.asarray(True)},
        )

    def _momentum(self, z: Array) -> Array:
        """p ~ N(0, M)."""
        if self.mass is None:
            return z
        mass = np.asarray(self.mass)
        return np.sqrt(mass) * z if mass.ndim == 1 else jnp.asarray(np.linalg.cholesky(mass)) @ z

    def _velocity(self, p: Array) -> Array:
        """M⁻¹ p."""
        if self.mass is None:
            return p
        mass = np.asarray(self.mass)
        return p / mass if mass.ndim == 1 else jnp.asarray(np.linalg.inv(mass)) @ p

    def _kinetic(self, p: Array) -> Array:
        return 0.5 * jnp.sum(p * self._velocity(p))
