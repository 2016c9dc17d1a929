"""A run on simulated or public records: what to expect of a plan, before a private record is read."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.likelihood.basis import Basis
from dpmcmc.likelihood.plan import PlannedRelease
from dpmcmc.likelihood.quality import LARGE, LikelihoodQuality, of_draws
from dpmcmc.likelihood.stages import run_stages
from dpmcmc.models.base import PyTree
from dpmcmc.posterior import start
from dpmcmc.programs import kept_programs

REHEARSAL = 20_000  # simulated records that stand for all in a prediction


@kept_programs()
def rehearse(plan: PlannedRelease, seed: int = 0) -> LikelihoodQuality:
    """The whole run on records simulated at a point of the first region (or on the public data)."""
    with jax.enable_x64(True):
        key, data_key = jax.random.split(jax.random.key(seed))
        records = rehearsal_records(plan, data_key)
        count = jax.tree.leaves(records)[0].shape[0]
        rng = np.random.default_rng(seed)
        values = jax.jit(plan.raveled.values)

        def sums(stage: int, basis: Basis) -> np.ndarray:
            features = basis.features(np.asarray(values(basis.anchors, records)))
            features = features[np.all(np.isfinite(features), axis=1)]
            lengths = np.linalg.norm(features, axis=1, keepdims=True)
            whole = plan.n / count * np.sum(features / np.maximum(lengths, 1.0), axis=0)
            return whole + plan.totals[stage].std * rng.normal(size=basis.size)

        return of_draws(run_stages(plan.task(), sums, key), len(plan.totals), plan.n, plan.temperature)


def rehearsal_records(plan: PlannedRelease, key: Any) -> PyTree:
    """Public records that stand for the private ones: simulated at ``init``, or in the middle of where it draws."""
    if plan.public_data is not None:
        return jax.tree.map(jnp.asarray, plan.public_data)
    model: Any = plan.model
    if not callable(model.init):
        theta = start(model, key)
    else:
        points = plan.region.draw(key, 1001)
        middle = np.median(points, axis=0)
        spread = np.maximum(np.median(np.abs(points - middle), axis=0), 1e-300)
        typical = points[np.argmin(np.sum(np.abs(points - middle) / spread, axis=1))]
        theta = plan.raveled.unravel(jnp.asarray(typical))
    return model.simulate(key, theta, min(plan.n, REHEARSAL))


def advice(plan: PlannedRelease, expected: LikelihoodQuality, wanted: float = LARGE) -> str:
    """Where the noise is large: what would bring the error of the means down to ``wanted`` standard deviations.

    The noise moves a posterior mean by an amount ∝ √temperature/(ε√n) in posterior standard deviations.
    """
    error = expected.mean_error
    if error <= wanted:
        return ""
    factor, epsilon = error / wanted, plan.budget.epsilon
    tempered = max(plan.temperature * plan.n / factor**2, 1.0)
    return (
        f"n = {plan.n} is small for epsilon = {epsilon:g} with this model: the noise moves the means by {error:.1f} "
        f"posterior standard deviations. To bring that to {wanted:g}, any one of these: about "
        f"{math.ceil(plan.n * factor**2):,} records, or epsilon "
        f"near {epsilon * factor:.2g}, or temper the records to count as about {tempered:,.0f} "
        f"(temperature={tempered / plan.n:.2g}), or fewer parameters (the error grows with their square root)."
    )
