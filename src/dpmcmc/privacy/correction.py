"""The correction distribution: what to add to normal noise so that the sum is nearly logistic.

Barker's test needs Δ + V_logistic > 0; a minibatch brings normal noise of variance C of its own, so one draws V_cor
with N(0, C) + V_cor ≈ logistic. No V_cor does it exactly for any C > 0. The best one in the uniform distance of the
cdfs, which is the error that bounds the bias of the chain (Heikkilä et al. 2019, Thm 4), solves a linear program
over the weights of a grid of atoms; its optimum has a handful of atoms, so a draw is a table look-up.

Reference: docs/theory/correction.md; Seita et al. 2017 (the idea), Heikkilä et al. 2019, sec. 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit, ndtr

_SPAN = 18.0  # atoms lie in [−18, 18]; beyond, both cdfs are within 2e-8 of 0 or 1 and atoms are worth nothing
_GAP = 0.1  # spacing of the first grid of atoms, divided by 4 at every round
_ROUNDS = 4
_SCALE = 1e6  # errors are counted in millionths, so that the solver's tolerance 1e-10 means 1e-16


@dataclass(frozen=True)
class Correction:
    """A symmetric distribution of finitely many ``atoms`` with ``weights``, for normal noise of ``variance``.

    ``error`` is an upper bound on sup_y |P(N(0, variance) + V_cor ≤ y) − logistic(y)|.
    """

    variance: float
    atoms: tuple[float, ...]
    weights: tuple[float, ...]
    error: float

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """(value, probability) pairs, as events carry them."""
        return tuple(zip(self.atoms, self.weights, strict=True))

    def cdf(self, y: np.ndarray | float) -> np.ndarray:
        """The cdf of N(0, variance) + V_cor."""
        z = (np.asarray(y, dtype=np.float64)[..., None] - np.array(self.atoms)) / np.sqrt(self.variance)
        value: np.ndarray = ndtr(z) @ np.array(self.weights)
        return value


@lru_cache(maxsize=64)
def optimal_correction(variance: float) -> Correction:
    """The correction distribution with the least uniform error for normal noise of ``variance`` ≥ 1.

    Guarantee: ``error`` bounds the distance for the atoms and weights returned, whatever the solver did. It is
    optimal over the first grid of atoms and then improved by placing finer grids around the atoms in use.
    """
    if not (1 <= variance < np.inf):
        raise ValueError(
            f"correction: variance must be finite and at least 1 (below, the error is under the solver's precision), "
            f"got {variance!r}"
        )
    atoms = np.arange(0.0, _SPAN + _GAP / 2, _GAP)
    gap = _GAP
    for _ in range(_ROUNDS):
        weights = _best_weights(variance, atoms)
        used = weights > 1e-13
        support, mass = atoms[used], weights[used]
        gap /= 4
        around = (support[:, None] + gap * np.arange(-4, 5)).ravel()
        atoms = np.unique(np.round(np.clip(around, 0, _SPAN), 9))
    support, mass = _merged(support, mass, 6 * gap)
    both = np.concatenate([-support[::-1], support])
    half = np.concatenate([mass[::-1], mass]) / (2 * mass.sum())
    if support[0] == 0:  # the atom at 0 is its own mirror image
        middle = len(support) - 1
        both, half = np.delete(both, middle), np.delete(half, middle)
        half[middle] *= 2
    error = distance_to_logistic(variance, both, half)
    return Correction(variance, tuple(both.tolist()), tuple(half.tolist()), error)


def distance_to_logistic(variance: float, atoms: np.ndarray, weights: np.ndarray) -> float:
    """An upper bound on sup_y |F(y) − logistic(y)|, F the cdf of N(0, variance) plus the atoms.

    With e = F − logistic and |e''| ≤ M, the maximum of |e| exceeds its maximum on a grid of spacing h by at most
    M h²/8. Outside the grid both cdfs lie in one tail, and their distance is at most the larger tail mass.
    """
    spacing, end = 1e-4, 24.0 + np.max(np.abs(atoms))
    curvature = 0.2420 / variance + 0.0963  # max |φ'| of N(0, C), and max |σ''| of the logistic
    worst = np.maximum(_tails(variance, atoms, weights, end), np.exp(-end))
    for start in np.arange(-end, end, 4.0):
        y = start + spacing * np.arange(round(4.0 / spacing) + 1)
        cdf = np.zeros_like(y)
        for z, w in zip(atoms, weights, strict=True):
            cdf += w * ndtr((y - z) / np.sqrt(variance))
        worst = np.maximum(worst, np.abs(cdf - expit(y)).max())
    return float(worst + curvature * spacing**2 / 8 + 1e-15)


def _tails(variance: float, atoms: np.ndarray, weights: np.ndarray, end: float) -> float:
    upper = weights @ ndtr((atoms - end) / np.sqrt(variance))
    lower = weights @ ndtr((-end - atoms) / np.sqrt(variance))
    return float(max(upper, lower))


def _best_weights(variance: float, atoms: np.ndarray) -> np.ndarray:
    """min E over weights ≥ 0 summing to 1 with |Σ w_k F_k(y) − logistic(y)| ≤ E on a grid of y ≥ 0.

    F_k is the cdf of N(0, C) plus ±atom_k with probability ½ each; by symmetry y < 0 adds nothing.
    """
    y = np.concatenate([np.arange(0.04, 10, 0.04), np.arange(10, _SPAN + 4, 0.2)])[:, None]
    std = np.sqrt(variance)
    cdf = _SCALE * (ndtr((y - atoms) / std) + ndtr((y + atoms) / std)) / 2
    target = _SCALE * expit(y[:, 0])
    slack = -np.ones_like(y)
    for tolerance in (1e-10, 1e-9, 1e-8):  # the error is certified afterwards, so a looser solution costs no soundness
        solved = linprog(
            np.append(np.zeros_like(atoms), 1.0),
            A_ub=np.block([[cdf, slack], [-cdf, slack]]),
            b_ub=np.concatenate([target, -target]),
            A_eq=np.append(np.ones_like(atoms), 0.0)[None],
            b_eq=[1.0],
            method="highs-ds",
            options={"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance},
        )
        if solved.x is not None:
            break
    if solved.x is None:
        raise RuntimeError(f"correction: the linear program for variance {variance!r} failed: {solved.message}")
    weights = np.maximum(solved.x[:-1], 0)
    scaled: np.ndarray = weights / weights.sum()
    return scaled


def _merged(atoms: np.ndarray, weights: np.ndarray, near: float) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring atoms closer than ``near`` become one at their mean (the error moves by their spacing squared)."""
    group = np.concatenate([[0], np.cumsum(np.diff(atoms) > near)])
    mass = np.bincount(group, weights)
    return np.bincount(group, weights * atoms) / mass, mass
