"""Draws of a density that is somewhat bent, by importance weights, with a check that they can be relied on.

Places are proposed from a Student t whose mean and covariance are those of the places proposed before it, by their
weights (adaptive importance sampling: Cappé et al. 2004). Where few of these carry most of the weight, a power of the
weights is taken that leaves more of them. The last proposals are independent of what their Student t was made of.

Reference: docs/theory/score-release.md, "Likelihoods that are not normal".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpmcmc.diagnostics import quietly
from dpmcmc.raveled import RaveledModel
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.curve import WIDEST, Density, Places, compiled

ROUND, ROUNDS, LAST = 2048, 4, 4  # proposals of a round, rounds at most that adapt, rounds of draws at least
OVER = 4  # proposals for every draw
ABOUT = 256  # places about the density, for others to begin at
DEGREES = 4.0  # of the Student t: tails reach as far as the prior where D hardly changes
GOOD_TAIL = 0.7  # Pareto's k of importance weights that can be relied on (Vehtari et al. 2024)
GOOD, HOPELESS = 0.6, 0.02  # effective over all proposals: beyond, adapting gains little; below, it has not helped
LEAST = 1024  # effective number of proposals, if the draws are to be made of them
FOR_MOMENTS = 10  # for each parameter: places that a mean and a covariance are taken of
NARROWEST = 1e-6  # variance of proposals along one direction over that along another, in a round's own units
MOSTLY = 0.5  # of draws, that may not lie beyond a fold


class Proposal(NamedTuple):
    """A Student t: its centre, and a root of its scale matrix."""

    mean: np.ndarray
    root: np.ndarray


class Proposed(NamedTuple):
    """Places, in units of their proposal too, and logarithms of their importance weights."""

    theta: np.ndarray
    white: np.ndarray
    log_weights: np.ndarray

    def tempered(self) -> np.ndarray:
        """Weights, or a power of them with which enough places count; they sum to 1, or to 0 if no place counts."""
        best = np.max(self.log_weights)
        if not np.isfinite(best):
            return np.zeros(len(self.log_weights))
        least = min(FOR_MOMENTS * self.theta.shape[1], len(self.theta) / 4)
        for power in np.append(1.0, 0.9 ** np.arange(1, 60)):
            weights = np.exp(power * (self.log_weights - best))
            if np.sum(weights) ** 2 > least * np.sum(weights**2):
                break
        return weights / np.sum(weights)

    def effective(self) -> float:
        """How many places the weights are worth."""
        best = np.max(self.log_weights)
        weights = np.exp(self.log_weights - best) if np.isfinite(best) else np.zeros(1)
        return float(np.sum(weights) ** 2 / max(np.sum(weights**2), 1e-300))


class Weighted(NamedTuple):
    """Draws, None if weights could not be relied on; places about the density, and the last proposal, in any case."""

    draws: np.ndarray | None
    about: np.ndarray
    proposal: Proposal


def first(model: RaveledModel, density: Density, prior: np.ndarray) -> Proposal:
    """Where the posterior would be if the likelihood were normal and the prior one of that precision."""
    linear, centre = np.asarray(density.places.linear), np.asarray(density.places.centre)
    covariance = linear @ matrices.power(np.asarray(density.precision) + prior, -1, 1e-14) @ linear.T
    covariance = matrices.positive(covariance, 1e-12, WIDEST)
    back = np.linalg.inv(linear)
    slope = np.nan_to_num(np.asarray(vectors.prior_at(model)(centre)[1]))
    move = back @ (covariance @ (back.T @ (np.asarray(density.weighted) + slope)))
    return Proposal(centre + move, back @ np.linalg.cholesky(covariance))


def propose(
    model: RaveledModel, density: Density, proposal: Proposal, count: int, rng: np.random.Generator
) -> Proposed:
    """At least so many places and their weights."""
    values, size = compiled(model)[0], len(proposal.mean)
    blocks = -(-count // ROUND)
    normals = rng.normal(size=(blocks * ROUND, size))
    white = normals * np.sqrt(DEGREES / rng.chisquare(DEGREES, (len(normals), 1)))
    theta = proposal.mean + white @ proposal.root.T
    found = np.concatenate([np.asarray(values(density, part)) for part in np.split(theta, blocks)])
    log_weights = found + (DEGREES + size) / 2 * np.log1p(np.sum(white**2, axis=1) / DEGREES)
    return Proposed(theta, white, np.where(np.isnan(log_weights), -np.inf, log_weights))


def matched(proposal: Proposal, proposed: Proposed) -> Proposal:
    """The proposal with the mean and the covariance of what was proposed, by its weights."""
    weights = proposed.tempered()
    mean = weights @ proposed.white
    away = proposed.white - mean
    covariance = away.T @ (weights[:, None] * away)
    covariance = matrices.positive(covariance, max(NARROWEST * float(np.linalg.norm(covariance, 2)), 1e-300))
    return Proposal(proposal.mean + proposal.root @ mean, proposal.root @ np.linalg.cholesky(covariance))


def whole(model: RaveledModel, places: Places, theta: np.ndarray) -> np.ndarray:
    """Those of so many parameters that are not beyond a fold."""
    blocks = -(-len(theta) // ABOUT)
    padded = np.resize(theta, (blocks * ABOUT, theta.shape[1]))
    found = [np.asarray(compiled(model)[1](places, part)) for part in np.split(padded, blocks)]
    return theta[np.concatenate(found)[: len(theta)]]


def chosen(
    model: RaveledModel, density: Density, proposed: Proposed, count: int, rng: np.random.Generator
) -> np.ndarray | None:
    """So many draws by weight; None if the weights cannot be relied on."""
    with quietly() as az, np.errstate(all="ignore"):
        smoothed, tail = az.psislw(proposed.log_weights)
    weights = np.exp(np.nan_to_num(smoothed, nan=-np.inf))
    if not (float(tail) < GOOD_TAIL and np.sum(weights) ** 2 >= LEAST * np.sum(weights**2)):
        return None
    rows = rng.choice(len(weights), round(count / MOSTLY), p=weights / np.sum(weights))
    found = whole(model, density.places, proposed.theta[rows[:count]])
    if MOSTLY * count <= len(found) < count:  # the density ends at a fold: draws beyond it are made again
        found = np.concatenate([found, whole(model, density.places, proposed.theta[rows[count:]])])
    return found[:count] if len(found) >= count else None


def sample(model: RaveledModel, density: Density, prior: np.ndarray, count: int, rng: np.random.Generator) -> Weighted:
    """So many draws; ``prior`` is a precision, to begin with."""
    proposal = first(model, density, prior)
    for _ in range(ROUNDS):
        proposed = propose(model, density, proposal, ROUND, rng)
        if not np.any(np.isfinite(proposed.log_weights)):
            return Weighted(None, proposed.theta[:0], proposal)
        proposal = matched(proposal, proposed)
        if proposed.effective() > GOOD * ROUND:
            break
    if proposed.effective() > HOPELESS * ROUND:
        proposed = propose(model, density, proposal, max(LAST * ROUND, OVER * count), rng)
        found = chosen(model, density, proposed, count, rng)
        if found is not None:
            return Weighted(found, found, proposal)
    tempered = proposed.tempered()
    if not np.any(tempered):
        return Weighted(None, proposed.theta[:0], proposal)
    about = proposed.theta[rng.choice(len(tempered), ABOUT, p=tempered)]
    return Weighted(None, whole(model, density.places, about), proposal)
