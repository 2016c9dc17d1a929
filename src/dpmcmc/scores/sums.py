"""What a score release keeps of its sums: a normal likelihood of the parameters, to draw from with any prior."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import jax
import numpy as np
from scipy.stats import multivariate_t

from dpmcmc.diagnostics import quietly
from dpmcmc.models.base import ModelLike
from dpmcmc.raveled import RaveledModel
from dpmcmc.release import Sums
from dpmcmc.scores import bent, matrices, vectors
from dpmcmc.scores.curve import Curve, Density
from dpmcmc.scores.picture import prior_precision

PROPOSALS = 8192
DEGREES = 8.0  # of the Student t that draws are proposed from
GOOD_TAIL = 0.7  # Pareto's k of importance weights that can be relied on (Vehtari et al. 2024)
WALKS = 2000  # Metropolis steps of every draw where weights cannot be


@dataclass(frozen=True)
class ScoreSums(Sums):
    """The released likelihood: log p = −½ θᵀ ``precision`` θ + ``weighted``·θ over the raveled parameters.

    It knows of the noise, of the clip and of what the records themselves leave open. Drawing from it is free.
    """

    precision: tuple[tuple[float, ...], ...]
    weighted: tuple[float, ...]
    centre: tuple[float, ...]  # where the last sums were released, for a search to begin
    curve: Curve | None = None  # where the likelihood is not normal: θ less the centre is replaced by a displacement

    def draws(self, model: ModelLike, chains: int, draws: int, seed: int) -> np.ndarray:
        """Draws (chain, draw, parameter) of the posterior with the prior of ``model``."""
        rng = np.random.default_rng(seed)
        with jax.enable_x64(True):
            raveled = RaveledModel.of(model)
            found = None if self.curve is None else self._bent(self.curve, raveled, chains * draws, rng)
            if found is None:
                found = Target(raveled, self).draw(chains * draws, rng)
        return found.reshape(chains, draws, -1)

    def _bent(self, curve: Curve, model: RaveledModel, count: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draws of the likelihood that follows the model; None, with a warning, if they cannot be had."""
        centre, precision = np.array(self.centre), np.array(self.precision)
        density = Density.of(curve.places(model, centre), precision, np.array(self.weighted) - precision @ centre)
        found = bent.sample(model, density, prior_precision(model, centre), count, int(rng.integers(2**31)))
        if not found.mixed:
            warnings.warn("these draws may be far off: they suppose a normal likelihood", stacklevel=4)
            return None
        return found.theta


class Target:
    """A prior times a normal likelihood."""

    def __init__(self, model: RaveledModel, sums: ScoreSums) -> None:
        self.model = model
        self.precision, self.weighted = np.array(sums.precision), np.array(sums.weighted)
        self.start = np.array(sums.centre)
        self._log_prior = vectors.log_priors(model)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        prior = np.asarray(self._log_prior(theta))
        value = prior - 0.5 * np.sum((theta @ self.precision) * theta, axis=1) + theta @ self.weighted
        return np.where(np.isfinite(value), value, -np.inf)

    def mode(self) -> tuple[np.ndarray, np.ndarray]:
        """The mode and the covariance there, by Newton's method with step halving."""
        theta = self.start
        for _ in range(100):
            _, slope, hessian = (np.nan_to_num(np.asarray(x)) for x in vectors.prior_at(self.model)(theta))
            gradient = slope + self.weighted - self.precision @ theta
            covariance = matrices.power(self.precision + matrices.positive(-hessian), -1, 1e-12)
            steps = theta + 0.5 ** np.arange(12)[:, None] * (covariance @ gradient)
            values = self.log_density(np.vstack([theta[None], steps]))
            best = int(np.argmax(values))
            if best == 0 or gradient @ covariance @ gradient < 1e-10:
                break
            theta = steps[best - 1]
        return theta, covariance

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws by importance weights from a Student t at the mode, or by Metropolis steps where they fail."""
        mode, covariance = self.mode()
        proposal = multivariate_t(mode, covariance, df=DEGREES, allow_singular=True, seed=rng)
        points = proposal.rvs(max(PROPOSALS, 4 * count)).reshape(-1, len(mode))
        with quietly() as az, np.errstate(all="ignore"):
            weights, tail = az.psislw(self.log_density(points) - proposal.logpdf(points))
        chosen = points[rng.choice(len(points), count, p=np.exp(weights) / np.sum(np.exp(weights)))]
        return chosen if float(tail) < GOOD_TAIL else self._walk(chosen, covariance, rng)

    def _walk(self, points: np.ndarray, covariance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        here, size = self.log_density(points), points.shape[1]
        root = np.linalg.cholesky(matrices.positive(covariance, 1e-14 * np.trace(covariance)))
        for step in range(WALKS):
            scale = (2.4 / np.sqrt(size)) * 10 ** -rng.uniform(0, 1.5, (len(points), 1))
            jump = rng.normal(size=points.shape) @ root.T
            if step % 2:  # differences of other draws follow the shape of the target (ter Braak 2006)
                jump = points[rng.permutation(len(points))] - points[rng.permutation(len(points))]
            there = points + scale * jump
            value = self.log_density(there)
            taken = np.log(rng.uniform(size=len(points))) < value - here
            points, here = np.where(taken[:, None], there, points), np.where(taken, value, here)
        return points
