"""What each step of a chain proposed, and the share of log ratios that its clip changed: counted along the chain.

A released chain does not say where a refused move would have gone. Here it is kept beside the position, so that what is
counted are the chain's own moves. For research on public data: the counts read records and cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.raisa2021 import likelihoods
from dpmcmc_experiments.raisa2021.problems import Problem

MOVES = 100
"""Moves that are counted of one chain at one ε, spread evenly along it: all of them where it has no more."""

AT_ONCE = 20


@dataclass(frozen=True)
class Recorded:
    """A model whose position says beside θ where the last step would have gone."""

    model: Any

    @property
    def init(self) -> Any:
        return pair(self.model.init)

    def log_prior(self, position: Any) -> Any:
        return self.model.log_prior(position["theta"])

    def log_likelihood(self, position: Any, record: Any) -> Any:
        return self.model.log_likelihood(position["theta"], record)


@dataclass(frozen=True)
class Recording(dp.Kernel):
    """The same kernel on the positions of :class:`Recorded`; it decides as it would on θ alone."""

    model: Any = None

    def under(self, relation: str) -> Recording:
        inner = super().under(relation)
        return Recording(inner.proposal, inner.acceptance, self.model)

    def start(self, position: Any) -> Any:
        return super().start(position["theta"])

    def init(self, posterior: Any, position: Any, memory: Any) -> Any:
        return super().init(self._of(posterior), position["theta"], memory)._replace(position=position)

    def propose(self, key: Any, random_words: Any, posterior: Any, state: Any) -> Any:
        return super().propose(key, random_words, self._of(posterior), _plain(state))

    def decide(self, random_words: Any, posterior: Any, state: Any, move: Any) -> Any:
        later, accepted = super().decide(random_words, self._of(posterior), _plain(state), move)
        return later._replace(position={"theta": later.position, "proposed": move.position}), accepted

    def _of(self, posterior: Any) -> Any:
        return dp.Posterior(self.model, posterior.data, posterior.temperature)


def _plain(state: Any) -> Any:
    return state._replace(position=state.position["theta"])


def pair(theta: Any) -> dict[str, Any]:
    """The position of a chain that has proposed nothing yet."""
    return {"theta": theta, "proposed": theta}


class Shares:
    """The share of log ratios that is clipped at every move of a chain that is asked for; no move is counted twice."""

    def __init__(self, posterior: Problem, kernel: Any, states: np.ndarray, proposed: np.ndarray) -> None:
        self.posterior, self.states, self.proposed = posterior, states, proposed
        clip = kernel.acceptance.clip
        if callable(clip):  # DP Barker: the clip follows from the batch
            clip = dp.ConstantClip(clip(posterior.setting.n, posterior.setting.temperature))
        self.clip, self.target = clip, likelihoods.likelihood(posterior.model)
        self.blocks = likelihoods.blocks_of(self.target, posterior.records)
        self.known: dict[tuple[int, int], float] = {}

    def at(self, steps: int) -> np.ndarray:
        """The mean share of each chain over ``MOVES`` moves spread evenly over its first ``steps``."""
        chosen = np.unique(np.linspace(0, steps - 1, min(steps, MOVES)).round().astype(int))
        wanted = [(chain, int(k)) for chain in range(len(self.states)) for k in chosen]
        missing = [one for one in wanted if one not in self.known]
        for first in range(0, len(missing), AT_ONCE):
            part = missing[first : first + AT_ONCE]
            self.known |= dict(zip(part, self._count(part), strict=False))
        return np.array([self.known[one] for one in wanted]).reshape(len(self.states), -1).mean(axis=1)

    def _count(self, moves: list[tuple[int, int]]) -> np.ndarray:
        chain, k = np.array(moves + moves[:1] * (AT_ONCE - len(moves))).T
        here, there = self.states[chain, k], self.proposed[chain, k]
        with jax.enable_x64(True):
            bounds = jax.vmap(partial(self.clip.bound, self.posterior.model))(jnp.asarray(here), jnp.asarray(there))
            bounds = jnp.broadcast_to(bounds, (AT_ONCE,))
            return np.asarray(_shares(self.target, jnp.asarray(here), jnp.asarray(there), bounds, self.blocks))


@partial(jax.jit, static_argnums=0)
def _shares(target: Any, here: Any, there: Any, bounds: Any, blocks: Any) -> Any:
    return likelihoods.clipped_ratios(target, here, there, bounds, blocks)[1]
