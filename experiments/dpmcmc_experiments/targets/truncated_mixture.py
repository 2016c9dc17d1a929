"""The tied mixture on bounded records and bounded parameters: every record's influence has a proven bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

_FALL = 0.279
"""Above max_z z/(1 + e^{z²}) = 0.27785."""


@dataclass(frozen=True)
class TruncatedMixture:
    """log p(x|θ) = log(e^{−(x−θ₁)²/2σ²} + e^{−(x−θ₁−θ₂)²/2σ²}), |x| ≤ ``largest_record``, |θⱼ| ≤ ``box``, flat prior.

    Records are truncated, the density is not renormalised for it, and records outside are moved to the ends.

    ``slope`` is a Lipschitz constant of log p(x|·) for every possible record. With a = x − θ₁, b = x − θ₁ − θ₂,
    w = logistic((a² − b²)/2σ²), A = ``largest_record`` + ``box`` ≥ |a|, the gradient is ((1−w)a + wb, wb)/σ².
    If |b| ≤ |a| its length is at most √2·A/σ². Otherwise, with u = |b| − |a|, b² − a² ≥ u², so w ≤ ½ and
    wu ≤ u·logistic(−u²/2σ²) ≤ s = 0.279·√2·σ: its length is at most ((A + s)² + (A/2 + s)²)^½/σ².

    Reference: Zhang & Zhang (2023), Appendix E.1; their code takes 8.75 for a record at ±3 where the slope is 4.25.
    """

    variance: float = 2.0
    largest_record: float = 3.0
    box: float = 3.0

    def __post_init__(self) -> None:
        if not (self.variance > 0 and self.largest_record > 0 and self.box > 0):
            raise ValueError(f"TruncatedMixture needs a positive variance, largest_record and box, got {self!r}")

    @property
    def init(self) -> np.ndarray:
        return np.zeros(2)

    @property
    def ends(self) -> tuple[float, float]:
        return -self.largest_record, self.largest_record

    @property
    def slope(self) -> float:
        """L with |log p(x|θ') − log p(x|θ)| ≤ L‖θ' − θ‖ for every record and all parameters in the box."""
        reach, fall = self.largest_record + self.box, _FALL * math.sqrt(2 * self.variance)
        near, far = math.sqrt(2) * reach, math.hypot(reach + fall, reach / 2 + fall)
        return max(near, far) / self.variance * (1 + 2**-40)

    def log_prior(self, theta: Array) -> Array:
        return jnp.where(jnp.all(jnp.abs(theta) <= self.box), jnp.zeros((), theta.dtype), -jnp.inf)

    def log_likelihood(self, theta: Array, record: Array) -> Array:
        """log(e^p + e^q) as max + log1p(e^{−|p − q|})."""
        x = jnp.clip(record, *self.ends)
        near, far = (x - theta[0]) ** 2, (x - theta[0] - theta[1]) ** 2
        scale = 0.5 / self.variance
        return jnp.log1p(jnp.exp(-scale * jnp.abs(near - far))) - scale * jnp.minimum(near, far)

    def log_ratio_bound(self, theta: Array, theta_new: Array) -> Array:
        return self.slope * jnp.linalg.norm((theta_new - theta).astype(jnp.float64))

    def simulate(self, key: Any, theta: Any, n: int) -> Array:
        """n records at ``theta``, each component truncated to [−largest_record, largest_record]."""
        which, place = jax.random.split(key)
        centre = theta[0] + theta[1] * jax.random.bernoulli(which, 0.5, (n,))
        low, high = (jax.scipy.special.ndtr((end - centre) / math.sqrt(self.variance)) for end in self.ends)
        uniform = jax.random.uniform(place, (n,), centre.dtype)
        draws = centre + math.sqrt(self.variance) * jax.scipy.special.ndtri(low + uniform * (high - low))
        return jnp.clip(draws, *self.ends)

    def log_density(self, records: Any, points: np.ndarray, temperature: float = 1.0, nodes: int = 601) -> np.ndarray:
        """temperature·Σ log p(xᵢ|θ) at ``points`` (count, 2), records shared out between ``nodes`` equidistant ones."""
        x = np.clip(np.asarray(records, np.float64), *self.ends)
        place = (x + self.largest_record) / (2 * self.largest_record) * (nodes - 1)
        left = np.minimum(place.astype(int), nodes - 2)
        weights = np.bincount(left, 1 - (place - left), nodes) + np.bincount(left + 1, place - left, nodes)
        grid = np.linspace(*self.ends, nodes)
        total = np.empty(len(points))
        for start in range(0, len(points), 2000):
            part = points[start : start + 2000]
            near = (grid - part[:, :1]) ** 2
            far = (grid - part.sum(1)[:, None]) ** 2
            shared = np.log1p(np.exp(-np.abs(near - far) / (2 * self.variance)))
            total[start : start + 2000] = (shared - np.minimum(near, far) / (2 * self.variance)) @ weights
        return temperature * total

    def exact_density(self, records: Any, temperature: float = 1.0, cells: int = 300) -> tuple[np.ndarray, np.ndarray]:
        """Midpoints of a side of the box and the posterior's mass in each cell, by quadrature. Not private."""
        middle = (np.arange(cells) + 0.5) / cells * 2 * self.box - self.box
        points = np.stack(np.meshgrid(middle, middle, indexing="ij"), -1).reshape(-1, 2)
        log_density = self.log_density(records, points, temperature)
        mass = np.exp(log_density - log_density.max())
        return middle, (mass / mass.sum()).reshape(cells, cells)

    def exact_draws(self, rng: np.random.Generator, records: Any, count: int, temperature: float = 1.0) -> np.ndarray:
        """Independent draws: a cell by its mass, a point within it uniformly. Not private."""
        middle, mass = self.exact_density(records, temperature)
        chosen = rng.choice(mass.size, count, p=mass.ravel())
        corner = np.stack([middle[chosen // len(middle)], middle[chosen % len(middle)]], axis=1)
        return corner + (rng.random((count, 2)) - 0.5) * (middle[1] - middle[0])
