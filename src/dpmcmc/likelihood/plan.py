"""What a planned likelihood release is: data, and nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dpmcmc.likelihood.raveled import RaveledModel
from dpmcmc.likelihood.regions import Region
from dpmcmc.likelihood.simulation import RecordsLike, from_public
from dpmcmc.likelihood.stages import GROUPS, Task
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.privacy import Budget
from dpmcmc.receipts import Guarantee, Receipt

HEADROOM = 1.1  # real covariates with the same moments stand out more than simulated ones: clip so much later


@dataclass(frozen=True, eq=False)
class PlannedRelease:
    """A few Gaussian sums whose cost fits the budget, complete with model, region and settings.

    ``summary`` is the sum of the records' own summaries, where the model has them; ``totals`` are the sums of their
    features, stage by stage. ``draws`` are per chain.
    """

    model: ModelLike
    raveled: RaveledModel
    region: Region
    n: int
    chains: int
    draws: int
    temperature: float
    budget: Budget
    guarantee: Guarantee
    receipts: tuple[Receipt, ...]
    summary: GaussianSum | None
    totals: tuple[GaussianSum, ...]
    public_data: PyTree | None = None

    def task(self, summary: np.ndarray | None) -> Task:
        """What the stages do, once the records' noisy mean ``summary`` is known."""
        model: Any = self.raveled.model
        if self.public_data is not None:
            like = RecordsLike(from_public(self.public_data))
        elif summary is not None:
            like = RecordsLike(partial(model.simulate_like, summary=summary), HEADROOM, confined=True)
        else:
            like = RecordsLike(model.simulate)
        return Task(
            model=self.raveled,
            region=self.region,
            n=self.n,
            temperature=self.temperature,
            like=like,
            noise=tuple(total.std for total in self.totals),
            particles=-(-self.chains * self.draws // GROUPS),
        )

    def describe(self) -> str:
        """The method in a few words."""
        first = "" if self.summary is None else "the covariates' moments, then "
        return (
            f"{first}the log likelihood released as a function, in {len(self.totals)} stages; drawing from it costs no "
            "further privacy"
        )
