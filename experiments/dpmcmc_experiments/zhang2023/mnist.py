"""Sevens against nines on 50 principal components: MNIST from a file, or simulated records of the same shape.

The projection (mean, components and their standard deviations) is taken as public, as in the paper; a real release
would have to pay for it or take it from public data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from dpmcmc_experiments.figures import Settings, rng_of
from dpmcmc_experiments.zhang2023.published import LOGISTIC, Published

PLAIN_NORM = 8.0
"""A public bound on the norm of a projected record; 2 % of MNIST's are longer."""


FEWER = 12
"""A quick run has a twelfth of the records."""


@dataclass(frozen=True)
class Problem:
    """Projected records and test records, and the standard deviations of the projection (public)."""

    setting: Published
    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    spread: np.ndarray
    chains: int
    weight: int = 1
    """What a record counts of those of the paper."""


def clipped(x: np.ndarray, norm: float) -> np.ndarray:
    return x * np.minimum(1, norm / np.linalg.norm(x, axis=1, keepdims=True))


@cache
def problem(settings: Settings) -> Problem:
    """MNIST from ``--data``; in quick mode a twelfth of it, each record counting twelve times as much.

    Without ``--data`` the quick records are simulated, of the same shape.
    """
    if settings.quick and settings.data is None:
        rng = rng_of("zhang2023", "logistic")
        spread = np.geomspace(2.3, 0.32, 50)
        spread *= 5.7 / np.linalg.norm(spread)  # MNIST's records have norm 5.8 on average
        slope = rng.normal(size=50) * 0.7 / spread
        x = rng.normal(size=(2000, 50)) * spread
        y = (rng.random(2000) < 1 / (1 + np.exp(-x @ slope))).astype(float)
        setting = few_records(LOGISTIC.n // FEWER)
        n = setting.n
        return Problem(setting, x[:n], y[:n], x[n:], y[n:], spread, 2, FEWER)
    images, setting = load(settings.data), LOGISTIC
    if settings.quick:
        setting = few_records(min(LOGISTIC.n // FEWER, len(images["y_train"])))
        chosen = rng_of("zhang2023", "some digits").permutation(len(images["y_train"]))[: setting.n]
        images |= {name: images[name][chosen] for name in ("X_train", "y_train")}
    mean = images["X_train"].mean(0)
    _, sizes, components = np.linalg.svd(images["X_train"] - mean, full_matrices=False)
    x, test_x = ((images[name] - mean) @ components[:50].T for name in ("X_train", "X_test"))
    spread = sizes[:50] / math.sqrt(len(x))
    size = (2, FEWER) if settings.quick else (1, 1)
    return Problem(setting, x, images["y_train"], test_x, images["y_test"], spread, *size)


def few_records(n: int) -> Published:
    """The published setting for a twelfth of the records, each counting twelve times as much, and few steps."""
    setting = replace(LOGISTIC, n=n, steps=1000, step=FEWER * LOGISTIC.step, step_full=FEWER * LOGISTIC.step_full)
    return replace(setting, epsilon=FEWER * LOGISTIC.epsilon, delta=FEWER * LOGISTIC.delta)


def load(folder: Path | None) -> dict[str, np.ndarray]:
    """Pixels in [0, 1] and labels (7 is 0, 9 is 1) from ``mnist79.npz``, or from OpenML if scikit-learn is there."""
    if folder is not None and (path := Path(folder) / "mnist79.npz").exists():
        with np.load(path) as saved:
            arrays = {name: saved[name].astype(np.float64) for name in ("X_train", "y_train", "X_test", "y_test")}
    else:
        try:
            from sklearn.datasets import fetch_openml
        except ImportError:
            raise FileNotFoundError(
                "the MNIST figures need mnist79.npz (X_train, y_train, X_test, y_test): give its folder as --data DIR, "
                "or install scikit-learn to fetch MNIST from OpenML"
            ) from None
        x, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False)
        y, train = y.astype(int), np.arange(len(y)) < 60_000
        chosen = {name: part & np.isin(y, (7, 9)) for name, part in (("train", train), ("test", ~train))}
        arrays = {f"X_{name}": x[rows].astype(np.float64) for name, rows in chosen.items()}
        arrays |= {f"y_{name}": (y[rows] == 9).astype(np.float64) for name, rows in chosen.items()}
    for name in ("X_train", "X_test"):
        arrays[name] = arrays[name].reshape(len(arrays[name]), -1) / 255
    return arrays
