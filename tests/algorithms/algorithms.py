"""Every algorithm, how it is set up on a problem, and what it claims."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dpmcmc as dp


@dataclass(frozen=True)
class Algorithm:
    """``error`` is None for exact algorithms, otherwise the largest error in posterior standard deviations."""

    kernel: Callable[[Any], Any]
    error: float | None = None
    temperature: float = 1.0
    steps: int = 400


ALGORITHMS = {
    "barker": Algorithm(lambda p: dp.dp_barker(1.5 * p.step, clip=50.0)),
    "penalty": Algorithm(lambda p: dp.dp_penalty(1.5 * p.step, clip=50.0, std=1.0)),
}
