"""How algorithms are set up on the problems: by their contract, and where that would be slow or off, as said here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc import algorithms as a
from dpmcmc.algorithms import ALGORITHMS, Algorithm


@dataclass(frozen=True)
class Setup:
    """A kernel for a problem, at a temperature, and the steps in which it is sure to reach its target."""

    kernel: Callable[[Any], Any]
    steps: int = 400
    temperature: float = 1.0


def fit(problem):
    """A Gaussian fit a little off and too wide, as a paid-for one would be."""
    mean, std = problem.moments()
    return mean + 0.25 * std, np.diag(1.2 * std)


def short(problem):
    """Moves of bounded length, for tests that need a true bound on every log ratio."""
    return dp.proposals.Sphere(problem.step)


#: By algorithm, or by algorithm and variant for a further set-up of it.
SETUPS = {
    "dp_barker_subsampled": Setup(lambda p: a.dp_barker_subsampled(2.0 * p.step, batch=50), temperature=0.05),
    "dp_barker_minibatch": Setup(lambda p: a.dp_barker_minibatch(short(p), bound=p.slope * p.step), steps=300),
    "dp_penalty, proportional noise": Setup(lambda p: a.dp_penalty(1.5 * p.step, clip=5.0, noise_multiplier=0.1)),
    "dp_penalty_one_component": Setup(lambda p: a.dp_penalty_one_component(3.0 * p.step, clip=50.0), steps=1000),
    "dp_penalty_guided": Setup(lambda p: a.dp_penalty_guided(1.5 * p.step, clip=50.0), steps=600),
    "dp_penalty_minibatch": Setup(lambda p: a.dp_penalty_minibatch(1.5 * p.step, batch=50, clip=10.0), temperature=0.2),
    "dp_hmc": Setup(lambda p: a.dp_hmc(0.3 * p.step, 5, 2.0, 1.0, clip=50.0, std=0.5)),
    "dp_hmc, gradient reused": Setup(
        lambda p: a.dp_hmc(0.3 * p.step, 5, 2.0, 1.0, clip=50.0, std=0.5, reuse_gradient=True)
    ),
    "dp_sgld": Setup(lambda p: a.dp_sgld(0.1 * p.step**2, clip=5.0), steps=1500),
    "dp_orbit": Setup(lambda p: a.dp_orbit(*fit(p), 16, clip=50.0), steps=60),
    "dp_hidden_centre": Setup(lambda p: a.dp_hidden_centre(p.step, 16, clip=50.0), steps=150),
    "hmc": Setup(lambda p: a.hmc(0.3 * p.step, 5)),
    "sgld": Setup(lambda p: a.sgld(0.1 * p.step**2), steps=1500),
    "seita": Setup(lambda p: a.seita(p.step, 50), steps=300),
    "tuna_mh": Setup(lambda p: a.tuna_mh(p.step, constants=p.slope, chi=0.01), steps=200),
}

#: Kept as published, whatever it samples.
WITHOUT_TARGET = {"published_fast_mh"}


def usual(algorithm: Algorithm) -> Setup:
    """What a contract makes of a walk of the problem's scale and a clip beyond every log ratio."""
    make = algorithm.contracts[0].make
    return Setup(lambda p: make(dp.RandomWalk(1.5 * p.step), 50.0))


def setups() -> dict[str, tuple[Algorithm, Setup]]:
    """Every registered algorithm with a target, further set-ups after the usual ones."""
    names = [name for name in ALGORITHMS if name not in WITHOUT_TARGET]
    further = [name for name in SETUPS if name not in names]
    return {
        name: (algorithm, SETUPS[name] if name in SETUPS else usual(algorithm))
        for name in names + further
        for algorithm in [ALGORITHMS[name.split(", ")[0]]]
    }
