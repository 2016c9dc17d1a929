"""DP-SGLD on the two-component mixture of Heikkilä et al. (2019): the published drift against the right one.

    python docs/scripts/sgld_variance.py

Prints the errors of posterior variances, and what half of the drift explains: by quadrature, the variances of the
posterior and of its square. The numbers are those of docs/theory/dp-sgld.md.
"""

from __future__ import annotations

import time

import jax.numpy as jnp
import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import dpmcmc as dp
from dpmcmc.chain.acceptance import Always
from dpmcmc.chain.proposals import Langevin

COUNTS_AS = 100  # records, after tempering: theirs 10⁶ at temperature 10⁻⁴
WARMUP = 2000
PUBLISHED = (0.0613, 0.1978)  # variance errors in Figure 3 at the end of the runs, mean of 20


def records(n: int) -> np.ndarray:
    """Quantiles of ½N(0, 2) + ½N(1, 2): n records without sampling noise."""

    def cdf(x: float) -> float:
        return (norm.cdf(x / np.sqrt(2)) + norm.cdf((x - 1) / np.sqrt(2))) / 2

    return np.array([brentq(lambda x, p=p: cdf(x) - p, -15, 15) for p in (np.arange(n) + 0.5) / n])


def log_likelihood(theta, x):
    return jnp.logaddexp(-((x - theta[0]) ** 2) / 4, -((x - theta[0] - theta[1]) ** 2) / 4)


def log_prior(theta):
    return -(theta[0] ** 2) / 20 - theta[1] ** 2 / 2


def variances(data: np.ndarray, power: float) -> np.ndarray:
    """Posterior variances by quadrature, the posterior raised to ``power``."""
    a, b = np.meshgrid(np.linspace(-3, 4, 281), np.linspace(-5, 5, 401), indexing="ij")
    log = -(a**2) / 20 - b**2 / 2
    for x in data:
        log += COUNTS_AS / len(data) * np.logaddexp(-((x - a) ** 2) / 4, -((x - a - b) ** 2) / 4)
    weights = np.exp(power * (log - log.max()))
    weights /= weights.sum()
    return np.array([np.sum(weights * c**2) - np.sum(weights * c) ** 2 for c in (a, b)])


def main(n: int = 200, steps: int = 100_000, chains: int = 16, step: float = 0.01) -> None:
    data = records(n)
    model = dp.Model(log_prior=log_prior, log_likelihood=log_likelihood, init=np.array([0.5, 0.0]))
    right, squared = variances(data, 1.0), variances(data, 2.0)
    print(f"posterior variances by quadrature {right.round(4)}, of its square {squared.round(4)}")
    print(f"so a squared posterior is off by {np.abs(squared - right).round(4)}; Figure 3 shows {PUBLISHED}")
    for variant in ("heikkila2019", "right"):
        start = time.perf_counter()
        kernel = dp.Kernel(Langevin(step, clip=3.0, variant=variant), Always())
        release = dp.sample(
            model,
            data,
            1e12,
            1e-6,
            method=dp.Chain(kernel, warmup=WARMUP),
            draws=steps - WARMUP,
            chains=chains,
            temperature=COUNTS_AS / n,
            seed=1,
            progress=False,
        )
        draws = release.draws["theta"][:, release.warmup :]
        pooled = draws.reshape(-1, 2).var(axis=0)
        spread = ((draws - draws.mean(axis=(0, 1))) ** 2).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(chains)
        print(
            f"{variant:12s} variances {pooled.round(4)} ± {spread.round(4)}, errors "
            f"{np.abs(pooled - right).round(4)}  ({time.perf_counter() - start:.0f} s)"
        )


if __name__ == "__main__":
    main()
