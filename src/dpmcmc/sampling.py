"""Sampling: charge, run, release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from dpmcmc import checkpoint as checkpoints
from dpmcmc.chain import Trace, compile_chunk, run_chunk, start_chains
from dpmcmc.checkpoint import Progress
from dpmcmc.kernel import KernelLike
from dpmcmc.likelihood import LikelihoodPlan
from dpmcmc.likelihood.plan import predicted, run_plan
from dpmcmc.likelihood.stages import flat_model
from dpmcmc.models.base import ModelLike, PyTree, Started
from dpmcmc.planning import Plan, is_private
from dpmcmc.planning import plan as make_plan
from dpmcmc.posterior import Posterior, check_data
from dpmcmc.pricing import PriceList
from dpmcmc.privacy import Budget
from dpmcmc.progress import ProgressBar, StageBar, stop_on_interrupt
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee
from dpmcmc.release import Release


def sample(
    model: ModelLike,
    data: PyTree,
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    plan: Plan | LikelihoodPlan | None = None,
    kernel: KernelLike | None = None,
    method: str | None = None,
    chains: int = 2,
    steps: int | None = None,
    warmup: int | None = None,
    temperature: float | None = None,
    init: PyTree | None = None,
    public_data: PyTree | None = None,
    after: Any = (),
    checkpoint: str | Path | None = None,
    progress: bool = True,
    seed: int | None = None,
) -> Release:
    """Draw from the posterior of ``model`` given ``data`` within a budget of (``epsilon``, ``delta``).

    The whole release is differentially private under substitution of one record; the number of records is public.
    Either give the budget (and, if you like, a ``kernel``, ``steps`` per chain, ...: see :func:`dpmcmc.plan`), or a
    ``plan`` made beforehand. Public mistakes, and records that are not finite, raise before anything is charged; other
    private values never raise.

    - ``init``: a public starting point in place of the model's (never computed from the records without paying), or a
      function ``init(key)`` that draws one for each chain. The default method begins from the region where such a
      function draws; from a point, only if the model cannot draw from its prior.
    - ``after``: a fit (:mod:`dpmcmc.initialise`) or release made from the same records before: the budget then pays
      for it and for these chains together, and the guarantee covers both.
    - ``checkpoint``: a file to resume from if it exists, and to write while running (a secret; deleted at the end).
    - ``progress``: show a bar. Ctrl-C stops a chain after the present chunk and returns what ran; the default method,
      over in seconds, then returns nothing, and has spent its budget.
    - ``seed``: repeatable coins for tests and public data. They are not secret, so no guarantee is issued.
    """
    if init is not None:
        if isinstance(plan, LikelihoodPlan):
            raise ValueError("init given beside a plan, which has its own region to begin from; give one or the other")
        model = Started(model, init)
    if plan is None:
        budget = None if epsilon is None or delta is None else Budget(epsilon, delta)
        tau = 1.0 if temperature is None else temperature
        posterior = Posterior.check(model, data, tau)
        if budget is None and (kernel is None or is_private(kernel, posterior.n, tau)):
            raise ValueError(f"give a budget (epsilon and delta) or a plan; got epsilon={epsilon!r}, delta={delta!r}")
        plan = make_plan(
            model,
            posterior.n,
            budget,
            kernel=kernel,
            chains=chains,
            steps=steps,
            warmup=warmup,
            temperature=temperature,
            public_data=None if public_data is None else check_data(public_data),
            method=method,
            after=after,
            predict=False,
        )
    else:
        given = {"epsilon": epsilon, "delta": delta, "kernel": kernel, "method": method}
        given |= {"steps": steps, "temperature": temperature, "public_data": public_data, "after": after or None}
        doubled = [name for name, value in given.items() if value is not None]
        if doubled:
            raise ValueError(f"{', '.join(doubled)} given beside a plan, which has its own; give one or the other")
        posterior = Posterior.check(model, data, plan.temperature)
        if posterior.n != plan.n:
            raise ValueError(f"the plan is for n = {plan.n} records, the data hold {posterior.n}; plan again")
    if isinstance(plan, LikelihoodPlan):
        if checkpoint is not None:
            raise ValueError('a likelihood release is over in a few sums and takes no checkpoint; method="chain" does')
        return _release_likelihood(plan, model, posterior.data, RandomSource(seed), progress)
    return _run(plan, model, posterior.data, seed, None if checkpoint is None else Path(checkpoint), progress)


def _run(plan: Plan, model: ModelLike, data: PyTree, seed: int | None, path: Path | None, show: bool) -> Release:
    source = RandomSource(seed)
    state = start_chains(plan.kernel, model, data, plan.chains, source)
    progress = Progress(state, [], 0, source)
    if path is not None and path.exists():
        progress = checkpoints.read(path, plan, model, data, state)
    prices = None if plan.receipt.filter is None else PriceList.of(plan.kernel, plan.receipt.filter)
    chunk = compile_chunk(plan.kernel, model, plan.temperature, prices)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jax.numpy.asarray, data)
    length = chunk_length(plan.steps)
    with ProgressBar(plan, show) as bar, stop_on_interrupt() as stop:
        while bool(progress.state.alive) and progress.chunks * length < plan.steps and not stop.asked:
            if path is not None:
                checkpoints.write(path, plan, model, data, progress)
            todo = min(length, plan.steps - progress.chunks * length)
            state, trace = run_chunk(chunk, plan.kernel, on_device, progress.state, progress.source, length, todo)
            progress.source.advance()
            progress = Progress(state, [*progress.traces, trace], progress.chunks + 1, progress.source)
            bar.update(progress.steps, float(state.spent), float(np.mean(trace.accepted)) if len(trace.accepted) else 0)
    stopped = "interrupted" if stop.asked and progress.chunks * length < plan.steps else "budget spent"
    if path is not None:
        if stopped == "interrupted":
            checkpoints.write(path, plan, model, data, progress)
        else:
            path.unlink(missing_ok=True)
    return _release(plan, model, progress, stopped)


def chunk_length(steps: int) -> int:
    """Steps compiled as one: about fifty chunks a run, of 50 to 2000 steps."""
    return min(max(50, -(-steps // 50)), 2000, steps)


def _release(plan: Plan, model: ModelLike, progress: Progress, stopped: str) -> Release:
    traces = progress.traces or [
        Trace(jax.tree.map(lambda leaf: leaf[None][:0], progress.state.positions), _no_bits(plan))
    ]
    positions = jax.tree.map(lambda *parts: np.concatenate(parts), *[trace.positions for trace in traces])
    accepted = np.concatenate([trace.accepted for trace in traces])
    named = jax.tree_util.tree_flatten_with_path(positions)[0]
    draws = {_name(path): np.moveaxis(np.asarray(leaf), 0, 1) for path, leaf in named}
    run: dict[str, Any] = {
        "n": plan.n,
        "chains": plan.chains,
        "steps": plan.steps,
        "warmup": min(plan.warmup, int(len(accepted) * plan.warmup / plan.steps)),
        "temperature": plan.temperature,
        "model": _model_name(model),
        "stopped": stopped,
    }
    guarantee, why = _issued(plan.guarantee, progress.source)
    return Release(
        draws=draws,
        accepted=accepted.T,
        guarantee=guarantee,
        receipts=(*plan.before, plan.receipt),
        kernel=plan.kernel.describe(),
        run=run | why,
        notes=plan.notes,
    )


def _release_likelihood(
    plan: LikelihoodPlan, model: ModelLike, data: PyTree, source: RandomSource, show: bool
) -> Release:
    """Draws from a released likelihood; each chain gets whole groups of them, which share one draw of the noise."""
    with StageBar(len(plan.totals), show) as bar:
        found = run_plan(plan, model, data, source, bar.update)
    by_group = found.theta
    rng = np.random.default_rng(int(source.bits("order", (1,))[0]))
    shares = np.array_split(by_group, plan.chains) if plan.chains <= len(by_group) // 2 else [by_group] * plan.chains
    pooled = [share.reshape(-1, share.shape[-1]) for share in shares]
    dealt = np.stack([draws[rng.choice(len(draws), plan.steps, replace=len(draws) < plan.steps)] for draws in pooled])
    with jax.enable_x64(True):
        positions = jax.device_get(jax.vmap(jax.vmap(flat_model(model).unravel))(jax.numpy.asarray(dealt)))
    noise = predicted(found)
    run: dict[str, Any] = {
        "method": "likelihood",
        "n": plan.n,
        "chains": plan.chains,
        "steps": plan.steps,
        "warmup": 0,
        "temperature": plan.temperature,
        "model": _model_name(model),
        "stopped": "budget spent",
        "mean_error": noise.mean_error,
    }
    guarantee, why = _issued(plan.guarantee, source)
    return Release(
        draws={_name(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_flatten_with_path(positions)[0]},
        accepted=np.ones((plan.chains, plan.steps), bool),
        guarantee=guarantee,
        receipts=(plan.receipt,),
        kernel=plan.describe(),
        run=run | why,
        notes=(*plan.notes, *_lost(found.strayed, len(plan.totals))),
    )


def _lost(strayed: int, stages: int) -> tuple[str, ...]:
    """What a user should know of a run that did not go well; from released sums alone."""
    if not strayed:
        return ()
    return (
        f"In {strayed} of {stages} stages the free sampler did not get to the released posterior, which may be lost: "
        "compare with a run from another init= on public or simulated records, or temper.",
    )


def _issued(guarantee: Guarantee | None, source: RandomSource) -> tuple[Guarantee | None, dict[str, str]]:
    """The guarantee, or why there is none."""
    if guarantee is None:
        return None, {"no_guarantee": "the algorithm is not private, or its arithmetic is not proven at this cost"}
    if source.reproducible:
        why = "this run was made with seed=, so its coins can be recomputed; leave seed out and it would be"
        return None, {"no_guarantee": f"{why} {guarantee}"}
    return guarantee, {}


def _model_name(model: ModelLike) -> str:
    return type(model.model if isinstance(model, Started) else model).__name__


def _no_bits(plan: Plan) -> np.ndarray:
    return np.zeros((0, plan.chains), bool)


def _name(path: Any) -> str:
    """a['b'][0] as a.b.0; a bare array is called theta."""
    parts = [str(getattr(entry, "key", getattr(entry, "idx", getattr(entry, "name", entry)))) for entry in path]
    return ".".join(parts) or "theta"
