"""Mechanisms that are broken on purpose, each with the runs on either side that an audit needs to find it.

Every one keeps the claim of the sound mechanism that it is made of.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc import algorithms
from dpmcmc.auditing import Claim, Experiment, Neighbours, experiment_of, worst
from dpmcmc.auditing.algorithms import AUDITS, LIKELY, RARE
from dpmcmc.auditing.worst import FAR, FLIP
from dpmcmc.chain.acceptance import Always, Penalty
from dpmcmc.chain.kernel import Kernel
from dpmcmc.chain.proposals import Langevin
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.privacy import ADD_REMOVE, SUBSTITUTION, BarkerBit, PenaltyBit
from dpmcmc.randomness import RandomSource


@dataclass(frozen=True)
class HalfTheNoise(Langevin):
    """Langevin moves whose noise is half of what is charged."""

    def _sum(self, n, temperature):
        sound = super()._sum(n, temperature)
        return GaussianSum(sound.clip, sound.std / 2)

    def event(self, n, temperature):
        return Langevin(self.step, self.clip, self.batch).event(n, temperature)


class ReusedCoins(RandomSource):
    """Every step of a chain gets the coin of the first."""

    def random_words(self, purpose, shape, dtype=np.uint64):
        words = super().random_words(purpose, shape, dtype)
        return np.broadcast_to(words[:1], shape).copy() if purpose == "coin" else words


def leaking(records):
    """A log likelihood of deviations from the mean of all records, which it carries with it."""
    mean = records.mean()
    return dp.Model(
        lambda theta: jnp.float64(0.0), lambda theta, x: (x - mean) * jnp.asarray(theta, jnp.float64), init=0
    )


def noise_halved() -> Experiment:
    return experiment_of("noise halved", Kernel(HalfTheNoise(0.25, 1.0), Always()), worst.slope(), steps=1)


def penalty_noise_halved() -> Experiment:
    kernel, claim = Kernel(FLIP, Penalty(1.0, 0.5)), Claim(PenaltyBit(2.0, 1.0))
    return experiment_of("noise of the penalty halved", kernel, worst.two_states(0.0), claim=claim, steps=1)


def clip_doubled() -> Experiment:
    kernel, claim = algorithms.dp_barker(FLIP, 2.0), Claim(BarkerBit(2.0))
    return experiment_of("clip doubled", kernel, worst.two_states(RARE), claim=claim, steps=1)


def poisson_accounting(relation: str) -> Callable[[], Experiment]:
    """Batches of a fixed size, charged as if every record were in or out by a coin of its own."""

    def make() -> Experiment:
        kernel = algorithms.dp_sgld(0.25, 1.0, batch=4)
        claim = Claim(replace(kernel.event(8), sampling="poisson", relation=relation))
        at = worst.slope(records=8, others=FAR)
        return experiment_of(f"Poisson accounting of fixed batches, {relation}", kernel, at, claim=claim, steps=1)

    return make


def plain_metropolis() -> Experiment:
    kernel, claim = algorithms.metropolis(FLIP), Claim(BarkerBit(2.0))
    return experiment_of("plain Metropolis", kernel, worst.two_states(-1.0, size=1.0), claim=claim, steps=1)


def published_fast_mh() -> Experiment:
    return AUDITS["published_fast_mh"]()[0]


def leaking_likelihood() -> Experiment:
    one, other = (np.r_[first, np.zeros(7)] for first in (-4.0, 4.0))
    at = Neighbours((leaking(one), leaking(other)), (one, other))
    return experiment_of("leaking likelihood", algorithms.dp_barker(FLIP, 1.0), at, steps=1)


def reused_coins() -> Experiment:
    return replace(AUDITS["dp_barker"]()[2], source=ReusedCoins)


PLANTED: dict[str, tuple[Callable[[], Experiment], int]] = {
    "noise halved": (noise_halved, 1000),
    "noise of the penalty halved": (penalty_noise_halved, 1000),
    "clip doubled": (clip_doubled, 2000),
    "Poisson accounting, add or remove": (poisson_accounting(ADD_REMOVE), 5000),
    "Poisson accounting, substitution": (poisson_accounting(SUBSTITUTION), 30_000),
    "published DP-Fast MH": (published_fast_mh, 3000),
    "plain Metropolis": (plain_metropolis, 500),
    "leaking likelihood": (leaking_likelihood, 500),
    "reused coins": (reused_coins, 1000),
}

SOUND: dict[str, Callable[[], Experiment]] = {
    "sums with noise": lambda: experiment_of("sound", algorithms.dp_sgld(0.25, 1.0), worst.slope(), steps=1),
    "penalty": lambda: experiment_of("sound", algorithms.dp_penalty(FLIP, 1.0), worst.two_states(LIKELY), steps=1),
    "Barker": lambda: AUDITS["dp_barker"]()[2],
}
"""What some of the above are made of."""
