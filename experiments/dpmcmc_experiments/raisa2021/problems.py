"""The eight posteriors of the study: models, the published data sets, starting points and exact draws.

The data, the 20 starting points and the 1000 reference draws are those of the study, number by number: they come from
the generator of JAX with the published keys, in the form it had then. Smaller ``n`` (quick runs) draws other records.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from dpmcmc_experiments.targets import Banana, Circle, CorrelatedGaussian

CHAINS = 20
REFERENCE_DRAWS = 1000
BASELINES = 10
DATA_KEYS = {"banana": 43247, "gauss": 46283648, "circle": 742983}
REFERENCE_KEYS = {"banana": 56437, "gauss": 434927}
START_KEY = 4236482
BASELINE_KEY = 4623878


@dataclass(frozen=True)
class Setting:
    """A line of Table 5.1. ``n0`` tempers the likelihood to the power n0/n."""

    title: str
    model: Any
    n: int
    n0: int | None = None

    @property
    def temperature(self) -> float:
        return 1.0 if self.n0 is None else self.n0 / self.n

    @property
    def delta(self) -> float:
        return 0.1 / self.n


SETTINGS = {
    "easy-2d": Setting("Flat banana, d = 2", Banana(2, 20.0), 100_000),
    "easy-10d": Setting("Flat banana, d = 10", Banana(10, 20.0), 200_000),
    "tempered-2d": Setting("Tempered banana, d = 2", Banana(2, 20.0), 100_000, 1000),
    "tempered-10d": Setting("Tempered banana, d = 10", Banana(10, 20.0), 200_000, 1000),
    "gauss-30d": Setting("High dimensional Gauss", Banana(30, 0.0), 200_000),
    "hard-2d": Setting("Narrow banana", Banana(2, 350.0), 150_000),
    "hard-gauss-2d": Setting("Correlated Gauss", CorrelatedGaussian(), 200_000),
    "circle": Setting("Circle", Circle(), 100_000),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """A posterior with its data. ``reference`` holds exact draws, ``mean`` what sample means are compared with."""

    name: str
    setting: Setting
    records: np.ndarray
    reference: np.ndarray | None
    starts: np.ndarray
    mean: np.ndarray

    @property
    def model(self) -> Any:
        return self.setting.model


@lru_cache(maxsize=2)
def problem(name: str, n: int | None = None) -> Problem:
    """The posterior called ``name``, with the published records, or with ``n`` of the same kind."""
    setting = SETTINGS[name]
    if n is not None:
        n0 = None if setting.n0 is None else max(1, round(setting.n0 * n / setting.n))
        setting = Setting(setting.title, setting.model, n, n0)
    if name == "circle":
        records = _normal(_split(DATA_KEYS["circle"], 2)[1], (setting.n, 1))[:, 0] + 3.0
        starts = np.array([0.0, 1.0]) + _start_noise(2)
        return Problem(name, setting, records, None, starts, np.zeros(2))
    records = banana_records(setting) if isinstance(setting.model, Banana) else _gauss_records(setting)
    reference = exact_draws(setting, records)
    spread = reference.std(axis=0).mean()
    starts = setting.model.truth + _start_noise(setting.model.dimension) * spread
    return Problem(name, setting, records, reference, starts, reference.mean(axis=0))


def banana_records(setting: Setting) -> np.ndarray:
    """Records of a banana: one key for each of the first two coordinates, one for the others."""
    return setting.model.truth + _columns(DATA_KEYS["banana"], setting.n, setting.model) * setting.model.variances**0.5


def exact_draws(setting: Setting, records: np.ndarray, key: Any = None) -> np.ndarray:
    """Exact draws of the tempered posterior: the study's reference sample, or one of another ``key``."""
    model, count = setting.model, REFERENCE_DRAWS
    if isinstance(model, Banana):
        z = _columns(REFERENCE_KEYS["banana"] if key is None else key, count, model)
        precision = setting.temperature * len(records) / model.variances + 1 / model.prior_variance
        draws = setting.temperature * records.sum(0) / model.variances / precision + z / np.sqrt(precision)
        draws[:, 1] -= model.curvature * draws[:, 0] ** 2
        return draws
    covariance = np.asarray(model.covariance)
    prior = model.prior_std * np.eye(model.dimension)  # the study takes the standard deviation for the variance here
    shrink = prior @ np.linalg.inv(prior + covariance / len(records))
    root = np.linalg.cholesky(shrink @ covariance / len(records))
    z = _normal(_key(REFERENCE_KEYS["gauss"] if key is None else key), (count, model.dimension))
    return shrink @ records.mean(0) + z @ root.T


def baseline_draws(setting: Setting, records: np.ndarray) -> list[np.ndarray]:
    """The ten fresh exact samples behind the black lines of the figures."""
    return [exact_draws(setting, records, key) for key in _split(BASELINE_KEY, BASELINES)]


def _gauss_records(setting: Setting) -> np.ndarray:
    root = np.linalg.cholesky(np.asarray(setting.model.covariance))
    z = _normal(_key(DATA_KEYS["gauss"]), (setting.n, setting.model.dimension))
    return setting.model.truth + z @ root.T


def _start_noise(dimension: int) -> np.ndarray:
    return np.stack([_normal(_key(START_KEY + i), (dimension,)) for i in range(CHAINS)])


def _columns(key: Any, rows: int, model: Any) -> np.ndarray:
    first, second, rest = _split(key, 3)
    parts = [_normal(first, (rows, 1)), _normal(second, (rows, 1)), _normal(rest, (rows, model.dimension - 2))]
    return np.hstack(parts)


def _key(key: Any) -> Any:
    return jax.random.PRNGKey(key) if isinstance(key, int) else key


def _split(key: Any, count: int) -> Any:
    with jax.threefry_partitionable(False):  # the generator as it was in 2021
        return jax.random.split(_key(key), count)


def _normal(key: Any, shape: tuple[int, ...]) -> np.ndarray:
    with jax.enable_x64(True), jax.threefry_partitionable(False):
        return np.asarray(jax.random.normal(key, shape, np.float64))
