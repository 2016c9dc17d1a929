"""The nouns of a run: a method makes a plan, a plan run on records gives a release, a release says how good it is."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Protocol

import jax

from dpmcmc.arguments import instance
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Budget
from dpmcmc.receipts import Guarantee, Receipt
from dpmcmc.release import Release


class Plan(Protocol):
    """Everything that will run and what it will cost; printing it says what to expect.

    A plan is complete: it holds the model, the start and every setting, so :meth:`sample` is exactly what was planned.
    """

    @property
    def model(self) -> ModelLike: ...
    @property
    def n(self) -> int: ...
    @property
    def temperature(self) -> float: ...
    @property
    def guarantee(self) -> Guarantee | None: ...
    @property
    def receipts(self) -> tuple[Receipt, ...]: ...

    def sample(
        self,
        data: PyTree,
        *,
        seed: int | None = None,
        progress: bool = True,
        ledger: Any = None,
        save_to: str | Path | None = None,
    ) -> Release:
        """Run the plan on ``data``: see :meth:`dpmcmc.running.RunsOnRecords.sample`, which all plans inherit."""


class Method(Protocol):
    """A way from a model and a budget to a private posterior. Settings of its own are fields of the method.

    Guarantee: whatever the plan's :meth:`~Plan.sample` releases is covered by the plan's guarantee.
    """

    def plan(
        self,
        model: ModelLike,
        n: int,
        budget: Budget | None,
        *,
        draws: int | None,
        chains: int,
        temperature: float | None,
        spent: tuple[Receipt, ...],
    ) -> Plan:
        """A plan for ``n`` records: reads none. ``spent`` holds the receipts that the budget pays for as well.

        ``draws`` are per chain, warm-up not counted; None leaves their number to the method. A setting that a method
        does not support raises an error.
        """


class NotBegun(ValueError):
    """A run that was refused before it used a record, by a mistake that shows only then: nothing new is spent."""


class RunFailed(RuntimeError):
    """A run that failed after it was charged: its whole plan counts as spent. Give it to the next run as ``spent=``.

    ``release`` is what the run gave, if it came to its end and could not be stored: save it elsewhere.
    """

    def __init__(self, plan: Any, error: Exception, *, reproducible: bool = False, release: Any = None) -> None:
        self.guarantee, self.receipts = None if reproducible else plan.guarantee, plan.receipts
        self.release = release
        super().__init__(f"{_said(error)}. {self._what_is_spent(plan)}")

    def __reduce__(self) -> Any:
        """What was spent must be known wherever the error arrives, in another process too."""
        return _failed, (str(self), self.guarantee, self.receipts, self.release)

    def _what_is_spent(self, plan: Any) -> str:
        if self.release is not None:
            return (
                "The run has come to its end and is spent, and its release is not stored yet: it is the attribute "
                "'release' of this exception, and error.release.save(path) stores it"
            )
        if self.guarantee is None:
            return "The run failed; it had no guarantee"
        what = f"The run failed after it was charged ({self.receipts[-1].purpose}), and its whole plan counts as spent"
        checkpoint = getattr(plan, "checkpoint", None)
        if checkpoint is not None and checkpoint.exists():
            return f"{what}. It goes on at no cost from its checkpoint {str(checkpoint)!r}, by the same call"
        return f"{what}: pass this exception as spent= to a later run that shares its budget"


def _failed(said: str, guarantee: Guarantee | None, receipts: tuple[Receipt, ...], release: Any) -> RunFailed:
    """The error as it was before it was pickled."""
    error = RunFailed.__new__(RunFailed, said)
    error.args = (said,)
    error.guarantee, error.receipts, error.release = guarantee, receipts, release
    return error


def _said(error: Exception) -> str:
    """What an error said, unless a compiled program raised it: that may quote a record."""
    if not isinstance(error, jax.errors.JaxRuntimeError):
        return f"{error}" or type(error).__name__
    if "RESOURCE_EXHAUSTED" in f"{error}"[:40]:
        return "the machine has too little memory for this run"
    return "a compiled function raised an error, which may depend on the records and is not shown"


def check_budget(n: int, budget: Budget | None) -> Budget:
    """The budget, where a method needs one; δ near 1/n warns."""
    if budget is None:
        raise ValueError("give a budget: epsilon and delta to dp.sample, budget=dp.Budget(epsilon, delta) to dp.plan")
    instance("budget", budget, Budget, "a dp.Budget(epsilon, delta)")
    if budget.delta >= 1 / n:
        warnings.warn(
            f"delta = {budget.delta:g} is not below 1/n = {1 / n:g}: it would allow releasing a whole record; "
            f"choose at most {0.1 / n:.1g}",
            stacklevel=4,
        )
    return budget


def posterior_of(plan: Plan, data: PyTree) -> Posterior:
    """The plan's model with the records, after every public mistake has been refused and before any record is used."""
    posterior = Posterior.check(plan.model, data, plan.temperature)
    if posterior.n != plan.n:
        raise ValueError(f"the plan is for n = {plan.n} records, the data hold {posterior.n}; plan again")
    return posterior
