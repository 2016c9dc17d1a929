"""What both problems share: which samplers there are, at which ε, and how a row of a table begins."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from dpmcmc.privacy.published import heikkila2019
from dpmcmc_experiments.figures import Settings
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    NO_GUARANTEE,
    Published,
    best_claim,
    dp_round,
    reading,
)
from dpmcmc_experiments.zhang2023.tuning import (
    Moves,
    filling_rate,
    metropolis,
    on_all_records,
    on_minibatches,
    step_for,
)

EPSILONS = (0.01, 0.05, 0.1)
"""ε a step. The text gives 0.05 and draws other values without printing them."""
FEW_EPSILONS = (0.01, 0.05)
"""Of a quick run, and of MNIST."""
MAIN = 0.05
ONE = "one"
"""In place of ε a step: (1, 10⁻⁵) for everything that is released."""


def epsilons(settings: Settings) -> tuple[float, ...]:
    return FEW_EPSILONS if settings.quick else EPSILONS


@dataclass(frozen=True)
class Method:
    """A sampler as it appears in tables: its kernel, its tuning, what a step reads, and what holds."""

    key: str
    label: str
    kernel: Any
    steps: int
    records: float
    guarantee: str
    epsilon_total: float = math.nan
    """Of the chain: proven for private samplers, for published ones the claim at its best, else nan."""
    minibatches: float = 0.0
    """Share of steps that read a minibatch."""
    setting: Published | None = None
    """Step, λ, K and ε a step of a published sampler."""
    on_nodes: Any = None
    """The same test for records that are shared out between nodes, where it reads them all anyway."""

    @property
    def family(self) -> str:
        return family(self.key)

    def row(self) -> dict[str, Any]:
        about = {"method": self.key, "family": self.family, "label": self.label, "guarantee": self.guarantee}
        about |= {"epsilon_step": epsilon_of(self.key), "epsilon_total": self.epsilon_total}
        if self.setting is not None:
            about |= {"step": self.setting.step, "rate": self.setting.rate, "largest_batch": self.setting.largest_batch}
        return about


def family(key: str) -> str:
    return key.split("@")[0]


def epsilon_of(key: str) -> float:
    """ε a step, in the paper's units; nan where there is none."""
    _, _, at = key.partition("@")
    return math.nan if at in ("", ONE) else float(at)


def claimed_total(setting: Published) -> float:
    """The best composed total of a claim for one step: what the private samplers beside it may spend."""
    return best_claim(setting, setting.steps)


def no_guarantee(label: str) -> str:
    return f"{label} ({NO_GUARANTEE})"


@cache
def barker_batch(epsilon: float, delta: float, n: int) -> int:
    """The least batch for which Theorem 2 of Heikkilä et al. charges ε for one step, not amplified; n if none does.

    The batch then grows as 1/ε², up to all records, as Z23 draws it. Amplified (their Corollary 2) a step costs 0.08
    or more at clip √b/N whatever b is; its exact cost is far below ε for every b.
    """

    def cost(batch: int) -> float:
        orders = np.arange(2, math.ceil(batch / 5))
        return float(np.min(heikkila2019.theorem2_rdp(orders, batch) - math.log(delta) / (orders - 1)))

    low, high = 16, n
    if cost(high) > epsilon:
        return n
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(middle) <= epsilon else (middle, high)
    return high


def tuned_fast(moves: Moves, setting: Published, coded: bool) -> Published:
    """DP-fast MH as App. E tunes it: K = εC/max c, 60 % of moves accepted; λ, which it leaves open, as large as K lets.

    With ``coded`` the sensitivity of the authors' logistic code, and its λ = 10.
    """
    c = moves.constants
    setting = replace(setting, largest_batch=setting.epsilon * c.sum() / c.max())

    def at(step: float) -> Published:
        rate = setting.rate if coded else filling_rate(moves, step, setting.largest_batch)
        return replace(setting, step=step, rate=rate)

    start = 0.1 * setting.step
    return at(step_for(lambda step: float(on_minibatches(moves, at(step), coded).mean()), start))


def tuned_full(moves: Moves, setting: Published, free: bool = True) -> Published:
    """DP-fast MH on all records at 60 %; without ``free`` the penalty algorithm."""

    def accepts(step: float) -> float:
        return float(on_all_records(moves, replace(setting, step=step), free).mean())

    return replace(setting, step=step_for(accepts, 0.1 * setting.step))


def tuned_metropolis(moves: Moves, start: float) -> float:
    return step_for(lambda step: float(metropolis(moves.total(moves.here + step * moves.directions)).mean()), start)


def fast_method(
    key: str, label: str, kernel: Any, setting: Published, total: float, full: bool = False, by: str = "rate"
) -> Method:
    """A published sampler with what it reads; ``total`` is C, tempered."""
    read = reading(total, setting.step, setting, setting.largest_batch, by)
    records, share = (setting.n, 0.0) if full else (read.records, read.share_of_minibatches)
    label = no_guarantee(label)
    return Method(key, label, kernel, setting.steps, records, NO_GUARANTEE, claimed_total(setting), share, setting)


def total_text(epsilon: float) -> str:
    return f"({dp_round(epsilon)}, {DELTA:g})-DP, whole chain"
