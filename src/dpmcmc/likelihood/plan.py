"""What a planned likelihood release is: data, and nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpmcmc.likelihood.regions import Region
from dpmcmc.likelihood.simulation import from_public
from dpmcmc.likelihood.stages import GROUPS, Task
from dpmcmc.mechanisms.gaussian_sum import GaussianSum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.privacy import Budget
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Guarantee, Receipt


@dataclass(frozen=True, eq=False)
class PlannedRelease:
    """A few Gaussian sums whose cost fits the budget, complete with model, region and settings.

    ``totals`` are the sums of the records' features, stage by stage. ``draws`` are per chain.
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
    totals: tuple[GaussianSum, ...]
    public_data: PyTree | None = None

    def task(self) -> Task:
        """What the stages do."""
        model: Any = self.raveled.model
        return Task(
            model=self.raveled,
            region=self.region,
            n=self.n,
            temperature=self.temperature,
            simulate=model.simulate if self.public_data is None else from_public(self.public_data),
            noise=tuple(total.std for total in self.totals),
            particles=-(-self.chains * self.draws // GROUPS),
        )

    def describe(self) -> str:
        """The method in a few words."""
        return (
            f"the log likelihood released as a function, in {len(self.totals)} stages; drawing from it costs no "
            "further privacy"
        )
