"""What the claims of the paper add up to, and what repairing them gains."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Settings
from dpmcmc_experiments.zhang2023 import logistic, mixture
from dpmcmc_experiments.zhang2023.mnist import problem as digits
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    NO_GUARANTEE,
    Published,
    best_claim,
    composed_claim,
    necessary_delta,
    reading,
    steps_within_claim,
)
from dpmcmc_experiments.zhang2023.samplers import Method


def budget_cells(settings: Settings) -> list[Cell]:
    """One row a chain: what is claimed a step, what that adds up to, what δ it needs, and what really holds.

    ``epsilon_chain`` and ``delta_chain`` are composed as the paper does, ``epsilon_best`` optimally, at δ = 10⁻⁵.
    """
    return [Cell("budget-mixture", lambda: mixture_budget(settings)), *logistic_budget(settings)]


def _published_row(name: str, setting: Published, constants: np.ndarray, step: float, longest_free: float) -> Any:
    epsilon, delta = composed_claim(setting, setting.steps)
    needed = necessary_delta(constants.max(), step, setting.dimension, setting.steps, longest_free)
    return {
        "chain": name,
        "steps": setting.steps,
        "claimed_a_step": f"({setting.epsilon:g}, {setting.delta:g})",
        "epsilon_chain": epsilon,
        "delta_chain": delta,
        "epsilon_best": best_claim(setting, setting.steps),
        "delta_needed": needed,
        "holds": NO_GUARANTEE,
    }


def _private_row(name: str, made: Method) -> Any:
    row = {"chain": name, "steps": made.steps, "claimed_a_step": "", "epsilon_chain": made.epsilon_total}
    proven = {"delta_chain": DELTA, "epsilon_best": made.epsilon_total, "delta_needed": 0.0}
    return row | proven | {"holds": made.guarantee}


def mixture_budget(settings: Settings) -> list[dict[str, Any]]:
    p = mixture.problem(settings.quick)
    rows = [
        _published_row("mixture, DP-fast MH", p.setting, p.constants, p.setting.step, math.inf),
        _published_row("mixture, DP-fast MH on all records", p.setting, p.constants, p.setting.step_full, math.inf),
    ]
    names = {"repaired-same": "published step length", "repaired@one": f"longest steps within ε = {p.budget:g}"}
    for key, name in names.items():
        rows.append(_private_row(f"mixture, repaired minibatch, {name}", mixture.method(key, settings.quick)))
    return rows


def logistic_budget(settings: Settings) -> list[Cell]:
    def rows() -> list[dict[str, Any]]:
        p = digits(settings)
        constants = np.linalg.norm(p.x, axis=1)
        # longest moves without noise: all minibatches as coded; Δ ≤ ε on all records
        batch = (p.setting.largest_batch - p.setting.rate) / constants.sum()
        full = p.setting.epsilon / (2 * constants.max())
        ours = logistic.method("repaired-same", settings)
        return [
            _published_row("logistic, DP-fast MH", p.setting, constants, p.setting.step, batch),
            _published_row("logistic, DP-fast MH on all records", p.setting, constants, p.setting.step_full, full),
            _private_row("logistic, repaired minibatch, published step length", ours),
        ]

    return [Cell("budget-logistic", rows)]


def gains_cells(settings: Settings) -> list[Cell]:
    return [Cell("gains-mixture", lambda: mixture_gains(settings)), *([] if settings.quick else [_logistic(settings)])]


def _logistic(settings: Settings) -> Cell:
    return Cell("gains-logistic", lambda: logistic_gains(settings))


def gain(figure: str, setting: str, measure: str, published: float, ours: float) -> dict[str, Any]:
    row = {"paper": "zhang2023", "figure": figure, "setting": setting, "measure": measure}
    return row | {"published": published, "ours": ours, "ratio": published / ours if ours else math.inf}


def mixture_gains(settings: Settings) -> list[dict[str, Any]]:
    p = mixture.problem(settings.quick)
    same = mixture.minibatch(p, mixture.LENGTH)
    event = same.event(p.setting.n, p.tau)
    ours = float(dp.privacy.epsilon(dp.privacy.Repeat(event, p.setting.steps), DELTA))
    read = reading(p.constants.sum(), p.setting.step, p.setting, p.setting.largest_batch).records
    steps = int(dp.privacy.max_steps(event, p.budget, DELTA))
    allowed = steps_within_claim(p.setting, p.budget)
    unproven = "published: claim at its best, not valid"
    name = f"{p.setting.steps} steps of root mean square length {mixture.LENGTH:.3f}; {unproven}"
    at = f"mixture, total ε = {p.budget:g}; {unproven}"
    records = 4 * p.setting.n * p.tau * mixture.bound(mixture.LENGTH)
    return [
        gain("fig1c", f"mixture, {name}", "epsilon at equal length", best_claim(p.setting, p.setting.steps), ours),
        gain("fig1c", at, "length at equal epsilon", allowed, steps),
        gain("fig1b", "mixture, K = 60", "records read a step", read, records),
        gain("fig1a", "mixture", "Lipschitz constant of one record", p.constants.max() / p.tau, mixture.MODEL.slope),
    ]


def logistic_gains(settings: Settings) -> list[dict[str, Any]]:
    p = digits(settings)
    claimed, ours = best_claim(p.setting, p.setting.steps), logistic.method("repaired-same", settings)
    target = f"logistic, {p.setting.steps} steps of the published length, records clipped to norm 8"
    at = f"{target}; published: claim at its best, not valid"
    read = reading(np.linalg.norm(p.x, axis=1).sum(), p.setting.step, p.setting, p.setting.largest_batch).records
    return [
        gain("fig3a", at, "epsilon at equal length", claimed, ours.epsilon_total),
        gain("fig3b", "logistic, records clipped to norm 8, K = 225", "records read a step", read, ours.records),
    ]
