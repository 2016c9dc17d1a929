"""Draws of a regression on the scale of its table: coefficients per unit of each column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.diagnostics import arviz, quietly

_FEWEST = 4  # draws that a summary can be made of


@dataclass(frozen=True, eq=False)
class OriginalScale:
    """What a release says of the coefficients, on the scale of the table; printed, it is a table of them.

    - ``draws``: a dictionary from names to arrays (chain, draw), without warm-up. Each draw is the exact image of one
      draw of the release, so all of this is free post-processing;
    - ``verdict``: that of the release, which is about the parameters that were sampled;
    - ``attributes``: guarantee, receipts and quality of the release, as ArviZ has them.
    """

    draws: dict[str, np.ndarray]
    verdict: str
    attributes: dict[str, Any]

    @classmethod
    def of(cls, release: Any, draws: dict[str, np.ndarray]) -> OriginalScale:
        verdict = f"Verdict of the release: {release.quality.verdict}. {release.quality.reason}"
        return cls(draws, verdict, dict(release.to_arviz().posterior.attrs))

    def to_arviz(self) -> Any:
        """ArviZ InferenceData, with the guarantee and the verdict of the release in its attributes."""
        return arviz().from_dict(posterior=self.draws, attrs=self.attributes, posterior_attrs=self.attributes)

    def summary(self) -> Any:
        """Means, standard deviations and 90 % intervals as a data frame."""
        with quietly() as az:
            table = az.summary(self.to_arviz().posterior, kind="stats", hdi_prob=0.9, round_to="none")
        rows = [row for name in self.draws for row in table.index if row == name or row.startswith(f"{name}[")]
        return table.loc[list(dict.fromkeys(rows)), ["mean", "sd", "hdi_5%", "hdi_95%"]]

    def __str__(self) -> str:
        if next(iter(self.draws.values())).shape[1] < _FEWEST:
            return f"{self.verdict}\nToo few draws for a summary."
        return f"{self.verdict}\n\n{self.summary().to_string(float_format=lambda value: f'{value:.4g}')}"

    __repr__ = __str__
