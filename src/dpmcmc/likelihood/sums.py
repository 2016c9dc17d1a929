"""What a likelihood release keeps of its last sums: the released function, to draw from with any prior."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood import smc
from dpmcmc.likelihood.checks import Edge
from dpmcmc.likelihood.regions import Normal
from dpmcmc.likelihood.stages import LEAST_PARTICLES, Draws
from dpmcmc.models.base import ModelLike
from dpmcmc.plain_trees import PlainArray, PlainTree, packed, unpacked
from dpmcmc.raveled import RaveledModel
from dpmcmc.release import Sums


@dataclass(frozen=True)
class LikelihoodSums(Sums):
    """The released log likelihood: Σ ``weights``·log p(``records``|θ), to the power ``temperature``.

    The records are simulated (or public); each row of weights has its own draw of the noise taken off the sums. It was
    released for the region about ``centre``; beyond ``edge`` it is an extrapolation, beyond ``reach`` it is not used.
    """

    records: PlainArray | PlainTree
    weights: PlainArray  # (group, record)
    temperature: float
    centre: tuple[float, ...]
    root: PlainArray
    edge: tuple[float, float]  # distance, in units of the root, and fair share of the draws beyond it
    reach: float
    confined: bool

    @classmethod
    def of(cls, found: Draws, temperature: float) -> LikelihoodSums | None:
        """Of a finished run; None where the records' containers cannot be kept."""
        last = found.last
        try:
            records = packed(last.basis.simulated)
        except TypeError:
            return None
        weights, root = PlainArray.of(found.weights), PlainArray.of(last.normal.root)
        centre, edge = tuple(last.normal.centre.tolist()), (last.edge.distance, last.edge.fair)
        return cls(records, weights, temperature, centre, root, edge, float(last.reach), last.confined)

    def draws(self, model: ModelLike, chains: int, draws: int, seed: int) -> np.ndarray:
        """Draws (chain, draw, parameter) of the posterior with the prior of ``model``; warns if they may be far off."""
        normal, weights = Normal(np.array(self.centre), self.root.array()), self.weights.array()
        groups, edge = len(weights), Edge(*self.edge)
        count = groups * max(-(-chains * draws // groups), LEAST_PARTICLES)
        with jax.enable_x64(True):
            begin_key, key = jax.random.split(jax.random.key(seed))
            begin = normal.evenly(begin_key, count, self.reach) if self.confined else normal.draw(begin_key, count)
            problem = smc.Problem(
                unpacked(self.records),
                jnp.asarray(weights),
                jnp.asarray(self.temperature),
                jnp.asarray(normal.centre),
                jnp.asarray(normal.root),
                jnp.asarray(self.reach),
                jnp.asarray(False),
                jnp.asarray(self.confined),
            )
            cloud, arrived = smc.sample(
                RaveledModel.of(model), problem, begin.reshape(groups, -1, len(self.centre)), key
            )
        if not np.all(np.isfinite(cloud)):
            raise FloatingPointError("no posterior can be drawn from these sums with this prior")
        outside = edge.share(normal.distances(cloud.reshape(-1, cloud.shape[-1])))
        if not arrived or outside > edge.limit(groups):
            warnings.warn(
                "these draws may be far off: "
                + ("they lie at the edge of" if arrived else "the sampler did not get to a posterior within")
                + " the region that the sums were released for",
                stacklevel=3,
            )
        return deal(cloud, chains, draws, np.random.default_rng(seed))


def deal(by_group: np.ndarray, chains: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draws (chain, draw, parameter); each chain gets whole groups, which share one draw of the noise."""
    shares = np.array_split(by_group, chains) if chains <= len(by_group) // 2 else [by_group] * chains
    pooled = [share.reshape(-1, share.shape[-1]) for share in shares]
    return np.stack([found[rng.choice(len(found), draws, replace=len(found) < draws)] for found in pooled])
