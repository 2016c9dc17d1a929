"""The plan of a likelihood release: what it costs, and what to expect of it, before a record is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import privacy
from dpmcmc.likelihood.basis import MOST, Basis
from dpmcmc.likelihood.records import Flat, release_features
from dpmcmc.likelihood.stages import GROUPS, Region, first_region, flat_model, run_stages
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import RELATIVE_ERROR, TAIL, GaussianSum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.privacy import Budget
from dpmcmc.privacy.events import Compose
from dpmcmc.privacy.gaussian import gaussian_mu_limit
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee, Receipt

SHARES = (0.03, 0.04, 0.06, 0.87)
"""Of the budget (in squared noise multipliers), for each stage: three to find the posterior, one to draw it."""

DRAWS = 2048
ODD = 0.1  # share of the noise's variance that survives averaging over ±noise, where the posterior is not normal
REHEARSAL = 20_000  # simulated records that stand for all in a prediction


@dataclass(frozen=True)
class Prediction:
    """What a plan expects: effective draws, and the errors that the privacy noise makes, each over all parameters.

    ``mean_error`` is the root mean square error of posterior means in posterior standard deviations; ``widening`` how
    much wider than the ordinary posterior the released one is, as it knows of that error.
    """

    ess: float
    mean_error: float
    widening: float


@dataclass(frozen=True, eq=False)
class LikelihoodPlan:
    """A few noisy releases of the log likelihood as a function; then draws for free. Printing says what to expect."""

    n: int
    chains: int
    steps: int
    temperature: float
    budget: Budget
    guarantee: Guarantee
    receipt: Receipt
    totals: tuple[GaussianSum, ...]
    region: Region
    example: PyTree | None = None
    prediction: Prediction | None = None
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"the log likelihood released as a function, in {len(self.totals)} stages; draws from it cost nothing"

    def __str__(self) -> str:
        lines = [
            f"{self.guarantee}".capitalize() + ".",
            f"{self.describe()[0].upper()}{self.describe()[1:]}: {self.chains} × {self.steps} of them.",
        ]
        if self.prediction is not None:
            p = self.prediction
            lines.append(
                f"Expected: {p.ess:.0f} effective draws; posterior means off by {p.mean_error:.2f} posterior standard "
                f"deviations (root mean square); intervals {p.widening:.2f} times as wide, which covers that error."
            )
        return "\n".join([*lines, *self.notes])


def plan_likelihood(
    model: ModelLike,
    n: int,
    budget: Budget,
    *,
    chains: int,
    steps: int | None,
    temperature: float,
    example: PyTree | None,
    predict: bool,
) -> LikelihoodPlan:
    """Divide the budget over the stages and, if asked, rehearse them on simulated records."""
    stages = len(SHARES)
    epsilon = (budget.epsilon - 2 * RELATIVE_ERROR * stages) * (1 - 2**-50)
    delta = budget.delta * math.exp(-RELATIVE_ERROR * stages) - TAIL * stages
    if epsilon <= 0 or delta <= 0:
        raise ValueError(f"the budget {budget} is too small for {stages} releases in machine arithmetic")
    mu = gaussian_mu_limit(epsilon, delta) * (1 - 1e-9)
    totals = tuple(GaussianSum.of_multiplier(1.0, max(1 / (mu * math.sqrt(share)), 1.0)) for share in SHARES)
    event = Compose(tuple(total.event(n) for total in totals))
    spent = privacy.epsilon(event, delta)
    if spent > epsilon:
        raise ValueError(f"{stages} releases cost epsilon = {spent:.6g}, more than {epsilon:.6g}")
    for total in totals:
        total.check_dimension(MOST)
    arithmetic = 2 * RELATIVE_ERROR * stages
    cost = min((float(spent) + arithmetic) * (1 + 2**-50), budget.epsilon)
    guarantee = Guarantee(cost, budget.delta, event.relation, spent.method, arithmetic)
    with jax.enable_x64(True):
        region = first_region(model, flat_model(model), example)
    steps = DRAWS // chains if steps is None else steps
    receipt = Receipt("log likelihood", cost, budget.delta, event=event)
    made = LikelihoodPlan(n, chains, steps, temperature, budget, guarantee, receipt, totals, region, example)
    if not predict:
        return made
    prediction = rehearse(model, made)
    return replace(made, prediction=prediction, notes=advice(made, prediction))


def run_plan(
    plan: LikelihoodPlan,
    model: ModelLike,
    data: PyTree,
    source: RandomSource,
    report: Callable[[int], None] = lambda stage: None,
) -> np.ndarray:
    """The draws (group, particle, parameter). The only records read are those that ``release_features`` sums."""
    flat = flat_model(model)
    with jax.enable_x64(True):
        keys = source.bits("noise", (len(plan.totals), *stream.KEY_SHAPE))
        public = jax.random.key(int(source.bits("public", (1,))[0] >> 1))
        source.advance()  # no noise is ever drawn twice
        records = jax.tree.map(jnp.asarray, data)

        def sums(stage: int, basis: Basis) -> np.ndarray:
            report(stage)
            return release_features(flat, records, basis, plan.totals[stage], keys[stage])

        return _stages(plan, flat, sums, public)


def rehearse(model: ModelLike, plan: LikelihoodPlan, seed: int = 0) -> Prediction:
    """The whole run on records simulated at a point of the first region (or on the public example): reads no record."""
    flat = flat_model(model)
    with jax.enable_x64(True):
        key, data_key = jax.random.split(jax.random.key(seed))
        records = rehearsal_records(model, flat, plan, data_key)
        count = jax.tree.leaves(records)[0].shape[0]
        rng = np.random.default_rng(seed)
        values = jax.jit(flat.values)

        def sums(stage: int, basis: Basis) -> np.ndarray:
            features = np.asarray(values(basis.anchors, records))
            features = (features - features.mean(axis=1, keepdims=True) - basis.mean) @ basis.projection
            features = features[np.all(np.isfinite(features), axis=1)]
            lengths = np.linalg.norm(features, axis=1, keepdims=True)
            whole = plan.n / count * np.sum(features / np.maximum(lengths, 1.0), axis=0)
            return whole + plan.totals[stage].std * rng.normal(size=basis.size)

        return predicted(_stages(plan, flat, sums, key))


def rehearsal_records(model: ModelLike, flat: Flat, plan: LikelihoodPlan, key: Any) -> PyTree:
    """Public records that stand for the private ones."""
    if plan.example is not None:
        return jax.tree.map(jnp.asarray, plan.example)
    theta = flat.unravel(jnp.asarray(np.median(plan.region.draw(key, 1001), axis=0)))
    return model.simulate(key, theta, min(plan.n, REHEARSAL))  # type: ignore[attr-defined]


def predicted(draws: np.ndarray) -> Prediction:
    """From draws by group: groups differ by the noise alone."""
    within = np.mean(np.var(draws, axis=1, ddof=1), axis=0)
    between = np.maximum(np.var(np.mean(draws, axis=1), axis=0, ddof=1) - within / draws.shape[1], 0.0)
    ratio = between / np.maximum(within, 1e-300)
    # pairs of groups have opposite noise, which takes the noise out of the mean; what is left is like 1/count
    count = draws.shape[0] * draws.shape[1]
    ess = float(np.min((within + between) / (within / count + between / draws.shape[0] * ODD)))
    return Prediction(ess, float(np.sqrt(np.mean(ratio))), float(np.sqrt(1 + np.mean(ratio))))


def advice(plan: LikelihoodPlan, prediction: Prediction, wanted: float = 0.5) -> tuple[str, ...]:
    """Where the noise is large: what would bring the error of the means down to ``wanted`` standard deviations.

    The noise moves a posterior mean by an amount ∝ √temperature/(ε√n) in posterior standard deviations.
    """
    error = prediction.mean_error
    if error <= wanted:
        return ()
    factor = error / wanted
    tempered = max(plan.temperature * plan.n / factor**2, 1.0)
    return (
        f"n = {plan.n} is small for epsilon = {plan.budget.epsilon:g} with this model: the noise moves the means by "
        f"{error:.1f} posterior standard deviations. For {wanted:g}: about {math.ceil(plan.n * factor**2):,} records, "
        f"or epsilon near {plan.budget.epsilon * factor:.2g}, or temper the records to count as about {tempered:,.0f} "
        f"(temperature={tempered / plan.n:.2g}), or fewer parameters (the error grows with their square root).",
    )


def _stages(plan: LikelihoodPlan, flat: Flat, sums: Any, key: Any) -> np.ndarray:
    particles = -(-plan.chains * plan.steps // GROUPS)
    noise = tuple(total.std for total in plan.totals)
    return run_stages(flat, plan.region, sums, noise, plan.n, plan.temperature, particles, plan.example, key)
