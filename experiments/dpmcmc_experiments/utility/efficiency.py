"""Effective draws that a unit of zCDP buys: every private algorithm on every posterior, and the default method.

Chains are given for free what they would have to pay for: they start in the exact posterior, their steps and fits are
made from its covariance, and their clips from the records (3.5 times the root mean square of a record's term over the
moves that they make, in regressions 7 times). The default method starts from the prior and pays for everything.
Effective draws are one over the squared error of posterior means, in posterior variances, averaged over parameters: of
a chain at rest, the harmonic mean of its effective sample sizes; of releases, what was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jax.flatten_util import ravel_pytree

import dpmcmc as dp
from dpmcmc import algorithms, privacy
from dpmcmc.chain.proposals import GuidedWalk, HiddenCentre, OneComponent, RandomWalk
from dpmcmc_experiments.figures import Cell, Check, Settings, rng_of, seed_of
from dpmcmc_experiments.heikkila2019 import study
from dpmcmc_experiments.raisa2021 import algorithms as published
from dpmcmc_experiments.raisa2021.problems import SETTINGS
from dpmcmc_experiments.raisa2021.problems import problem as raisa_problem
from dpmcmc_experiments.utility import curves, regression
from dpmcmc_experiments.utility.scores import Moments, parameters, short

ORDER = 22.0  # costs are Rényi divergences at this order over it, as in docs/algorithms.md
CANDIDATES, CHAINS = 16, 2
WORK, MOST_STEPS, LEAST_STEPS = 1.5e8, 4000, 300  # evaluations of a record's density by one chain
FEWEST_STEPS, LONG = 100, 30  # of algorithms whose step reads the records so often
MIXTURE_RECORDS, MIXTURE_RELEASES = 100_000, 10
DEFAULT = {1.0: "default, ε = 1", 0.25: "default, ε = 0.25"}
NEAR = 0.8  # of the best row


@dataclass(frozen=True, eq=False)
class Target:
    """A posterior with exact ``draws`` (draw, raveled parameter)."""

    name: str
    title: str
    model: Any
    data: Any
    n: int
    temperature: float
    draws: np.ndarray
    unravel: Callable[[Any], Any]

    @property
    def clip(self) -> float:
        """In root mean squares of a record's term. Those of a regression have long tails: 3.5 would move it by far."""
        return 3.5 if self.name not in ("rand", "adult") else 7.0

    @property
    def delta(self) -> float:
        return 0.1 / self.n

    @property
    def dimension(self) -> int:
        return self.draws.shape[1]

    @property
    def mean(self) -> np.ndarray:
        return self.draws.mean(axis=0)

    @property
    def covariance(self) -> np.ndarray:
        return np.cov(self.draws, rowvar=False)

    @property
    def root(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariance)


TITLES = {name: setting.title for name, setting in SETTINGS.items()}
TITLES |= {"mixture": "Mixture, records count as 100", "rand": "Regression, RAND", "adult": "Regression, census"}


@lru_cache(maxsize=1)
def target(name: str, settings: Settings) -> Target:
    if name in SETTINGS:
        posterior = raisa_problem(name)
        model, data, temperature = posterior.model, posterior.records, posterior.setting.temperature
        draws = model.exact_draws(rng_of("exact"), data, 20_000, temperature)
    elif name == "mixture":
        model, data = study.MODEL, study.published_records()[:MIXTURE_RECORDS]
        temperature, draws = study.temperature(data), mixture_draws(data)
    else:
        model, data, _ = regression.problem(name, settings)
        draws, temperature = regression.exact_draws(model, data), 1.0
        draws = np.stack([np.asarray(ravel_pytree(dict(zip(model.names, row, strict=True)))[0]) for row in draws])
    flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model.init))
    assert draws.shape[1] == len(flat)
    n = jax.tree.leaves(data)[0].shape[0]
    return Target(name, TITLES[name], model, data, n, temperature, np.asarray(draws, np.float64), unravel)


def mixture_draws(data: np.ndarray, count: int = 20_000) -> np.ndarray:
    """From the tempered posterior on a fine mesh, each draw spread over its square of the mesh."""
    axes = np.linspace(-2.5, 3.5, 161), np.linspace(-4.5, 4.5, 201)
    log = study.log_posterior(data, *axes, study.COUNTS_AS)
    rng, weights = rng_of("mesh"), np.exp(log - log.max()).ravel()
    chosen = np.unravel_index(rng.choice(len(weights), count, p=weights / weights.sum()), log.shape)
    spread = [rng.uniform(-0.5, 0.5, count) * (axis[1] - axis[0]) for axis in axes]
    return np.stack([axis[i] + off for axis, i, off in zip(axes, chosen, spread, strict=True)], axis=1)


def names(settings: Settings) -> list[str]:
    return [*SETTINGS, "mixture", *regression.names(settings)]


def typical_term(t: Target, pairs: Callable[[Any, Any], tuple[Any, Any]], count: int = 64) -> float:
    """Root mean square, over records and moves, of one record's log ratio. ``pairs``: (key, θ) → two points."""
    rng = rng_of("terms", t.name)
    with jax.enable_x64(True):
        some = rng.choice(t.n, min(t.n, 2000), replace=False)
        records = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[some], float), t.data)
        here = jnp.asarray(t.draws[rng.choice(len(t.draws), count)])
        a, b = jax.vmap(pairs)(jax.random.split(jax.random.key(0), count), here)
        terms = jax.vmap(lambda theta: jax.vmap(lambda x: t.model.log_likelihood(t.unravel(theta), x))(records))
        return float(jnp.sqrt(jnp.mean((terms(a) - terms(b)) ** 2)))


def gradient_norm(t: Target) -> float:
    """Root mean square, over records, of the norm of one record's gradient at draws of the posterior."""
    rng = rng_of("gradients", t.name)
    with jax.enable_x64(True):
        some = rng.choice(t.n, min(t.n, 2000), replace=False)
        records = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[some], float), t.data)
        score = jax.grad(lambda theta, x: t.model.log_likelihood(t.unravel(theta), x))
        here = jnp.asarray(t.draws[rng.choice(len(t.draws), 16)])
        scores = jax.vmap(lambda theta: jax.vmap(lambda x: score(theta, x))(records))(here)
        return float(jnp.sqrt(jnp.mean(jnp.sum(scores**2, axis=-1))))


def moved(t: Target, proposal: Any) -> float:
    """The typical term of a walk's moves."""

    def pair(key: Any, here: Any) -> tuple[Any, Any]:
        position = t.unravel(here)
        return here, ravel_pytree(proposal.propose(key, position, proposal.init(position)).position)[0]

    return typical_term(t, pair)


def walk(t: Target) -> RandomWalk:
    return RandomWalk(t.root / np.sqrt(t.dimension))


def conditional_sd(t: Target) -> np.ndarray:
    return 1 / np.sqrt(np.diag(np.linalg.inv(t.covariance)))


def barker(t: Target) -> Any:
    return algorithms.dp_barker(walk(t), t.clip * moved(t, walk(t)))


def subsampled(t: Target) -> Any | None:
    batch = round(16 * t.temperature * t.n)
    return None if 4 * batch > t.n else algorithms.dp_barker_subsampled(walk(t), batch)


def minibatch(t: Target) -> Any | None:
    bound = t.temperature * t.clip * moved(t, walk(t))
    return algorithms.dp_barker_minibatch(walk(t), bound) if bound < 1 / 8 else None


def penalty(t: Target) -> Any:
    return algorithms.dp_penalty(walk(t), t.clip * moved(t, walk(t)))


def one_component(t: Target) -> Any:
    sd = 1.5 * conditional_sd(t)
    return algorithms.dp_penalty_one_component(sd, t.clip * moved(t, OneComponent(sd)))


def guided(t: Target) -> Any:
    sd = 1.5 * conditional_sd(t)
    return algorithms.dp_penalty_guided(sd, t.clip * moved(t, GuidedWalk(sd)))


def penalty_minibatch(t: Target) -> Any:
    batch = round(min(4 * t.temperature * t.n, t.n / 2))
    return algorithms.dp_penalty_minibatch(walk(t), batch, t.clip * moved(t, walk(t)))


def hmc(t: Target) -> Any:
    """With the study's hyperparameters on its posteriors; else noise as large as the gradient, in posterior units."""
    if t.name in SETTINGS:
        return published.kernel(t.name, "hmc", SETTINGS[t.name])
    clip = t.clip * gradient_norm(t)
    widest = np.sqrt(np.linalg.eigvalsh(t.covariance)[-1])
    multiplier = 1 / (2 * t.temperature * clip * widest)
    precision = np.linalg.inv(t.covariance)
    scaled = algorithms.dp_hmc(0.5, 3, clip, multiplier, 1.0, mass=(precision + precision.T) / 2)
    across = RandomWalk(1.5 * t.root / np.sqrt(t.dimension))  # about as far as a path goes
    return dp.Kernel(scaled.proposal, dp.Penalty(t.clip * moved(t, across), 1.0))


def sgld(t: Target) -> Any:
    return algorithms.dp_sgld(0.2 * float(np.linalg.eigvalsh(t.covariance)[0]), t.clip * gradient_norm(t))


def orbit(t: Target) -> Any:
    wide = 1.6 * t.root
    mean = jnp.asarray(t.mean)
    term = typical_term(t, lambda key, here: (here, mean))
    return algorithms.dp_orbit(t.mean, wide, CANDIDATES, t.clip * term)


def hidden_centre(t: Target) -> Any:
    centre = RandomWalk(0.7 * t.root / np.sqrt(t.dimension))

    def pair(key: Any, here: Any) -> tuple[Any, Any]:
        candidates = HiddenCentre(centre, CANDIDATES).draw(key, t.unravel(here)).positions
        return here, jax.vmap(lambda c: ravel_pytree(c)[0])(candidates)[1]

    return algorithms.dp_hidden_centre(centre, CANDIDATES, t.clip * typical_term(t, pair))


RECIPES: dict[str, tuple[Callable[[Target], Any], float]] = {
    "dp_barker": (barker, 1),
    "dp_barker_subsampled": (subsampled, 1),
    "dp_barker_minibatch": (minibatch, 1),
    "dp_penalty": (penalty, 1),
    "dp_penalty_one_component": (one_component, 1),
    "dp_penalty_guided": (guided, 1),
    "dp_penalty_minibatch": (penalty_minibatch, 1),
    "dp_hmc": (hmc, LONG),
    "dp_sgld": (sgld, 2),
    "dp_orbit": (orbit, CANDIDATES),
    "dp_hidden_centre": (hidden_centre, CANDIDATES),
}
"""Each algorithm of :mod:`dpmcmc.algorithms` with a guarantee, and how often a step reads a record."""


def cells(settings: Settings) -> list[Cell]:
    if settings.quick:
        return [chain_cell("rand", name, settings, work=1e7) for name in ("dp_barker", "dp_penalty")]
    listed = names(settings)
    found = [chain_cell(name, recipe, settings) for name in listed for recipe in RECIPES]
    for epsilon in DEFAULT:
        found += [curves.cell(name, "prior", epsilon) for name in SETTINGS] + [_mixture_releases(epsilon, settings)]
    return found + [regression.released(name, 1.0, settings) for name in regression.names(settings)]


def chain_cell(name: str, recipe: str, settings: Settings, work: float = WORK) -> Cell:
    """One row: effective draws, steps and cost of an algorithm on a posterior."""

    def rows() -> list[dict[str, Any]]:
        t = target(name, settings)
        make, reads = RECIPES[recipe]
        named = {"target": name, "algorithm": recipe}
        kernel = make(t)
        if kernel is None:
            return [named]
        steps = int(np.clip(work / (t.n * reads), LEAST_STEPS if reads < LONG else FEWEST_STEPS, MOST_STEPS))
        draws = jnp.asarray(t.draws)
        release = dp.sample(
            t.model,
            t.data,
            1e12,
            t.delta,
            kernel=kernel,
            chains=CHAINS,
            steps=steps,
            temperature=t.temperature,
            init=lambda key: t.unravel(draws[jax.random.randint(key, (), 0, len(draws))]),
            seed=seed_of("efficiency", name, recipe),
            progress=False,
        )
        found = np.concatenate(
            [v[..., None] if v.ndim == 2 else v for _, v in sorted(release.draws.items())], axis=-1
        )  # (chain, step, raveled parameter)
        sizes = np.array([float(az.ess(found[..., j], method="mean")) for j in range(t.dimension)])
        moments = Moments(t.mean, np.sqrt(np.diag(t.covariance)))
        cost = privacy.renyi(kernel.event(t.n, t.temperature), [ORDER])[0] / ORDER
        row = {
            "steps": steps,
            "zcdp_a_step": float(cost),
            "ess": float(1 / np.mean(1 / sizes)),
            "acceptance": float(np.mean(release.accepted)),
            "spread": float(np.mean(found.var((0, 1)) / moments.sd**2)),
        }
        errors = moments.errors(found.reshape(-1, t.dimension))
        return [short(named | row | {"found_error": errors["mean_error"]})]

    return Cell(f"efficiency-{name}-{recipe}" + ("-quick" if settings.quick else ""), rows)


def _mixture_releases(epsilon: float, settings: Settings) -> Cell:
    def rows() -> list[dict[str, Any]]:
        t = target("mixture", settings)
        moments, found = Moments.of(t.draws), []
        for run in range(MIXTURE_RELEASES):
            seed = seed_of("efficiency", "mixture", epsilon, run)
            release = dp.sample(t.model, t.data, epsilon, t.delta, temperature=t.temperature, seed=seed, progress=False)
            found.append(
                short({"target": "mixture", "epsilon": epsilon, "run": run} | moments.errors(parameters(release)))
            )
        return found

    return Cell(f"efficiency-mixture-default-{epsilon:g}", rows)


def rates(rows: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Effective draws per unit of zCDP, one row for each posterior and algorithm."""
    chains = rows[rows["algorithm"].notna()]
    found = chains.assign(rate=chains["ess"] / (CHAINS * chains["steps"] * chains["zcdp_a_step"]))
    bias = found["found_error"] - 4 / np.sqrt(found["ess"])
    found["off"] = (bias > 0.15) | (found["spread"] < 0.7) | (found["spread"] > 1.4)
    found["few"] = found["ess"] < 40
    releases = rows[rows["algorithm"].isna()]
    which = releases["target"].fillna(releases["model"]).fillna(releases["data"])
    square = (releases["mean_error"] ** 2).groupby([which, releases["epsilon"]]).mean()
    default = []
    for (name, epsilon), error in square.items():
        n, temperature, model = _shape(str(name), settings)
        plan = dp.plan(model, n, dp.Budget(epsilon, 0.1 / n), temperature=temperature, predict=False)
        cost = privacy.renyi(plan.receipt.event, [ORDER])[0] / ORDER
        named = {"target": name, "algorithm": DEFAULT[epsilon]}
        default.append(named | {"rate": 1 / error / cost, "off": False, "few": False})
    columns = ["target", "algorithm", "rate", "off", "few"]
    return pd.concat([found[columns], pd.DataFrame(default, columns=columns)], ignore_index=True)


def _shape(name: str, settings: Settings) -> tuple[int, float, Any]:
    if name in SETTINGS:
        return SETTINGS[name].n, SETTINGS[name].temperature, SETTINGS[name].model
    if name == "mixture":
        return MIXTURE_RECORDS, study.COUNTS_AS / MIXTURE_RECORDS, study.MODEL
    n, bounds = (32_561, regression.CENSUS) if name == "adult" else (16_152, regression.HEALTH)
    return n, 1.0, dp.models.LogisticRegression(bounds)


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    if settings.quick:
        rates_found = rows["ess"] / (CHAINS * rows["steps"] * rows["zcdp_a_step"])
        return [Check("rates are positive", ", ".join(f"{r:.3g}" for r in rates_found), bool((rates_found > 0).all()))]
    table = rates(rows, settings)
    table = table[~table["off"]].pivot(index="target", columns="algorithm", values="rate")
    default = list(DEFAULT.values())
    ratio = table[default].max(axis=1) / table.drop(columns=default).max(axis=1)
    listed = ", ".join(f"{name} {value:.2g}" for name, value in ratio.items())
    claim = "the default buys at least 80 % of the effective draws per zCDP of the best chain"
    return [Check(claim, f"{(ratio >= NEAR).sum()} of {len(ratio)}; ratios {listed}", bool((ratio >= NEAR).all()))]
