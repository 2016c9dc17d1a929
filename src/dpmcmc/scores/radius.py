"""Where to clip: the radius at which noise and what the clip takes away do the least harm, from noisy counts of norms.

Simulated records say how many norms to expect beyond a radius; counts of the real ones correct that where they differ
by more than the noise explains. What the model foresees of the loss is put back (:mod:`dpmcmc.scores.measure`), so
only the rest of it is a harm.

Reference: docs/theory/score-release.md, "Where to clip".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

BINS = 28
REACH = 30.0  # the last edge, in root mean squares of simulated norms
CANDIDATES = 60
FORESEEN = 0.5  # relative error of the loss that simulated records foresee
CLEAR = 3.5  # standard deviations of the noise that a longer tail must stand out by
SEEN = 2.5  # standard deviations of the noise by which a count must differ to be believed
UNFORESEEN = 0.4  # the same of what counts of norms show beyond it
TAIL = 0.95  # quantile of simulated norms beyond which vectors say where the rest of a tail points


class Radius(NamedTuple):
    """A clip radius, and what of the clipped records goes beyond what simulated ones foresee."""

    clip: float
    excess: float  # by how much norms exceed the clip, in all, less the same for simulated records
    beyond: float  # share of records


def tail_direction(simulated: np.ndarray) -> np.ndarray:
    """The mean direction of the longest simulated vectors: of length 1 if all point the same way, 0 if all ways."""
    norms = np.linalg.norm(simulated, axis=1)
    over = np.maximum(norms - np.quantile(norms, TAIL), 0.0)
    return (over / np.maximum(norms, 1e-300)) @ simulated / max(np.sum(over), 1e-300)


def norm_edges(norms: np.ndarray) -> np.ndarray:
    """Upper edges of the bins of norms; what is larger belongs to the last."""
    low = max(np.median(norms) / 4, 1e-12)
    high = max(REACH * np.sqrt(np.mean(norms**2)), 4 * np.max(norms), 10 * low)
    return np.geomspace(low, high, BINS)


def choose(
    edges: np.ndarray,
    counts: np.ndarray,
    std: float,
    simulated: np.ndarray,
    harm: np.ndarray,
    noise: float,
    least: float,
) -> Radius:
    """The best radius for sums whose noise has standard deviation ``noise`` times the radius in each number.

    ``counts`` are of the real records' norms, with noise of standard deviation ``std`` each. ``simulated`` vectors, one
    row each, say what to expect; ``harm`` maps an error of the sum to where its length is the harm it does. The radius
    is at least the quantile ``least`` of the simulated norms.
    """
    n = max(float(np.sum(counts)), 1.0)
    norms = np.linalg.norm(simulated, axis=1)
    expected = n * np.mean(norms[:, None] > np.append(0.0, edges[:-1]), axis=0)
    model = expected - np.append(expected[1:], 0.0)
    real = _believed(counts, model, std)
    harmed = simulated @ harm.T
    spread = (np.sum((harm @ tail_direction(simulated)) ** 2) + np.sum(harm**2) / simulated.shape[1]) * UNFORESEEN**2
    best, least_harm = Radius(float(edges[-1]), 0.0, 0.0), np.inf
    for clip in np.geomspace(max(edges[0], np.quantile(norms, least)), edges[-2], CANDIDATES):
        over = np.maximum(edges - clip, 0.0)
        excess = max(float(real @ over - model @ over), 0.0)
        kept = np.minimum(clip / np.maximum(norms, 1e-300), 1.0)
        lost = n / len(norms) * ((1 - kept) @ harmed)
        total = np.sum(harm**2) * (noise * clip) ** 2 + spread * excess**2 + FORESEEN**2 * (lost @ lost)
        total /= (kept @ norms**2 / np.sum(norms**2)) ** 2  # what is clipped tells less of the parameters
        if total < least_harm:
            best, least_harm = Radius(float(clip), excess, float(real[edges > clip].sum() / n)), total
    return best


def _believed(counts: np.ndarray, expected: np.ndarray, std: float) -> np.ndarray:
    """How many norms there are in each bin: as expected, unless what was seen differs by more than noise.

    Beyond the last bin that stands out from the noise, the counts go on falling as they did before it: a tail longer
    than the model's is seen there, though no single bin shows it.
    """
    difference = counts - expected
    near = expected + difference * (1 - np.minimum(SEEN * std / np.maximum(np.abs(difference), 1e-9), 1.0) ** 2)
    near = np.maximum(near, 0.0)
    clear = np.flatnonzero(counts > CLEAR * std)
    if not len(clear) or clear[-1] == len(counts) - 1:
        return near
    last = clear[-1]
    longer = slice(int(np.searchsorted(np.cumsum(expected), TAIL * expected.sum())), last + 1)
    if np.sum(difference[longer]) < CLEAR * std * np.sqrt(max(last + 1 - longer.start, 1)):
        return near
    first = max(int(np.argmax(counts)), last - 4)
    where = np.arange(first, last + 1)
    height = np.maximum(counts[where], std)
    slope = np.polyfit(where, np.log(height), 1, w=height / std)[0] if last > first else -1.0
    falling = counts[last] * np.exp(np.clip(slope, -2.0, -0.2) * np.arange(1, len(counts) - last))
    near[last + 1 :] = np.maximum(expected[last + 1 :], falling)
    return near
