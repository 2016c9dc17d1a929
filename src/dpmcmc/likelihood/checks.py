"""Free checks of a likelihood release: whether what was released hangs together. No record is read here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from dpmcmc.likelihood.basis import Basis, centred
from dpmcmc.likelihood.regions import Normal
from dpmcmc.plain import Plain
from dpmcmc.raveled import RaveledModel, compiled_values

OUTSIDE = 0.001  # share of a region's own draws that counts as outside of it
RIM = 0.05  # share of a region's own draws that counts as its rim, where nothing beyond it is considered possible
TOLERANCE = 0.1  # nats that functions of two stages may differ by without noise: components left out, the clip
DEVIATIONS = 3.0  # by which a share may exceed what is fair, were every group of particles worth a single draw


class Edge(NamedTuple):
    """Where a region ends, and the share of the draws that may lie there if they are not held up by it.

    The posterior is narrower than its region, which is an earlier one raised to a quarter, or as wide where the prior
    decides. So no larger a share of the draws lies beyond a distance than of the region's own points.
    """

    distance: float
    fair: float

    @classmethod
    def of(cls, distances: np.ndarray, trusted: float) -> Edge:
        """From the distances of a region's points; ``trusted`` is the share of them within the sampler's reach."""
        if trusted == 1.0:
            return cls(float(np.quantile(distances, 1 - OUTSIDE)), OUTSIDE)
        return cls(float(np.quantile(distances, trusted - RIM)), RIM / trusted)

    def limit(self, groups: int) -> float:
        """Largest share that chance allows."""
        return self.fair + DEVIATIONS * math.sqrt(self.fair * (1 - self.fair) / groups)

    def share(self, distances: np.ndarray) -> float:
        return float(np.mean(distances > self.distance))


class Stage(NamedTuple):
    """What one stage released, and over which region. Everything here is public."""

    basis: Basis
    sums: np.ndarray  # noisy, over the clip
    std: float  # of their noise
    normal: Normal  # about the region
    edge: Edge
    reach: float  # distance beyond which the likelihood is not used
    confined: bool  # whether a basis so far left out components that matter
    missed: float  # nats that the basis leaves out
    power: float  # of the likelihood that is drawn from

    def beyond(self, cloud: np.ndarray) -> float:
        """Share of the draws (group, particle, parameter) at the edge of the region."""
        return self.edge.share(self.normal.distances(cloud.reshape(-1, cloud.shape[-1])))


@dataclass(frozen=True)
class LikelihoodChecks(Plain):
    """What the released sums say about each other.

    - ``edge_share``: of the draws, at or beyond the edge of the region that the last sums were released for;
      ``edge_limit``: the largest share that is to be expected of a posterior within the region;
    - ``agreement``: the probability that the last two stages' sums differ as much as they do, by noise alone;
    - ``at_clip``: the length of the mean of the clipped features over the clip, near 1 where all records are clipped
      alike, near 0 where they are like simulated ones;
    - ``widened``: stages before the last whose draws left their region, so that the next one was made wider.
    """

    edge_share: float
    edge_limit: float
    agreement: float
    at_clip: float
    widened: int


def check(
    model: RaveledModel, stages: list[Stage], cloud: np.ndarray, n: int, temperature: float, widened: int
) -> LikelihoodChecks:
    """Of all stages so far; ``cloud`` holds the last one's draws (group, particle, parameter)."""
    last = stages[-1]
    return LikelihoodChecks(
        edge_share=last.beyond(cloud),
        edge_limit=last.edge.limit(len(cloud)),
        agreement=agreement(model, stages[-2], last, n, temperature) if len(stages) > 1 else 1.0,
        at_clip=at_clip(last, n),
        widened=widened,
    )


def agreement(model: RaveledModel, earlier: Stage, later: Stage, n: int, temperature: float) -> float:
    """Probability, under noise alone, of sums as far as these from those that the earlier function predicts.

    The earlier function is Σ wᵢ log p(x̃ᵢ|·): its features are those of the simulated records, weighted. Its noise goes
    with it. Two functions may also differ by ``TOLERANCE`` nats along each component, or by what the bases miss.
    """
    values = centred(np.asarray(compiled_values(model)(later.basis.anchors, earlier.basis.simulated)))
    projection, scales = later.basis.projection, later.basis.scales
    predicted = (earlier.basis.weights(n, earlier.sums) @ values - n * later.basis.mean) @ projection
    moved = earlier.std * earlier.basis.weights(0, np.eye(earlier.basis.size)) @ values @ projection
    nats = max(TOLERANCE, earlier.missed, later.missed)
    allowed = later.std**2 + (nats / (temperature * np.sqrt(scales) * later.basis.clip)) ** 2
    off = later.sums - predicted
    if not (np.all(np.isfinite(off)) and np.all(np.isfinite(moved))):
        return 1.0  # the earlier function is not defined here, and says nothing
    unit = np.sqrt(allowed)
    off, moved = off / unit, moved / unit
    values, axes = np.linalg.eigh(moved.T @ moved)
    squares = np.sum((axes.T @ off) ** 2 / (1 + np.maximum(values, 0.0)))
    return float(chi2.sf(squares, len(off)))


def at_clip(stage: Stage, n: int) -> float:
    """Length of the mean of the records' clipped features over the clip, less what the noise adds to it."""
    return math.sqrt(max(float(stage.sums @ stage.sums) - len(stage.sums) * stage.std**2, 0.0)) / n
