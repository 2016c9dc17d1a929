"""Coverage with real covariates: ``python -m dpmcmc_experiments.trust.given OUT --sets 40``.

Covariates are those of the RAND health insurance data (20 190 records, 8 columns); parameters are drawn anew for every
data set, outcomes from the model. A default release then says an interval for every parameter. Adds a line to
``OUT/trust/given.csv`` as each release is made, and goes on where it was cut off.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc_experiments.figures import rng_of, seed_of
from dpmcmc_experiments.trust.base import delta_of, raveled, size_of
from dpmcmc_experiments.trust.harness import answer_of
from dpmcmc_experiments.trust.real import HEALTH_MORE, packaged
from dpmcmc_experiments.utility.page import markdown

SETS = 40
UNIT = (-1.0, 1.0)
COLUMNS = ["family", "epsilon", "data_set", "d", "covered", "verdict", "said_error", "off", "seconds"]
"""``covered``: how many of the d 90 % intervals hold the parameters that outcomes were drawn at; ``off``: the largest
distance of a released mean from them, in released standard deviations."""


def models() -> dict[str, Any]:
    """A model of each family with those covariates."""
    m = dp.models
    return {
        "logistic": m.LogisticRegression(HEALTH_MORE),
        "linear": m.LinearRegression(HEALTH_MORE, outcome=UNIT),
        "poisson": m.PoissonRegression(HEALTH_MORE),
        "negative binomial": m.NegativeBinomialRegression(HEALTH_MORE),
        "student-t": m.StudentTRegression(HEALTH_MORE, outcome=UNIT),
    }


def truth_of(model: Any, family: str, rng: np.random.Generator) -> dict[str, float]:
    """Effects as ordinary ones are; parameters of shape about the means of their priors."""
    size = 0.1 if family in ("linear", "student-t") else 0.4
    truth = {name: float(size * rng.standard_normal()) for name in ("intercept", *model.bounds)}
    return truth | {name: mean + 0.3 * rng.standard_normal() for name, (mean, _) in model.shape_priors.items()}


def release(family: str, model: Any, epsilon: float, data_set: int) -> dict[str, Any]:
    """The row of one data set."""
    rng = rng_of("given", family, data_set)
    truth = truth_of(model, family, rng)
    table = packaged("randhie")
    x = dp.models.Covariates(model.bounds).encode(table)
    with jax.enable_x64(True):
        records = jax.device_get(model.simulate_given(jax.random.key(int(rng.integers(2**31))), truth, x))
    began = time.perf_counter()
    seed = seed_of("given", family, epsilon, data_set)
    answer = answer_of(model, records, epsilon, delta_of(size_of(records)), seed)
    right = raveled({name: truth[name] for name in model.init})
    return {
        "family": family,
        "epsilon": epsilon,
        "data_set": data_set,
        "d": len(right),
        "covered": int(np.sum((answer.low <= right) & (right <= answer.high))),
        "verdict": answer.verdict,
        "said_error": round(answer.said_error, 4),
        "off": round(float(np.max(np.abs(answer.mean - right) / answer.sd)), 4),
        "seconds": round(time.perf_counter() - began, 2),
    }


def table(rows: pd.DataFrame) -> str:
    """Shares of intervals that hold the truth, of releases that do not say that they are not usable."""
    listed = []
    for (family, epsilon), found in rows.groupby(["family", "epsilon"], sort=False):
        kept = found[found["verdict"] != "not usable"]
        share = kept["covered"] / kept["d"]
        error = share.std() / np.sqrt(max(len(share), 1))
        listed.append(
            [str(family), f"{epsilon:g}", f"{share.mean():.1%} ± {error:.1%}", str(int(kept["d"].sum())),
             f"{len(kept)} of {len(found)}", f"{(kept['off'] > 4).sum()}"]
        )  # fmt: skip
    names = ["family", "ε", "of the truth", "intervals", "data sets, but for those not usable", "farther off than 4 sd"]
    return markdown(names, listed)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Coverage of 90 % intervals with real covariates.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0])
    parser.add_argument("--families", nargs="+", default=list(models()), choices=list(models()))
    given = parser.parse_args(arguments)
    path = given.out / "trust" / "given.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    held = {(row["family"], float(row["epsilon"]), int(row["data_set"])) for row in rows}
    for family in given.families:
        model = models()[family]
        for epsilon in given.epsilons:
            for data_set in range(given.sets):
                if (family, epsilon, data_set) not in held:
                    rows.append(release(family, model, epsilon, data_set))
                    pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
        jax.clear_caches()
    print(table(pd.DataFrame(rows, columns=COLUMNS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
