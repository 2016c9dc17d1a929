"""Privacy, batch size and efficiency against each other: short chains that start in the posterior of the mixture.

Efficiency is the mean squared jump over the posterior variance: what a step is worth, at any length of chain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Settings, seed_of
from dpmcmc_experiments.zhang2023 import mixture
from dpmcmc_experiments.zhang2023.published import DELTA, MIXTURE, NO_GUARANTEE, best_claim, reading

EPSILONS = (0.01, 0.02, 0.05, 0.2)
LENGTHS = (0.05, 0.085, 0.15, 0.3, 0.5)


def cells(settings: Settings) -> list[Cell]:
    epsilons, lengths = ((0.01, 0.05), (0.085, 0.3)) if settings.quick else (EPSILONS, LENGTHS)
    rules = ("code",) if settings.quick else ("code", "text")
    published = [published_cell(epsilon, rule, settings) for rule in rules for epsilon in epsilons]
    return published + [repaired_cell(length, settings) for length in lengths]


def published_cell(epsilon: float, rule: str, settings: Settings) -> Cell:
    """DP-fast MH as coded with ε a step and K = 60 (their code) or K = εC/(6 max c) (their text)."""

    def rows() -> list[dict[str, Any]]:
        p = mixture.problem(settings.quick)
        own = epsilon * p.setting.epsilon / MIXTURE.epsilon
        total, most = p.constants.sum(), p.constants.max()
        batch = p.setting.largest_batch if rule == "code" else own * total / most / 6
        claim = {"epsilon": own, "delta": p.setting.delta, "variant": "as_coded", "largest_batch": float(batch)}
        kernel = dp.algorithms.published_fast_mh(p.setting.step, mixture.mixture_constant, **claim)
        read = reading(total, p.setting.step, p.setting, batch)
        label = f"DP-fast MH, K = {'60' if rule == 'code' else 'εC/6c'} ({NO_GUARANTEE})"
        about = {"family": f"published-{rule}", "label": label, "epsilon_step": epsilon, "largest_batch": batch}
        about |= {"share_of_data": read.records / p.setting.n, "share_of_minibatches": read.share_of_minibatches}
        claimed = best_claim(replace(p.setting, epsilon=own), p.setting.steps)
        return [about | {"epsilon_chain": claimed} | jumps(kernel, label, p)]

    return Cell(f"tradeoff-{rule}-{epsilon:g}", rows)


def repaired_cell(length: float, settings: Settings) -> Cell:
    """The repaired test with steps of one length: ε of a chain as long as the published one."""

    def rows() -> list[dict[str, Any]]:
        p = mixture.problem(settings.quick)
        kernel = mixture.minibatch(p, length)
        event = dp.privacy.Repeat(kernel.event(p.setting.n, p.tau), p.setting.steps)
        label, share = "repaired minibatch", 4 * p.tau * mixture.bound(length)
        about = {"family": "repaired", "label": label, "step_length": length, "share_of_data": share}
        about |= {"share_of_minibatches": 1.0, "epsilon_chain": float(dp.privacy.epsilon(event, DELTA))}
        return [about | jumps(kernel, f"{label} {length}", p)]

    return Cell(f"tradeoff-repaired-{length:g}", rows)


def jumps(kernel: Any, name: str, p: mixture.Problem) -> dict[str, float]:
    """Acceptance and mean squared jump, in units of the posterior variance, of short chains from exact draws."""
    exact = p.exact[:4096]
    release = dp.sample(
        mixture.MODEL,
        p.records,
        epsilon=1e12,
        delta=DELTA,
        method=dp.Chain(kernel, warmup=0),
        draws=150 if p.setting.n < MIXTURE.n else 1000,
        chains=p.chains,
        temperature=p.tau,
        init=lambda key: jnp.asarray(exact)[jax.random.randint(key, (), 0, len(exact))],
        seed=seed_of("zhang2023", "tradeoff", name),
        progress=False,
    )
    moves = np.diff(release.draws["theta"], axis=1) / p.exact.std(0)
    accepted = float(release.sample_stats["accepted"].mean())
    return {"acceptance": accepted, "squared_jump": float(np.mean(np.sum(moves**2, -1)))}
