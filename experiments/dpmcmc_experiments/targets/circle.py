"""The circle: a posterior spread around a ring, the hard case for short walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class Circle:
    """log p(r|θ) = −a (‖θ‖² − r²)² with a = ``sharpness`` and a flat prior: a ring of radius (mean of r²)^½.

    Not normalised over r, so a generalised (pseudo) likelihood. Records are distances r.
    Reference: Räisä (2021), Section 5.1 and Figure 6.7.
    """

    sharpness: float = 1e-5

    def __post_init__(self) -> None:
        if not self.sharpness > 0:
            raise ValueError(f"Circle: sharpness must be positive, got {self.sharpness!r}")

    @property
    def init(self) -> np.ndarray:
        return np.array([0.0, 1.0])

    def log_prior(self, theta: Array) -> Array:
        return jnp.zeros((), theta.dtype)

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        return -self.sharpness * (jnp.sum(theta**2) - record**2) ** 2

    def simulate(self, key: Array, theta: Any, n: int) -> Array:
        """n distances N(3, 1), whatever θ: the published data."""
        return 3.0 + jax.random.normal(key, (n,))

    def exact_draws(self, rng: np.random.Generator, records: Any, count: int, temperature: float = 1.0) -> np.ndarray:
        """Independent draws: ‖θ‖² is normal, cut at 0, and the angle uniform. Not private."""
        records = np.asarray(records, np.float64)
        centre, spread = np.mean(records**2), (2 * temperature * len(records) * self.sharpness) ** -0.5
        squares = np.empty(0)
        while len(squares) < count:
            more = rng.normal(centre, spread, 2 * count)
            squares = np.append(squares, more[more > 0])
        angles = rng.uniform(0, 2 * np.pi, count)
        return np.sqrt(squares[:count, None]) * np.stack([np.cos(angles), np.sin(angles)], axis=1)
