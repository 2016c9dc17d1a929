"""Draws of a likelihood that is not normal, by one of three ways.

Importance weights take least and do where the likelihood bends little. Where they cannot be relied on, trajectories in
θ do for hierarchies, unless their ridge is so thin that steps become too short: walkers in coordinates along it are for
those. Trajectories or walkers that did not mix give no draws; no other way is tried then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import importance, trajectories, walkers
from dpmcmc.scores.curve import Density


class Drawn(NamedTuple):
    """Draws (draw, parameter), as many as wanted, and whether they are draws of the density: else there are none."""

    theta: np.ndarray
    mixed: bool


def sample(model: RaveledModel, density: Density, prior: np.ndarray, count: int, seed: int) -> Drawn:
    """Draws of prior·exp(−½ DᵀAD + aᵀD); ``prior`` is a precision, to begin with."""
    rng, nothing = np.random.default_rng(seed), Drawn(np.zeros((0, len(prior))), False)
    weighted = importance.sample(model, density, prior, count, rng)
    if weighted.draws is not None:
        return Drawn(weighted.draws, True)
    if not len(weighted.about):
        return nothing
    begin, root = weighted.about, weighted.proposal.root
    walked = trajectories.sample(model, density, begin, root, count, int(rng.integers(2**31)))
    if walked is not None:
        parts = [walked]
    else:
        runs = -(-count // (walkers.WALKERS * walkers.KEPT))
        parts = [walkers.sample(model, density, prior, int(rng.integers(2**31))) for _ in range(runs)]
    if not all(part.mixed for part in parts):
        return nothing
    theta = np.concatenate([part.theta.reshape(-1, len(prior)) for part in parts])
    return Drawn(rng.permutation(theta)[:count], True)
