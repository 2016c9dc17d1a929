"""Langevin moves whose noise is the privacy noise: the proposal of DP-SGLD."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree

from dpmcmc.arguments import one_of, positive, whole
from dpmcmc.chain.proposals.base import Move
from dpmcmc.chain.proposals.random_walk import check_real
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.batches import Batches
from dpmcmc.mechanisms.gaussian_sum import WORDS, GaussianSum, record_gradients
from dpmcmc.mechanisms.needs import Need
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy.events import Event
from dpmcmc.privacy.relations import SUBSTITUTION

DRIFT = {"right": 0.5, "heikkila2019": 1.0}


@dataclass(frozen=True)
class Langevin:
    """θ' = θ + (η/2)·∇ log π(θ) + N(0, η), η = ``step``, with per-record gradients clipped at L2 norm ``clip``.

    The Langevin noise *is* the privacy noise: all of it is drawn inside the private sum, so it pays for the release and
    nothing is added twice. Its multiplier follows from the step: noise of variance η in θ is noise of standard
    deviation 2/(√η·temperature·n/batch) in the sum over a batch. Smaller steps, clips and temperatures cost less each.

    ``batch`` is None for all records, or the size of a fresh batch drawn without replacement. ``variant`` is "right",
    or "heikkila2019" for the drift η·∇ with noise variance η (theirs over N: step = η/N), which samples the *squared*
    posterior.

    Guarantee: one Gaussian release (over a batch: subsampled) a move under substitution of one record, over all records
    also under zero-out. There is no exactness: steps are of finite size, gradients are clipped, and a batch adds noise
    of its own; the target is right in the limit of small steps where nothing is clipped.

    Choose it for large data where one gradient over a batch is all a step can afford.

    Reference: Welling & Teh (2011); Wang, Fienberg & Smola (2015); docs/theory/dp-sgld.md.
    """

    step: float
    clip: float
    batch: int | None = None
    variant: str = "right"
    relation: str = field(default=SUBSTITUTION, kw_only=True)

    def __post_init__(self) -> None:
        positive("Langevin: step", self.step)
        positive("Langevin: clip", self.clip)
        if self.batch is not None:
            whole("Langevin: batch", self.batch)
        one_of("Langevin: variant", self.variant, DRIFT)

    def __str__(self) -> str:
        records = "all records" if self.batch is None else f"batches of {self.batch}"
        published = "" if self.variant == "right" else f" as published ({self.variant})"
        return f"Langevin moves of step {self.step:.4g} over {records}{published}, gradients clipped at {self.clip:.4g}"

    def _gain(self, n: int, temperature: float) -> float:
        """How far θ moves per unit of the sum of gradients."""
        return DRIFT[self.variant] * self.step * temperature * (1.0 if self.batch is None else n / self.batch)

    def _sum(self, n: int, temperature: float) -> GaussianSum:
        return GaussianSum(self.clip, math.sqrt(self.step) / self._gain(n, temperature), self.relation)

    def event(self, n: int, temperature: float) -> Event:
        return self._sum(n, temperature).event(n, self.batch)

    def random_words(self, n: int) -> dict[str, Need]:
        noise: dict[str, Need] = {"gradient": stream.KEY_SHAPE}
        return noise if self.batch is None else noise | {"gradient batch": Batches(n, self.batch)}

    def inexact_draws(self, n: int) -> int:
        """Releases whose arithmetic takes a share of the budget."""
        return 1

    def init(self, position: PyTree) -> PyTree:
        check_real(position, "Langevin")
        return ()

    def propose_privately(
        self, key: Array, random_words: dict[str, Array], posterior: Posterior, position: PyTree, memory: PyTree
    ) -> Move:
        flat, unravel = ravel_pytree(position)
        n, noise_words = posterior.n, flat.size * int(np.prod(WORDS))
        words = stream.words(random_words["gradient"], noise_words)
        records: Any = None
        if self.batch is not None:
            chosen = random_words["gradient batch"]
            records = jax.tree.map(lambda leaf: leaf.at[chosen].get(mode="promise_in_bounds"), posterior.data)
        vectors = record_gradients(posterior, flat, unravel, records)
        noisy = self._sum(n, posterior.temperature)(words.reshape(flat.size, *WORDS), vectors)
        prior = jax.grad(lambda raveled: posterior.model.log_prior(unravel(raveled)))(flat).astype(jnp.float64)
        move = self._gain(n, posterior.temperature) * noisy + DRIFT[self.variant] * self.step * prior
        return Move(unravel((flat + move).astype(flat.dtype)))
