"""Draws of a likelihood that is not normal: by importance weights that can be relied on, or else by trajectories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import importance, trajectories
from dpmcmc.scores.curve import Density


class Drawn(NamedTuple):
    """Draws (draw, parameter), as many as wanted, and whether they are draws of the density."""

    theta: np.ndarray
    mixed: bool


def sample(model: RaveledModel, density: Density, prior: np.ndarray, count: int, seed: int) -> Drawn:
    """Draws of prior·exp(−½ DᵀAD + aᵀD); ``prior`` is a precision, to begin with."""
    rng, none = np.random.default_rng(seed), np.zeros((0, len(prior)))
    weighted = importance.sample(model, density, prior, count, rng)
    if weighted.draws is not None:
        return Drawn(weighted.draws, True)
    if not len(weighted.about):
        return Drawn(none, False)
    root, key = weighted.proposal.root, int(rng.integers(2**31))
    walked = trajectories.sample(model, density, weighted.about, root, count, key)
    if walked is None or not walked.mixed:
        return Drawn(none, False)
    return Drawn(rng.permutation(walked.theta.reshape(-1, len(prior)))[:count], True)
