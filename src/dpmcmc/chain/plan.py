"""What planned chains are: data, and nothing that runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dpmcmc.chain.kernel import KernelLike
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.privacy import Budget, GaussianFilter, RenyiFilter, ZcdpFilter
from dpmcmc.receipts import Guarantee, Receipt


@dataclass(frozen=True, eq=False)
class PlannedChains:
    """Chains whose cost fits the budget, complete with model, start and settings.

    ``steps`` are per chain, ``warmup`` of them included; ``effective_draws`` are those of all chains that the default
    kernel was chosen for. ``public_data`` are public records to rehearse on.
    """

    model: ModelLike
    kernel: KernelLike
    n: int
    chains: int
    steps: int
    warmup: int
    temperature: float
    budget: Budget | None
    guarantee: Guarantee | None
    receipts: tuple[Receipt, ...]
    checkpoint: Path | None = None
    effective_draws: float | None = None
    notes: tuple[str, ...] = ()
    public_data: PyTree | None = field(default=None, repr=False)

    @property
    def filter(self) -> ZcdpFilter | RenyiFilter | None:
        """What stops the chains where the cost of a step depends on its move."""
        rule = self.receipts[-1].filter
        assert not isinstance(rule, GaussianFilter)  # decisions are not Gaussian releases
        return rule

    def describe(self) -> str:
        """What will run and what it costs."""
        most = "at most " if self.filter is not None else ""
        lines = [
            "Plan: no record is read and nothing is spent yet.",
            "No privacy guarantee." if self.guarantee is None else f"The release will be {self.guarantee}.",
            f"{self.chains} chain{'s' if self.chains > 1 else ''} of {most}{self.steps} steps, "
            f"{self.warmup} of them as warm-up.",
            f"{self.kernel.describe()}.",
            *self.notes,
        ]
        return "\n".join(lines)
