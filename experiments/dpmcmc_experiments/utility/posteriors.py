"""Posteriors without privacy that effective draws are counted on: those of the studies and of the regressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import dpmcmc as dp
from dpmcmc_experiments.figures import Settings, rng_of
from dpmcmc_experiments.heikkila2019 import study
from dpmcmc_experiments.raisa2021.problems import SETTINGS
from dpmcmc_experiments.raisa2021.problems import problem as raisa_problem
from dpmcmc_experiments.utility import regression

MIXTURE_RECORDS = 100_000


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
        draws = raveled(model.names, draws)
    flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: jnp.asarray(leaf, float), model.init))
    assert draws.shape[1] == len(flat)
    n = jax.tree.leaves(data)[0].shape[0]
    return Target(name, TITLES[name], model, data, n, temperature, np.asarray(draws, np.float64), unravel)


def raveled(names: Sequence[str], draws: np.ndarray) -> np.ndarray:
    """Draws of parameters by name (draw, name), as JAX ravels a dictionary of them: sorted, in single precision."""
    return draws[:, np.argsort(names)].astype(np.float32)


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


def shape(name: str) -> tuple[int, float, Any]:
    """Number of records, temperature and model of a posterior, without its records."""
    if name in SETTINGS:
        return SETTINGS[name].n, SETTINGS[name].temperature, SETTINGS[name].model
    if name == "mixture":
        return MIXTURE_RECORDS, study.COUNTS_AS / MIXTURE_RECORDS, study.MODEL
    n, bounds = (32_561, regression.CENSUS) if name == "adult" else (16_152, regression.HEALTH)
    return n, 1.0, dp.models.LogisticRegression(bounds)
