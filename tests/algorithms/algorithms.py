"""Every algorithm, how it is set up on a problem, and what it claims."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc import algorithms as a


@dataclass(frozen=True)
class Algorithm:
    """``error`` is None for exact algorithms, otherwise the largest error in posterior standard deviations."""

    kernel: Callable[[Any], Any]
    error: float | None = None
    temperature: float = 1.0
    steps: int = 400
    private: bool = True
    slow: bool = False


def fit(problem, temperature=1.0):
    """A Gaussian fit a little off and too wide, as a paid-for one would be."""
    mean, std = problem.moments(temperature)
    return mean + 0.25 * std, np.diag(1.2 * std)


def short(problem):
    """Moves of bounded length, for tests that need a true bound on every log ratio."""
    return dp.proposals.Sphere(problem.step)


ALGORITHMS = {
    "barker": Algorithm(lambda p: a.dp_barker(1.5 * p.step, clip=50.0)),
    "barker, subsampled": Algorithm(
        lambda p: a.dp_barker_subsampled(2.0 * p.step, batch=50), error=0.15, temperature=0.05
    ),
    "barker, exact minibatch": Algorithm(lambda p: a.dp_barker_minibatch(short(p), bound=2.0), steps=500),
    "penalty": Algorithm(lambda p: a.dp_penalty(1.5 * p.step, clip=50.0, std=1.0)),
    "penalty, proportional noise": Algorithm(lambda p: a.dp_penalty(1.5 * p.step, clip=5.0, noise_multiplier=0.1)),
    "penalty, one component": Algorithm(lambda p: a.dp_penalty_one_component(3.0 * p.step, clip=50.0), steps=1000),
    "penalty, guided": Algorithm(lambda p: a.dp_penalty_guided(1.5 * p.step, clip=50.0), steps=600),
    "penalty, minibatch": Algorithm(
        lambda p: a.dp_penalty_minibatch(1.5 * p.step, batch=50, clip=10.0), error=0.15, temperature=0.2
    ),
    "hmc": Algorithm(lambda p: a.dp_hmc(0.3 * p.step, 5, 2.0, 1.0, clip=50.0, std=0.5), steps=400),
    "hmc, gradient reused": Algorithm(
        lambda p: a.dp_hmc(0.3 * p.step, 5, 2.0, 1.0, clip=50.0, std=0.5, reuse_gradient=True), steps=400
    ),
    "sgld": Algorithm(lambda p: a.dp_sgld(0.1 * p.step**2, clip=5.0), error=0.15, steps=1500),
    "selection on an orbit": Algorithm(lambda p: a.dp_orbit(*fit(p), 16, clip=50.0), steps=60),
    "selection about a hidden centre": Algorithm(lambda p: a.dp_hidden_centre(p.step, 16, clip=50.0), steps=150),
    "metropolis (not private)": Algorithm(lambda p: a.metropolis(2.0 * p.step), private=False),
    "barker (not private)": Algorithm(lambda p: a.barker(1.5 * p.step), private=False),
    "hmc (not private)": Algorithm(lambda p: a.hmc(0.3 * p.step, 5), steps=400, private=False),
    "sgld (not private)": Algorithm(lambda p: a.sgld(0.1 * p.step**2), error=0.15, steps=1500, private=False),
    "growing batch (not private)": Algorithm(lambda p: a.seita(1.0 * p.step, 50), error=0.15, private=False, slow=True),
    "TunaMH (not private)": Algorithm(lambda p: a.tuna_mh(p.step, constants=8.0, chi=0.01), private=False, slow=True),
}
