"""The steps of a variational fit, given noisy sums of gradients; and the program that makes those sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from dpmcmc.mechanisms.gaussian_sum import record_gradients, whole_total
from dpmcmc.mechanisms.totals import Program
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.raveled import RaveledModel

SMALLEST_RATE = 0.03  # of the last steps, in posterior standard deviations
ROOT_RATE = 0.03
REACH = 30.0  # Adam's steps add up to this over log(first/last rate), about 4, in standard deviations of one record


class FitPath(NamedTuple):
    """The steps of a fit, in coordinates φ where the posterior has about unit covariance. It reads no records."""

    log_prior: Callable[[Array], Any]
    scale: np.ndarray
    origin: np.ndarray
    temperature: float
    mask: np.ndarray  # of the root's free numbers
    mean_step: Any
    root_step: Any

    @classmethod
    def of(
        cls, posterior: Posterior, scale: np.ndarray, origin: np.ndarray, unravel: Any, steps: int, full_rank: bool
    ) -> FitPath:
        model, temperature, size = posterior.model, posterior.temperature, len(origin)
        # long steps first: a start one record's standard deviation off is √n of the posterior's away
        far = max(min(0.5, REACH / steps) * math.sqrt(temperature * posterior.n), SMALLEST_RATE)
        rate = optax.exponential_decay(far, steps, SMALLEST_RATE / far)
        mask = np.tril(np.ones((size, size))) if full_rank else np.eye(size)
        steppers = optax.adam(rate), optax.adam(ROOT_RATE)
        return cls(lambda theta: model.log_prior(unravel(theta)), scale, origin, temperature, mask, *steppers)

    def root(self, free: Array) -> Array:
        """A triangular root with a positive diagonal, from free numbers."""
        return jnp.where(np.eye(len(self.origin), dtype=bool), jnp.diag(jnp.exp(jnp.diag(free))), free * self.mask)

    def begin(self) -> Any:
        mean, free = jnp.zeros(len(self.origin)), jnp.zeros((len(self.origin), len(self.origin)))
        return mean, free, self.mean_step.init(mean), self.root_step.init(free)

    def place(self, state: Any, z: Array) -> Array:
        """θ at which the records' gradients are asked for."""
        mean, free, *_ = state
        point: Array = jnp.asarray(self.origin) + self.scale @ (mean + self.root(free) @ z)
        return point

    def step(self, state: Any, z: Array, noisy: Array) -> Any:
        """A step of Adam, given the noisy sum of gradients at :meth:`place`."""
        mean, free, mean_state, root_state = state
        prior = jax.grad(self.log_prior)(self.place(state, z))
        score = self.temperature * noisy + jnp.nan_to_num(prior, posinf=0.0, neginf=0.0) @ self.scale
        # of E log π(mean + root z) + log det root
        to_root = jnp.outer(score, z) * self.mask
        to_free = jnp.where(np.eye(len(self.origin), dtype=bool), to_root * self.root(free) + 1, to_root)
        mean_update, mean_state = self.mean_step.update(-score, mean_state)
        root_update, root_state = self.root_step.update(-to_free, root_state)
        return mean + mean_update, free + root_update, mean_state, root_state

    def end(self, states: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """Mean and root; averaging the last quarter takes out most of the noise."""
        quarter = -(-len(states) // 4)
        mean, free = (np.mean([state[at] for state in states[-quarter:]], axis=0) for at in (0, 1))
        return mean, np.asarray(self.root(jnp.asarray(free)))


@lru_cache(maxsize=16)
def compiled_gradients(model: RaveledModel) -> Program:
    """Σ clip(scaleᵀ ∇ log p(xᵢ|θ)) in whole numbers; θ, scale, bound and unit are arguments."""

    def run(block: PyTree, count: Array, asked: tuple[Any, ...]) -> Array:
        theta, scale, bound, unit = asked
        nothing = Posterior(model.model, None)

        def gradients(records: PyTree) -> Array:
            gradients: Array = record_gradients(nothing, theta, model.unravel, records).astype(jnp.float64) @ scale
            return gradients

        return whole_total(block, gradients, bound, unit, count)

    return Program(run)
