"""What regressions of counts share: what a count is, and drawing one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.special import gammaln

from dpmcmc.arguments import whole
from dpmcmc.models.regression import Regression, Theta
from dpmcmc.records import RefusedValue

MANY = 1_000_000  # a count that is taken for the largest where none is declared, to say what counts look like
MOST_LOG_RATE = 20.0
"""A mean of e²⁰, half a billion: no larger one is simulated, so that counts fit 32 bits."""

LARGEST_EXPONENT = 700.0  # in double precision


class CountRegression(Regression):
    """y in 0, 1, 2, … with mean e^η. Counts above the public limit ``most``, if there is one, are moved to it.

    So are simulated ones, of which there are absurd ones far out in the prior: what no record can be would only make
    the noise larger. The log likelihood takes a moved count for an exact one: choose a limit that few records reach.
    """

    most: int | None

    def __post_init__(self) -> None:
        if self.most is not None:
            whole("most", self.most, remedy="or None for no limit")
        super().__post_init__()

    def encode_outcome(self, values: np.ndarray, name: str) -> np.ndarray:
        if not np.all(np.isnan(values) | ((values >= 0) & (values == np.floor(values)))):
            raise RefusedValue(f"the outcome {name!r} must be a count: 0, 1, 2, …; round or recode it first")
        return values if self.most is None else np.minimum(values, self.most)

    def outcome_to_unit(self, y: Array) -> Array:
        """log(1 + y) over that of the most, or of a million, to [−1, 1]."""
        return 2 * jnp.log1p(y) / self._log_most - 1

    def outcome_from_unit(self, unit: Array) -> Array:
        return jnp.round(jnp.expm1((unit + 1) / 2 * self._log_most))

    @property
    def _log_most(self) -> float:
        return float(np.log1p(MANY if self.most is None else self.most))

    def log_constant(self, y: Array) -> Array:
        return -gammaln(y + 1)

    def expected(self, theta: Theta, eta: Array) -> Array:
        return jnp.exp(jnp.minimum(eta, LARGEST_EXPONENT))

    def draw_counts(self, key: Array, log_rate: Array) -> Array:
        """Poisson counts, whatever the rates."""
        counts = jax.random.poisson(key, jnp.exp(jnp.minimum(log_rate, MOST_LOG_RATE)), dtype=int)
        return counts if self.most is None else jnp.minimum(counts, self.most)
