"""The truncated Gaussian mixture: every sampler on the same records, against quadrature."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import Cell, Settings, rng_of, seed_of
from dpmcmc_experiments.targets import TruncatedMixture
from dpmcmc_experiments.zhang2023.published import (
    DELTA,
    MIXTURE,
    NO_GUARANTEE,
    Published,
    guarantee_text,
    mixture_constant,
    planned,
    reading,
)

MODEL = TruncatedMixture()
TRUTH = np.array([0.0, 1.0])
LENGTH = 0.06 * math.sqrt(2)
"""Root mean square length of the published proposals on minibatches."""
BINS = 40


@dataclass(frozen=True)
class Problem:
    """Records, exact draws, and the box of the histograms; ``setting`` scaled so that n over temperature is 100."""

    setting: Published
    records: np.ndarray
    exact: np.ndarray
    chains: int
    budget: float

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


@cache
def problem(quick: bool) -> Problem:
    """The published setting, or a twenty-fifth of its records, each counting 25 times as much, and few steps."""
    setting = MIXTURE
    if quick:
        fewer = {"n": MIXTURE.n // 25, "temperature": MIXTURE.temperature / 25, "steps": 400}
        setting = replace(MIXTURE, **fewer, epsilon=25 * MIXTURE.epsilon, delta=25 * MIXTURE.delta)
    records = np.asarray(MODEL.simulate(jax.random.key(seed_of("zhang2023", "mixture")), TRUTH, setting.n), np.float64)
    exact = MODEL.exact_draws(rng_of("zhang2023", "exact"), records, 200_000, 1 / setting.temperature)
    return Problem(setting, records, exact, *((2, 6.0) if quick else (3, 1.0)))


@dataclass(frozen=True)
class Method:
    """A sampler as it appears in tables: its kernel, what a step reads, and what holds for a whole chain."""

    key: str
    label: str
    kernel: Any
    records: float
    guarantee: str
    steps: int
    minibatches: float = 0.0
    """Share of steps that read a minibatch."""


def _published(p: Problem, key: str, label: str, **options: Any) -> Method:
    full, by = options.get("full_batch", False), "count" if options["variant"] == "text" else "rate"
    step = p.setting.step_full if full else p.setting.step
    read = reading(p.constants.sum(), step, p.setting, p.setting.largest_batch, by)
    records = p.setting.n if full else read.records
    claim = {"epsilon": p.setting.epsilon, "delta": p.setting.delta}
    kernel = dp.algorithms.published_fast_mh(step, mixture_constant, **claim, **options)
    share = 0.0 if full else read.share_of_minibatches
    return Method(key, f"{label} ({NO_GUARANTEE})", kernel, records, NO_GUARANTEE, p.setting.steps, share)


def _private(p: Problem, key: str, label: str, kernel: Any, records: float, steps: int | None = None) -> Method:
    plan = planned(MODEL, p.setting.n, kernel, steps, p.tau, p.budget)
    share = float(records < p.setting.n)
    return Method(key, label, kernel, records, guarantee_text(plan.guarantee), plan.steps, share)


def sphere(length: float) -> Any:
    return dp.proposals.Sphere(length / math.sqrt(2))


def bound(length: float) -> float:
    """A true bound on one record's untempered log ratio in a move of ``length``."""
    return MODEL.slope * length * (1 + 1e-9)


def minibatch(p: Problem, length: float) -> Any:
    """The exact private minibatch test with steps of one length, which is what makes its bound true and constant."""
    return dp.dp_barker_minibatch(sphere(length), p.tau * bound(length))


@cache
def longest(quick: bool) -> float:
    """The length of steps for which a minibatch chain as long as the published one costs the budget."""
    p = problem(quick)
    return dp.privacy.calibrate(
        lambda h: dp.privacy.Repeat(minibatch(p, h).event(p.setting.n, p.tau), p.setting.steps),
        dp.Budget(0.999 * p.budget, DELTA),  # the rest pays for finite precision
        bracket=(1e-3, 3.0),
        tolerance=0.002,
    )


def methods(quick: bool) -> dict[str, Callable[[], Method]]:
    """Every sampler by its key; made when asked for, as calibration takes a moment."""
    p = problem(quick)
    n, tau, steps = p.setting.n, p.tau, p.setting.steps

    def repaired(key: str, label: str, h: float) -> Method:
        return _private(p, key, label, minibatch(p, h), 4 * n * tau * bound(h), steps)

    def full_barker() -> Method:
        h = longest(quick)
        return _private(p, "barker", "full-data Barker, same steps", dp.dp_barker(sphere(h), bound(h)), n, steps)

    def full_penalty() -> Method:
        h = 0.75 * longest(quick)  # its bit costs about 1.7 times that of Barker's test
        return _private(p, "penalty", "DP penalty, shorter steps", dp.dp_penalty(sphere(h), bound(h)), n, steps)

    def subsampled() -> Method:
        kernel = dp.dp_barker_subsampled(sphere(longest(quick)), min(1000, n // 2))
        return _private(p, "subsampled", "DP Barker on batches (approximate)", kernel, min(1000, n // 2), steps)

    def orbit() -> Method:
        kernel = dp.dp_orbit(np.zeros(2), np.array([0.8, 1.0]), 32, 1.5)
        return _private(p, "orbit", f"selection among 32, ε = {p.budget:g}", kernel, 32 * n, None)

    def plain(key: str, label: str, kernel: Any, records: float) -> Method:
        return Method(key, f"{label} (not private)", kernel, records, "none: not private", steps, float(records < n))

    def tuna() -> Method:
        lengths = p.setting.step * math.sqrt(math.pi / 2)  # mean of M; its square has mean 2·step²
        records = 0.01 * p.constants.sum() ** 2 * 2 * p.setting.step**2 + p.constants.sum() * lengths
        return plain("tuna", "TunaMH", dp.algorithms.tuna_mh(p.setting.step, mixture_constant, chi=0.01), records)

    return {
        "metropolis": lambda: plain("metropolis", "Metropolis", dp.algorithms.metropolis(p.setting.step_full), n),
        "tuna": tuna,
        "published": lambda: _published(p, "published", "DP-fast MH, as coded, K = 60", variant="as_coded"),
        "published-full": lambda: _published(
            p, "published-full", "DP-fast MH on all records", variant="as_coded", full_batch=True
        ),
        "published-text": lambda: _published(p, "published-text", "DP-fast MH as printed, K = 60", variant="text"),
        "repaired-same": lambda: repaired("repaired-same", "repaired minibatch, published step length", LENGTH),
        "repaired": lambda: repaired("repaired", f"repaired minibatch, ε = {p.budget:g}", longest(quick)),
        "barker": full_barker,
        "penalty": full_penalty,
        "subsampled": subsampled,
        "orbit": orbit,
    }


@cache
def run(key: str, quick: bool) -> tuple[Method, np.ndarray, np.ndarray, float]:
    """The method, its draws (chain, step, 2), its accept bits and seconds a step of one chain; from θ = 0."""
    p, method = problem(quick), methods(quick)[key]()
    start = time.perf_counter()
    release = dp.sample(
        MODEL,
        p.records,
        epsilon=1e12,  # each chain is a release of its own; what one costs is in its row
        delta=DELTA,
        method=dp.Chain(method.kernel, warmup=0),
        draws=method.steps,
        chains=p.chains,
        temperature=p.tau,
        seed=seed_of("zhang2023", "mixture", key),
        progress=False,
    )
    seconds = (time.perf_counter() - start) / (method.steps * p.chains)
    return method, release.draws["theta"], release.sample_stats["accepted"], seconds


FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def scores(p: Problem, draws: np.ndarray) -> dict[str, float]:
    """Symmetric KL as published, and the error of the mean in posterior standard deviations."""
    spread = p.exact.std(0)
    return {
        "symmetric_kl": dp.metrics.symmetric_kl(draws, p.exact, p.box),
        "mean_error_sd": dp.metrics.mean_error(draws / spread, p.exact.mean(0) / spread),
    }


def chain_cell(key: str, settings: Settings) -> Cell:
    """Scores after growing numbers of steps (kind "curve", means over chains) and one row of totals ("summary")."""

    def rows() -> list[dict[str, Any]]:
        p = problem(settings.quick)
        method, draws, accepted, seconds = run(key, settings.quick)
        base = {"method": key, "label": method.label, "guarantee": method.guarantee}
        table: list[dict[str, Any]] = []
        for fraction in FRACTIONS:
            steps = max(2, round(fraction * method.steps))
            each = pd.DataFrame([scores(p, path[:steps]) for path in draws])
            passes = steps * method.records / p.setting.n
            table.append({"kind": "curve", **base, "steps": steps, "data_passes": passes, **each.mean()})
        ess = effective(draws[:, method.steps // 10 :], accepted)
        passes = method.steps * method.records / p.setting.n
        total = {
            "acceptance": accepted.mean(),
            "records_a_step": method.records,
            "share_of_data": method.records / p.setting.n,
            "share_of_minibatches": method.minibatches,
            "ess_a_chain": ess,
            "ess_a_data_pass": ess / passes,
            "milliseconds_a_step": 1e3 * seconds,
        }
        return [*table, table[-1] | {"kind": "summary"} | total]

    return Cell(f"mixture-{key}", rows)


def effective(draws: np.ndarray, accepted: np.ndarray) -> float:
    """Effective draws of one chain for the worse of the two means; none where a chain has never moved."""
    return dp.metrics.effective_draws(draws) / len(draws) if accepted.any(1).all() else 0.0


def exact_cell(settings: Settings) -> Cell:
    """What as many independent exact draws would score: the floor of the curves."""

    def rows() -> list[dict[str, Any]]:
        p, rng = problem(settings.quick), rng_of("zhang2023", "floor")
        table = []
        for fraction in FRACTIONS:
            steps = max(2, round(fraction * p.setting.steps))
            part = p.exact[rng.choice(len(p.exact), steps, replace=False)]
            row = {"kind": "curve", "method": "exact", "label": "independent exact draws", "guarantee": "none"}
            table.append(row | {"steps": steps} | scores(p, part))
        return table

    return Cell("mixture-exact", rows)


def density_cell(key: str, settings: Settings) -> Cell:
    """A histogram of all chains of a method (or of the exact draws), cells that hold anything."""

    def rows() -> list[dict[str, Any]]:
        p = problem(settings.quick)
        label, draws = "exact, by quadrature", p.exact
        if key != "exact":
            method, paths, _, _ = run(key, settings.quick)
            label, draws = method.label, paths[:, method.steps // 10 :].reshape(-1, 2)
        counts, first, second = np.histogram2d(*draws.T, bins=BINS, range=((-1.5, 2.2), (-2.6, 2.6)))
        middles = (first[:-1] + first[1:]) / 2, (second[:-1] + second[1:]) / 2
        return [
            {"method": key, "label": label, "theta1": middles[0][i], "theta2": middles[1][j], "share": share}
            for i, j in zip(*np.nonzero(counts), strict=True)
            if (share := round(counts[i, j] / len(draws), 6)) > 0
        ]

    return Cell(f"mixture-density-{key}", rows)
