"""Effective draws that a unit of zCDP buys: every private algorithm on every posterior, and the default method.

Chains are given for free what they would have to pay for: they start in the exact posterior, their steps and fits are
made from its covariance, and their clips from the records (3.5 times the root mean square of a record's term over the
moves that they make, in regressions 7 times). The default method starts from the prior and pays for everything.
Effective draws are one over the squared error of posterior means, in posterior variances, averaged over parameters: of
a chain at rest, the harmonic mean of its effective sample sizes; of releases, what was found.
"""

from __future__ import annotations

from typing import Any

import arviz as az
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import dpmcmc as dp
from dpmcmc import privacy
from dpmcmc_experiments.figures import Cell, Check, Settings, seed_of
from dpmcmc_experiments.raisa2021.problems import SETTINGS
from dpmcmc_experiments.utility import curves, regression
from dpmcmc_experiments.utility.posteriors import Target, names, shape, target
from dpmcmc_experiments.utility.recipes import LONG, RECIPES
from dpmcmc_experiments.utility.scores import Moments, parameters, short

ORDER = 22.0  # costs are Rényi divergences at this order over it, as in docs/algorithms.md
CHAINS = 2
WORK, MOST_STEPS, LEAST_STEPS = 1.5e8, 4000, 300  # evaluations of a record's density by one chain
FEWEST_STEPS = 100  # of algorithms whose step reads the records ``LONG`` times
MIXTURE_RELEASES = 10
DEFAULT = {1.0: "default, ε = 1", 0.25: "default, ε = 0.25"}
NEAR = 0.8  # of the best row


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
        release = chains_at_rest(t, kernel, steps, seed_of("efficiency", name, recipe))
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
            "acceptance": float(np.mean(release.sample_stats["accepted"])),
            "spread": float(np.mean(found.var((0, 1)) / moments.sd**2)),
        }
        errors = moments.errors(found.reshape(-1, t.dimension))
        return [short(named | row | {"found_error": errors["mean_error"]})]

    return Cell(f"efficiency-{name}-{recipe}" + ("-quick" if settings.quick else ""), rows)


def chains_at_rest(t: Target, kernel: Any, steps: int, seed: int) -> dp.Release:
    """Chains that start in the exact posterior."""
    draws = jnp.asarray(t.draws)
    return dp.sample(
        t.model,
        t.data,
        1e12,
        t.delta,
        method=dp.Chain(kernel, warmup=0),
        draws=steps,
        chains=CHAINS,
        temperature=t.temperature,
        init=lambda key: t.unravel(draws[jax.random.randint(key, (), 0, len(draws))]),
        seed=seed,
        progress=False,
    )


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


def rates(rows: pd.DataFrame) -> pd.DataFrame:
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
        n, temperature, model = shape(str(name))
        plan = dp.plan(model, n, dp.Budget(epsilon, 0.1 / n), temperature=temperature)
        receipt = plan.receipts[-1]
        cost = receipt.filter.limit if receipt.event is None else privacy.renyi(receipt.event, [ORDER])[0] / ORDER
        named = {"target": name, "algorithm": DEFAULT[epsilon]}
        default.append(named | {"rate": 1 / error / cost, "off": False, "few": False})
    columns = ["target", "algorithm", "rate", "off", "few"]
    return pd.concat([found[columns], pd.DataFrame(default, columns=columns)], ignore_index=True)


def check(rows: pd.DataFrame, settings: Settings) -> list[Check]:
    if settings.quick:
        rates_found = rows["ess"] / (CHAINS * rows["steps"] * rows["zcdp_a_step"])
        return [Check("rates are positive", ", ".join(f"{r:.3g}" for r in rates_found), bool((rates_found > 0).all()))]
    table = rates(rows)
    table = table[~table["off"]].pivot(index="target", columns="algorithm", values="rate")
    default = list(DEFAULT.values())
    ratio = table[default].max(axis=1) / table.drop(columns=default).max(axis=1)
    listed = ", ".join(f"{name} {value:.2g}" for name, value in ratio.items())
    claim = "the default buys at least 80 % of the effective draws per zCDP of the best chain"
    return [Check(claim, f"{(ratio >= NEAR).sum()} of {len(ratio)}; ratios {listed}", bool((ratio >= NEAR).all()))]
