"""Many steps of one kind: the adaptive recursion within blocks, laws of the privacy loss across them.

The recursion is exact but its time grows with the steps. So it runs for one block of B steps, and for the remainder;
D_B bounds what a block shows after any past, and blocks compose through the measure that D_B defines (loss_law.py).
One step alone must not be replaced by its curve (that would add a third to the variance of a Barker bit's loss);
for a block of 128 that costs less than 1 % of the variance, half as much of ε.

All steps must be of *one* kind: a block bounds steps that follow each other, with nothing in between but public
randomness. The accountant asks here for nothing else.

Reference: docs/theory/blocks.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from dpmcmc.privacy import pair_recursion, recursion
from dpmcmc.privacy.batch_law import release_law
from dpmcmc.privacy.events import Event, SubsampledGaussian, range_of
from dpmcmc.privacy.loss_law import Curve, LossLaw, best_tilt, coarser, composed, loss_law
from dpmcmc.privacy.pair_recursion import Curves
from dpmcmc.privacy.recursion import read_curve, read_epsilon

SECONDS = 2.0  # what one block may take by the cost models
_BLOCKS = (1024, 768, 512, 384, 256, 192, 128, 96, 64, 48, 32)
_WIDTHS = (9.0, 14.0, 24.0, 48.0)  # where the window of a block ends, in standard deviations; it begins at −6
_LARGEST = 100.0  # an ε beyond it is answered by Rényi divergences alone
_FINEST = 16  # points of the composition's lattice in a block's standard deviation, at least


class Kind(NamedTuple):
    """The recursion of one kind of step: curves on the lattice scale/m over low..high, seconds of a step there."""

    scale: float
    curves: Callable[[int, int, int], Iterator[np.ndarray]]
    seconds: Callable[[int], float]
    lattices: tuple[int, ...]


def kind_of(event: Event, order: float) -> Kind | None:
    """The recursion of ``event``, fine for Rényi orders about ``order``; None where there is none."""
    shift = range_of(event)
    if shift is not None:
        if not 1e-9 < shift <= recursion.MAX_SHIFT:
            return None
        return Kind(
            shift,
            lambda m, low, high: recursion.curves(shift, m, low, high, False),
            lambda points: 8 * (50e-6 + 12e-9 * points),
            (16,),
        )
    own = type(event) in pair_recursion.pairs_of.registry  # one derived from it may cost more
    pairs = pair_recursion.pairs_of(event, order) if own else None
    if pairs is None or not 1e-9 < pairs.scale < 10:
        return None
    return Kind(
        pairs.scale,
        lambda m, low, high: pair_recursion.curves(pairs, pairs.scale / m, low, high),
        lambda points: pairs.lo.size * (5e-6 + 2.2e-9 * points),
        (32, 20, 10),
    )


def law(found: Curves, steps: int) -> LossLaw:
    """The measure of so many steps of a block, on the lattice of the compositions."""
    whole = found.values[-1]
    spread = np.count_nonzero((whole > 1e-3) & (whole < 0.5)) / 3  # points in about one standard deviation
    factor = 2 ** max(0, min(6, math.floor(math.log2(max(spread, 1.0) / _FINEST))))
    return loss_law(coarser(Curve(found.values[steps], found.low, found.h), factor))


@lru_cache(maxsize=4)
def _block(event: Event, order: float, delta: float, most: int) -> Curves | None:
    """A block of at most ``most`` steps, wide enough that what is outside its window costs little of ``delta``."""
    kind = kind_of(event, order)
    if kind is None:
        return None
    for width in _WIDTHS:
        found = _run(kind, width, most)
        if found is None or found.values[-1][-1] <= 1e-7 * delta:
            return found
    return None


def _run(kind: Kind, width: float, most: int) -> Curves | None:
    """The longest block, and if it is all that is asked for, the finest lattice, within the time."""
    for steps in _BLOCKS:
        steps = min(steps, most)
        deviation = kind.scale / 2 * math.sqrt(steps)
        for m in kind.lattices if steps == most else kind.lattices[-1:]:
            low, high = (64 * math.ceil(end * deviation * m / kind.scale / 64) for end in (6.0, width))
            if steps * kind.seconds(low + high + 1) <= SECONDS:
                made = tuple(islice(kind.curves(m, -low, high), steps + 1))
                return Curves(-low, kind.scale / m, made)
    return None


class Source(NamedTuple):
    """What composes: a block's curves, or where there is none the law of a single step."""

    curves: Curves | None
    single: LossLaw | None

    def whole(self, count: int) -> Curve | None:
        """The curve of all steps, if one block holds them."""
        if self.curves is None or count >= len(self.curves.values):
            return None
        return Curve(self.curves.values[count], self.curves.low, self.curves.h)

    def laws(self, count: int) -> list[tuple[LossLaw, int]]:
        if self.curves is None:
            assert self.single is not None
            return [(self.single, count)]
        steps = len(self.curves.values) - 1
        times, rest = divmod(count, steps)
        laws = [(law(self.curves, steps), times)] if times else []
        return laws + ([(law(self.curves, rest), 1)] if rest else [])


def source(event: Event, order: float, delta: float, most: int) -> Source | None:
    """How ``event`` composes with little more than ``delta`` lost at every step; None where it does not."""
    leak = 10.0 ** math.floor(math.log10(max(delta, 1e-300)))
    if type(event) is SubsampledGaussian:
        single = release_law(event, 1e-4 * leak) if event.sampling == "without_replacement" else None
        return None if single is None else Source(None, single)
    found = _block(event, order, leak, min(most, _BLOCKS[0]))
    return None if found is None else Source(found, None)


def delta(event: Event, count: int, epsilon: float, order: float, about: float) -> float | None:
    """Upper bound on δ(ε) of ``count`` adaptive steps, ``about`` its size; None where not affordable."""
    found = source(event, order, about / count, count) if epsilon <= _LARGEST else None
    if found is None:
        return None
    curve = found.whole(count) or composed(laws := found.laws(count), best_tilt(laws, epsilon))
    return None if curve is None else read_curve(curve.delta, curve.low, curve.h, epsilon)


def epsilon(event: Event, count: int, delta: float, order: float, at_most: float) -> float | None:
    """Upper bound on ε(δ), thought to be at most ``at_most``; None where not affordable."""
    found = source(event, order, delta / count, count) if at_most <= _LARGEST else None
    if found is None:
        return None
    if whole := found.whole(count):
        return read_epsilon(whole.delta, whole.low, whole.h, delta)
    laws, guess, value = found.laws(count), at_most, None
    for _ in range(4):
        curve = composed(laws, best_tilt(laws, guess))
        read = None if curve is None else read_epsilon(curve.delta, curve.low, curve.h, delta)
        if read is None:
            return value
        value = read if value is None else min(value, read)
        if abs(read - guess) <= 1e-3 * guess:
            break
        guess = read
    return value


def max_count(event: Event, epsilon: float, delta: float, order: float, known: int, limit: int) -> int:
    """The largest number of steps found to fit, at least ``known``, which fits already; ``limit`` is a first guess."""
    found = source(event, order, delta / max(known, 1), limit) if epsilon <= _LARGEST else None
    if found is None:
        return known

    def fits(count: int) -> bool:
        curve = found.whole(count) or composed(laws := found.laws(count), best_tilt(laws, epsilon))
        return curve is not None and read_curve(curve.delta, curve.low, curve.h, epsilon) <= delta

    good, bad = known, limit + 1
    while bad < 10**9 and fits(bad):
        good, bad = bad, 2 * bad
    while bad - good > max(1, good // 10_000):
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good
