"""DP HMC and DP penalty in plain NumPy, with the random numbers of the study: its own chains, one by one.

Independent of dpmcmc's kernels. It shows that data, starts and settings are the published ones, and gives the mean
beside the median of the published clip fractions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from dpmcmc_experiments.figures import Cell, Check, Settings
from dpmcmc_experiments.raisa2021 import algorithms
from dpmcmc_experiments.raisa2021.comparison import METRICS, QUARTILES, published_boxes
from dpmcmc_experiments.raisa2021.problems import CHAINS, Problem, problem

RUNS = [("hard-2d", "hmc", 1.0), ("hard-2d", "dpps", 1.0), ("hard-2d", "dpps", 2.0), ("hard-2d", "dppa", 1.0)]
RUNS += [("tempered-2d", "hmc", 1.0), ("tempered-2d", "dppa", 1.0), ("tempered-2d", "dppa", 2.0)]
QUICK = [("hard-2d", "dppa", 1.0), ("tempered-2d", "dppa", 1.0)]  # whole, in seconds: all 20 chains
COUNTED = ("acceptance_rate", "llr_clip_fraction", "grad_clip_fraction")


class TwoDimensionalBanana:
    """Log likelihoods and gradients of all records, and what of them is clipped."""

    def __init__(self, posterior: Problem) -> None:
        self.first, self.second = np.ascontiguousarray(posterior.records.T)
        self.a, self.prior_variance = posterior.model.curvature, posterior.model.prior_variance

    def log_likelihoods(self, theta: np.ndarray) -> np.ndarray:
        return -((self.first - theta[0]) ** 2) / 40 - (self.second - theta[1] - self.a * theta[0] ** 2) ** 2 / 5

    def log_prior(self, theta: np.ndarray) -> float:
        return -0.5 * (theta[0] ** 2 + (theta[1] + self.a * theta[0] ** 2) ** 2) / self.prior_variance

    def prior_gradient(self, theta: np.ndarray) -> np.ndarray:
        bent = theta[1] + self.a * theta[0] ** 2
        return -np.array([theta[0] + 2 * self.a * theta[0] * bent, bent]) / self.prior_variance

    def clipped_gradient(self, theta: np.ndarray, clip: float) -> tuple[np.ndarray, float]:
        """The sum of clipped gradients, and the share that was clipped."""
        across = (self.second - theta[1] - self.a * theta[0] ** 2) / 2.5
        along = (self.first - theta[0]) / 20 + 2 * self.a * theta[0] * across
        norm = np.sqrt(along**2 + across**2)
        scale = np.minimum(norm, clip) / norm
        return np.array([along @ scale, across @ scale]), float(np.mean(norm > clip))


def chain(posterior: Problem, algo: str, epsilon: float, index: int) -> dict[str, float]:
    """One chain of the study."""
    experiment, setting = posterior.name, posterior.setting
    h, target = algorithms.tuning(experiment, algo), TwoDimensionalBanana(posterior)
    steps = algorithms.length(experiment, algo, setting, epsilon)
    name = f"{algo}{experiment}{epsilon}".encode().hex()
    rng = np.random.RandomState((int(name, 16) + index) % 2**32)
    noise, temperature = h.tau * setting.n**0.5, setting.temperature
    shares: list[float] = []

    def gradient(theta: np.ndarray) -> np.ndarray:
        total, share = target.clipped_gradient(theta, h.gradient_clip)
        shares.append(share)
        noisy = total + rng.normal(scale=2 * h.tau_gradient * setting.n**0.5 * h.gradient_clip, size=2)
        return temperature * noisy + target.prior_gradient(theta)

    def path(theta: np.ndarray) -> tuple[np.ndarray, float]:
        p = start = rng.normal(size=2)
        slope = gradient(theta)
        for _ in range(int(h.leapfrog_steps)):
            p = p + h.leapfrog_step / 2 * slope
            theta = theta + h.leapfrog_step * p
            slope = gradient(theta)
            p = p + h.leapfrog_step / 2 * slope
        return theta, 0.5 * (start @ start - p @ p)

    up = rng.choice([-1, 1], 2) if algo == "dppa" else np.ones(2)
    here = posterior.starts[index]
    before, accepted, clipped = target.log_likelihoods(here), 0, 0.0
    for _ in range(steps):
        kinetic, moved = 0.0, 0
        if algo == "hmc":
            there, kinetic = path(here)
        elif algo == "dppa":
            moved, there = rng.randint(2), here.copy()
            there[moved] += up[moved] * abs(rng.normal(scale=h.proposal_sd, size=1)[0])
        else:
            there = rng.normal(here, h.proposal_sd, size=2)
        after = target.log_likelihoods(there)
        ratios, bound = after - before, h.clip * float(np.linalg.norm(there - here))
        clipped += float(np.mean(np.abs(ratios) > bound))
        std = temperature * noise * 2 * bound
        t = temperature * np.clip(ratios, -bound, bound).sum() + target.log_prior(there) - target.log_prior(here)
        noisy = t + kinetic + std * rng.normal(size=1)[0]
        if np.log(rng.rand()) < noisy - std**2 / 2:
            here, before, accepted = there, after, accepted + 1
        else:
            up[moved] *= -1
    found = {"acceptance": accepted / steps, "llr_clip": clipped / steps, "gradient_clip": np.nan, "clip_here": np.nan}
    if algo == "hmc":  # along whole paths, as published; and where they begin, as chains.py counts
        found |= {"gradient_clip": float(np.mean(shares)), "clip_here": float(np.mean(shares[:: len(shares) // steps]))}
    return found


def cells(settings: Settings) -> list[Cell]:
    return [_cell(*run) for run in (QUICK if settings.quick else RUNS)]


def _cell(experiment: str, algo: str, epsilon: float) -> Cell:
    def rows() -> list[dict[str, Any]]:
        named = {"experiment": experiment, "algo": algo, "epsilon": epsilon}
        posterior = problem(experiment)
        return [named | {"chain": i} | chain(posterior, algo, epsilon, i) for i in range(CHAINS)]

    return Cell(f"seeds-{experiment}-{algo}-{epsilon:g}", rows)


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    key = ["experiment", "algo", "epsilon"]
    off = []
    for metric in COUNTED:
        ours = rows.dropna(subset=[METRICS[metric][0]]).groupby(key)[METRICS[metric][0]]
        theirs = published_boxes(metric).set_index(key)
        off += [np.abs(ours.quantile(q) - theirs[name].reindex(ours.median().index)) for name, q in QUARTILES.items()]
    far = pd.concat(off)
    return [
        Check(
            "acceptance and clip fractions with the study's random numbers: every quartile as published",
            f"{int((far < 1e-6).sum())} of {len(far)} within 1e-6, largest difference {far.max():.2g}",
            bool((far < 1e-6).all() and len(far) > 0),
        )
    ]
