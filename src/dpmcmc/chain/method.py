"""Chains of private decisions as a method: a kernel, how long it warms up, and a plan that can be run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dpmcmc.arguments import having, instance, whole
from dpmcmc.chain.advice import advice, prediction, unrehearsed
from dpmcmc.chain.default import WARMUP, default_kernel
from dpmcmc.chain.kernel import KernelLike, under
from dpmcmc.chain.length import Request, charge_steps, unprotected
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.quality import RehearsedQuality
from dpmcmc.chain.rehearsal import middle, rehearse, why_not
from dpmcmc.chain.run import check_chains, forget_checkpoint, run
from dpmcmc.geometry import geometry
from dpmcmc.method import check_budget
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior, check_data
from dpmcmc.privacy import Budget
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Receipt
from dpmcmc.release import Release
from dpmcmc.running import RunsOnRecords


@dataclass(frozen=True, eq=False)
class Chain:
    """Chains of private accept-reject decisions.

        dp.sample(model, data, 1.0, 1e-6, method=dp.Chain(dp.dp_barker(step=0.1, clip=0.05), warmup=100))

    - ``kernel``: one of :mod:`dpmcmc.algorithms` or your own. Default: full-data Barker with a random walk scaled by
      the model's public geometry (:mod:`dpmcmc.geometry`), tempered if the budget could not pay for a usable chain
      otherwise.
    - ``warmup``: steps of each chain that summaries leave out. Default: a quarter of all steps.
    - ``checkpoint``: a file to resume from if it exists, and to write while running (a secret; deleted at the end).
    - ``public_data``: public records similar to the private ones, if the model cannot simulate any or they are unlike
      what it simulates: the default kernel's geometry and the plan's rehearsals come from them.

    Guarantee: every step of every chain is paid for before it runs (docs/theory/accept-bit.md, filter.md).
    """

    kernel: KernelLike | None = None
    warmup: int | None = None
    checkpoint: str | Path | None = None
    public_data: PyTree | None = None

    def __post_init__(self) -> None:
        if self.kernel is not None:
            having("Chain: kernel", self.kernel, ("decide", "propose"), "a kernel such as dp.dp_barker(step, clip)")
        if self.warmup is not None:
            whole("Chain: warmup", self.warmup, 0)
        if self.checkpoint is not None:
            instance("Chain: checkpoint", self.checkpoint, (str, Path), "the path of a file")

    def plan(
        self,
        model: ModelLike,
        n: int,
        budget: Budget | None,
        *,
        draws: int | None = None,
        chains: int = 2,
        temperature: float | None = None,
        spent: tuple[Receipt, ...] = (),
    ) -> ChainPlan:
        """As many steps as the budget pays for, or ``draws`` of each chain after warm-up. No record is read."""
        kernel, tau = self.kernel, temperature
        notes: tuple[str, ...] = ()
        effective_draws: float | None = None
        public = None if self.public_data is None else check_data(self.public_data)
        if kernel is None:
            shape = geometry(model, public)
            kernel, tau, effective_draws, note = default_kernel(model, shape, n, check_budget(n, budget), temperature)
            notes = (note,)
        tau = 1.0 if tau is None else tau
        kernel = kernel if budget is None else under(kernel, budget.relation)
        request = Request(model, kernel, n, chains, tau, self._steps(draws))
        if request.is_private:
            steps, guarantee, receipt, shortfall = charge_steps(request, check_budget(n, budget), spent)
            notes += (shortfall,) if shortfall else ()
        elif spent:
            raise ValueError("spent= needs a private kernel: what is not private has no guarantee to share")
        else:
            steps, guarantee, receipt, _ = unprotected(request)
        warmup = int(WARMUP * steps) if self.warmup is None else self.warmup
        if warmup >= steps:
            raise ValueError(f"the budget pays for {steps} steps of each chain, no more than warmup={warmup}; lower it")
        return ChainPlan(
            model=model,
            kernel=kernel,
            n=n,
            chains=chains,
            steps=steps,
            warmup=warmup,
            temperature=tau,
            budget=budget,
            guarantee=guarantee,
            receipts=(*spent, receipt),
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
            effective_draws=effective_draws,
            notes=notes,
            public_data=public,
        )

    def _steps(self, draws: int | None) -> int | None:
        """Steps of each chain: its draws and its warm-up."""
        if draws is None:
            return None
        return draws + (draws // 3 if self.warmup is None else self.warmup)


class ChainPlan(PlannedChains, RunsOnRecords):
    """Chains whose cost fits the budget, ready to run. Printing it rehearses them and says what to expect.

    A rehearsal runs the planned kernel from the planned start on simulated (or public) records. It takes seconds, is
    made when first asked for, and is charged nothing: it has no records to read.
    """

    def check(self, posterior: Posterior) -> None:
        """Refuse a device or a step that the proofs do not hold for."""
        check_chains(self, posterior)

    def run(self, posterior: Posterior, source: RandomSource, progress: bool) -> Release:
        """Run the chains; Ctrl-C stops after the current chunk and returns what ran."""
        return run(self, posterior, source, progress)

    def stored(self, release: Release) -> None:
        """Delete the checkpoint of chains that have come to their end."""
        forget_checkpoint(self, release)

    @cached_property
    def rehearsals(self) -> tuple[RehearsedQuality, ...]:
        """Runs on simulated (or public) records; none where there are no such records."""
        return () if why_not(self) else rehearse(self)

    @property
    def expected(self) -> RehearsedQuality | None:
        """What to expect: the middle of the rehearsals. None where there can be none."""
        return middle(self.rehearsals) if self.rehearsals else None

    @cached_property
    def advice(self) -> str:
        """Where the chains are not expected to be usable: why, and what would be."""
        return "" if self.expected is None else advice(self, self.expected)

    def __str__(self) -> str:
        if self.expected is None:
            return f"{self.describe()}\n{unrehearsed(self, why_not(self))}"
        said = [self.describe(), prediction(self, self.rehearsals, self.expected), self.advice]
        return "\n".join(filter(None, said))
