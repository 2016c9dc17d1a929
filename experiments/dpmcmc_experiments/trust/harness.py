"""One release on one problem as a row: what it said of itself, and what was found against the exact posterior."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc_experiments.figures import seed_of
from dpmcmc_experiments.trust.base import Problem, delta_of, size_of
from dpmcmc_experiments.trust.oracle import oracle
from dpmcmc_experiments.trust.problems import BANK
from dpmcmc_experiments.trust.reference import Exact, exact
from dpmcmc_experiments.utility.scores import short

EPSILONS = (1.0, 3.0, 0.5)
RELEASES = 10
LEVEL = 0.9
DEFAULT = "default"
COLUMNS = (
    "problem", "family", "method", "epsilon", "n", "d", "data_seed", "release_seed", "verdict", "said_error",
    "expected_error", "found_error", "worst", "covered_mean", "covered_truth", "spread", "oracle", "exact_by",
    "seconds", "exception",
)  # fmt: skip
"""Of a row. ``found_error``: root mean square over parameters, of the mean, in exact posterior standard deviations;
``worst``: the largest difference of means, in the *released* standard deviation; ``covered_*``: how many of the d 90 %
intervals hold the exact posterior mean, and the truth; ``spread``: released over exact standard deviations, median."""


@dataclass(frozen=True)
class Answer:
    """What a method gives, parameters raveled: means, standard deviations, 90 % intervals, and what it says of them.

    ``draws``, where the method has them, are (draw, parameter).
    """

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray
    verdict: str = ""
    said_error: float = np.nan
    draws: np.ndarray | None = None

    @classmethod
    def of_draws(cls, draws: np.ndarray, verdict: str = "", said_error: float = np.nan) -> Answer:
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return cls(draws.mean(axis=0), draws.std(axis=0), low, high, verdict, said_error, draws)

    @classmethod
    def of_normal(cls, mean: np.ndarray, sd: np.ndarray) -> Answer:
        reach = 1.6448536269514722 * sd
        return cls(mean, sd, mean - reach, mean + reach)


Method = Callable[[Problem, Any, float, float, int], Answer]  # problem, records, ε, δ, seed


def default_release(problem: Problem, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """The library's default, no setting given."""
    return answer_of(problem.model, records, epsilon, delta, seed)


def answer_of(model: Any, records: Any, epsilon: float, delta: float, seed: int) -> Answer:
    """A default release as an answer."""
    release = dp.sample(model, records, epsilon, delta, seed=seed, progress=False)
    verdict = str(getattr(release.quality, "verdict", "") or "")
    return Answer.of_draws(raveled_draws(release), verdict, float(getattr(release.quality, "mean_error", np.nan)))


def raveled_draws(release: dp.Release) -> np.ndarray:
    """All draws after warm-up, (draw, raveled parameter)."""
    parts = [values[:, release.warmup :] for values in release.draws.values()]
    return np.concatenate([part.reshape(part.shape[0] * part.shape[1], -1) for part in parts], axis=1)


@dataclass(frozen=True, order=True)
class Task:
    """One release, by the names of what it is made of."""

    problem: str
    epsilon: float
    release_seed: int
    data_seed: int
    method: str = DEFAULT

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.problem, self.method, float(self.epsilon), int(self.data_seed), int(self.release_seed))


@dataclass(frozen=True)
class Bench:
    """Where data sets are, where exact posteriors are kept (None: in memory), the methods, and whether to ask plans."""

    data: Path | None = None
    cache: Path | None = None
    methods: dict[str, Method] = field(default_factory=lambda: {DEFAULT: default_release})
    ask_plan: bool = False


@lru_cache(maxsize=4)
def _prepared(
    problem: Problem, data_seed: int, data: Path | None, cache: Path | None
) -> tuple[Any, np.ndarray | None, Exact]:
    records, truth = problem.drawn(data_seed, data)
    return records, truth, exact(problem, records, cache)


def run(task: Task, bench: Bench) -> dict[str, Any]:
    """The row of a task; an exception of the method is a row too."""
    problem = BANK[task.problem]
    seed = 0 if problem.is_real else task.data_seed
    records, truth, known = _prepared(problem, seed, bench.data, bench.cache)
    n = size_of(records)
    row: dict[str, Any] = dict.fromkeys(COLUMNS, "") | vars(task)
    row |= {"family": problem.family, "n": n, "d": len(known.mean), "exact_by": known.how}
    if not problem.starts:  # an oracle of one mode says nothing of two
        row["oracle"] = oracle(problem, records, known, task.epsilon).error
    release_seed, began = seed_of("trust", *task.key), time.perf_counter()
    try:
        answer = bench.methods[task.method](problem, records, task.epsilon, delta_of(n), release_seed)
        row |= {"seconds": time.perf_counter() - began} | scores(answer, known, truth)
        if bench.ask_plan and task.method == DEFAULT and task.release_seed == 0:
            planned: Any = dp.plan(problem.model, n, dp.Budget(task.epsilon, delta_of(n)))
            row["expected_error"] = float(planned.expected.mean_error)
    except Exception as error:
        row["seconds"] = row["seconds"] or time.perf_counter() - began
        row["exception"] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return short(row)


def scores(answer: Answer, known: Exact, truth: np.ndarray | None) -> dict[str, Any]:
    """What an answer is worth; one that is not finite is infinitely far off."""
    away = answer.mean - known.mean
    finite = bool(np.all(np.isfinite(away)) and np.all(np.isfinite(answer.sd)))
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = np.max(np.nan_to_num(np.abs(away) / answer.sd, nan=np.inf))

    def covered(value: np.ndarray) -> int:
        return int(np.sum((answer.low <= value) & (value <= answer.high)))

    return {
        "verdict": answer.verdict,
        "said_error": answer.said_error,
        "found_error": float(np.sqrt(np.mean((away / known.sd) ** 2))) if finite else np.inf,
        "worst": float(worst),
        "covered_mean": covered(known.mean),
        "covered_truth": "" if truth is None else covered(truth),
        "spread": float(np.median(answer.sd / known.sd)),
    }


def tasks(
    problems: Iterable[Problem],
    epsilons: Sequence[float] = EPSILONS,
    releases: int = RELEASES,
    methods: Sequence[str] = (DEFAULT,),
) -> list[Task]:
    """Every release on other records, except on real ones; the same records for every ε and method."""
    return [
        Task(problem.name, epsilon, release, 0 if problem.is_real else release, method)
        for problem in problems
        for method in methods
        for epsilon in epsilons
        for release in range(releases)
    ]
