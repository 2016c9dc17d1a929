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
FEWEST_STEPS = 50  # of each chain, below which no chain is of use
OFF, FAR = 0.5, 1.0  # errors of means, in posterior standard deviations, that show in intervals, and that spoil them
WIDER = 1.5  # draws' standard deviations over the posterior's, or the inverse, that show in intervals


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


@dataclass(frozen=True)
class RehearsedQuality(ChainQuality):
    """The quality of a chain whose records are simulated or public, so that its distance to the posterior is known.

    - ``steps``: that each chain would run, warm-up included;
    - ``posterior_error``: of the draws' means against the posterior without privacy, root mean square over parameters,
      in its standard deviations: what is left of the way from the start, and what the clip does;
    - ``widening``: the draws' standard deviations over the posterior's, the median of the parameters'.

    The last two are NaN where the posterior was not found.
    """

    steps: int
    posterior_error: float
    widening: float

    @property
    def arrived(self) -> bool:
        """Whether the draws are where the posterior is, as far as that is known."""
        return not self.posterior_error > FAR

    @property
    def bent(self) -> bool:
        """Whether the draws differ from the posterior by more than intervals forgive."""
        return self.posterior_error > OFF or self.widening > WIDER or self.widening < 1 / WIDER

    @property
    def verdict(self) -> str:
        if self.steps < FEWEST_STEPS or not self.arrived:
            return NOT_USABLE
        verdict = super().verdict
        return WIDE if verdict == USABLE and self.bent else verdict

    @property
    def reason(self) -> str:
        if self.steps < FEWEST_STEPS:
            return f"{self.steps} steps cannot leave the start behind and then describe a posterior."
        if not self.arrived:
            return f"The chains end {_times(self.posterior_error)} posterior standard deviations from the posterior."
        if self.verdict == NOT_USABLE:
            return "The chains do not agree, or have too few effective draws to tell."
        if self.bent:
            return (
                f"The draws have means off by {self.posterior_error:.2f} posterior standard deviations and are "
                f"{self.widening:.2f} times as wide as the posterior: the clip or the way from the start shows in them."
            )
        return super().reason

    def describe(self) -> str:
        return (
            f"Quality: {self.steps} steps of each chain; smallest effective sample size {self.effective_draws:.0f}, "
            f"largest R-hat {self.r_hat:.2f}; means off by {self.posterior_error:.2f} posterior standard deviations, "
            f"draws {self.widening:.2f} times as wide as the posterior."
        )


def _times(number: float) -> str:
    return f"{number:.1f}" if number < 100 else "more than 100"
