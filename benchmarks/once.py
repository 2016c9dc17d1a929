"""``python -m benchmarks.once WHAT COVARIATES RECORDS``: one sampler in a process of its own, twice; prints seconds.

Records are made and libraries imported before the clock starts. ``WHAT`` is dpmcmc, BlackJAX or NumPyro; 0 covariates
are the records of the RAND Health Insurance Experiment: any doctor visit, on three covariates.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BOUNDS = {"lncoins": (0.0, 4.6152), "disea": (0.0, 25.0), "hlthg": (0.0, 1.0)}
"""Of covariates of the RAND Health Insurance Experiment, from the study's documentation."""


def measured(what: str, covariates: int, records: int, cache: str = "off") -> dict[str, float]:
    """In a new process: seconds of the first and the second call, and within the second those of passes over records.

    ``cache``: a folder for compiled programs.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    command = [sys.executable, "-m", "benchmarks.once", what, str(covariates), str(records)]
    done = subprocess.run(
        command, env={**environment, "DPMCMC_CACHE": cache}, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def once_filled() -> str:
    """A new private folder for compiled programs."""
    return tempfile.mkdtemp(prefix="dpmcmc-benchmark-")


def made(covariates: int, records: int) -> tuple[Any, dict[str, np.ndarray]]:
    """A logistic regression and its records."""
    import dpmcmc as dp

    if not covariates:
        from statsmodels.datasets import randhie

        table = randhie.load_pandas().data.assign(visit=lambda t: t["mdvis"] > 0)
        model = dp.models.LogisticRegression(BOUNDS)
        return model, model.encode(table, outcome="visit")
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (records, covariates))
    y = rng.random(records) < 1 / (1 + np.exp(-x @ rng.normal(scale=0.5, size=covariates)))
    model = dp.models.LogisticRegression({f"x{j}": (-1.0, 1.0) for j in range(covariates)})
    return model, {"x": x, "y": y.astype(float)}


class Passes:
    """Seconds that runs spend on passes over records."""

    def __init__(self) -> None:
        from dpmcmc.mechanisms import totals

        self.seconds, inner = 0.0, totals.total

        def total(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return inner(*arguments)
            finally:
                self.seconds += time.perf_counter() - begin

        totals.total = total


def run_of(what: str, covariates: int, records: int) -> Callable[[], float | None]:
    model, data = made(covariates, records)
    if what != "dpmcmc":
        from benchmarks import peers

        return getattr(peers, what)(data)
    import dpmcmc as dp

    def run() -> None:
        method = dp.ScoreRelease(shuffled=True)  # nothing else below four million records
        dp.sample(model, data, 1.0, min(1e-6, 0.1 / len(data["y"])), method=method, progress=False)

    return run


def main(what: str, covariates: int, records: int) -> None:
    run, found = run_of(what, covariates, records), {}
    passes = Passes()
    for name in ("first", "second"):
        passes.seconds, begin = 0.0, time.perf_counter()
        said = run()
        found[name] = time.perf_counter() - begin if said is None else said
    print(json.dumps({**found, "passes": passes.seconds}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
