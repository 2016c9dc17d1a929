"""Clipping in a regression whose covariates are known by their moments: bias against noise, over the clip radius.

    python docs/scripts/regression_clip.py DATA [EPSILON]

DATA is a folder with the census extract ``adult.data``. For the last stage of the default method, at the posterior
without privacy, prints the root mean square bias and noise of posterior means, in posterior standard deviations, if
features are clipped at so many times the radius that simulated records suggest. Reads records: NOT PRIVATE.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import jax
import numpy as np

import dpmcmc as dp
from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.raveled import RaveledModel
from dpmcmc.likelihood.simulation import simulate
from dpmcmc_experiments.utility.regression import adult, laplace

FACTORS = (0.7, 1.0, 1.1, 1.3, 1.5, 2.0)


def main(folder: Path, epsilon: float) -> None:
    model, data, _ = adult(folder)
    n = len(data["y"])
    mean, covariance = laplace(model, data)
    noise = dp.plan(model, n, dp.Budget(epsilon, 1e-6)).totals[-1].std
    raveled, order = RaveledModel.of(model), [model.names.index(name) for name in sorted(model.names)]  # as JAX sorts
    mean, covariance = mean[order], covariance[np.ix_(order, order)]
    with jax.enable_x64(True):
        summary = np.mean(np.asarray(jax.vmap(model.record_summary)(data)), axis=0)
        simulator = partial(model.simulate_like, summary=summary)
        region = np.random.default_rng(0).multivariate_normal(mean, 4 * covariance, 1536)
        simulated = simulate(raveled, region, simulator, jax.random.split(jax.random.key(0), 2))
        values = jax.jit(raveled.values)
        basis = Basis.build(values, region[:256], simulated, n, noise / 2)
        features = basis.features(np.asarray(values(basis.anchors, data)))
        moved = np.asarray(values(region, basis.simulated)).T @ basis.weights(0, np.eye(basis.size)).T
    lengths = np.linalg.norm(features, axis=1)
    away = region - region.mean(axis=0)
    slopes = np.linalg.lstsq(np.hstack([away, away**2, np.ones((len(away), 1))]), moved, rcond=None)[0][: len(mean)]
    response = covariance @ slopes / np.sqrt(np.diag(covariance))[:, None]
    print("radius  clipped   bias   noise")
    for factor in FACTORS:
        lost = np.sum(features * np.maximum(0, 1 - factor / np.maximum(lengths, 1e-9))[:, None], axis=0)
        bias = np.sqrt(np.mean((response @ lost) ** 2))
        spread = factor * noise * np.sqrt(np.mean(np.sum(response**2, axis=1)))
        print(f"{factor:6.1f} {np.mean(lengths > factor):8.4f} {bias:6.3f} {spread:7.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
