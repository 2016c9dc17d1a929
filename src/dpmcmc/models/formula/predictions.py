"""Outcomes of new rows: expected ones, and draws of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

ROWS = 1000  # that are predicted at a time, to save memory


def summarised(units: np.ndarray, theta: Mapping[str, np.ndarray], mean: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Mean, sd and equal-tailed 90 % interval of the expected outcome of each row, from draws (draw,) of parameters.

    ``theta`` has the intercept, and for the rest at least the columns of ``units`` in their order.
    """
    import pandas as pd

    names = [name for name in theta if name != "intercept"][: units.shape[1]]
    slopes = np.stack([theta[name] for name in names])
    rows = []
    for first in range(0, len(units), ROWS):
        expected = mean(units[first : first + ROWS] @ slopes + theta["intercept"])
        low, high = np.quantile(expected, [0.05, 0.95], axis=1)
        rows.append(np.stack([expected.mean(axis=1), expected.std(axis=1), low, high], axis=1))
    return pd.DataFrame(np.concatenate(rows), columns=["mean", "sd", "5%", "95%"])


def predicted(draw: Callable[..., Any], units: np.ndarray, theta: Mapping[str, np.ndarray], seed: int) -> np.ndarray:
    """Outcomes (draw, row), by a family's way to draw them."""
    with jax.enable_x64(True):
        count = len(theta["intercept"])
        keys = jax.random.split(jax.random.key(seed), count)
        each = {name: jnp.asarray(values, jnp.float64) for name, values in theta.items()}
        return np.asarray(jax.jit(jax.vmap(draw, (0, 0, None)))(keys, each, jnp.asarray(units)), dtype=np.float64)
