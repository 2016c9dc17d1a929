"""What few, tempered draws from a finite set are worth: from public settings and the draws themselves."""

from __future__ import annotations

from dataclasses import dataclass

from dpmcmc.quality import NOT_USABLE, USABLE, WIDE, Quality

WIDER, USELESS = 1 / (1 + 0.5**2), 1 / (1 + 2.0**2)
"""Shares of the records that count at which intervals are as much wider as by noise of 0.5 and 2 posterior standard
deviations, where other methods change their verdict."""

FEW = 4
"""Draws below which there is no spread to speak of."""

REMEDY = "fewer draws, a larger epsilon, or the default method"


@dataclass(frozen=True)
class PosteriorDrawsQuality(Quality):
    """How far the draws are from draws of the posterior.

    - ``temperature``: the power of the likelihood that the budget pays for, ``asked`` what was asked for;
    - ``draws`` in all, of which ``distinct`` are different (None before the run);
    - ``candidates``: how many they were chosen from.
    """

    temperature: float
    asked: float
    draws: int
    candidates: int
    n: int
    distinct: int | None = None

    @property
    def share(self) -> float:
        """Of what the records were to count, how much they do."""
        return self.temperature / self.asked

    @property
    def widening(self) -> float:
        """How much wider a smooth posterior is than the one that was asked for."""
        return float(self.share**-0.5)

    @property
    def coarse(self) -> bool:
        """Most draws are the same few candidates: the posterior is narrower than the gaps between them."""
        return self.distinct is not None and self.draws >= FEW and self.distinct <= max(1, self.draws // 4)

    @property
    def verdict(self) -> str:
        if self.coarse or self.share < USELESS:
            return NOT_USABLE
        return WIDE if self.share < WIDER or self.draws < FEW else USABLE

    @property
    def reason(self) -> str:
        if self.coarse:
            return (
                f"Only {self.distinct} of {self.draws} draws are different: the {self.candidates} candidates are too "
                "coarse for what is known. Remedy: more candidates, or a set that is finer where the posterior lies."
            )
        if self.share < WIDER:
            return (
                f"The budget pays for {self.draws} draw{'s' * (self.draws > 1)} at temperature {self.temperature:.3g}: "
                f"{self.n} records count as {self.n * self.temperature:.3g}, and intervals are about "
                f"{self.widening:.2g} times as wide as asked for. Remedy: {REMEDY}."
            )
        if self.draws < FEW:
            return (
                f"{self.draws} draw{'s' * (self.draws > 1)} of the posterior on the candidates: a point of it, without "
                "a measure of how far others may lie."
            )
        return "The draws are those of the posterior on the candidates, nearly as it was asked for."

    def describe(self) -> str:
        counted = f"n = {self.n}, tempered to count as {self.n * self.temperature:.3g}"
        different = "" if self.distinct is None else f", {self.distinct} of them different"
        return (
            f"Quality: {counted}; {self.draws} exact draws{different} of the posterior of the clipped log likelihoods "
            f"on {self.candidates} candidates. Not seen: how many records the bound clips, and what lies between the "
            "candidates."
        )
