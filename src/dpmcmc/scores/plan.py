"""What a planned score release is: data, and nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass

from dpmcmc.models.base import ModelLike, PyTree, has
from dpmcmc.privacy import Budget, GaussianFilter
from dpmcmc.raveled import RaveledModel
from dpmcmc.receipts import Guarantee, Receipt

MOST_RELEASES = 48


@dataclass(frozen=True, eq=False)
class PlannedScores:
    """Gaussian releases under a filter whose limit fits the budget, complete with model and settings.

    ``draws`` are per chain.
    """

    model: ModelLike
    raveled: RaveledModel
    n: int
    chains: int
    draws: int
    temperature: float
    budget: Budget
    guarantee: Guarantee
    receipts: tuple[Receipt, ...]
    rule: GaussianFilter
    public_data: PyTree | None = None
    shuffled: bool = False

    def describe(self) -> str:
        """The method in a few words."""
        first = "the covariates' distribution, then " if self.public_data is None else ""
        if not has(self.model, "simulate"):
            first = "the size of curvatures, then "
        return (
            f"{first}sums of scores and curvatures at a moving centre, as many as the search needs; drawing from what "
            "they say costs no further privacy"
        )
