"""Calibration: the least noise, or the largest shift, for a budget.

budget = Budget(epsilon=1.0, delta=1e-6)
shift = calibrate(lambda shift: Repeat(BarkerBit(shift), 1000), budget, bracket=(1e-6, 1.0))
multiplier = calibrate(lambda m: Repeat(Gaussian(m), 100), budget, bracket=(0.1, 1000.0))
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpmcmc.arguments import function, instance, numbers, positive, shown
from dpmcmc.privacy.account import delta, fits, fits_cheaply
from dpmcmc.privacy.budget import Budget
from dpmcmc.privacy.events import Event


def calibrate(
    make: Callable[[float], Event], budget: Budget, bracket: tuple[float, float], tolerance: float = 1e-3
) -> float:
    """The parameter at which ``make(parameter)`` just fits the budget: the largest shift, or the least noise.

    The cost may rise or fall along ``bracket`` = (low, high), both positive; the end that fits shows which. The
    parameter returned fits, and is within ``tolerance`` (relative) of one that does not.

    >>> budget = Budget(epsilon=1.0, delta=1e-6)
    >>> multiplier = calibrate(lambda m: Repeat(Gaussian(m), 100), budget, bracket=(0.1, 1000.0))
    """
    function("make", make)
    instance("budget", budget, Budget, "a Budget(epsilon, delta)")
    ends = numbers("bracket", bracket, "be two positive numbers in rising order")
    if ends.shape != (2,) or not 0 < ends[0] < ends[1]:
        raise ValueError(f"bracket must be two positive numbers in rising order, got {shown(bracket)}")
    low, high = bracket
    positive("tolerance", tolerance)
    low_fits, high_fits = fits(make(low), budget), fits(make(high), budget)
    if low_fits and high_fits:
        raise ValueError(f"both ends of the bracket {bracket!r} fit {budget}; widen it towards the costly side")
    if not (low_fits or high_fits):
        raise ValueError(f"neither end of the bracket {bracket!r} fits {budget}; widen it towards the cheap side")
    good, bad = (low, high) if low_fits else (high, low)
    near, _ = _bisect(lambda x: fits_cheaply(make(x), budget), good, bad, max(tolerance, 0.05))
    return _secant(lambda x: _log_delta(make(x), budget), near, bad, math.log(budget.delta), tolerance)


def _bisect(fits: Callable[[float], bool], good: float, bad: float, tolerance: float) -> tuple[float, float]:
    while abs(math.log(good / bad)) > tolerance:
        middle = math.sqrt(good) * math.sqrt(bad)
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good, bad


def _secant(log_delta: Callable[[float], float], good: float, bad: float, target: float, tolerance: float) -> float:
    """Secant steps on log δ against the log of the parameter, kept inside the bracket and aimed just short of δ."""
    sign = math.copysign(1.0, math.log(bad / good))
    at, value, step = good, log_delta(good), 0.04
    while (width := abs(math.log(bad / good))) > tolerance:
        trial = good * math.exp(sign * min(max(step, 0.4 * tolerance), 0.8 * width))
        here = log_delta(trial)
        slope = (here - value) / (sign * math.log(trial / at))
        at, value = trial, here
        good, bad = (trial, bad) if here <= target else (good, trial)
        step = (
            sign * math.log(at / good) + (target - here) / slope - 0.3 * tolerance
            if 0 < slope < math.inf
            else width / 2
        )
    return good


def _log_delta(event: Event, budget: Budget) -> float:
    value = delta(event, budget.epsilon)
    return math.log(value) if value > 0 else -math.inf
