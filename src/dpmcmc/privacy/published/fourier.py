"""The Fourier accountant for the Gaussian mechanism on batches, as R21 uses it (Koskela, Jälkö & Honkela 2020).

The density ω of the privacy loss of one step is put on ``points`` of [−``limit``, ``limit``), and
δ(ε) = Σ_{s > ε} (1 − e^{ε−s}) (ω ∗ … ∗ ω)(s) ds. The k-fold convolution is a power of the discrete Fourier transform;
the last sum is taken in the frequency domain too (Parseval), where its weights are geometric sums in closed form and
only the few frequencies matter at which the power has not vanished. So one δ costs microseconds.

Good to many digits, but an approximation, not a bound: it has no account of its own error.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpmcmc.privacy.published.result import non_negative, one_of, positive

PAIRS = ("both_sides", "one_side")

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def _both_sides(s: Array, std: float, rate: float) -> Array:
    """Density of log P/Q under P for P = q N(1, σ²) + (1−q) N(0, σ²) and Q = q N(−1, σ²) + (1−q) N(0, σ²).

    With u = e^{x/σ²} and c = q e^{−1/(2σ²)} the loss is s where c u² + (1−q)(1−e^s) u − c e^s = 0; x is odd in s.
    """
    c, rest, size = rate * math.exp(-1 / (2 * std**2)), 1 - rate, np.abs(s)
    growth = np.expm1(size)  # e^s − 1 ≥ 0, so that the root adds and never cancels
    root = np.sqrt((rest * growth) ** 2 + 4 * c**2 * (1 + growth))
    u = (rest * growth + root) / (2 * c)
    x = np.sign(s) * std**2 * np.log(u)
    slope = std**2 * (1 + growth) * (rest * u + c) / (root * u)  # dx/ds, even in s
    return (rate * _normal(x - 1, std) + rest * _normal(x, std)) * slope


def _one_side(s: Array, std: float, rate: float) -> Array:
    """Density of log P/Q under P for P = q N(1, σ²) + (1−q) N(0, σ²) and Q = N(0, σ²): s > log(1−q)."""
    excess = np.exp(s) - (1 - rate)
    inside = excess > 0
    excess = np.where(inside, excess, 1.0)
    x = std**2 * np.log(excess / rate) + 0.5
    slope = std**2 * np.exp(s) / excess
    return np.where(inside, (rate * _normal(x - 1, std) + (1 - rate) * _normal(x, std)) * slope, 0.0)


def _normal(x: Array, std: float) -> Array:
    return np.exp(-0.5 * (x / std) ** 2) / (std * math.sqrt(2 * math.pi))


@lru_cache(maxsize=16)
def _log_transform(pair: str, std: float, rate: float, points: int, limit: float) -> tuple[Complex, Array]:
    """The log of the transform of one step's loss, phase counted from s = 0, and the largest log size from there on."""
    step = 2 * limit / points
    s: Array = np.arange(points, dtype=np.float64) * step - limit
    density = (_both_sides if pair == "both_sides" else _one_side)(s, std, rate)
    transform = np.fft.rfft(np.fft.ifftshift(density)) * step
    with np.errstate(divide="ignore"):
        log_transform = np.log(transform)
    return log_transform, np.maximum.accumulate(log_transform.real[::-1])[::-1]


def delta(
    epsilon: float,
    steps: int,
    std: float,
    rate: float,
    *,
    pair: str = "both_sides",
    points: int = 10**6,
    limit: float = 20.0,
) -> float:
    """δ(ε) of ``steps`` Gaussian releases with noise ``std`` on batches of a share ``rate`` of the records.

    ``pair`` says where the differing record puts the mean: "both_sides" at +1 on one data set and −1 on the other (the
    accountant's substitution relation, distance 2), "one_side" at 1 and at the 0 of the others.
    """
    positive(epsilon=epsilon, std=std, limit=limit)
    non_negative(steps=steps)
    one_of("pair", pair, PAIRS)
    if not 0 < rate < 1:
        raise ValueError(f"rate must lie strictly between 0 and 1, got {rate!r}; it is batch / n")
    if points < 2 or points % 2:
        raise ValueError(f"points must be even and at least 2, got {points!r}")
    if steps == 0:
        return 0.0
    log_transform, size_from_here = _log_transform(pair, std, rate, points, limit)
    alive = int(np.searchsorted(-size_from_here, min(30, 60 / steps)))  # beyond, rounding, or a power below e^{−60}
    frequency = math.pi / limit * np.arange(alive)
    power = np.exp(steps * log_transform[:alive])

    step = 2 * limit / points
    first = math.floor(points * (limit + epsilon) / (2 * limit)) + 1  # the first grid point above ε
    s, count = -limit + step * first, points - first

    def geometric(
        decay: float,
    ) -> Complex:  # Σ_j e^{−decay·(s_j − s)} e^{i t s_j} over the points above ε
        log_ratio = (1j * frequency - decay) * step
        flat = log_ratio == 0
        total = np.where(flat, count, np.expm1(count * log_ratio) / np.where(flat, 1.0, np.expm1(log_ratio)))
        value: Complex = np.exp(1j * frequency * s) * total
        return value

    weight = geometric(0.0) - math.exp(epsilon - s) * geometric(1.0)
    twice = np.where(frequency == 0, 1.0, 2.0)  # a real density: negative frequencies mirror the positive ones
    return float(np.sum(twice * (power * weight).real) / points)
