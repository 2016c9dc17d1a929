"""What Zhang & Zhang (2023) ran, and what they claim for it: settings of their public code, and arithmetic on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.stats import chi, poisson

import dpmcmc as dp
from dpmcmc.privacy.published import zhang2023

NO_GUARANTEE = "no valid guarantee"
DELTA = 1e-5


@dataclass(frozen=True)
class Published:
    """One experiment of the authors' code: ``step`` on minibatches, ``step_full`` on all records, (ε, δ) per step."""

    n: int
    dimension: int
    temperature: float
    steps: int
    step: float
    step_full: float
    rate: float
    largest_batch: float
    epsilon: float = 0.05
    delta: float = DELTA


MIXTURE = Published(50_000, 2, 500.0, 10_000, 0.06, 0.08, 10.0, 60.0)  # 10⁴ steps are shown; the code runs 2·10⁴
LOGISTIC = Published(12_214, 50, 1.0, 40_000, 4.3e-4, 2.8e-4, 10.0, 225.0)


def mixture_constant(record: Any) -> Any:
    """cᵢ of the authors' code for the mixture, untempered: θ within ±3, variance 2."""
    size = jnp.abs(record)
    return jnp.hypot((2 * size + 9) / 2, (size + 6) / 2)


def logistic_constant(record: dict[str, Any]) -> Any:
    """cᵢ = ‖xᵢ‖."""
    return jnp.linalg.norm(record["x"])


@dataclass(frozen=True)
class Reading:
    """How much of the data a published minibatch step reads, on average over proposals."""

    records: float
    share_of_minibatches: float


def reading(total: float, step: float, setting: Published, largest_batch: float, by: str = "rate") -> Reading:
    """Records a step reads: B ~ Poisson(λ + CM), or all n where the rate (code) or B itself (text) reaches K.

    ``total`` is C, tempered; M = step·χ with ``dimension`` degrees of freedom, whatever the data say.
    """
    lengths = step * chi.ppf((np.arange(4000) + 0.5) / 4000, setting.dimension)
    means = setting.rate + total * lengths
    if by == "rate":
        small, batch = (means < largest_batch).astype(float), means * (means < largest_batch)
    else:
        top = math.ceil(largest_batch) - 1  # B < K
        small, batch = poisson.cdf(top, means), means * poisson.cdf(top - 1, means)  # E[B; B ≤ k] = μ P(B ≤ k − 1)
    return Reading(float(np.mean(batch + (1 - small) * setting.n)), float(np.mean(small)))


def composed_claim(setting: Published, steps: int, slack: float = DELTA) -> tuple[float, float]:
    """What the claim for one step adds up to as the paper composes it, were it true: (ε, δ) of the chain."""
    claim = zhang2023.theorem2_full(setting.epsilon, setting.delta, setting.epsilon)
    whole = zhang2023.composition(claim, steps, slack)
    return whole.epsilon, whole.delta


def best_claim(setting: Published, steps: int, delta: float = DELTA) -> float:
    """Its best case: ε of the chain if every step were pure ε-DP and steps composed optimally, at δ = 10⁻⁵."""
    claim = zhang2023.theorem2_full(setting.epsilon, setting.delta, setting.epsilon)
    return zhang2023.best_composition(claim, steps, delta).epsilon


def necessary_delta(
    largest_constant: float, step: float, dimension: int, steps: int, longest_free: float = math.inf
) -> float:
    """The δ that a chain needs, whatever ε, on the neighbours of docs/theory/fast-mh.md.

    Without noise, that is for moves up to ``longest_free``, a step never rejects on one data set and rejects with
    probability 1 − e^{−m}, m = max c·‖θ' − θ‖, on the other: one rejection in the chain tells them apart.
    """
    lengths = step * chi.ppf((np.arange(4000) + 0.5) / 4000, dimension)
    no_rejection = np.where(lengths <= longest_free, np.exp(-largest_constant * lengths), 1.0)
    return float(-math.expm1(steps * math.log(np.mean(no_rejection))))


def steps_within_claim(setting: Published, epsilon: float, delta: float = DELTA) -> int:
    """Steps whose claims add up to at most ε in their best case."""
    steps = 0
    while best_claim(setting, steps + 1, delta) <= epsilon:
        steps += 1
    return steps


def guarantee_text(guarantee: Any) -> str:
    return f"({dp_round(guarantee.epsilon)}, {guarantee.delta:g})-DP, whole chain"


def dp_round(value: float) -> str:
    """Three digits, rounded up."""
    digits = 2 - math.floor(math.log10(value))
    return f"{math.ceil(value * 10**digits - 1e-9) / 10**digits:g}"


def planned(model: Any, n: int, kernel: Any, steps: int | None, temperature: float, epsilon: float) -> Any:
    """The plan of one chain within (ε, 10⁻⁵): its guarantee is what a release without a seed would carry."""
    budget = dp.Budget(epsilon, DELTA)
    method = dp.Chain(kernel, warmup=0)
    return dp.plan(model, n, budget, method=method, draws=steps, chains=1, temperature=temperature)
