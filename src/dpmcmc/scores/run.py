"""Running a planned score release: noisy sums of the records, then draws for free."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
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
from dpmcmc.quality import NOT_USABLE
from dpmcmc.randomness import RandomSource
from dpmcmc.raveled import RaveledModel
from dpmcmc.release import Release, issued, named_draws
from dpmcmc.scores import bent, matrices, vectors
from dpmcmc.scores.ahead import Types, reads_ahead, simulations_ahead
from dpmcmc.scores.curve import RECORDS, Curve, Density, enough, power_between
from dpmcmc.scores.description import describe
from dpmcmc.scores.foresight import FEW, Foresight, SimulatedRecords
from dpmcmc.scores.marginals import BINS, Marginals
from dpmcmc.scores.normality import over_draws
from dpmcmc.scores.picture import normal_prior
from dpmcmc.scores.plan import PlannedScores
from dpmcmc.scores.quality import ScoreQuality, Variances, of_found
from dpmcmc.scores.rare import as_far_as_seen, unseen_rows
from dpmcmc.scores.reader import Reader
from dpmcmc.scores.stages import Found, Stages
from dpmcmc.scores.stand_in import BINS as SIZE_BINS
from dpmcmc.scores.stand_in import of_sizes
from dpmcmc.scores.step import Knowledge
from dpmcmc.scores.sums import ScoreSums
from dpmcmc.scores.vectors import covariates_of

MANY = 32_768  # simulated records
FOR_VARIANCES = 2048  # draws
BENT = 0.25  # change of the logarithm of the curvature within the draws beyond which these follow the model


class Outcome(NamedTuple):
    """What the sums say, ready to draw from, and how good it is."""

    sums: ScoreSums
    quality: ScoreQuality
    drawn: np.ndarray | None = None  # as many draws as planned, where quality took them


def run(plan: PlannedScores, posterior: Posterior, source: RandomSource, show: bool) -> Release:
    """The planned release from the posterior's records."""
    with Bar(1, show, "releasing sums") as bar:
        sums, quality, drawn = release_sums(plan, posterior, source, plan.rule)
        bar.update(1)
    if drawn is None:
        made = sums.draws(plan.model, plan.chains, plan.draws, int(source.random_words("draws", (1,))[0] >> 1))
    else:
        made = drawn.reshape(plan.chains, plan.draws, -1)
    source.advance()
    positions = plan.raveled.positions(made)
    method = plan.describe()
    return Release(
        draws=named_draws(positions),
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
        **issued(plan, source.reproducible),
    )


def release_sums(plan: PlannedScores, posterior: Posterior, source: RandomSource, rule: GaussianFilter) -> Outcome:
    """The sums. Only the :class:`~dpmcmc.scores.reader.Reader` reads records, and it releases noisy sums."""
    with jax.enable_x64(True):
        keys = source.random_words("noise", (rule.most_releases, *stream.KEY_SHAPE))
        public = int(source.random_words("public", (1,))[0] >> 1)
        source.advance()  # no noise is ever drawn twice
        reader = Reader(plan.raveled, posterior, rule, keys)
        rng = np.random.default_rng(public)
        foresight, theta, unseen = _prepared(plan, reader, rng, jax.random.key(public))
        found, failed = Stages(plan.raveled, reader, foresight, plan.shuffled).run(theta)
        records = plan.temperature * reader.n
        seen = foresight.seen_information(found.picture.theta)
        said, typical = (
            as_far_as_seen(known.blurred(found.record_width() / records), found.picture, seen)
            for known in (found.knowledge, found.typical)
        )
        private, mostly = (
            matrices.power(known.precision + found.picture.prior_precision, -1, 1e-14) for known in (said, typical)
        )
        shape = over_draws(found.picture, private, records, foresight, public)
        tells = matrices.power(found.record_width(shape.information) / records, -1, 1e-14)
        exact = matrices.power(tells + found.picture.prior_precision, -1, 1e-14)
        variances = Variances(np.diag(private), np.diag(exact), np.diag(mostly) / np.diag(private))
        curve, drawn = None, None
        quality = of_found(found, variances, shape.bend, plan.temperature, reader.noise, failed, unseen)
        bends = shape.bend > BENT or normal_prior(plan.raveled) is not None
        if bends and replace(quality, bend=0.0).verdict != NOT_USABLE:  # else draws are of no use anyway
            seed = int(source.random_words("draws", (1,))[0] >> 1)
            followed = _followed(plan, found, said, foresight, seed)
            left_out = np.inf if normal_prior(plan.raveled) is not None else shape.bend  # the mode need not be near
            if followed is not None:
                (of_draws, curve, drawn), left_out = followed, 0.0
                variances = of_draws._replace(typical=variances.typical)
            quality = of_found(found, variances, left_out, plan.temperature, reader.noise, failed, unseen)
    precision, weighted = tuple(map(tuple, said.precision.tolist())), tuple(said.weighted.tolist())
    return Outcome(ScoreSums(precision, weighted, tuple(found.state.theta.tolist()), curve), quality, drawn)


class Followed(NamedTuple):
    """What comes of draws that follow the model: variances, the likelihood, and the draws themselves."""

    variances: Variances
    curve: Curve
    drawn: np.ndarray


def _followed(plan: PlannedScores, found: Found, said: Knowledge, foresight: Foresight, seed: int) -> Followed | None:
    """Variances with and without privacy noise where the likelihood is not normal; None if they cannot be had.

    Those with noise are of the release's own draws.
    """
    here, width = found.picture, found.record_width() / (plan.temperature * found.n)
    information, prior = matrices.power(width, -1, 1e-14), here.prior_precision
    simulated = foresight.records(here.theta, RECORDS)
    told = np.diag(said.precision) > np.diag(prior)
    if simulated is None or not enough(plan.raveled, here.theta, simulated, told):
        return None
    where = matrices.power(said.precision, -1, 1e-14) @ said.weighted - here.theta
    wanted = plan.chains * plan.draws
    curves, draws = [], []
    for precision in (information, said.precision):  # without noise, and with it
        curve = Curve.of(simulated, information + prior, power_between(precision @ width))
        if curve is None:
            return None
        places = curve.places(plan.raveled, here.theta)
        if not places.show(precision):
            return None
        density = Density.of(places, precision, precision @ where)
        drawn = bent.sample(plan.raveled, density, prior, max(FOR_VARIANCES, wanted), seed)
        if not drawn.mixed:
            return None
        curves.append(curve)
        draws.append(drawn.theta)
    exact, private = (each.var(axis=0) for each in draws)
    return Followed(Variances(private=private, exact=exact), curves[1], draws[1][:wanted])


def _prepared(
    plan: PlannedScores, reader: Reader, rng: np.random.Generator, key: Any
) -> tuple[Foresight, np.ndarray, int]:
    """What is expected of records, from public knowledge and first releases, where the search begins, and how many
    covariates have values that were not seen."""
    if has(plan.model, "simulate"):
        with ThreadPoolExecutor(2) as meanwhile:
            width = covariate_count(plan.raveled, plan.model) if has(plan.model, "covariates") else 0
            meanwhile.submit(simulations_ahead, plan.raveled, MANY, width)
            meanwhile.submit(reads_ahead, plan.raveled, Types(reader.types))
            x, alike, marginals = _described(plan, reader, rng)
        rows = None if marginals is None else unseen_rows(x, marginals)
        count = 0 if marginals is None else sum(map(bool, marginals.unseen))
        return SimulatedRecords(plan.raveled, key, x, rows), _begin(plan, alike, key), count
    public = None if plan.public_data is None else jax.tree.map(jnp.asarray, plan.public_data)
    theta = _begin(plan, public, key)
    return of_sizes(reader, theta, rng, MANY), theta, 0


def _described(plan: PlannedScores, reader: Reader, rng: np.random.Generator) -> tuple[Any, Any, Marginals | None]:
    """Covariates for simulated records, like the real ones as far as is released or as public ones are; records with
    outcomes alike, but not of those covariates, if they can be had; and what was counted."""
    model: Any = plan.model
    if not has(model, "covariates"):
        return np.zeros((MANY, 0)), None, None
    if plan.public_data is not None:
        data = jax.tree.map(jnp.asarray, plan.public_data)
        public = np.asarray(covariates_of(plan.raveled, data))
        rows = rng.integers(len(public), size=MANY)
        return public[rows], jax.tree.map(lambda leaf: leaf[rows[:FEW]], data), None
    width = covariate_count(plan.raveled, model)
    if not width:
        return np.zeros((MANY, 0)), None, None
    described = describe(reader, levels_of(plan.raveled, model), has(model, "response"), rng)
    x = described.draw(rng, MANY)
    if described.outcomes is None:
        return x, None, described.marginals
    few = x[:FEW]
    outcomes = described.outcomes.quantiles(rng.uniform(size=(len(few), 1)))[:, 0]
    return x, model.respond(jnp.asarray(few), outcomes), described.marginals


def _begin(plan: PlannedScores, records: Any, key: Any) -> np.ndarray:
    """Where a search begins: at the model's start, or where it explains public or released outcomes best."""
    theta = plan.raveled.flat(start(plan.model, key))
    if records is None or isinstance(plan.model, WithInit):
        return theta
    cost = vectors.fit_of(plan.raveled)
    weight = np.float64(min(plan.n, FEW))

    def value(at: np.ndarray) -> tuple[float, np.ndarray]:
        found, slope = cost(at, records, weight)
        return float(found), np.asarray(slope)

    found = np.asarray(minimize(value, theta, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x)
    return found if np.all(np.isfinite(found)) and np.isfinite(value(found)[0]) else theta


def check_size(raveled: RaveledModel, model: Any) -> None:
    """Refuse, before anything is charged, models with more numbers to sum than a release can hold."""
    simulates = has(model, "simulate")
    covariates = covariate_count(raveled, model) if simulates and has(model, "covariates") else 0
    wanted = max(covariates * (covariates + 3) // 2, raveled.dimension * (raveled.dimension + 1) // 2)
    bins = max(BINS, *levels_of(raveled, model)) if covariates else BINS
    counts = bins * (covariates + 1) if simulates else SIZE_BINS * raveled.dimension
    if max(wanted, counts) > MOST_COORDINATES:
        raise ValueError(
            f"{covariates} covariates and {raveled.dimension} parameters have {wanted} second moments or curvatures, "
            f"and at most {MOST_COORDINATES} numbers can be released at once; take fewer, or another method"
        )


def levels_of(raveled: RaveledModel, model: Any) -> tuple[int, ...]:
    """How many levels each covariate has, 0 for numbers."""
    count = covariate_count(raveled, model)
    levels = tuple(map(int, model.levels)) if has(model, "levels") else (0,) * count
    if any(each < 0 or each == 1 for each in levels):
        raise ValueError(f"levels must be 0, for a number, or at least 2 for each covariate, got {levels}")
    if len(levels) != count:
        raise ValueError(f"levels has {len(levels)} numbers and records have {count} covariates; give one for each")
    return levels


def covariate_count(raveled: RaveledModel, model: Any) -> int:
    with jax.enable_x64(True):

        def covariates(key: Any) -> Any:
            return covariates_of(raveled, model.simulate(key, start(model, key), 1))

        return jax.eval_shape(covariates, jax.random.key(0)).shape[1]
