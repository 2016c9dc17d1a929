"""The exact adaptive recursion for choices of bounded range: Barker's bit and selection, constant shift η.

Let D_k(ε) be the largest δ that k adaptive choices can show at ε. Any mean-one likelihood ratio inside an interval
of log-length η is dominated by the two-point law on {e^{η−u}, e^{−u}}, 0 ≤ u ≤ η (spreading lemma), hence

    D_k(ε) = sup_{0≤u≤η}  w(u) D_{k−1}(ε − η + u) + (1 − w(u)) D_{k−1}(ε + u),     w(u) = (1 − e^{−u})/(1 − e^{−η}),

with D_0(ε) = max(0, 1 − e^ε). D_k is convex in γ = e^ε, so linear interpolation in γ on the lattice ε = i·η/m is an
upper bound. On one cell of u both arguments stay in one lattice cell, the objective is A + B s + C/s with s = e^u,
and its maximum has a closed form: no grid over t, no margin for one. What is lost is the interpolation alone, a
fraction of about 1/(2m²) of the steps.

Reference: docs/theory/recursion.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np

from dpmcmc.privacy.two_point import EPS

SECONDS = 6.0  # what one answer may take by the cost model below, which is generous
MAX_SHIFT = 5.0
_LATTICES = (64, 48, 32, 24, 16, 12, 8, 6, 4)  # m, cells for one shift
GROWTH = 1 + 1e-13  # rounding of one step, relative: a few operations on positive numbers


def _cuts(m: int, fine: bool) -> list[int]:
    """Where 0..m is cut: everywhere, or finely about the middle and coarsely outside, which is still a cover."""
    if fine:
        return list(range(m + 1))
    middle, width = m // 2, m // 2
    cuts = {0, m}
    while width > 1:
        cuts |= {max(middle - width, 0), min(middle + width, m)}
        width //= 2
    return sorted(cuts | set(range(max(middle - 2, 0), min(middle + 2, m) + 1)))


def curves(shift: float, m: int, low: int, high: int, fine: bool) -> Iterator[np.ndarray]:
    """Upper bounds on D_0, D_1, … at the lattice points i·η/m, i = low..high."""
    h = shift / m
    lattice = h * np.arange(low, high + 1)
    n = lattice.size
    below = -np.expm1(h * np.arange(-m, 0))  # 1 − γ/γ_low for the m points under the lattice
    cuts = _cuts(m, fine)
    s = np.exp(h * np.arange(m + 1))
    shrink, c = math.exp(-shift), 1 / -math.expm1(-shift)
    weight = -np.expm1(-h * np.arange(m + 1)) * c

    curve = -np.expm1(np.minimum(lattice, 0.0)) * GROWTH
    while True:
        yield curve
        # below the lattice: the chord to D = 1 at γ = 0; above it: D falls, so its last value holds
        wide = np.concatenate([curve[0] + (1 - curve[0]) * below, curve, np.full(m, curve[-1])])
        best = curve.copy()  # u = 0
        for j, k in pairwise(cuts):
            up0, up1 = wide[j : j + n], wide[k : k + n]  # D(ε − η + u) at both ends of the cell
            down0, down1 = wide[m + j : m + j + n], wide[m + k : m + k + n]  # D(ε + u)
            span = s[k] - s[j]
            up, down = (up1 - up0) / span, (down1 - down0) / span  # slopes in s
            rise = (up0 - down0) - (up - down) * s[j]  # difference of the intercepts, −C/c
            fall = shrink * down - up  # −B/c
            inside = (rise > 0) & (fall > 0)
            peak = np.sqrt(np.divide(rise, fall, out=np.full(n, s[j] ** 2), where=inside))
            np.clip(peak, s[j], s[k], out=peak)
            w, step = c * (peak - 1) / peak, peak - s[j]
            value = w * (up0 + step * up) + (1 - w) * (down0 + step * down)
            value += (64 * EPS * c * span) * (up0 - up * s[j])  # |slope of the objective| × cell, from rounding
            np.maximum(best, value, out=best)
            if k < m:
                np.maximum(best, weight[k] * up1 + (1 - weight[k]) * down1, out=best)
        curve = np.minimum(best * GROWTH, 1.0)


def read_curve(curve: np.ndarray, low: int, h: float, epsilon: float) -> float:
    """The curve at ε, by the chord in γ = e^ε (an upper bound, convexity), or its end values."""
    position = (epsilon - 1e-12 * (1 + abs(epsilon))) / h - low  # the curve falls: a little to the left is safe
    i = math.floor(position)
    if i < 0:
        return 1.0
    if i + 1 >= curve.size:
        return float(curve[-1])
    theta = math.expm1((position - i) * h) / math.expm1(h)
    return float(curve[i] + (curve[i + 1] - curve[i]) * theta) * GROWTH


def read_epsilon(curve: np.ndarray, low: int, h: float, delta: float) -> float | None:
    """The least ε at which the curve's chord is at most δ, rounded up, or None if it is nowhere."""
    inside = np.flatnonzero(curve[:-1] <= delta)
    if inside.size == 0:
        return None
    i = int(inside[0])  # the curve falls: D(i) ≤ δ < D(i−1)
    if i == 0:
        return max(0.0, low * h)
    theta = (curve[i - 1] - delta) / (curve[i - 1] - curve[i])
    value = (low + i - 1) * h + math.log1p(float(theta) * math.expm1(h))
    return max(0.0, value + 1e-12 * (1 + abs(value)))


def window(shift: float, count: int, epsilon: float, m: int) -> tuple[int, int]:
    """Lattice points low..high: far enough that what lies outside does not matter. Any window is sound."""
    spread = shift * math.sqrt(count) / 2
    reach = count * shift
    low = -min(reach, epsilon, 6 * spread) - 2 * shift
    high = min(epsilon + 4 * spread, max(reach, epsilon)) + 2 * shift
    return math.floor(low * m / shift), math.ceil(high * m / shift)


def _plan(shift: float, count: int, epsilon: float) -> tuple[int, bool, int, int] | None:
    """The finest lattice that keeps the expected time below ``SECONDS``, or None."""
    if not 0 < shift <= MAX_SHIFT:
        return None
    for m in _LATTICES:
        low, high = window(shift, count, epsilon, m)
        for fine in (True, False):
            cells = len(_cuts(m, fine)) - 1
            seconds = count * (cells + 1) * (50e-6 + 22e-9 * (high - low))
            if seconds <= SECONDS:
                return m, fine, low, high
    return None


def affordable(shift: float, count: int, epsilon: float) -> bool:
    """Whether the recursion over ``count`` choices about ``epsilon`` keeps within its time."""
    return count > 0 and _plan(shift, count, epsilon) is not None


@lru_cache(maxsize=256)
def max_count(shift: float, epsilon: float, delta: float, limit: int) -> int | None:
    """The largest k ≤ ``limit`` that the recursion proves (ε, δ)-DP, or None when it is not affordable."""
    plan = _plan(shift, limit, epsilon)
    if plan is None:
        return None
    m, fine, low, high = plan
    for k, curve in enumerate(curves(shift, m, low, high, fine)):
        if read_curve(curve, low, shift / m, epsilon) > delta:
            return k - 1
        if k == limit:
            break
    return limit


@lru_cache(maxsize=64)
def _curve(shift: float, count: int, epsilon: float) -> tuple[np.ndarray, int, float] | None:
    plan = _plan(shift, count, epsilon)
    if plan is None:
        return None
    m, fine, low, high = plan
    for k, curve in enumerate(curves(shift, m, low, high, fine)):
        if k == count:
            return curve, low, shift / m
    return None


def delta(shift: float, count: int, epsilon: float) -> float | None:
    """Upper bound on δ(ε) of ``count`` adaptive choices of range ``shift``; None when not affordable."""
    answer = _curve(shift, count, epsilon)
    return None if answer is None else read_curve(*answer, epsilon)


def epsilon(shift: float, count: int, delta: float, at_most: float) -> float | None:
    """Upper bound on ε(δ), known to be at most ``at_most``; None when not affordable or not below it."""
    answer = _curve(shift, count, at_most)
    return None if answer is None else read_epsilon(*answer, delta)
