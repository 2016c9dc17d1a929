"""What all figures of Heikkilä et al. (2019) share: the data, the tempered posterior, and the settings of the runs.

Facts from the paper, its poster and its public code (DPBayes/DP-MCMC-NeurIPS2019); none of its code.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import numpy as np

import dpmcmc as dp
from dpmcmc.chain.acceptance import correction
from dpmcmc_experiments.figures import Settings, reference, rng_of, seed_of

COUNTS_AS = 100  # records, after tempering: temperature 100/N
BATCH = 1000
PROPOSAL_VARIANCE = 0.01
STEPS, BURN_IN = 20_000, 1000
DELTA = 1e-6  # of the chain; as much again for its start
CHAINS = 20
STUDY_DELTA = 1e-7
"""δ of the runs of a study: they have seeds and no guarantee, and ε is computed for one chain by itself."""

MODEL = dp.models.TiedMixture()
NUMBERS = json.loads(reference("neurips_privacy_numbers.json").read_text())
SUMMARY = json.loads(reference("poster_fig2_chain_summary.json").read_text())
BASELINE = np.array([SUMMARY["nondp"]["mean"], SUMMARY["nondp"]["var"]])
"""Means and variances that Figure 3 takes for the truth: those of one non-private chain."""


@lru_cache(maxsize=1)
def published_records() -> np.ndarray:
    """The 10⁶ records of the paper: a coin and a normal draw in turn from NumPy's old generator with seed 123."""
    rng = np.random.RandomState(123)
    return np.array([rng.normal(0.0 if rng.rand() > 0.5 else 1.0, np.sqrt(2)) for _ in range(1_000_000)])


def records(settings: Settings) -> np.ndarray:
    """All records, or the first 20 000 in a quick run."""
    return published_records()[: 20_000 if settings.quick else None]


def temperature(data: np.ndarray, counts_as: float = COUNTS_AS) -> float:
    return counts_as / len(data)


def log_posterior(data: np.ndarray, theta1: np.ndarray, theta2: np.ndarray, counts_as: float) -> np.ndarray:
    """The tempered log posterior on the mesh of two axes, from a histogram of the records."""
    counts, edges = np.histogram(data, bins=800)
    centres = (edges[1:] + edges[:-1]) / 2
    a, b = np.meshgrid(theta1, theta2, indexing="ij")
    log = -(a**2) / (2 * MODEL.prior_variances[0]) - b**2 / (2 * MODEL.prior_variances[1])
    for x, count in zip(centres, counts, strict=True):
        if count:
            pair = np.logaddexp(-((x - a) ** 2) / (2 * MODEL.variance), -((x - a - b) ** 2) / (2 * MODEL.variance))
            log += counts_as * count / len(data) * pair
    return log


def exact_moments(data: np.ndarray, counts_as: float = COUNTS_AS, power: float = 1.0) -> np.ndarray:
    """Means and variances, (2, 2), of the tempered posterior raised to ``power``: quadrature on a fixed mesh."""
    axes = np.linspace(-2.5, 3.5, 161), np.linspace(-4.5, 4.5, 201)
    return mesh_moments(axes, power * log_posterior(data, *axes, counts_as))


def mesh_moments(axes: tuple[np.ndarray, np.ndarray], log: np.ndarray) -> np.ndarray:
    """Means and variances, (2, 2), of the density exp(log) on the mesh of two axes."""
    weights = np.exp(log - log.max())
    margins = [weights.sum(axis=1 - k) / weights.sum() for k in (0, 1)]
    means = np.array([margin @ axis for margin, axis in zip(margins, axes, strict=True)])
    squares = np.array([margin @ axis**2 for margin, axis in zip(margins, axes, strict=True)])
    return np.stack([means, squares - means**2])


@lru_cache(maxsize=2)
def variational_start(quick: bool) -> tuple[float, float]:
    """Where the private variational fit of the paper's code ends, which is where its chains start.

    Adam with step 0.001 for 1000 steps from 2·N(0, 1) draws (NumPy seed 123): each parameter moves by less than 1, so
    the fit does not get near the posterior and its noise hardly shows. Per-record gradients of two means and two log
    standard deviations are clipped to norm 1 together, noise of 10 is added to the sum over 100 records, and the
    likelihood is not tempered. The draws of the first point are theirs, the noise is ours.
    """
    data, rng = records(Settings(quick=quick)), rng_of("heikkila2019", "variational start")
    at, first, second = 2 * np.random.RandomState(123).randn(4), np.zeros(4), np.zeros(4)
    for step in range(1, 1001):
        z, x = rng.normal(size=2), data[rng.choice(len(data), 100)]
        root = np.exp(at[2:])
        theta = at[:2] + root * z
        score = record_gradients(theta, x)
        each = np.concatenate([score, score * z * root], axis=1)
        each /= np.maximum(1, np.linalg.norm(each, axis=1))[:, None]
        noisy = (each.sum(axis=0) + 10 * rng.normal(size=4)) * len(data) / 100
        prior = -theta / np.array(MODEL.prior_variances)
        slope = noisy + np.concatenate([prior, prior * z * root + 1])
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        at = at + 0.001 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return float(at[0]), float(at[1])


def record_gradients(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """∇ log p(x|θ) of every record, (record, parameter)."""
    near, far = (x - theta[0]) / MODEL.variance, (x - theta[0] - theta[1]) / MODEL.variance
    share = 1 / (1 + np.exp(MODEL.variance / 2 * (far**2 - near**2)))  # of the second component
    return np.stack([(1 - share) * near + share * far, share * far], axis=1)


@lru_cache(maxsize=4)
def correction_for(name: str, quick: bool) -> Any:
    """The correction distribution at C = 2; a quick run fits the published mixture for 2000 steps, not 20 000."""
    return correction.gmm_correction(2.0, 2000) if quick and name == "gmm" else correction.CORRECTIONS[name](2.0)


def private_chains(
    settings: Settings,
    kind: str,
    chains: int,
    steps: int,
    variance: float = PROPOSAL_VARIANCE,
    batch: int = BATCH,
) -> dp.Release:
    """Chains of DP MCMC on batches from the variational start: a release of many chains, each a run of the paper."""
    return _private_chains(settings, kind, chains, steps, variance, batch)


@lru_cache(maxsize=4)  # of arguments in one order, so that figures 2 and 3 share their chains
def _private_chains(settings: Settings, kind: str, chains: int, steps: int, variance: float, batch: int) -> dp.Release:
    data = records(settings)
    kernel = dp.dp_barker_subsampled(np.sqrt(variance), batch, correction_for(kind, settings.quick))
    return dp.sample(
        MODEL,
        data,
        1e12,
        STUDY_DELTA,
        method=dp.Chain(kernel, warmup=0),
        draws=steps,
        chains=chains,
        temperature=temperature(data),
        init=np.array(variational_start(settings.quick)),
        seed=seed_of("heikkila2019", "dp mcmc", kind, variance),
        progress=False,
    )
