"""Draws of a regression on the scale of its table: coefficients per unit of each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpmcmc.diagnostics import arviz, summary
from dpmcmc.models.formula.design import Design
from dpmcmc.models.groups import deviation, log_spread
from dpmcmc.models.regression import Regression
from dpmcmc.notebook import plotted

_FEWEST = 4  # draws that a summary can be made of


def original(design: Design, likelihood: Regression, offset: float, theta: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of scaled columns on the scale of the table; ``offset`` is the centre of the offset's bounds."""
    found: dict[str, Any] = {}
    for which in likelihood.predictors:
        found |= _of_predictor(design, likelihood, offset, theta, which)
    return likelihood.shown(found, theta)


def _of_predictor(
    design: Design, likelihood: Regression, offset: float, theta: Mapping[str, Any], which: str
) -> dict[str, Any]:
    (centre, half), found = likelihood.outcome_scale, {}

    def name(of: str) -> str:
        return likelihood.coefficient(of, which)

    slopes = {column.name: half / column.scale * theta[name(column.name)] for column in design.columns}
    if design.intercept:
        shift = offset + sum(slopes[column.name] * column.shift for column in design.columns)
        found[name("intercept")] = centre + half * theta[name("intercept")] - shift
    found |= {name(column): slope for column, slope in slopes.items()}
    for group, labels in likelihood.groups.items():
        spread = half * np.exp(np.asarray(theta[name(log_spread(group))]))
        found[name(f"1|{group}_sigma")] = spread
        found |= {name(f"1|{group}[{label}]"): spread * theta[name(deviation(group, label))] for label in labels}
    return found


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
        return cls(draws, verdict, release.attributes())

    def to_arviz(self) -> Any:
        """ArviZ InferenceData, with the guarantee and the verdict of the release in its attributes."""
        return arviz().from_dict(posterior=self.draws, attrs=self.attributes, posterior_attrs=self.attributes)

    def summary(self) -> Any:
        """Means, standard deviations and 90 % intervals as a data frame."""
        return summary(self.draws)

    def plot(self, kind: str = "forest", names: Sequence[str] | None = None) -> Any:
        """A picture of the coefficients, "forest" or "densities": see :meth:`dpmcmc.Release.plot`."""
        return plotted(self.draws, kind, names)

    def __str__(self) -> str:
        if next(iter(self.draws.values())).shape[1] < _FEWEST:
            return f"{self.verdict}\nToo few draws for a summary."
        return f"{self.verdict}\n\n{self.summary().to_string(float_format=lambda value: f'{value:.4g}')}"

    __repr__ = __str__
