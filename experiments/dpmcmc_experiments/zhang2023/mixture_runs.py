"""Runs of the mixture's samplers, each once in a process: draws, accept bits, and processor time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import seed_of
from dpmcmc_experiments.zhang2023.mixture import MODEL, OnNodes, method, nodes, problem, total_of
from dpmcmc_experiments.zhang2023.published import DELTA
from dpmcmc_experiments.zhang2023.samplers import Method, epsilon_of, family


@dataclass(frozen=True)
class Run:
    """Draws (chain, step, 2), accept bits, and the processor seconds of a release, divided by its draws."""

    method: Method
    draws: np.ndarray
    accepted: np.ndarray
    seconds: float


def sampled(made: Method, steps: int, chains: int, data: Any, quick: bool) -> tuple[dp.Release, float]:
    """Chains from θ = 0 on records or on nodes, and the processor time they took, compilation and all."""
    start, on_nodes = time.process_time(), isinstance(data, dict)
    release = dp.sample(
        OnNodes() if on_nodes else MODEL,
        data,
        epsilon=1e12,  # each chain is a release of its own; what one costs is in its row
        delta=DELTA,
        method=dp.Chain(made.on_nodes if on_nodes else made.kernel, warmup=0),
        draws=steps,
        chains=chains,
        temperature=problem(quick).tau,
        init=np.zeros(2, np.float32),
        seed=seed_of("zhang2023", "mixture", made.key),
        progress=False,
    )
    return release, time.process_time() - start


@cache
def run(key: str, quick: bool) -> Run:
    if family(key) == "default":
        return released(key, quick)
    p, made = problem(quick), method(key, quick)
    records, on_nodes = p.records.astype(np.float32), made.on_nodes is not None
    release, _ = sampled(made, made.steps, p.chains, nodes(quick) if on_nodes else records, quick)
    return Run(made, release.draws["theta"], release.sample_stats["accepted"], math.nan)


def seconds_a_step(key: str, quick: bool) -> float:
    """Processor seconds that a step of one chain takes on the records themselves, once compiled."""
    made, records = method(key, quick), problem(quick).records.astype(np.float32)
    few, many = 100, 600
    times = [sampled(made, steps, 1, records, quick)[1] for steps in (few, few, many)]  # the first one compiles
    return (times[2] - times[1]) / (many - few)


def released(key: str, quick: bool) -> Run:
    """What dp.sample does when no method is named: a release for each chain, with as many draws as it has steps."""
    p = problem(quick)
    setting = p.at(epsilon_of(key)) if epsilon_of(key) > 0 else p.setting
    total, draws, steps = total_of(p, key, setting), [], p.setting.steps
    start = time.process_time()
    options = {"temperature": p.tau, "draws": steps, "chains": 1}
    for number in range(p.chains):
        seed = seed_of("zhang2023", "mixture", key, number)
        release = dp.sample(MODEL, p.records, total, DELTA, **options, seed=seed, progress=False)
        draws.append(release.draws["theta"][0])
    seconds = (time.process_time() - start) / p.chains / steps
    passes = len(dp.plan(MODEL, p.setting.n, dp.Budget(total, DELTA), **options).totals)
    label, promise = f"default, ε = {total:.3g} in all", f"({total:.3g}, {DELTA:g})-DP, whole release"
    made = Method(key, label, None, steps, passes * p.setting.n / steps, promise, total)
    return Run(made, np.stack(draws), np.ones((p.chains, steps), bool), seconds)
