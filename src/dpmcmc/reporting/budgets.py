"""What another budget would buy: the release's own figure, carried along by how much noise a budget needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.charge import Purse
from dpmcmc.privacy import Budget
from dpmcmc.release import Release

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
DOUBT = 0.5  # of the exponent: the band is (μ/μ')^(1 ± DOUBT)


@dataclass(frozen=True)
class BudgetCurve:
    """Errors of means, in posterior standard deviations, at budgets of the same δ: as scaled, and a band around it.

    Noise of Gaussian sums is in proportion to 1/μ, where μ is what the budget pays for (Dong, Roth & Su 2022). The
    number of sums, the clip and the share of each stage stay as they were in this release; they would not quite, which
    is what the band stands for: it is a rule of thumb, and no confidence interval.
    """

    epsilons: np.ndarray
    errors: np.ndarray
    low: np.ndarray
    high: np.ndarray
    epsilon: float
    delta: float
    error: float
    widening: float

    def at(self, factor: float) -> tuple[float, float, float, float]:
        """ε, error, widening of intervals, and the largest error in the band, at so many times the budget."""
        error = float(np.interp(math.log(factor * self.epsilon), np.log(self.epsilons), self.errors))
        high = float(np.interp(math.log(factor * self.epsilon), np.log(self.epsilons), self.high))
        more = (self.widening**2 - 1) * (error / self.error) ** 2
        return factor * self.epsilon, error, math.sqrt(1 + more), high

    @property
    def table(self) -> list[tuple[float, float, float, float]]:
        return [self.at(factor) for factor in FACTORS]


def budget_curve(release: Release) -> BudgetCurve | None:
    """The curve of a release from Gaussian sums; None where its method has no such figure."""
    quality: Any = release.quality
    error = getattr(quality, "mean_error", math.nan)
    from_sums = release.sums is not None and isinstance(error, float) and 0 < error < math.inf
    if release.guarantee is None or not from_sums:
        return None
    epsilon, delta, last = release.guarantee.epsilon, release.guarantee.delta, release.receipts[-1]
    here = _mu(epsilon, delta, last)
    epsilons = epsilon * np.geomspace(min(FACTORS), max(FACTORS), 41)
    ratios = np.array([here / _mu(float(each), delta, last) for each in epsilons])
    bounds = np.sort(np.stack([ratios ** (1 - DOUBT), ratios ** (1 + DOUBT)]), axis=0)
    low, high = error * bounds
    return BudgetCurve(epsilons, error * ratios, low, high, epsilon, delta, error, quality.widening)


def _mu(epsilon: float, delta: float, receipt: Any) -> float:
    return Purse(Budget(epsilon, delta), receipt.arithmetic, (), receipt.unit).mu
