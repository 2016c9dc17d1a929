"""Steps that accept a wanted share of moves, from expected acceptances at exact posterior draws.

This is what "tuned to 60 %" is here: no chain is run for it. It reads the records and pays nothing, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpmcmc_experiments.zhang2023.published import Published

TARGET = 0.6  # App. E
LEAST_RATE = 10.0  # λ of the authors' code
QUANTILE = 0.95  # share of moves that λ leaves to minibatches


@dataclass(frozen=True)
class Moves:
    """Posterior draws, a normal direction each, and the log ratios of moves along them.

    ``total(there)`` is the tempered log ratio on all records, ``change(there, move, record)`` that of one record.
    """

    here: np.ndarray
    directions: np.ndarray
    constants: np.ndarray
    """cᵢ, tempered."""
    total: Callable[[np.ndarray], np.ndarray]
    change: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    @property
    def lengths(self) -> np.ndarray:
        return np.linalg.norm(self.directions, axis=1)


def metropolis(t: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(t, 0.0))


def penalised(t: np.ndarray, std: np.ndarray) -> np.ndarray:
    """E min(1, e^{t + N(0, s²) − s²/2}) = Φ(t/s − s/2) + e^t Φ(−t/s − s/2)."""
    s = np.where(std > 0, std, 1.0)
    noisy = ndtr(t / s - s / 2) + np.exp(t + log_ndtr(-t / s - s / 2))
    return np.where(std > 0, noisy, metropolis(t))


def noise_multiplier(epsilon: float, delta: float) -> float:
    """σ = √(2 log(1.25/δ))/ε, as Algorithm 2 has it, also where ε is above 1."""
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def on_all_records(moves: Moves, setting: Published, free: bool = True) -> np.ndarray:
    """Acceptance of each move by DP-fast MH, which adds no noise where Δ ≤ ε; without ``free`` by the penalty test."""
    shift = 2 * moves.constants.max() * setting.step * moves.lengths
    std = noise_multiplier(setting.epsilon, setting.delta) * shift
    std = np.where(free & (shift <= setting.epsilon), 0.0, std)
    return penalised(moves.total(moves.here + setting.step * moves.directions), std)


def minibatch_ratios(moves: Moves, step: float, rate: float, which: np.ndarray) -> np.ndarray:
    """TunaMH's log ratios of the moves ``which``, one minibatch each."""
    rng, c, there = np.random.default_rng(0), moves.constants, moves.here + step * moves.directions
    total, far = c.sum(), step * moves.lengths
    counts = np.where(which, rng.poisson(rate + total * far), 0)
    move = np.repeat(np.arange(len(far)), counts)
    record = np.minimum(np.searchsorted(np.cumsum(c), rng.random(len(move)) * total), len(c) - 1)
    bound, a = c[record] * far[move], rate * c[record] / total
    phi = (bound - np.clip(moves.change(there, move, record), -bound, bound)) / 2
    kept = rng.random(len(move)) * (a + bound) < a + phi
    return np.bincount(move, np.where(kept, np.log((a + bound - phi) / (a + phi)), 0.0), len(far))


def on_minibatches(moves: Moves, setting: Published, coded_sensitivity: bool = False) -> np.ndarray:
    """Acceptance of each move by DP-fast MH: the branch by λ + CM, a penalty where there is noise."""
    step, rate, c, bound = setting.step, setting.rate, moves.constants, setting.largest_batch
    reach = c.sum() * step * moves.lengths
    small, spread = rate + reach < bound, c.sum() / (bound * c.max())
    odds = 1 / (rate * reach) if coded_sensitivity else reach / rate
    shift, allowed = 2 * np.log1p(odds), setting.epsilon * spread / 6
    std = np.where(shift <= allowed, 0.0, shift * noise_multiplier(allowed, min(setting.delta * spread / 2, 1.0)))
    few = penalised(minibatch_ratios(moves, step, rate, small), std)
    return np.where(small, few, on_all_records(moves, setting))


def filling_rate(moves: Moves, step: float, largest_batch: float) -> float:
    """The largest λ with λ + CM < K for ``QUANTILE`` of the moves, 10 at least: noise falls with λ."""
    far = float(np.quantile(moves.lengths, QUANTILE)) * step
    return max(LEAST_RATE, largest_batch - float(moves.constants.sum()) * far)


def step_for(accepts: Callable[[float], float], start: float, target: float = TARGET, factor: float = 1.4) -> float:
    """The step at which acceptance first falls to ``target``, going up from ``start``; log-linear between."""
    low, above = start, accepts(start)
    if above < target:
        return step_for(accepts, start / 8, target, factor) if start > 1e-9 else start
    while True:
        high = low * factor
        below = accepts(high)
        if below < target:
            share = (above - target) / (above - below)
            return float(low * factor**share)
        low, above = high, below
