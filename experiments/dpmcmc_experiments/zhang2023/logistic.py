"""Logistic regression of 7 against 9 on 50 principal components of MNIST.

The published samplers see the projected pixels as they are, with a flat prior, as in the authors' code. The private
ones see them divided by the public standard deviations and clipped
to a public norm, with a N(0, 1) prior, so that one record's log ratio has the true bound NORM·‖θ' − θ‖.
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
from dpmcmc_experiments.figures import Cell, Settings, seed_of
from dpmcmc_experiments.zhang2023.mnist import NORM, PLAIN_NORM, Problem, clipped, problem
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    LOGISTIC,
    NO_GUARANTEE,
    Reading,
    best_claim,
    dp_round,
    guarantee_text,
    logistic_constant,
    planned,
    reading,
)

EPSILONS = (1.0, 10.0)
TEMPERATURE = 0.03
FIT = 0.88  # of ε, at δ/2, where a chain starts from a private fit; the chain gets what is left
FIT_STEPS = 100


def model(prior: bool, start: Any) -> dp.Model:
    """Logistic regression without intercept, as published; prior N(0, 1) or flat."""

    def simulate(key: Any, theta: Any, n: int) -> dict[str, Any]:
        """Scaled covariates of public shape: normal, clipped to NORM."""
        x_key, y_key = jax.random.split(key)
        x = jax.random.normal(x_key, (n, 50))
        x = x * jnp.minimum(1, NORM / jnp.linalg.norm(x, axis=1, keepdims=True))
        return {"x": x, "y": jax.random.bernoulli(y_key, jax.nn.sigmoid(x @ theta)).astype(x.dtype)}

    def log_likelihood(theta: Any, record: dict[str, Any]) -> Any:
        logit = record["x"] @ theta
        return record["y"] * logit - jnp.logaddexp(0.0, logit)

    return dp.Model(
        log_prior=lambda theta: -0.5 * jnp.sum(theta**2) * prior,
        log_likelihood=log_likelihood,
        init=start,
        simulate=simulate if prior else None,
    )


def kaiming(key: Any) -> Any:
    """The published start: uniform within ±1/√50."""
    return jax.random.uniform(key, (50,), minval=-1.0, maxval=1.0) / math.sqrt(50)


@dataclass(frozen=True)
class Run:
    """Draws of a method, and how it is to be read: in scaled coordinates or not, what a step reads, what holds."""

    key: str
    label: str
    draws: np.ndarray
    accepted: np.ndarray
    scaled: bool
    records: float
    guarantee: str
    epsilon: float
    """Of everything released: proven for private methods, for published ones the claim at its best, else nan."""
    upfront: float = 0.0
    """Records read before the chain."""
    minibatches: float = 1.0
    """Share of steps that read a minibatch."""


def sample(p: Problem, key: str, prior: bool, start: Any, kernel: Any, steps: int, **more: float) -> Any:
    """Chains on scaled records with the prior, or on projected ones (clipped to ``norm``) without."""
    data = {"x": p.scaled(p.x) if prior else clipped(p.x, more.pop("norm", math.inf)), "y": p.y}
    return dp.sample(
        model(prior, start),
        data,
        epsilon=1e12,  # each chain is a release of its own; what one costs is in its row
        delta=DELTA,
        method=dp.Chain(kernel, warmup=0),
        draws=steps,
        chains=p.chains,
        seed=seed_of("zhang2023", "logistic", key),
        progress=False,
        **more,
    )


def accept_bits(release: dp.Release) -> np.ndarray:
    return release.sample_stats["accepted"]


def reference(p: Problem) -> Run:
    """Non-private Hamiltonian Monte Carlo from the mode; paths end before the narrowest direction comes round again."""
    theta = np.zeros(50)
    for _ in range(25):
        chance = 1 / (1 + np.exp(-p.x @ theta))
        curvature = (p.x * (chance * (1 - chance))[:, None]).T @ p.x
        theta = theta + np.linalg.solve(curvature, p.x.T @ (p.y - chance))
    narrowest, leaps = np.linalg.eigvalsh(curvature)[-1] ** -0.5, 7  # 7 · 0.7 = 4.9 of 2π
    steps = 100 if p.setting.n < LOGISTIC.n else 2000
    release = sample(p, "reference", False, theta, dp.algorithms.hmc(0.7 * narrowest, leaps), steps)
    label, draws, read = "HMC, long run (not private)", release.draws["theta"], (leaps + 1) * p.setting.n
    return Run("reference", label, draws, accept_bits(release), False, read, "none: not private", math.nan)


def published(p: Problem, key: str) -> Run:
    """DP-fast MH as the authors' code runs it: on minibatches, with the printed sensitivity, or on all records."""
    label, variant, full = {
        "published": ("DP-fast MH, as coded", "as_coded_logistic", False),
        "published-printed": ("DP-fast MH, printed sensitivity", "as_coded", False),
        "published-full": ("DP-fast MH on all records", "as_coded", True),
    }[key]
    step, total = p.setting.step_full if full else p.setting.step, np.linalg.norm(p.x, axis=1).sum()
    batch = {} if full else {"rate": p.setting.rate, "largest_batch": p.setting.largest_batch}
    claim = {"epsilon": p.setting.epsilon, "delta": p.setting.delta, "variant": variant}
    kernel = dp.algorithms.published_fast_mh(step, logistic_constant, full, **claim, **batch)
    steps = p.setting.steps // (10 if key == "published-printed" else 1)  # it hardly moves
    release = sample(p, key, False, kaiming, kernel, steps)
    read = Reading(p.setting.n, 0.0) if full else reading(total, step, p.setting, p.setting.largest_batch)
    draws, label = release.draws["theta"], f"{label} ({NO_GUARANTEE})"
    claimed = best_claim(p.setting, steps)
    batches = read.share_of_minibatches
    return Run(key, label, draws, accept_bits(release), False, read.records, NO_GUARANTEE, claimed, minibatches=batches)


def same_bound(p: Problem) -> float:
    return PLAIN_NORM * p.setting.step * math.sqrt(50)


def same_plan(p: Problem) -> Any:
    """The repaired test with as many steps, of the published length, on the published target (records clipped)."""
    m = same_bound(p)
    kernel = dp.dp_barker_minibatch(dp.proposals.Sphere(p.setting.step * (1 - 1e-9)), m)
    return planned(model(False, np.zeros(50)), p.setting.n, kernel, p.setting.steps, 1.0, 1e3)


def repaired_same(p: Problem) -> Run:
    plan, key = same_plan(p), "repaired-same"
    release = sample(p, key, False, kaiming, plan.kernel, plan.steps, norm=PLAIN_NORM)
    label = f"repaired minibatch, published steps, ε = {dp_round(plan.guarantee.epsilon)}"
    records, promise = 4 * p.setting.n * same_bound(p), guarantee_text(plan.guarantee)
    draws = release.draws["theta"]
    return Run(key, label, draws, accept_bits(release), False, records, promise, plan.guarantee.epsilon)


def repaired(p: Problem, epsilon: float, steps: int) -> Run:
    """The exact private minibatch test from the public start 0, tempered, spending ε over the whole chain."""
    m = largest_bound(p, 0.999 * epsilon, steps)
    kernel, key = minibatch(m), f"repaired-{epsilon:g}"
    plan = planned(model(True, np.zeros(50)), p.setting.n, kernel, steps, TEMPERATURE, epsilon)
    release = sample(p, key, True, np.zeros(50), kernel, steps, temperature=TEMPERATURE)
    label, draws = f"repaired minibatch, ε = {epsilon:g}", release.draws["theta"]
    records, promise = 4 * p.setting.n * m, guarantee_text(plan.guarantee)
    return Run(key, label, draws, accept_bits(release), True, records, promise, plan.guarantee.epsilon)


def fitted(p: Problem, epsilon: float, steps: int) -> Run:
    """The same test started at a private variational fit; one fit a chain, both within ε."""
    start, records, key = model(True, np.zeros(50)), {"x": p.scaled(p.x), "y": p.y}, f"fitted-{epsilon:g}"
    options = {"steps": FIT_STEPS, "temperature": TEMPERATURE}
    fits = [
        dp.dpvi(start, records, FIT * epsilon, DELTA / 2, **options, seed=seed_of("zhang2023", key, chain))
        for chain in range(p.chains if p.setting.n == LOGISTIC.n else 1)  # each compiles anew
    ]
    m = largest_bound(p, 0.999 * epsilon, steps, fits[0].event)
    kernel, alone = minibatch(m), replace(p, chains=1)
    chains = [
        sample(alone, f"{key}-{chain}", True, fit.position, kernel, steps, temperature=TEMPERATURE)
        for chain, fit in enumerate(fits)
    ]
    total = float(dp.privacy.epsilon(together(p, m, steps, fits[0].event), DELTA))
    total += 2.0**-39 * steps * kernel.inexact_draws(p.setting.n)  # finite precision, as a plan would set it aside
    draws = np.concatenate([release.draws["theta"] for release in chains])
    bits = np.concatenate([accept_bits(release) for release in chains])
    label, promise = f"private fit, repaired minibatch, ε = {epsilon:g}", f"({dp_round(total)}, {DELTA:g})-DP, fit too"
    return Run(key, label, draws, bits, True, 4 * p.setting.n * m, promise, total, FIT_STEPS * p.setting.n)


def together(p: Problem, m: float, steps: int, *before: Any) -> Any:
    """A minibatch chain with bound m, and what was released before it."""
    bit = dp.privacy.PoissonBarkerBit(p.setting.n, m, 3 * p.setting.n * m)
    return dp.privacy.Compose((*before, dp.privacy.Repeat(bit, steps)))


def minibatch(m: float) -> Any:
    length = m / (TEMPERATURE * NORM) * (1 - 1e-9)
    return dp.dp_barker_minibatch(dp.proposals.Sphere(length / math.sqrt(50)), m)


def largest_bound(p: Problem, epsilon: float, steps: int, *before: Any) -> float:
    """The bound m on one record's tempered log ratio for which a chain, with what came before, costs ε."""
    budget = dp.Budget(epsilon, DELTA)
    return dp.privacy.calibrate(lambda m: together(p, m, steps, *before), budget, bracket=(1e-6, 1.0), tolerance=0.005)


def runs(settings: Settings) -> dict[str, Callable[[], Run]]:
    """Every sampler by its key."""
    p = problem(settings)
    steps = 400 if settings.quick else 10_000
    table: dict[str, Callable[[], Run]] = {"reference": lambda: reference(p)}
    keys = ("published", "published-full") if settings.quick else ("published", "published-printed", "published-full")
    table |= {key: partial(published, p, key) for key in keys}
    table["repaired-same"] = lambda: repaired_same(p)
    if not settings.quick:
        table |= {f"repaired-{epsilon:g}": partial(repaired, p, epsilon, steps) for epsilon in EPSILONS}
    return table | {f"fitted-{epsilon:g}": partial(fitted, p, epsilon, steps) for epsilon in epsilons(settings)[:1]}


def epsilons(settings: Settings) -> tuple[float, ...]:
    return (12.0,) if settings.quick else EPSILONS  # a twelfth of the records needs twelve times the ε


@cache
def run(key: str, settings: Settings) -> Run:
    return runs(settings)[key]()


def cell(key: str, settings: Settings) -> Cell:
    """Accuracy of the running mean, as published (kind "curve"), and predictions of the second half ("summary")."""

    def rows() -> list[dict[str, Any]]:
        p, done = problem(settings), run(key, settings)
        test = p.scaled(p.test_x) if done.scaled else p.test_x
        chains, steps = done.accepted.shape
        base = {"method": key, "label": done.label, "guarantee": done.guarantee, "epsilon": done.epsilon}
        table: list[dict[str, Any]] = []
        for fraction in (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0):
            count = max(1, round(fraction * steps))
            mean = done.draws[:, :count].mean(1)
            hits = [dp.metrics.accuracy((test @ theta > 0).astype(float), p.test_y) for theta in mean]
            passes = (done.upfront + count * done.records) / p.setting.n
            accuracy = {"accuracy": np.mean(hits), "least": min(hits), "most": max(hits)}
            table.append({"kind": "curve", **base, "steps": count, "data_passes": passes, **accuracy})
        chances = predictions(done, test)
        total = {
            name: np.mean([score(chance, p.test_y) for chance in chances])
            for name, score in (
                ("accuracy", dp.metrics.accuracy),
                ("log_loss", dp.metrics.log_loss),
                ("calibration_error", dp.metrics.calibration_error),
            )
        }
        total |= {"acceptance": done.accepted.mean(), "share_of_data": done.records / p.setting.n}
        total["share_of_minibatches"] = done.minibatches if done.records < p.setting.n else 0.0
        total["ess_a_chain"] = dp.metrics.effective_draws(done.draws[:, steps // 2 :]) / chains
        return [*table, table[-1] | {"kind": "summary"} | total]

    return Cell(f"logistic-{key}", rows)


def predictions(done: Run, test: np.ndarray) -> list[np.ndarray]:
    """Probabilities of a nine, averaged over the second half of each chain."""
    steps = done.accepted.shape[1]
    late = done.draws[:, steps // 2 :: max(1, steps // 400)]
    return [np.mean(1 / (1 + np.exp(-test @ path.T)), axis=1) for path in late]


def accuracy(key: str, settings: Settings) -> float:
    p, done = problem(settings), run(key, settings)
    test = p.scaled(p.test_x) if done.scaled else p.test_x
    return float(np.mean([dp.metrics.accuracy(chance, p.test_y) for chance in predictions(done, test)]))
