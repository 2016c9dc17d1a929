"""The plan of a likelihood release: what it costs, and what to expect of it, before a record is read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc import privacy
from dpmcmc.likelihood.basis import MOST, Basis
from dpmcmc.likelihood.records import Flat, release_description, release_features
from dpmcmc.likelihood.stages import (
    GROUPS,
    Draws,
    RecordsLike,
    Region,
    first_region,
    flat_model,
    from_public,
    run_stages,
)
from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import RELATIVE_ERROR, TAIL, GaussianSum
from dpmcmc.models.base import ModelLike, PyTree
from dpmcmc.posterior import start
from dpmcmc.privacy import Budget
from dpmcmc.privacy.events import Compose
from dpmcmc.privacy.gaussian import gaussian_mu_limit
from dpmcmc.randomness import RandomSource
from dpmcmc.receipts import Guarantee, Receipt

SHARES = (0.03, 0.04, 0.06, 0.87)
"""Of the budget (in squared noise multipliers), for each stage: three to find the posterior, one to draw it."""

DESCRIPTION, DESCRIBED_SHARES = 0.05, (0.02, 0.02, 0.02, 0.03, 0.03, 0.05, 0.78)
"""For models that do not know their covariates: first their moments, then more and smaller steps."""

HEADROOM = 1.1  # real covariates with the same moments stand out more than simulated ones: clip so much later

DRAWS = 2048
REHEARSAL = 20_000  # simulated records that stand for all in a prediction


@dataclass(frozen=True)
class Prediction:
    """What a plan expects of a release, against the posterior without privacy; root mean squares over parameters.

    - ``mean_error``: of posterior means, in posterior standard deviations: by the noise and by finitely many draws;
    - ``variance_error``: of posterior variances, relative. The released posterior is wider, as it knows of its noise.
    """

    mean_error: float
    variance_error: float

    @property
    def ess(self) -> float:
        """Independent draws of the posterior without privacy whose mean would be off by as much."""
        return 1 / self.mean_error**2

    @property
    def widening(self) -> float:
        """How much wider intervals are."""
        return math.sqrt(1 + self.mean_error**2)


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
    description: GaussianSum | None
    region: Region
    public_data: PyTree | None = None
    prediction: Prediction | None = None
    notes: tuple[str, ...] = ()

    def describe(self) -> str:
        first = "" if self.description is None else "the covariates' moments, then "
        return f"{first}the log likelihood released as a function, in {len(self.totals)} stages; draws from it are free"

    def __str__(self) -> str:
        lines = [
            f"{self.guarantee}".capitalize() + ".",
            f"{self.describe()[0].upper()}{self.describe()[1:]}: {self.chains} × {self.steps} of them.",
        ]
        if self.prediction is not None:
            p = self.prediction
            lines.append(
                f"Expected: posterior means off by {p.mean_error:.2f} posterior standard deviations, as those of "
                f"{p.ess:.3g} independent draws would be; variances by {p.variance_error:.0%}. Intervals are "
                f"{p.widening:.2f} times as wide, which covers that error."
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
    public_data: PyTree | None,
    predict: bool,
) -> LikelihoodPlan:
    """Divide the budget over the stages and, if asked, rehearse them on simulated records."""
    described = public_data is None and hasattr(model, "describe") and hasattr(model, "simulate_like")
    shares = (DESCRIPTION, *DESCRIBED_SHARES) if described else SHARES
    stages = len(shares)
    epsilon = (budget.epsilon - 2 * RELATIVE_ERROR * stages) * (1 - 2**-50)
    delta = budget.delta * math.exp(-RELATIVE_ERROR * stages) - TAIL * stages
    if epsilon <= 0 or delta <= 0:
        raise ValueError(f"the budget {budget} is too small for {stages} releases in machine arithmetic")
    mu = gaussian_mu_limit(epsilon, delta) * (1 - 1e-9)
    totals = tuple(GaussianSum.of_multiplier(1.0, max(1 / (mu * math.sqrt(share)), 1.0)) for share in shares)
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
        region = first_region(model, flat_model(model), public_data)
    steps = DRAWS // chains if steps is None else steps
    receipt = Receipt("log likelihood", cost, budget.delta, event=event)
    first, totals = (totals[0], totals[1:]) if described else (None, totals)
    made = LikelihoodPlan(n, chains, steps, temperature, budget, guarantee, receipt, totals, first, region, public_data)
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
) -> Draws:
    """The draws. Only ``release_description`` and ``release_features`` read records, and they release noisy sums."""
    flat = flat_model(model)
    with jax.enable_x64(True):
        keys = source.bits("noise", (len(plan.totals) + 1, *stream.KEY_SHAPE))
        public = jax.random.key(int(source.bits("public", (1,))[0] >> 1))
        source.advance()  # no noise is ever drawn twice
        records = jax.tree.map(jnp.asarray, data)

        def sums(stage: int, basis: Basis) -> np.ndarray:
            report(stage)
            return release_features(flat, records, basis, plan.totals[stage], keys[stage])

        description = None
        if plan.description is not None:
            description = release_description(flat, records, plan.description, keys[-1])
        return _stages(plan, flat, sums, description, public)


def rehearse(model: ModelLike, plan: LikelihoodPlan, seed: int = 0) -> Prediction:
    """The whole run on records simulated at a point of the first region (or on the public data): reads no record."""
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

        description = None
        if plan.description is not None:
            mean = np.mean(np.asarray(jax.vmap(flat.model.describe)(records)), axis=0)
            description = mean + plan.description.std / plan.n * rng.normal(size=len(mean))
        return predicted(_stages(plan, flat, sums, description, key))


def rehearsal_records(model: ModelLike, flat: Flat, plan: LikelihoodPlan, key: Any) -> PyTree:
    """Public records that stand for the private ones: simulated at ``init``, or in the middle of where it draws."""
    if plan.public_data is not None:
        return jax.tree.map(jnp.asarray, plan.public_data)
    if not callable(model.init):
        theta = start(model, key, np.dtype(np.float64))
    else:
        points = plan.region.draw(key, 1001)
        middle = np.median(points, axis=0)
        spread = np.maximum(np.median(np.abs(points - middle), axis=0), 1e-300)
        theta = flat.unravel(jnp.asarray(points[np.argmin(np.sum(np.abs(points - middle) / spread, axis=1))]))
    return model.simulate(key, theta, min(plan.n, REHEARSAL))  # type: ignore[attr-defined]


def predicted(found: Draws) -> Prediction:
    """From draws by group (group, particle, parameter), groups 2k and 2k + 1 with noise e and −e."""
    away = found.theta - np.mean(found.theta, axis=1, keepdims=True)
    variances = np.var(found.theta, axis=1, ddof=1)
    within = np.maximum(np.mean(variances, axis=0), 1e-300)
    moved, sampled = _noise_and_sampling(np.mean(found.theta, axis=1), away, found.effects, within)
    scaled, sampled_too = _noise_and_sampling(variances, away**2, found.effects, within**2)
    mean, variance = np.mean(moved + sampled), np.mean(moved**2 + scaled + sampled_too)
    return Prediction(float(np.sqrt(mean)), float(np.sqrt(variance)))


def _noise_and_sampling(
    of_groups: np.ndarray, of_particles: np.ndarray, effects: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors, over ``unit``, of a mean of particles: by the privacy noise, and by finitely many particles.

    Over a pair of groups with noise ±e, half the difference has the noise's effect and half of a group's sampling
    variance, half the sum only the latter; the average over all pairs has that over their number. Where sampling
    would drown the noise, its effect is the linear response: ∂E[f]/∂e_k = Cov(f, effect of e_k on the log likelihood).
    """
    difference, half_sum = (of_groups[::2] - of_groups[1::2]) / 2, (of_groups[::2] + of_groups[1::2]) / 2
    sampling = np.var(half_sum, axis=0, ddof=1)
    seen = np.mean(difference**2, axis=0) - sampling
    centred, moves = (x - np.mean(x, axis=1, keepdims=True) for x in (of_particles, effects))
    count = centred.shape[0] * (centred.shape[1] - 1)
    response = np.einsum("gpj,gpk->jk", centred, moves) / count
    by_chance = np.mean(centred**2, axis=(0, 1)) * np.sum(np.mean(moves**2, axis=(0, 1))) / count
    linear = np.maximum(np.sum(response**2, axis=1) - by_chance, 0.0)
    return np.where(seen > 4 * sampling, seen, linear) / unit, sampling / len(half_sum) / unit


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


def _stages(plan: LikelihoodPlan, flat: Flat, sums: Any, description: np.ndarray | None, key: Any) -> Draws:
    if plan.public_data is not None:
        like = RecordsLike(from_public(plan.public_data))
    elif description is not None:
        like = RecordsLike(partial(flat.model.simulate_like, description=description), HEADROOM, confined=True)
    else:
        like = RecordsLike(flat.model.simulate)
    particles = -(-plan.chains * plan.steps // GROUPS)
    noise = tuple(total.std for total in plan.totals)
    return run_stages(flat, plan.region, sums, noise, plan.n, plan.temperature, particles, like, key)
