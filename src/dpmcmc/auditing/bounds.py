"""Lower bounds on the privacy loss from runs on two neighbouring data sets. NumPy and SciPy only.

A test guesses from what was released which of two data sets was used. If it says "the first" with probability b where
that is right and a where it is wrong, every (ε, δ) that holds has b ≤ e^ε a + δ, and every μ has Φ⁻¹(b) − Φ⁻¹(a) ≤ μ.
Upper confidence bounds on a and lower ones on b (Clopper & Pearson) thus bound ε and μ from below, whatever the
mechanism is. The test is chosen on runs that are not counted afterwards, so the choice costs no confidence.

Reference: Clopper & Pearson (1934); Kairouz, Oh & Viswanath (2015), Theorem 2.1; Dong, Roth & Su (2022), Section 2;
Nasr et al. (2023), "Tight auditing of differentially private machine learning", for bounds on μ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import beta

TRAINING = 0.25
"""Share of the runs on which the test is chosen."""

_THRESHOLDS = 60


def lower_bound(hits: np.ndarray | float, runs: int, error: float) -> np.ndarray:
    """A number that a probability exceeds, wrong with probability ``error`` at most (Clopper & Pearson 1934)."""
    hits = np.asarray(hits, np.float64)
    return np.where(hits > 0, beta.ppf(error, np.maximum(hits, 1e-12), runs - hits + 1), 0.0)


def upper_bound(hits: np.ndarray | float, runs: int, error: float) -> np.ndarray:
    """A number that a probability falls short of, wrong with probability ``error`` at most."""
    return 1 - lower_bound(runs - np.asarray(hits, np.float64), runs, error)


def epsilon_bound(right: np.ndarray, wrong: np.ndarray, delta: float) -> np.ndarray:
    """The ε of a test that is right with probability ``right`` at least and wrong with ``wrong`` at most; 0 if none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        epsilon = np.log(np.maximum(right - delta, 0.0) / wrong)
    return np.where(right - delta > wrong, epsilon, 0.0)


def mu_bound(right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """The μ of a test that is right with probability ``right`` at least and wrong with ``wrong`` at most; 0 if none."""
    return np.where((right > wrong) & (right > 0) & (wrong < 1), ndtri(right) - ndtri(wrong), 0.0)


@dataclass(frozen=True)
class Counted:
    """How often the tests were right and wrong, of ``runs`` on each side."""

    right: np.ndarray
    wrong: np.ndarray
    runs: tuple[int, int]

    def bounds(self, error: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds on the probability of being right, upper ones on that of being wrong, ``error`` for both."""
        return lower_bound(self.right, self.runs[0], error / 2), upper_bound(self.wrong, self.runs[1], error / 2)


@dataclass(frozen=True)
class Guess:
    """A test: it says ``side`` where score(outcome) is above (or not above) a threshold."""

    score: Callable[[np.ndarray], np.ndarray]
    threshold: float
    above: bool
    side: int

    def count(self, outcomes: tuple[np.ndarray, np.ndarray]) -> Counted:
        """Of these runs, which did not choose the test."""
        hits = [int(np.sum((self.score(side) > self.threshold) == self.above)) for side in outcomes]
        right, wrong = hits[self.side], hits[1 - self.side]
        runs = (len(outcomes[self.side]), len(outcomes[1 - self.side]))
        return Counted(np.asarray(right), np.asarray(wrong), runs)


def halves(outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Runs to choose a test on, and runs to count."""
    cut = int(len(outcomes) * TRAINING)
    return outcomes[:cut], outcomes[cut:]


class Trials(NamedTuple):
    """Tests worth trying; with bounds on how often each is right and wrong, from the runs that choose between them."""

    score: Callable[[np.ndarray], np.ndarray]
    thresholds: np.ndarray
    above: np.ndarray
    sides: np.ndarray
    right: np.ndarray
    wrong: np.ndarray


def trials(training: tuple[np.ndarray, np.ndarray], error: float) -> Trials:
    """Every threshold, either side of it, for either data set. A test that looks good by chance has wide bounds."""
    score = order_of(training)
    scores = [np.sort(score(side)) for side in training]
    steps = np.unique(np.concatenate(scores))
    if len(steps) > _THRESHOLDS:
        steps = np.unique(np.quantile(np.concatenate(scores), np.linspace(0, 1, _THRESHOLDS + 2)[:-1]))
    else:
        steps = steps[:-1]
    at_most = np.stack([np.searchsorted(side, steps, side="right") for side in scores])
    runs = np.array([len(side) for side in training])
    hits = np.stack([runs[:, None] - at_most, at_most])  # (above or not, side, threshold)
    low = np.stack([lower_bound(hits[:, side], runs[side], error / 2) for side in (0, 1)], axis=1)
    high = np.stack([upper_bound(hits[:, side], runs[side], error / 2) for side in (0, 1)], axis=1)
    every = [(above, side) for above in (True, False) for side in (0, 1)]
    return Trials(
        score,
        np.tile(steps, len(every)),
        np.repeat([above for above, _ in every], len(steps)),
        np.repeat([side for _, side in every], len(steps)),
        np.concatenate([low[0 if above else 1, side] for above, side in every]),
        np.concatenate([high[0 if above else 1, 1 - side] for above, side in every]),
    )


def choose(tried: Trials, gain: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[Guess, float]:
    """The test of the largest ``gain``(right, wrong), and that gain."""
    gains = gain(tried.right, tried.wrong)
    best = int(np.argmax(gains))
    guess = Guess(tried.score, float(tried.thresholds[best]), bool(tried.above[best]), int(tried.sides[best]))
    return guess, float(gains[best])


def order_of(training: tuple[np.ndarray, np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Real numbers are their own score; kinds (whole numbers) are ordered by how much likelier one side makes them."""
    if all(np.issubdtype(side.dtype, np.floating) for side in training):
        return lambda outcomes: outcomes
    kinds = np.unique(np.concatenate(training))
    shares = [(np.array([np.sum(side == kind) for kind in kinds]) + 0.5) / (len(side) + 1) for side in training]
    losses = np.log(shares[1] / shares[0])

    def score(outcomes: np.ndarray) -> np.ndarray:
        place = np.minimum(np.searchsorted(kinds, outcomes), len(kinds) - 1)
        return np.where(kinds[place] == outcomes, losses[place], 0.0)

    return score


@dataclass(frozen=True)
class Estimate:
    """μ̂, a difference of means over the standard deviation, and where μ lies with 95 % confidence if all is normal."""

    value: float
    low: float
    high: float


def mu_estimate(outcomes: tuple[np.ndarray, np.ndarray]) -> Estimate:
    """μ̂ of real outcomes; its standard error is √((2 + μ²/4)/runs) for normal ones (Hedges & Olkin 1985, eq. 5.14)."""
    one, other = outcomes
    std = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    value = float(abs(other.mean() - one.mean()) / std)
    error = 1.96 * np.sqrt((2 + value**2 / 4) / min(len(one), len(other)))
    return Estimate(value, max(value - error, 0.0), value + error)
