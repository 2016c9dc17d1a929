"""A run on simulated or public records: what to expect of a plan, before a private record is read."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from dpmcmc.models.base import has
from dpmcmc.posterior import Posterior, start
from dpmcmc.privacy import GaussianFilter
from dpmcmc.programs import kept_programs
from dpmcmc.randomness import RandomSource
from dpmcmc.scores.plan import PlannedScores
from dpmcmc.scores.quality import NOISY, ScoreQuality
from dpmcmc.scores.run import release_sums

MOST = 50_000  # simulated records
TRIALS = 3
ON_OTHERS = (0.5, 4.5)
"""Errors over what rehearsals expect, on four of five problems of docs/results/trust.md: real covariates are rarer,
or have longer tails, or go together, and public knowledge does not say so."""
SIGNAL = 0.2  # how far from the start, over draws of the prior, records are simulated


@kept_programs()
def rehearse(plan: PlannedScores, seed: int = 0) -> tuple[ScoreQuality, ...]:
    """Whole runs on simulated records, or on the public data; none for models that do not simulate, without those.

    A run on m records with μ√(n/m) has the error, in posterior standard deviations, of one on n with μ.
    """
    if plan.public_data is None and not has(plan.model, "simulate"):
        return ()
    runs = []
    for trial in range(1 if plan.public_data is not None else TRIALS):
        with jax.enable_x64(True):
            records = _records(plan, jax.random.key(seed + trial))
        count = jax.tree.leaves(records)[0].shape[0]
        mu = plan.rule.mu * math.sqrt(plan.n / count)
        rule = GaussianFilter.of_mu(mu, plan.rule.most_releases, plan.rule.relation)
        posterior = Posterior(plan.model, jax.device_get(records), plan.temperature)
        runs.append(release_sums(plan, posterior, RandomSource(seed + trial), rule).quality)
    return tuple(sorted(runs, key=lambda quality: quality.mean_error))


def _records(plan: PlannedScores, key: Any) -> Any:
    if plan.public_data is not None:
        return plan.public_data
    model: Any = plan.model
    theta = start(model, key)
    if hasattr(model, "sample_prior") and model.sample_prior is not None:
        away = jax.tree.map(jnp.asarray, model.sample_prior(key))
        theta = jax.tree.map(lambda a, b: a + SIGNAL * (b - a), theta, away)
    return model.simulate(key, theta, min(plan.n, MOST))


def advice(plan: PlannedScores, expected: ScoreQuality, wanted: float = NOISY / 2) -> str:
    """Where the noise is large: what would bring the error of the means down to ``wanted`` standard deviations."""
    error = expected.mean_error
    if error <= wanted:
        return ""
    factor, epsilon = error / wanted, plan.budget.epsilon
    return (
        f"To bring it to {wanted:g}, any one of these: about {math.ceil(plan.n * factor**2):,} records, or epsilon "
        f"near {epsilon * factor:.2g}, or a temperature near {plan.temperature / factor**2:.2g}, or fewer parameters."
    )
