"""The kernel of a chain that nobody chose one for, from the model's public geometry. No record is read."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from dpmcmc import privacy
from dpmcmc.chain.acceptance import Barker
from dpmcmc.chain.kernel import Kernel, KernelLike
from dpmcmc.chain.length import MOST_DECISIONS
from dpmcmc.chain.proposals import RandomWalk
from dpmcmc.geometry import Geometry
from dpmcmc.mechanisms.clip import DistanceClip, ModelClip
from dpmcmc.models.base import ModelLike
from dpmcmc.privacy import Budget

TARGET_ESS = 120
"""Effective draws, all chains together, that the default kernel tempers for."""

STEP = 0.5  # scale of the default random walk times √d, in posterior standard deviations; short moves are cheap
KAPPA = 3.5  # default clip over the root mean square of a record's log ratio (docs/scripts/clip_bias.py)
WARMUP = 0.25  # of the steps, where nothing else is said


class Choice(NamedTuple):
    """A kernel, the temperature it is for, the effective draws to expect, and a note for the user."""

    kernel: KernelLike
    temperature: float
    effective_draws: float
    note: str


def default_kernel(model: ModelLike, shape: Geometry, n: int, budget: Budget, temperature: float | None) -> Choice:
    """Barker with a random walk and a clip in the model's own metric, and the temperature that the budget asks for.

    In the limit of small steps of scale s posterior standard deviations, Barker's random walk is an autoregression
    with coefficient 1 − s²/4, so its draws are worth s²/8 independent ones each.
    """
    worth = (1 - WARMUP) * STEP**2 / (8 * shape.dimension)
    limit = float(privacy.zcdp_limit(budget.epsilon, budget.delta))

    def kernel_at(tau: float) -> tuple[KernelLike, float]:
        root = STEP / math.sqrt(shape.dimension) * shape.posterior_root(tau * n)
        clip, square = _cheaper_clip(model, shape, root)
        cost = (privacy.reach(budget.relation) * tau) ** 2 * square / 8  # mean of shift² / 8
        return Kernel(RandomWalk(root), Barker(clip)), worth * min(limit / cost, MOST_DECISIONS)

    tau = 1.0 if temperature is None else temperature
    kernel, ess = kernel_at(tau)
    untempered = ess
    if temperature is None:
        for _ in range(8):  # decisions grow like 1/τ until the prior takes over: a few corrections settle it
            if ess >= TARGET_ESS or tau * n <= shape.dimension:
                break
            tau *= max(ess / TARGET_ESS, 0.1) * 0.99
            kernel, ess = kernel_at(tau)
    if tau < 1:
        reason = (
            f"Tempered: the {n} records count as {tau * n:.0f} (temperature {tau:.3g}), so intervals are about "
            f"{1 / math.sqrt(tau):.1f} times as wide as without privacy."
        )
        if temperature is None:
            reason += (
                f" Untempered, this budget would pay for about {untempered:.1f} effective draws; more records, a "
                "larger epsilon or fewer parameters would allow less tempering."
            )
    else:
        reason = f"Not tempered: about {ess:.0f} effective draws are expected of the ordinary posterior."
    return Choice(kernel, tau, ess, reason)


def _cheaper_clip(model: ModelLike, shape: Geometry, root: np.ndarray) -> tuple[DistanceClip | ModelClip, float]:
    """A bound for moves of covariance root rootᵀ, and its mean square: the model's own, which is exact, if cheaper."""
    metric, square = DistanceClip(KAPPA, shape.fisher), KAPPA**2 * float(np.trace(root.T @ shape.fisher @ root))
    if getattr(model, "log_ratio_bound", None) is None:
        return metric, square
    with jax.enable_x64(True):
        here, unravel = ravel_pytree(shape.theta)
        there = here + jax.random.normal(jax.random.key(0), (1024, len(here))) @ root.T
        bounds = jax.vmap(lambda to: ModelClip().bound(model, shape.theta, unravel(to)))(there)
        proven = float(np.mean(np.asarray(bounds) ** 2))
    return (ModelClip(), proven) if 0 < proven < square else (metric, square)
