"""The problems of the contracts: small posteriors about which everything is known."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.algorithms.registry import Contract
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.chain.proposals import Custom, RandomWalk
from dpmcmc.models import Model
from dpmcmc.posterior import Posterior


class Problem(NamedTuple):
    """A model with records, a proposal, and a number that no record's log ratio exceeds."""

    model: Model
    records: np.ndarray
    proposal: Any
    clip: float

    def kernel(self, contract: Contract) -> KernelLike:
        return contract.make(self.proposal, self.clip)

    def posterior(self) -> Posterior:
        return Posterior.check(self.model, self.records)


def gaussian() -> Problem:
    """Thirty records of a conjugate Gaussian; on [−5, 5] no log ratio exceeds 100."""
    model = Model(
        log_prior=lambda theta: -0.5 * theta**2 / 100,
        log_likelihood=lambda theta, x: -0.5 * (x - theta) ** 2,
        init=1.0,
        log_ratio_bound=lambda here, there: 20 * jnp.abs(there - here),
    )
    return Problem(model, np.random.default_rng(0).normal(1.0, 1.0, 30), RandomWalk(0.35), 100.0)


def cycle() -> Problem:
    """Five states on a cycle, records that prefer some to others; no log ratio exceeds 1."""
    weights = np.random.default_rng(1).uniform(-0.5, 0.5, size=(8, 5))
    model = Model(
        log_prior=lambda theta: 0.1 * jnp.asarray(theta, jnp.float32),
        log_likelihood=lambda theta, record: record[theta],
        init=0,
        log_ratio_bound=lambda here, there: jnp.float64(1.0),
    )

    def step(key: Any, theta: Any) -> Any:
        return (theta + jnp.where(jax.random.bernoulli(key), 1, 4)) % 5

    return Problem(model, weights, Custom(step, name="cycle"), 1.0)
