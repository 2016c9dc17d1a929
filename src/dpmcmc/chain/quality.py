"""How good the draws of a chain are: what its own autocorrelation and its agreement with other chains tell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpmcmc.diagnostics import quietly
from dpmcmc.quality import NOT_USABLE, USABLE, WIDE, Quality

FEWEST = 4  # draws that effective sample sizes can be had from
AGREED, CLOSE = 1.1, 1.03  # largest R-hat of chains that have agreed, and of chains whose tails can be used
ENOUGH = 50  # effective draws for tails and intervals


@dataclass(frozen=True)
class ChainQuality(Quality):
    """``effective_draws``: the least bulk effective sample size of any parameter; ``r_hat``: the largest R-hat, of the
    halves of a single chain where there is only one.

    NaN where there are too few draws to tell, or where a parameter never moved.
    """

    effective_draws: float
    r_hat: float
    n: int
    temperature: float

    diagnostics: ClassVar[tuple[str, ...]] = ("ess_bulk", "ess_tail", "r_hat")

    @classmethod
    def of(cls, draws: dict[str, np.ndarray], warmup: int, n: int, temperature: float) -> ChainQuality:
        """From draws by parameter, (chain, draw, ...)."""
        kept = [np.asarray(values[:, warmup:], np.float64) for values in draws.values()]
        ess, r_hat = math.nan, math.nan
        if kept[0].shape[1] >= FEWEST:
            columns = [column.T for values in kept for column in values.reshape(*values.shape[:2], -1).T]
            with np.errstate(all="ignore"), quietly() as az:
                ess = float(np.min([az.ess(column, method="bulk") for column in columns]))
                r_hat = float(np.max([az.rhat(_at_least_two(column)) for column in columns]))
        return cls(ess, r_hat, n, temperature)

    @property
    def mean_error(self) -> float:
        """Error of posterior means by finitely many correlated draws, in posterior standard deviations."""
        return 1 / math.sqrt(self.effective_draws)

    @property
    def verdict(self) -> str:
        if not (self.r_hat <= AGREED and self.effective_draws >= FEWEST):
            return NOT_USABLE
        return USABLE if self.r_hat <= CLOSE and self.effective_draws >= ENOUGH else WIDE

    @property
    def reason(self) -> str:
        if self.verdict == NOT_USABLE:
            return (
                "The chains have not agreed, or have too few draws to tell: the budget pays for too few steps. Take a "
                "larger epsilon, more records or a temperature below 1, or the default method."
            )
        if self.verdict == WIDE:
            return "The draws give means, but too few of them are independent for tails and intervals."
        return "The chains have agreed. What clipping does to the posterior is not seen in that."

    def describe(self) -> str:
        counted = f"n = {self.n}"
        if self.temperature != 1:
            counted += f", tempered to count as {self.n * self.temperature:.0f}"
        if not (math.isfinite(self.effective_draws) and math.isfinite(self.r_hat)):
            return f"Quality: {counted}; effective draws and R-hat cannot be computed (too few draws, or no moves)."
        means = f"the Monte Carlo error of the means is about {self.mean_error:.2f} standard deviations of these draws"
        if self.r_hat > AGREED:
            means = "not converged: use the draws as a rough location at best"
        elif self.r_hat > CLOSE or self.effective_draws < ENOUGH:
            means += ", that of tails and intervals larger"
        return (
            f"Quality: {counted}; smallest effective sample size {self.effective_draws:.0f}, largest R-hat "
            f"{self.r_hat:.2f}: {means}. This is not the distance to the posterior: clipping can shift and widen the "
            "draws, and these figures do not show it."
        )


def _at_least_two(draws: np.ndarray) -> np.ndarray:
    """The chains, or the halves of a single one: (chain, draw)."""
    if len(draws) > 1:
        return draws
    half = draws.shape[1] // 2
    return np.stack([draws[0, :half], draws[0, -half:]])
