"""Logistic regression of 7 against 9 on 50 principal components of MNIST.

The published samplers and their baselines see the projected pixels, with a flat prior, as in the authors' code. The
repaired one has the same target with records clipped to norm 8, so that one record's log ratio has the true bound
8·‖θ' − θ‖; the default is a release of :class:`dpmcmc.models.LogisticRegression` on the same projection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import Settings, rng_of, seed_of
from dpmcmc_experiments.zhang2023 import samplers, tuning
from dpmcmc_experiments.zhang2023.mnist import PLAIN_NORM, Problem, clipped, problem
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    LOGISTIC,
    Published,
    guarantee_text,
    logistic_constant,
    planned,
)
from dpmcmc_experiments.zhang2023.samplers import ONE, Method, epsilon_of, family

LARGEST_BOUND = 1 / 8
"""Of one record's log ratio in the repaired test: beyond it a minibatch is no smaller than the data."""


def log_likelihood(theta: Any, record: dict[str, Any]) -> Any:
    logit = record["x"] @ theta
    return record["y"] * logit - jnp.logaddexp(0.0, logit)


def model(start: Any) -> dp.Model:
    """Logistic regression without intercept and with a flat prior, as published."""
    return dp.Model(log_prior=lambda theta: 0.0 * jnp.sum(theta), log_likelihood=log_likelihood, init=start)


def kaiming(key: Any) -> Any:
    """The published start: uniform within ±1/√50."""
    return jax.random.uniform(key, (50,), jnp.float32, -1.0, 1.0) / math.sqrt(50)


@cache
def mode(p: Settings) -> tuple[np.ndarray, np.ndarray]:
    """The posterior's mode and curvature, by Newton's method."""
    found, theta = problem(p), np.zeros(50)
    for _ in range(25):
        chance = 1 / (1 + np.exp(-found.x @ theta))
        curvature = (found.x * (chance * (1 - chance))[:, None]).T @ found.x
        theta = theta + np.linalg.solve(curvature, found.x.T @ (found.y - chance))
    return theta, curvature


@cache
def moves(settings: Settings) -> tuning.Moves:
    """150 moves from draws of the normal approximation at the mode, for tuning."""
    p, (theta, curvature) = problem(settings), mode(settings)
    rng = rng_of("zhang2023", "logistic directions")
    here = theta + rng.normal(size=(150, 50)) @ np.linalg.inv(np.linalg.cholesky(curvature))
    signs = 2 * p.y - 1

    def energies(thetas: np.ndarray) -> np.ndarray:
        return np.logaddexp(0.0, -signs * (thetas @ p.x.T)).sum(1)

    before = energies(here)

    def change(there: np.ndarray, move: np.ndarray, record: np.ndarray) -> np.ndarray:
        x, sign = p.x[record], signs[record]
        now, later = (np.logaddexp(0.0, -sign * np.einsum("ij,ij->i", x, t[move])) for t in (here, there))
        return now - later

    constants = np.linalg.norm(p.x, axis=1)
    return tuning.Moves(here, rng.normal(size=here.shape), constants, lambda there: before - energies(there), change)


def method(key: str, settings: Settings) -> Method:
    """A sampler of the published target by its key, family@ε, or fast-code@K of Figure 3c."""
    p = problem(settings)
    setting = replace(p.setting, epsilon=epsilon_of(key) * p.weight) if epsilon_of(key) > 0 else p.setting
    make: Callable[..., Method] = {
        "fast": partial(_fast, coded=True),
        "fast-printed": partial(_fast, coded=False),
        "fast-K": _with_batch,
        "full": partial(_on_all_records, free=True),
        "penalty": partial(_on_all_records, free=False),
        "barker": _barker,
        "repaired": _repaired,
        "repaired-same": _repaired,
        "reference": _reference,
    }[family(key)]
    return make(settings, key, setting)


def _kernel(setting: Published, variant: str, full: bool = False) -> Any:
    options: dict[str, Any] = {"epsilon": setting.epsilon, "delta": setting.delta, "variant": variant}
    if not full:
        options |= {"rate": setting.rate, "largest_batch": setting.largest_batch}
    return dp.algorithms.published_fast_mh(setting.step, logistic_constant, full, **options)


def _fast(settings: Settings, key: str, setting: Published, coded: bool) -> Method:
    """At 60 % with K = εC/max c: with the sensitivity that the code computes, or the printed one."""
    tuned = samplers.tuned_fast(moves(settings), setting, coded)
    label = "DP-fast MH, sensitivity of the code" if coded else "DP-fast MH, printed sensitivity"
    kernel = _kernel(tuned, "as_coded_logistic" if coded else "reversible")
    return samplers.fast_method(key, label, kernel, tuned, moves(settings).constants.sum())


def _with_batch(settings: Settings, key: str, setting: Published) -> Method:
    """The constants of the code, but for K, which is what follows the @."""
    p = problem(settings)
    setting = replace(p.setting, largest_batch=float(key.split("@")[1]))
    kernel = _kernel(setting, "as_coded_logistic")
    label = f"DP-fast MH, constants of the code, K = {setting.largest_batch:g}"
    return samplers.fast_method(key, label, kernel, setting, moves(settings).constants.sum())


def _on_all_records(settings: Settings, key: str, setting: Published, free: bool) -> Method:
    constants = moves(settings).constants
    tuned = samplers.tuned_full(moves(settings), setting, free)
    made = samplers.fast_method(
        key, "DP-fast MH on all records", _kernel(tuned, "reversible", True), tuned, constants.sum(), True
    )
    if free:
        return made
    multiplier = tuning.noise_multiplier(tuned.epsilon, tuned.delta)
    test = dp.acceptance.ProportionalPenalty(dp.DistanceClip(constants.max()), noise_multiplier=multiplier)
    kernel = dp.Kernel(dp.RandomWalk(tuned.step), test)
    return replace(made, label="DP penalty", kernel=kernel, guarantee=private_text(setting, kernel))


def _barker(settings: Settings, key: str, setting: Published) -> Method:
    """Steps as long as the assumption |log ratio| ≤ √b/N allows, by the same constants as the others."""
    p, constants = problem(settings), moves(settings).constants
    batch = samplers.barker_batch(setting.epsilon / p.weight, DELTA, LOGISTIC.n) // p.weight
    clip = math.sqrt(batch * p.weight) / LOGISTIC.n * p.weight
    step = clip / constants.max() / math.sqrt(50)
    proposal, whole = dp.proposals.Sphere(step), batch > p.setting.n / 2
    kernel = dp.dp_barker(proposal, clip) if whole else dp.dp_barker_subsampled(proposal, batch)
    tuned = replace(setting, step=step, largest_batch=batch)
    made = samplers.fast_method(key, "DP Barker", kernel, tuned, constants.sum(), True)
    text = private_text(setting, kernel)
    return replace(made, label="DP Barker", records=batch, guarantee=text, minibatches=float(not whole))


def private_text(setting: Published, kernel: Any) -> str:
    """What this library proves of a baseline's chain."""
    event = dp.privacy.Repeat(kernel.event(setting.n, 1.0), setting.steps)
    return samplers.total_text(float(dp.privacy.epsilon(event, DELTA)))


def total_of(p: Problem, key: str, setting: Published) -> float:
    return float(p.weight) if key.endswith("@" + ONE) else samplers.claimed_total(setting)


def same_bound(p: Problem) -> float:
    return PLAIN_NORM * p.setting.step * math.sqrt(50)


def _repaired(settings: Settings, key: str, setting: Published) -> Method:
    """The repaired test on the published target, records clipped, with the longest steps that the total allows."""
    p, steps = problem(settings), setting.steps
    total = total_of(p, key, setting)
    m = same_bound(p) if family(key) == "repaired-same" else largest_bound(p, 0.999 * total, steps)
    kernel = dp.dp_barker_minibatch(dp.proposals.Sphere(m / PLAIN_NORM / math.sqrt(50) * (1 - 1e-9)), m)
    guarantee = planned(model(np.zeros(50)), setting.n, kernel, steps, 1.0, total).guarantee
    label = f"repaired minibatch, ε = {total:.3g} in all"
    if family(key) == "repaired-same":
        label = f"repaired minibatch, steps of the code, ε = {guarantee.epsilon:.3g} in all"
    records = 4 * setting.n * m
    return Method(key, label, kernel, steps, records, guarantee_text(guarantee), guarantee.epsilon, 1.0)


def largest_bound(p: Problem, epsilon: float, steps: int) -> float:
    """The bound m on one record's log ratio, up to 1/8, for which a chain costs ε."""

    def event(m: float) -> Any:
        return dp.privacy.Repeat(dp.privacy.PoissonBarkerBit(p.setting.n, m, 3 * p.setting.n * m), steps)

    if dp.privacy.epsilon(event(LARGEST_BOUND), DELTA) <= epsilon:
        return LARGEST_BOUND
    budget = dp.Budget(epsilon, DELTA)
    return float(dp.privacy.calibrate(event, budget, bracket=(1e-6, LARGEST_BOUND), tolerance=0.005))


def _reference(settings: Settings, key: str, setting: Published) -> Method:
    """Non-private Hamiltonian Monte Carlo from the mode; paths end before the narrowest direction comes round again."""
    curvature = mode(settings)[1]
    narrowest, leaps = np.linalg.eigvalsh(curvature)[-1] ** -0.5, 7  # 7 · 0.7 = 4.9 of 2π
    kernel = dp.algorithms.hmc(float(0.7 * narrowest), leaps)
    steps = 100 if settings.quick else 1000
    return Method(key, "HMC (not private)", kernel, steps, (leaps + 1) * setting.n, "none")


@dataclass(frozen=True)
class Run:
    """A sampler's linear predictors of the test records."""

    method: Method
    mean: np.ndarray
    """Of the mean of all draws, (chain, test record)."""
    late: np.ndarray
    """Of draws of the second half, (chain, draw, test record)."""
    acceptance: float


@cache
def run(key: str, settings: Settings) -> Run:
    if family(key) == "default":
        return released(key, settings)
    p, made = problem(settings), method(key, settings)
    start = mode(settings)[0].astype(np.float32) if family(key) == "reference" else kaiming
    norm = PLAIN_NORM if family(key).startswith("repaired") else math.inf
    release = dp.sample(
        model(start),
        {"x": clipped(p.x, norm).astype(np.float32), "y": p.y.astype(np.float32)},
        epsilon=1e12,  # each chain is a release of its own; what one costs is in its row
        delta=DELTA,
        method=dp.Chain(made.kernel, warmup=0),
        draws=made.steps,
        chains=p.chains,
        seed=seed_of("zhang2023", "logistic", key),
        progress=False,
    )
    draws = release.draws["theta"]
    last = draws.mean(1) @ p.test_x.T
    late = draws[:, made.steps // 2 :: max(1, made.steps // 400)] @ p.test_x.T
    return Run(made, last, late, float(release.sample_stats["accepted"].mean()))


def released(key: str, settings: Settings) -> Run:
    """What dp.sample does when no method is named: covariates bounded by 3 (public) standard deviations."""
    p = problem(settings)
    setting = replace(p.setting, epsilon=epsilon_of(key) * p.weight) if epsilon_of(key) > 0 else p.setting
    total, names = total_of(p, key, setting), [f"pc{j + 1}" for j in range(50)]
    regression = dp.models.LogisticRegression({n: (-3 * s, 3 * s) for n, s in zip(names, p.spread, strict=True)})

    def encoded(x: np.ndarray, y: np.ndarray) -> Any:
        return regression.encode(dict(zip(names, x.T, strict=True)) | {"y": y}, outcome="y")

    seed = seed_of("zhang2023", "logistic", key)
    release = dp.sample(regression, encoded(p.x, p.y), total, DELTA, seed=seed, progress=False)
    weights = np.stack([release.draws[name] for name in names], -1)
    eta = weights @ encoded(p.test_x, p.test_y)["x"].T + release.draws["intercept"][..., None]
    label, promise = f"default, ε = {total:.3g} in all", f"({total:.3g}, {DELTA:g})-DP, whole release"
    made = Method(key, label, None, eta.shape[1], math.nan, promise, total)
    mean = eta.reshape(1, -1, eta.shape[-1]).mean(1)
    return Run(made, mean, eta[:, ::4], 1.0)
