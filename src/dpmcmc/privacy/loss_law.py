"""Composition by laws of the privacy loss on a lattice: from a curve δ(ε) to a measure, and to its many-fold product.

Let Ĥ(γ) be an upper bound on the δ at ε = log γ of one block of steps, whatever the past was: piecewise linear and
convex in γ between the points e^{ih}. It is Ĥ(γ) = Σ_i p_i (1 − γe^{−ih})_+ + p_∞ with masses p_i ≥ 0. Blocks that
follow each other adaptively show at most what the product of their measures shows: convolve the masses, and add up
what is at infinity. Convolutions are powers of Fourier transforms of *tilted* masses p_i e^{θih}, so that errors are
small against δ and not against 1; every error (transform, wrapping, tails) is bounded and added.

Reference: docs/theory/blocks.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from dpmcmc.privacy.two_point import EPS

_REACH = 11.0  # the window of a composition, in standard deviations of the tilted sum
MOST_POINTS = 2**20


class LossLaw(NamedTuple):
    """Masses at the losses (low + i)·h under the first data set, and what is at infinity."""

    mass: np.ndarray
    low: int
    h: float
    infinity: float


class Curve(NamedTuple):
    """Upper bounds on δ at the points (low + i)·h."""

    delta: np.ndarray
    low: int
    h: float


def _growth(points: int) -> float:
    """More than sums of positive terms over so many points are rounded by, powers of e^{−h} up to that included."""
    return 1 + 4e-12 + 4 * EPS * points


def loss_law(curve: Curve) -> LossLaw:
    """The measure whose Ĥ is at least the curve at its points and therefore everywhere.

    ``curve`` bounds a convex function of γ with value 1 at γ = 0. What rounding and clipping leave below it is
    measured and put at infinity.
    """
    value, low, h = curve
    drop = (value[:-1] - value[1:]) / math.expm1(h)  # γ_i × (minus the slope to the right of γ_i)
    before = np.concatenate([[1 - value[0]], math.exp(h) * drop])  # γ_i × (minus the slope to the left)
    growth = _growth(value.size)
    mass = np.maximum(before - np.append(drop, 0.0), 0.0) * growth**2
    infinity = float(value[-1])
    deficit = np.max(value - infinity - profile(mass, h) / growth)
    missing = 1 - infinity - float(mass.sum())
    return LossLaw(mass, low, h, infinity + max(float(deficit), missing, 0.0) + 1e-300)


def profile(mass: np.ndarray, h: float) -> np.ndarray:
    """Σ_{j>i} p_j (1 − e^{−(j−i)h}) for every i: sums of positive terms, rounded by less than _growth."""
    discounted = lfilter([1.0], [1.0, -math.exp(-h)], mass[::-1])[::-1]  # Σ_{j≥i} p_j e^{−(j−i)h}
    return np.append(np.cumsum(discounted[:0:-1])[::-1], 0.0) * -math.expm1(-h)


def coarser(curve: Curve, factor: int) -> Curve:
    """Every ``factor``-th point: chords over a wider span are still above a convex function."""
    if curve.low % factor:
        raise ValueError(f"a lattice from {curve.low} has no sublattice of step {factor}")
    return Curve(curve.delta[::factor], curve.low // factor, curve.h * factor)


class _Tilted:
    """A law tilted by e^{θL}: its cumulant, mean, variance."""

    def __init__(self, law: LossLaw, tilt: float) -> None:
        loss = law.h * (law.low + np.arange(law.mass.size))
        with np.errstate(divide="ignore"):
            exponent = np.log(law.mass) + tilt * loss
        top = float(np.max(exponent))
        weight = np.exp(exponent - top)
        total = float(weight.sum())
        self.cumulant = top + math.log(total)
        self.mass = weight / total
        self.mean = float(self.mass @ loss)
        self.variance = float(self.mass @ (loss - self.mean) ** 2)


def _cumulant(laws: Sequence[tuple[LossLaw, int]], tilt: float) -> float:
    return sum(count * _Tilted(law, tilt).cumulant for law, count in laws)


def best_tilt(laws: Sequence[tuple[LossLaw, int]], epsilon: float) -> float:
    """About the θ > 0 at which the mean of the tilted sum is ``epsilon``. Any θ is sound."""
    low, high = -9.0, 18.0
    for _ in range(30):
        middle = (low + high) / 2
        mean = sum(count * _Tilted(law, math.exp(middle)).mean for law, count in laws)
        low, high = (middle, high) if mean < epsilon else (low, middle)
    return math.exp(low)


def composed(laws: Sequence[tuple[LossLaw, int]], tilt: float) -> Curve | None:
    """δ of the product of the laws, each ``count`` times, about the ε at which the tilt is best.

    None where the window would need too many points.
    """
    h = laws[0][0].h
    if any(law.h != h for law, _ in laws):
        raise ValueError("laws on different lattices cannot be composed")
    tilted = [(_Tilted(law, tilt), law, count) for law, count in laws]
    mean = sum(count * part.mean for part, _, count in tilted)
    deviation = math.sqrt(sum(count * part.variance for part, _, count in tilted))
    points = max(2 * _REACH * deviation / h + 8, *(law.mass.size for _, law, _ in tilted))
    if not points <= MOST_POINTS:
        return None
    size = 2 ** math.ceil(math.log2(points))
    transform, size_error = np.ones(size // 2 + 1, dtype=np.complex128), 1.0
    for part, _, count in tilted:
        transform *= np.fft.rfft(part.mass, size) ** count
        size_error += count * float(np.linalg.norm(part.mass))
    mass = np.fft.irfft(transform, size)
    base = sum(count * law.low for _, law, count in tilted)
    low = math.floor(mean / h) - size // 2
    mass = np.maximum(np.roll(mass, base - low), 0.0)  # mass[i] belongs to the loss (low + i)·h
    scale = sum(count * part.cumulant for part, _, count in tilted)
    total = sum(count for *_, count in tilted)
    return Curve(_read(laws, mass, low, tilt, scale + 1e-12 * (total + abs(scale)), size_error), low, h)


def _read(
    laws: Sequence[tuple[LossLaw, int]], mass: np.ndarray, low: int, tilt: float, scale: float, size_error: float
) -> np.ndarray:
    """Untilt, add what is at infinity, beyond the window, and the errors of the transforms."""
    h, size = laws[0][0].h, mass.size
    grid = h * np.arange(low, low + size)
    log_factor = np.minimum(scale - tilt * grid, 600.0)
    shown = profile(mass * np.exp(log_factor), h) * _growth(size)
    transform_error = 20 * EPS * math.log2(size) * size_error / math.sqrt(-math.expm1(-2 * tilt * h))
    top = float(grid[-1])
    others = tilt + 2 * _REACH / (h * size) * np.array([0.0, 2.0, 4.0, 8.0, 12.0, 20.0])  # any of them is sound
    tail = min(_cumulant(laws, float(other)) - float(other) * top for other in others)
    if sum(count * (law.low + law.mass.size - 1) for law, count in laws) <= low + size - 1:
        tail = -math.inf
    infinity = sum(count * law.infinity for law, count in laws)
    infinity *= math.exp(sum(count * max(0.0, math.log(float(law.mass.sum()))) for law, count in laws)) * _growth(size)
    value = shown + np.exp(log_factor) * transform_error + math.exp(min(tail + 1e-9, 0.0)) + infinity
    found: np.ndarray = np.minimum(np.nan_to_num(value, nan=1.0, posinf=1.0), 1.0)
    return found
