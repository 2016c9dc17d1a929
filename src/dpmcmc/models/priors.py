"""Normal priors: of one coefficient, as a user states it, and of all parameters of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpmcmc.arguments import finite, positive

Theta = dict[str, Array]


@dataclass(frozen=True)
class Normal:
    """A normal prior, from public knowledge: ``dp.Normal(0, 0.1)``."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        finite("Normal: mean", self.mean)
        positive("Normal: std", self.std)

    def shifted(self, by: float) -> Normal:
        """The law of a parameter minus ``by``."""
        return Normal(self.mean - by, self.std)

    def times(self, factor: float) -> Normal:
        """The law of a parameter times ``factor``."""
        return Normal(self.mean * factor, self.std * factor)

    def __str__(self) -> str:
        return f"N({self.mean:.4g}, {self.std:.4g}²)"


class NormalPriors(ABC):
    """What models with an independent normal prior for each parameter, which are numbers with names, share."""

    names: tuple[str, ...]

    @property
    @abstractmethod
    def priors(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each parameter's normal prior."""

    @property
    def init(self) -> dict[str, float]:
        """The prior means."""
        return {name: mean for name, (mean, _) in self.priors.items()}

    def log_prior(self, theta: Theta) -> Array:
        means, stds = np.array(list(self.priors.values())).T
        return -0.5 * jnp.sum(((jnp.stack([theta[name] for name in self.names]) - means) / stds) ** 2)

    def sample_prior(self, key: Array) -> Theta:
        """A draw of the prior."""
        means, stds = np.array(list(self.priors.values())).T
        return dict(zip(self.names, means + stds * jax.random.normal(key, (len(self.names),)), strict=True))
