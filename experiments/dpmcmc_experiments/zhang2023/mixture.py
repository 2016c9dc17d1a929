"""The truncated Gaussian mixture: every sampler on the same records, against quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import rng_of, seed_of
from dpmcmc_experiments.targets import TruncatedMixture
from dpmcmc_experiments.zhang2023 import samplers, tuning
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    MIXTURE,
    Published,
    guarantee_text,
    mixture_constant,
    planned,
)
from dpmcmc_experiments.zhang2023.samplers import ONE, Method, epsilon_of, family

MODEL = TruncatedMixture()
TRUTH = np.array([0.0, 1.0])
LENGTH = 0.06 * math.sqrt(2)
"""Root mean square length of the published proposals on minibatches."""
LONGEST = 0.6
"""Steps of the private chains are not longer: about a posterior standard deviation."""


@dataclass(frozen=True)
class Problem:
    """Records, exact draws, and the box of the histograms; ``setting`` scaled so that n over temperature is 100.

    ``weight`` is what a record counts of those of the paper, and ``budget`` what "ε = 1" is then.
    """

    setting: Published
    records: np.ndarray
    exact: np.ndarray
    chains: int
    budget: float
    weight: int = 1

    @property
    def tau(self) -> float:
        return 1 / self.setting.temperature

    @property
    def constants(self) -> np.ndarray:
        """cᵢ as the authors compute them, tempered."""
        return np.asarray(mixture_constant(self.records), np.float64) * self.tau

    @property
    def box(self) -> tuple[tuple[float, float], ...]:
        return tuple((float(low), float(high)) for low, high in zip(self.exact.min(0), self.exact.max(0), strict=True))

    def at(self, epsilon: float) -> Published:
        """The setting of the code with this ε a step, in the paper's units."""
        return replace(self.setting, epsilon=epsilon * self.weight)


@cache
def problem(quick: bool) -> Problem:
    """The published setting, or a twenty-fifth of its records, each counting 25 times as much, and few steps."""
    setting = MIXTURE
    if quick:
        fewer = {"n": MIXTURE.n // 25, "temperature": MIXTURE.temperature / 25, "steps": 400}
        setting = replace(MIXTURE, **fewer, epsilon=25 * MIXTURE.epsilon, delta=25 * MIXTURE.delta)
    with jax.enable_x64(True):
        key = jax.random.key(seed_of("zhang2023", "mixture"))
        records = np.asarray(MODEL.simulate(key, jnp.asarray(TRUTH), setting.n), np.float64)
    exact = MODEL.exact_draws(rng_of("zhang2023", "exact"), records, 200_000, 1 / setting.temperature)
    return Problem(setting, records, exact, *((2, 6.0, 25) if quick else (1, 1.0)))


@cache
def moves(quick: bool) -> tuning.Moves:
    """250 moves from exact draws, for tuning."""
    p = problem(quick)
    here = p.exact[:250]
    base = MODEL.log_density(p.records, here, p.tau)

    def total(there: np.ndarray) -> np.ndarray:
        inside = np.all(np.abs(there) <= MODEL.box, axis=1)
        return np.where(inside, MODEL.log_density(p.records, there, p.tau) - base, -np.inf)

    def change(there: np.ndarray, move: np.ndarray, record: np.ndarray) -> np.ndarray:
        x = p.records[record]
        after, before = (log_likelihood(theta[move].T, x) for theta in (there, here))
        return p.tau * (after - before)

    directions = rng_of("zhang2023", "directions").normal(size=(len(here), 2))
    return tuning.Moves(here, directions, p.constants, total, change)


def log_likelihood(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    scale = 0.5 / MODEL.variance
    return np.logaddexp(-scale * (x - theta[0]) ** 2, -scale * (x - theta[0] - theta[1]) ** 2)


NODES = 601


@dataclass(frozen=True)
class OnNodes:
    """The mixture for records shared out between equidistant nodes: (node, weight) in place of a record.

    A test on all records sees them only through Σ log p(xᵢ|θ), which this is within 10⁻³ (as the exact draws take it),
    at a hundredth of the work.
    """

    init = np.zeros(2, np.float32)

    def log_prior(self, theta: Any) -> Any:
        return MODEL.log_prior(theta)

    def log_likelihood(self, theta: Any, node: dict[str, Any]) -> Any:
        return node["weight"] * MODEL.log_likelihood(theta, node["x"])


@cache
def nodes(quick: bool) -> dict[str, np.ndarray]:
    low, high = MODEL.ends
    place = (problem(quick).records - low) / (high - low) * (NODES - 1)
    left = np.minimum(place.astype(int), NODES - 2)
    weight = np.bincount(left, 1 - (place - left), NODES) + np.bincount(left + 1, place - left, NODES)
    return {"x": np.linspace(low, high, NODES).astype(np.float32), "weight": weight}


def sphere(length: float) -> Any:
    return dp.proposals.Sphere(length / math.sqrt(2))


def bound(length: float) -> float:
    """A true bound on one record's untempered log ratio in a move of ``length``."""
    return MODEL.slope * length * (1 + 1e-9)


def minibatch(p: Problem, length: float) -> Any:
    """The exact private minibatch test with steps of one length, which is what makes its bound true and constant."""
    return dp.dp_barker_minibatch(sphere(length), p.tau * bound(length))


@cache
def longest(quick: bool, total: float) -> float:
    """The length of steps, up to LONGEST, for which a minibatch chain as long as the published one costs ``total``."""
    p = problem(quick)

    def event(h: float) -> Any:
        return dp.privacy.Repeat(minibatch(p, h).event(p.setting.n, p.tau), p.setting.steps)

    if dp.privacy.epsilon(event(LONGEST), DELTA) <= 0.999 * total:
        return LONGEST
    budget = dp.Budget(0.999 * total, DELTA)  # the rest pays for finite precision
    return float(dp.privacy.calibrate(event, budget, bracket=(1e-3, LONGEST), tolerance=0.002))


def method(key: str, quick: bool) -> Method:
    """A sampler by its key, family@ε; made when asked for, as tuning takes a moment."""
    p = problem(quick)
    setting = p.at(epsilon_of(key)) if epsilon_of(key) > 0 else p.setting
    make = {
        "fast": _fast,
        "fast-code": _fast_as_coded,
        "full": partial(_on_all_records, free=True),
        "penalty": partial(_on_all_records, free=False),
        "barker": _barker,
        "repaired": _repaired,
        "repaired-same": _repaired,
        "metropolis": _plain,
        "tuna": _plain,
    }[family(key)]
    return make(p, key, setting, quick)


def _claim(setting: Published) -> dict[str, float]:
    return {"epsilon": setting.epsilon, "delta": setting.delta}


def _fast(p: Problem, key: str, setting: Published, quick: bool) -> Method:
    tuned = samplers.tuned_fast(moves(quick), setting, coded=False)
    options = {"rate": tuned.rate, "largest_batch": tuned.largest_batch, "variant": "reversible"}
    kernel = dp.algorithms.published_fast_mh(tuned.step, mixture_constant, **_claim(tuned), **options)
    return samplers.fast_method(key, "DP-fast MH", kernel, tuned, p.constants.sum())


def _fast_as_coded(p: Problem, key: str, setting: Published, quick: bool) -> Method:
    kernel = dp.algorithms.published_fast_mh(setting.step, mixture_constant, **_claim(setting), variant="as_coded")
    return samplers.fast_method(key, "DP-fast MH, constants of the code", kernel, setting, p.constants.sum())


def _on_all_records(p: Problem, key: str, setting: Published, quick: bool, free: bool) -> Method:
    tuned, label = samplers.tuned_full(moves(quick), setting, free), "DP-fast MH on all records"
    options = {"full_batch": True, "variant": "reversible"}
    most = float(p.constants.max() / p.tau)

    def test(constants: Any, weight: float) -> Any:
        """``weight`` is that of the heaviest record: what it moves is clipped there, and the noise is the same."""
        if free:
            return dp.algorithms.published_fast_mh(tuned.step, constants, **_claim(tuned), **options)
        multiplier = tuning.noise_multiplier(tuned.epsilon, tuned.delta) / weight
        penalty = dp.acceptance.ProportionalPenalty(dp.DistanceClip(weight * most), noise_multiplier=multiplier)
        return dp.Kernel(dp.RandomWalk(tuned.step), penalty)

    kernel, label = test(mixture_constant, 1.0), label if free else "DP penalty"
    found = samplers.fast_method(key, label, kernel, tuned, p.constants.sum(), full=True)
    found = replace(found, on_nodes=test(most, float(nodes(quick)["weight"].max())))
    return found if free else replace(found, label=label, guarantee=private_text(p, kernel), minibatches=0.0)


def _barker(p: Problem, key: str, setting: Published, quick: bool) -> Method:
    """Steps as long as their assumption |log ratio| ≤ √b/N₀ allows, by the same constants as the others."""
    batch = samplers.barker_batch(setting.epsilon / p.weight, DELTA, MIXTURE.n) // p.weight
    clip = math.sqrt(batch * p.weight) / (p.tau * p.setting.n)
    length = clip / (p.constants.max() / p.tau)
    whole = batch > p.setting.n / 2
    kernel = dp.dp_barker(sphere(length), clip) if whole else dp.dp_barker_subsampled(sphere(length), batch)
    tuned = replace(setting, step=length / math.sqrt(2), largest_batch=batch)
    found = samplers.fast_method(key, "DP Barker", kernel, tuned, p.constants.sum(), full=True)
    share = float(not whole)
    heaviest = float(nodes(quick)["weight"].max())
    on_nodes = dp.dp_barker(sphere(length), heaviest * clip) if whole else None
    found = replace(found, records=batch, guarantee=private_text(p, kernel), minibatches=share)
    return replace(found, label="DP Barker", on_nodes=on_nodes)


def private_text(p: Problem, kernel: Any) -> str:
    """What this library proves of a baseline's chain."""
    event = dp.privacy.Repeat(kernel.event(p.setting.n, p.tau), p.setting.steps)
    return samplers.total_text(float(dp.privacy.epsilon(event, DELTA)))


def total_of(p: Problem, key: str, setting: Published) -> float:
    """What a private sampler may spend: the best composed total of the claim, or the budget that stands for ε = 1."""
    return p.budget if key.endswith("@" + ONE) else samplers.claimed_total(setting)


def _repaired(p: Problem, key: str, setting: Published, quick: bool) -> Method:
    total = total_of(p, key, setting)
    length = LENGTH if family(key) == "repaired-same" else longest(quick, total)
    kernel, steps = minibatch(p, length), p.setting.steps
    guarantee = planned(MODEL, p.setting.n, kernel, steps, p.tau, total).guarantee
    label = f"repaired minibatch, ε = {total:.3g} in all"
    if family(key) == "repaired-same":
        label = f"repaired minibatch, step length of the code, ε = {guarantee.epsilon:.3g} in all"
    records = 4 * p.setting.n * p.tau * bound(length)
    return Method(key, label, kernel, steps, records, guarantee_text(guarantee), guarantee.epsilon, 1.0)


def _plain(p: Problem, key: str, setting: Published, quick: bool) -> Method:
    step, steps = samplers.tuned_metropolis(moves(quick), 0.01), p.setting.steps
    if key == "metropolis":
        kernel = dp.algorithms.metropolis(step)
        return Method(key, "Metropolis (not private)", kernel, steps, p.setting.n, "none", on_nodes=kernel)
    total, mean = p.constants.sum(), step * math.sqrt(math.pi / 2)  # mean of M; its square has mean 2·step²
    kernel = dp.algorithms.tuna_mh(step, mixture_constant, chi=0.01)
    records = 0.01 * total**2 * 2 * step**2 + total * mean
    return Method(key, "TunaMH (not private)", kernel, steps, records, "none", minibatches=1.0)
