"""Draws of a likelihood that is not normal, by one of three ways.

Importance weights take least and do where the likelihood bends little. Where they cannot be relied on, trajectories in
θ do for hierarchies, unless their ridge is so thin that steps become too short: walkers in coordinates along it are for
those, and for where trajectories did not mix. If neither mixed there are no draws.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import importance, trajectories, walkers
from dpmcmc.scores.curve import Density
from dpmcmc.scores.mixing import Walked


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
    parts = [walked] if walked is not None and walked.mixed else _along_the_ridge(model, density, prior, count, rng)
    if not parts:
        return nothing
    theta = np.concatenate([part.theta.reshape(-1, len(prior)) for part in parts])
    return Drawn(rng.permutation(theta)[:count], True)


def _along_the_ridge(
    model: RaveledModel, density: Density, prior: np.ndarray, count: int, rng: np.random.Generator
) -> list[Walked]:
    """Runs of walkers, enough for ``count`` draws; none if one of them did not mix."""
    parts: list[Walked] = []
    for _ in range(-(-count // (walkers.WALKERS * walkers.KEPT))):
        walked = walkers.sample(model, density, prior, int(rng.integers(2**31)))
        if not walked.mixed:
            return []
        parts.append(walked)
    return parts
