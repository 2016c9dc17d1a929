"""Running a planned score release: noisy sums of the records, then draws for free."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from dpmcmc.mechanisms import stream
from dpmcmc.mechanisms.gaussian_sum import MOST_COORDINATES
from dpmcmc.models.base import WithInit, has, model_name
from dpmcmc.posterior import Posterior, start
from dpmcmc.privacy import GaussianFilter
from dpmcmc.progress import Bar
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.release import Release, issued, named_draws
from dpmcmc.scores import matrices, vectors
from dpmcmc.scores.description import describe
from dpmcmc.scores.foresight import FEW, Foresight, SimulatedRecords
from dpmcmc.scores.marginals import BINS
from dpmcmc.scores.normality import over_draws
from dpmcmc.scores.plan import PlannedScores
from dpmcmc.scores.quality import ScoreQuality, of_found
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.stages import Stages
from dpmcmc.scores.stand_in import BINS as SIZE_BINS
from dpmcmc.scores.stand_in import of_sizes
from dpmcmc.scores.sums import ScoreSums
from dpmcmc.scores.vectors import covariates_of

MANY = 32_768  # simulated records


class Outcome(NamedTuple):
    """What the sums say, ready to draw from, and how good it is."""

    sums: ScoreSums
    quality: ScoreQuality


def run(plan: PlannedScores, posterior: Posterior, source: RandomSource, show: bool) -> Release:
    """The planned release from the posterior's records."""
    with Bar(1, show, "releasing sums") as bar:
        sums, quality = release_sums(plan, posterior, source, plan.rule)
        bar.update(1)
    made = sums.draws(plan.model, plan.chains, plan.draws, int(source.random_words("draws", (1,))[0] >> 1))
    source.advance()
    with jax.enable_x64(True):
        positions = jax.device_get(jax.vmap(jax.vmap(plan.raveled.unravel))(jnp.asarray(made)))
    method = plan.describe()
    return Release(
        draws=named_draws(positions),
        receipts=plan.receipts,
        quality=quality,
        method=f"{method[0].upper()}{method[1:]}; {plan.chains} × {plan.draws} draws",
        settings={
            "n": plan.n,
            "chains": plan.chains,
            "draws": plan.draws,
            "temperature": plan.temperature,
            "model": model_name(plan.model),
        },
        sums=sums,
        **issued(plan.guarantee, source.reproducible),
    )


def release_sums(plan: PlannedScores, posterior: Posterior, source: RandomSource, rule: GaussianFilter) -> Outcome:
    """The sums. Only the :class:`~dpmcmc.scores.reader.Reader` reads records, and it releases noisy sums."""
    with jax.enable_x64(True):
        keys = source.random_words("noise", (rule.most_releases, *stream.KEY_SHAPE))
        public = int(source.random_words("public", (1,))[0] >> 1)
        source.advance()  # no noise is ever drawn twice
        reader = Reader(plan.raveled, posterior.on_device(), rule, keys)
        rng = np.random.default_rng(public)
        foresight, theta = _prepared(plan, reader, rng, jax.random.key(public))
        found, failed = Stages(plan.raveled, reader, foresight).run(theta)
        records = plan.temperature * reader.n
        said = found.knowledge.blurred(found.record_width() / records)
        private = matrices.power(said.precision + found.picture.prior_precision, -1, 1e-14)
        shape = over_draws(found.picture, private, records, foresight, public)
        quality = of_found(found, private, shape, plan.temperature, reader.mu, failed)
    precision = tuple(map(tuple, said.precision.tolist()))
    return Outcome(ScoreSums(precision, tuple(said.weighted.tolist()), tuple(found.state.theta.tolist())), quality)


def _prepared(plan: PlannedScores, reader: Reader, rng: np.random.Generator, key: Any) -> tuple[Foresight, np.ndarray]:
    """What is expected of records, from public knowledge and first releases, and where the search begins."""
    if has(plan.model, "simulate"):
        x, alike = _described(plan, reader, rng)
        return SimulatedRecords(plan.raveled, key, x), _begin(plan, alike, key)
    public = None if plan.public_data is None else jax.tree.map(jnp.asarray, plan.public_data)
    theta = _begin(plan, public, key)
    return of_sizes(reader, theta, rng, MANY), theta


def _described(plan: PlannedScores, reader: Reader, rng: np.random.Generator) -> tuple[Any, Any]:
    """Covariates for simulated records, like the real ones as far as is released or as public ones are; and records
    with outcomes alike, but not of those covariates, if they can be had."""
    model: Any = plan.model
    if not has(model, "covariates"):
        return np.zeros((MANY, 0)), None
    if plan.public_data is not None:
        data = jax.tree.map(jnp.asarray, plan.public_data)
        public = np.asarray(covariates_of(plan.raveled, data))
        rows = rng.integers(len(public), size=MANY)
        return public[rows], jax.tree.map(lambda leaf: leaf[rows[:FEW]], data)
    width = covariate_count(plan.raveled, model)
    if not width:
        return np.zeros((MANY, 0)), None
    described = describe(reader, width, has(model, "response"), rng)
    x = described.draw(rng, MANY)
    if described.outcomes is None:
        return x, None
    few = x[:FEW]
    return x, model.respond(jnp.asarray(few), described.outcomes.quantiles(rng.uniform(size=(len(few), 1)))[:, 0])


def _begin(plan: PlannedScores, records: Any, key: Any) -> np.ndarray:
    """Where a search begins: at the model's start, or where it explains public or released outcomes best."""
    theta = np.asarray(plan.raveled.ravel(start(plan.model, key, np.dtype(np.float64))))
    if records is None or isinstance(plan.model, WithInit):
        return theta
    cost = vectors.fit_of(plan.raveled)
    weight = jnp.asarray(float(min(plan.n, FEW)))

    def value(at: np.ndarray) -> tuple[float, np.ndarray]:
        found, slope = cost(jnp.asarray(at), records, weight)
        return float(found), np.asarray(slope)

    found = np.asarray(minimize(value, theta, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x)
    return found if np.all(np.isfinite(found)) and np.isfinite(value(found)[0]) else theta


def check_size(raveled: RaveledModel, model: Any) -> None:
    """Refuse, before anything is charged, models with more numbers to sum than a release can hold."""
    simulates = has(model, "simulate")
    covariates = covariate_count(raveled, model) if simulates and has(model, "covariates") else 0
    wanted = max(covariates * (covariates + 3) // 2, raveled.dimension * (raveled.dimension + 1) // 2)
    counts = BINS * (covariates + 1) if simulates else SIZE_BINS * raveled.dimension
    if max(wanted, counts) > MOST_COORDINATES:
        raise ValueError(
            f"{covariates} covariates and {raveled.dimension} parameters have {wanted} second moments or curvatures, "
            f"and at most {MOST_COORDINATES} numbers can be released at once; take fewer, or another method"
        )


def covariate_count(raveled: RaveledModel, model: Any) -> int:
    with jax.enable_x64(True):

        def covariates(key: Any) -> Any:
            return covariates_of(raveled, model.simulate(key, start(model, key, np.dtype(np.float64)), 1))

        return jax.eval_shape(covariates, jax.random.key(0)).shape[1]
