"""From a model, records and a budget to a private posterior, by whatever method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpmcmc.arguments import instance, truth, whole
from dpmcmc.chain.kernel import KernelLike
from dpmcmc.method import Method, Plan
from dpmcmc.methods import as_method
from dpmcmc.models.base import ModelLike, PyTree, WithInit, check_model_like
from dpmcmc.posterior import Posterior, check_temperature
from dpmcmc.privacy import SUBSTITUTION, Budget, check_relation
from dpmcmc.programs import kept_programs
from dpmcmc.randomness import check_seed
from dpmcmc.receipts import receipts_of
from dpmcmc.release import Release
from dpmcmc.running import check_kept

if TYPE_CHECKING:
    from dpmcmc.ledger import Ledger


def sample(
    model: ModelLike,
    data: PyTree,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    method: Method | KernelLike | None = None,
    draws: int | None = None,
    chains: int = 2,
    temperature: float | None = None,
    init: PyTree | None = None,
    relation: str = SUBSTITUTION,
    spent: Any = (),
    ledger: Ledger | None = None,
    save_to: str | Path | None = None,
    seed: int | None = None,
    progress: bool = True,
) -> Release:
    """Draw from the posterior of ``model`` given ``data`` within a privacy budget of (``epsilon``, ``delta``).

    The whole release is differentially private under substitution of one record (``relation`` says otherwise), or with
    :class:`dpmcmc.PerUnit` of all records of a person; the number of records or persons is public.
    Mistakes in the arguments, and records with NaN or infinity, raise before anything is charged; no other value of a
    record raises an error of its own. A run that fails after it began has spent its whole budget. This is
    ``dp.plan(...)`` followed by ``plan.sample(data)``.

    - ``method``: the sampling method. Default: :class:`dpmcmc.ScoreRelease` for models with covariates, and for those
      that do not simulate records, which releases sums of scores where the posterior is;
      :class:`dpmcmc.LikelihoodRelease` for others, which releases the log likelihood as a function. Draws from either
      are free. :class:`dpmcmc.PosteriorDraws` pays for every draw of a tempered posterior. :class:`dpmcmc.Chain` runs
      a chain of private decisions; a kernel (``dp.dp_barker(...)``) is short for ``dp.Chain(kernel)``. Settings of one
      method are given to that method.
    - ``draws``: per chain, warm-up not counted. Default: 2048 divided by ``chains`` for the two defaults; as many
      as the budget pays for (50 000 decisions at most) for :class:`dpmcmc.Chain`; 1 for
      :class:`dpmcmc.PosteriorDraws`.
    - ``chains``: independent chains, or equal parts of a likelihood release's draws. All are paid for.
    - ``temperature``: a power in (0, 1] for the likelihood; at τ, n records count as τ·n.
    - ``init``: a public starting point in place of the model's (never computed from the records without paying), or a
      function ``init(key)`` that draws one. A likelihood release begins from the region where such a function draws;
      from a point, only if the model cannot draw from its prior.
    - ``relation``: what is protected of a record. "substitution", the default: its values. "zero-out": whether it is
      there, in one of a public number of slots. The noise of sums is then half as large, and the values of a record are
      protected about half as well: two data sets that differ in them are two steps apart (docs/theory/relations.md).
    - ``spent``: a fit or release made from the same records before, or several: the budget then pays for them as well,
      and the guarantee covers all of it. The budget must have been decided on before the first of them.
    - ``ledger``: the :class:`dpmcmc.Ledger` of the data set. The run is charged to it before a record is read, or
      refused if too little is left, and stays charged whatever becomes of it. The budget given here is that of this
      release; the ledger's is that of all releases together.
    - ``save_to``: a new ``.npz`` file for the release, written before this returns; with a ledger, before the charge is
      settled. Without it, the ledger keeps the release.
    - ``seed``: repeatable noise for tests and public data. It is not secret, so no guarantee is issued,
      and no ledger takes it.
    - ``progress``: show a progress bar.
    """
    model, budget = _started(model, init), _budget(epsilon, delta, relation)
    _check_settings(model, method, draws, chains, temperature, spent)
    check_seed(seed)
    truth("progress", progress)
    check_kept(ledger, save_to)
    with kept_programs():
        posterior = Posterior.check(model, data, 1.0 if temperature is None else temperature)
        made = plan(
            posterior.model,
            posterior.n,
            budget,
            method=method,
            draws=draws,
            chains=chains,
            temperature=temperature,
            spent=spent,
        )
        return made.sample(posterior.data, seed=seed, progress=progress, ledger=ledger, save_to=save_to)


def plan(
    model: ModelLike,
    n: int,
    budget: Budget | None,
    *,
    method: Method | KernelLike | None = None,
    draws: int | None = None,
    chains: int = 2,
    temperature: float | None = None,
    init: PyTree | None = None,
    spent: Any = (),
) -> Plan:
    """Plan a run for ``n`` records within ``budget``: what will run, what it costs, what to expect. Reads no record.

    The arguments are those of :func:`sample`, but for ``n`` in place of the data and ``budget``, a
    ``dp.Budget(epsilon, delta, relation)``, in place of those (None for kernels that are not private). The
    plan is complete: ``plan.sample(data)`` runs exactly this. Printing it, or asking for ``plan.expected``, rehearses
    it on records that the model simulates: as long as running it for the defaults, seconds for chains.
    """
    n, model = whole("n", n), _started(model, init)
    if budget is not None:
        instance("budget", budget, Budget, "a dp.Budget(epsilon, delta)")
    _check_settings(model, method, draws, chains, temperature, spent)
    with kept_programs():
        return as_method(method, model).plan(
            model,
            n,
            budget,
            draws=draws,
            chains=chains,
            temperature=temperature,
            spent=receipts_of(spent),
        )


def _started(model: ModelLike, init: PyTree | None) -> ModelLike:
    check_model_like("model", model)
    return model if init is None else WithInit(model, init)


def _check_settings(
    model: ModelLike, method: Any, draws: int | None, chains: int, temperature: float | None, spent: Any
) -> None:
    """Refuse what is wrong before a record is looked at."""
    as_method(method, model)
    whole("chains", chains)
    if draws is not None:
        whole("draws", draws)
    if temperature is not None:
        check_temperature(temperature)
    receipts_of(spent)


def _budget(epsilon: float | None, delta: float | None, relation: str) -> Budget | None:
    check_relation("relation", relation)
    if epsilon is None and delta is None:
        if relation != SUBSTITUTION:
            raise ValueError(f"relation={relation!r} is what a budget is for; give one: epsilon and delta")
        return None
    if epsilon is None or delta is None:
        raise ValueError(f"give a budget as two numbers, both epsilon and delta; got {epsilon=}, {delta=}")
    return Budget(epsilon, delta, relation)
