"""Running planned chains: chunk by chunk, interruptible, resumable; then the release."""

from __future__ import annotations

import math
import os
from typing import Any

import jax
import numpy as np

from dpmcmc import privacy
from dpmcmc.chain import checkpoint as checkpoints
from dpmcmc.chain.acceptance.self_test import check_decisions
from dpmcmc.chain.checkpoint import RunState
from dpmcmc.chain.passes import Passes, check_passes
from dpmcmc.chain.plan import PlannedChains
from dpmcmc.chain.pricing import PriceTable
from dpmcmc.chain.quality import ChainQuality
from dpmcmc.chain.scan import ChainState, Trace, check_chunk, chunk_length, compile_chunk, run_chunk, start_chains
from dpmcmc.mechanisms.needs import Ahead
from dpmcmc.method import NotBegun
from dpmcmc.models.base import model_name
from dpmcmc.posterior import Posterior
from dpmcmc.privacy import Repeat
from dpmcmc.privacy.convert import epsilon_at
from dpmcmc.progress import Bar, stop_on_interrupt
from dpmcmc.randomness import RandomSource
from dpmcmc.release import Release, issued, named_draws
from dpmcmc.sources import is_records

INTERRUPTED = "interrupted"

_ORDERS = 1 + np.geomspace(0.01, 1e5, 50)


def run(plan: PlannedChains, posterior: Posterior, source: RandomSource, show: bool) -> Release:
    """The planned chains on the posterior's records, from a checkpoint where there is one, which the caller holds."""
    path = plan.checkpoint
    run_state = RunState(start_chains(plan.kernel, posterior, plan.chains, source), [], 0, source)
    if path is not None and os.path.lexists(path):
        try:
            run_state = checkpoints.read(path, plan, posterior, run_state.state)
        except (ValueError, OSError) as error:  # another run's, or damaged
            raise NotBegun(f"{error}") from error
    advance, length = _advance(plan, posterior), chunk_length(plan.steps)
    with _bar(plan, show) as bar, stop_on_interrupt() as stop:
        while bool(run_state.state.alive) and run_state.chunks * length < plan.steps and not stop.asked:
            if path is not None:
                checkpoints.write(path, plan, posterior, run_state)
            todo = min(length, plan.steps - run_state.chunks * length)
            state, trace = advance(run_state.state, run_state.source, length, todo)
            run_state = run_state.after(state, trace)
            rate = float(np.mean(trace.accepted)) if len(trace.accepted) else 0.0
            bar.update(run_state.steps, epsilon=epsilon_so_far(plan, run_state.steps, float(state.spent)), rate=rate)
    interrupted = stop.asked and run_state.chunks * length < plan.steps
    if path is not None and interrupted:
        checkpoints.write(path, plan, posterior, run_state)
    return _release(plan, run_state, interrupted)


def check_chains(plan: PlannedChains, posterior: Posterior) -> None:
    """Refuse a device whose decisions are not those of the proofs, and a step that does not keep records apart."""
    check_decisions()
    state = start_chains(plan.kernel, posterior, plan.chains, RandomSource(0))  # for its types alone
    if is_records(posterior.data):
        check_passes(plan.kernel, posterior.data)
        Passes(plan.kernel, _prices(plan), posterior).check(state)
    else:
        check_chunk(compile_chunk(plan.kernel, _prices(plan)), plan.kernel, posterior, state, chunk_length(plan.steps))


def _advance(plan: PlannedChains, posterior: Posterior) -> Any:
    """What runs a chunk: a compiled scan over records in memory, or a pass a step over those that are elsewhere."""
    if is_records(posterior.data):
        return Passes(plan.kernel, _prices(plan), posterior).run
    chunk = compile_chunk(plan.kernel, _prices(plan))
    with jax.enable_x64(True):
        on_device = posterior.on_device()
    ahead = Ahead()

    def advance(state: ChainState, source: RandomSource, length: int, todo: int) -> tuple[ChainState, Trace]:
        following = ahead if todo == length else None  # a part of a chunk is the last one
        return run_chunk(chunk, plan.kernel, on_device, state, source, length, todo, following)

    return advance


def _prices(plan: PlannedChains) -> PriceTable | None:
    return None if plan.filter is None else PriceTable.of(plan.kernel, plan.filter)


def forget_checkpoint(plan: PlannedChains, release: Release) -> None:
    """Delete the checkpoint, once the release is stored, unless the chains were interrupted and can go on."""
    if plan.checkpoint is not None and release.settings["stopped"] != INTERRUPTED:
        plan.checkpoint.unlink(missing_ok=True)


def epsilon_so_far(plan: PlannedChains, steps: int, spent: float) -> float:
    """ε of the steps so far by Rényi divergences, for the eye; the guarantee is the plan's."""
    if plan.guarantee is None or plan.budget is None:
        return math.inf
    delta, event = plan.budget.delta, plan.receipts[-1].event
    if plan.filter is not None:
        found = float(plan.filter.epsilon(delta, spent)) if spent > 0 else 0.0
    else:
        assert isinstance(event, Repeat)
        curve = steps * plan.chains * privacy.renyi(event.event, _ORDERS)
        found = float(np.min(epsilon_at(_ORDERS, curve, delta)))
    return min(found, plan.guarantee.epsilon)


def _bar(plan: PlannedChains, show: bool) -> Bar:
    return Bar(
        plan.steps,
        show,
        "{task.completed}/{task.total} steps",
        "ε {task.fields[epsilon]:.3g} of {task.fields[budget]:g}  accepted {task.fields[rate]:.0%}",
        epsilon=0.0,
        budget=math.inf if plan.budget is None else plan.budget.epsilon,
        rate=0.0,
    )


def _release(plan: PlannedChains, run_state: RunState, interrupted: bool) -> Release:
    nothing = Trace(
        jax.tree.map(lambda leaf: leaf[None][:0], run_state.state.positions), np.zeros((0, plan.chains), bool)
    )
    traces = run_state.traces or [nothing]
    positions = jax.tree.map(lambda *parts: np.concatenate(parts), *[trace.positions for trace in traces])
    accepted = np.concatenate([trace.accepted for trace in traces])
    steps = len(accepted)
    draws = named_draws(jax.tree.map(lambda leaf: np.moveaxis(np.asarray(leaf), 0, 1), positions))
    warmup = min(plan.warmup, int(steps * plan.warmup / plan.steps))
    settings: dict[str, Any] = {
        "n": plan.n,
        "chains": plan.chains,
        "steps": plan.steps,
        "warmup": warmup,
        "temperature": plan.temperature,
        "model": model_name(plan.model),
        "stopped": INTERRUPTED if interrupted else "budget spent",
    }
    return Release(
        draws=draws,
        quality=ChainQuality.of(draws, warmup, plan.n, plan.temperature),
        method=_what_ran(plan, accepted, warmup, interrupted),
        settings=settings,
        sample_stats={"accepted": accepted.T},
        notes=plan.notes,
        **issued(plan, run_state.source.reproducible),
    )


def _what_ran(plan: PlannedChains, accepted: np.ndarray, warmup: int, interrupted: bool) -> str:
    steps = len(accepted)
    ran = f"{plan.chains} chain{'s' if plan.chains > 1 else ''} of {steps} steps, {warmup} of them as warm-up"
    if interrupted:
        ran += f" (interrupted; all {plan.steps} planned steps are paid for)"
    elif steps < plan.steps:
        ran += " (until the budget was spent)"
    return f"{plan.kernel.describe()}; {ran}, {accepted.mean() if steps else 0:.0%} of the proposals accepted"
