"""The algorithms that can be accounted by name: what one iteration is, and what has been published about it.

>>> barker = ALGORITHMS["barker"]
>>> barker.event(barker.settings(shift=0.04))
BarkerBit(shift=0.04)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from dpmcmc.privacy.events import (
    ADD_REMOVE,
    BarkerBit,
    Compose,
    Event,
    Gaussian,
    MetropolisBit,
    PenaltyBit,
    PoissonBarkerBit,
    Repeat,
    Selection,
    SubsampledBarkerBit,
    SubsampledGaussian,
    SubsampledPenaltyBit,
)
from dpmcmc.privacy.published import heikkila2019, raisa2021, yildirim2019, zhang2023
from dpmcmc.privacy.published.result import largest

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class PublishedBound:
    """A paper's bound on k iterations: its name, ε(settings, k, δ), and whether the claim holds.

    ``steps`` is k(settings, ε, δ); where it is ``None`` it is searched for.
    """

    name: str
    epsilon: Callable[[Settings, int, float], float]
    steps: Callable[[Settings, float, float], int] | None = None
    sound: bool = True

    def max_steps(self, settings: Settings, epsilon: float, delta: float) -> int:
        """The largest k whose ε is within the budget."""
        if self.steps is not None:
            return self.steps(settings, epsilon, delta)
        return largest(lambda k: self.epsilon(settings, k, delta) <= epsilon)


@dataclass(frozen=True)
class Algorithm:
    """A named algorithm: what one iteration is, with which settings, and what has been published about it."""

    name: str
    about: str
    defaults: Settings
    event: Callable[[Settings], Event]
    published: tuple[PublishedBound, ...] = ()

    def settings(self, **given: Any) -> dict[str, Any]:
        """The defaults with what is given in their place; a setting the algorithm does not have raises."""
        given = {name: value for name, value in given.items() if value is not None}
        unknown = sorted(given.keys() - self.defaults.keys())
        if unknown:
            raise ValueError(f"{self.name} has no {', '.join(unknown)}; its settings are {', '.join(self.defaults)}")
        return {**self.defaults, **given}


def named(name: str) -> Algorithm:
    """The algorithm of that name; an unknown one raises with the known."""
    if name not in ALGORITHMS:
        raise ValueError(f"unknown algorithm {name!r}; known: {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def _epsilon(delta_of: Callable[[float], float], delta: float) -> float:
    """The ε at which a decreasing δ(ε) reaches δ."""
    high = 1.0
    while delta_of(high) > delta:
        high *= 2
        if high > 1e4:
            return math.inf
    low = high / 2
    while low > 1e-9 and delta_of(low) <= delta:
        low /= 2
    return low if low <= 1e-9 else float(brentq(lambda e: delta_of(e) - delta, low, high, xtol=1e-12))


def _multiplier(s: Settings) -> float:
    return s["std"] / s["shift"]


def _tau(s: Settings) -> float:
    """R21's τ of a minibatch penalty: noise variance over squared sensitivity."""
    return (s["std"] / raisa2021.theorem35_sensitivity(s["bound"], s["n"], s["batch"], s["temperature"])) ** 2


def _advanced_composition(epsilon: float, steps: int, delta: float) -> float:
    return epsilon * (math.sqrt(-2 * steps * math.log(delta)) + steps * math.expm1(epsilon))


def _fast_mh(s: Settings, steps: int, delta: float) -> float:
    one = zhang2023.theorem1(s["shift"], delta / (2 * max(steps, 1)), s["shift"])  # Δ ≤ ε: the branch without noise
    return zhang2023.composition(one, steps, delta / 2).epsilon


_ALGORITHMS = (
    Algorithm(
        "barker",
        "Barker's test on all records; shift is the largest change of the log ratio",
        {"shift": 0.01},
        lambda s: BarkerBit(s["shift"]),
        (
            PublishedBound(
                "H19 Cor. 1",
                lambda s, k, delta: heikkila2019.corollary1_epsilon(k, s["shift"] / 2, delta),
                lambda s, epsilon, delta: heikkila2019.corollary1_steps(epsilon, delta, s["shift"] / 2),
            ),
        ),
    ),
    Algorithm(
        "barker-subsampled",
        "the corrected Barker test on batches without replacement, log ratios clipped at √batch / N0",
        {"n": 1_000_000, "batch": 1000},
        lambda s: SubsampledBarkerBit(s["n"], s["batch"]),
        (
            PublishedBound(
                "H19 Cor. 2",
                lambda s, k, delta: heikkila2019.corollary2_epsilon(k, s["n"], s["batch"], delta),
                lambda s, epsilon, delta: heikkila2019.corollary2_steps(epsilon, delta, s["n"], s["batch"]),
            ),
            PublishedBound(
                "H19 Cor. 2, made monotone",
                lambda s, k, delta: heikkila2019.corollary2_epsilon(k, s["n"], s["batch"], delta, cost="monotone"),
                lambda s, epsilon, delta: heikkila2019.corollary2_steps(
                    epsilon, delta, s["n"], s["batch"], cost="monotone"
                ),
            ),
        ),
    ),
    Algorithm(
        "penalty",
        "the penalty test on all records with Gaussian noise of standard deviation std",
        {"shift": 1 / 31.6, "std": 1.0},
        lambda s: PenaltyBit(s["shift"], s["std"]),
        (
            PublishedBound(
                "R21 Thm 3.2",
                lambda s, k, delta: _epsilon(lambda e: raisa2021.theorem32_delta(e, k, _multiplier(s), 1), delta),
                lambda s, epsilon, delta: raisa2021.theorem32_steps(epsilon, delta, _multiplier(s), 1),
            ),
            PublishedBound(
                "YE19, R21 Thm 3.1",
                lambda s, k, delta: yildirim2019.epsilon(k, delta, _multiplier(s), 1),
                lambda s, epsilon, delta: yildirim2019.steps(epsilon, delta, _multiplier(s), 1),
            ),
        ),
    ),
    Algorithm(
        "penalty-minibatch",
        "the penalty test on batches without replacement; bound is the largest log ratio of one record",
        {"n": 100_000, "batch": 1000, "bound": 0.14, "std": 0.415, "temperature": 0.01},
        lambda s: SubsampledPenaltyBit(s["n"], s["batch"], s["bound"], s["std"], s["temperature"]),
        (
            PublishedBound(
                "R21 Thm 3.5 (Rényi)",
                lambda s, k, delta: raisa2021.theorem35_rdp_epsilon(k, delta, _tau(s), s["n"], s["batch"]),
                lambda s, epsilon, delta: raisa2021.theorem35_rdp_steps(epsilon, delta, _tau(s), s["n"], s["batch"]),
            ),
            PublishedBound(
                "R21 Thm 3.5 (Fourier, as coded; approximate)",
                lambda s, k, delta: _epsilon(
                    lambda e: raisa2021.theorem35_fourier_delta(e, k, _tau(s), s["n"], s["batch"]), delta
                ),
                lambda s, epsilon, delta: raisa2021.theorem35_fourier_steps(
                    epsilon, delta, _tau(s), s["n"], s["batch"]
                ),
            ),
        ),
    ),
    Algorithm(
        "hmc",
        "DP HMC: leapfrog + 1 gradients with noise gradient_noise × sensitivity, then the penalty test",
        {"shift": 1 / 31.6, "std": 1.0, "gradient_noise": 126.5, "leapfrog": 10},
        lambda s: Compose((PenaltyBit(s["shift"], s["std"]), Repeat(Gaussian(s["gradient_noise"]), s["leapfrog"] + 1))),
        (
            PublishedBound(
                "R21 Thm 4.3",
                lambda s, k, delta: _epsilon(
                    lambda e: raisa2021.theorem43_delta(e, k, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1),
                    delta,
                ),
                lambda s, epsilon, delta: raisa2021.theorem43_steps(
                    epsilon, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1
                ),
            ),
            PublishedBound(
                "R21 Thm 4.2",
                lambda s, k, delta: raisa2021.theorem42_epsilon(
                    k, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1
                ),
                lambda s, epsilon, delta: raisa2021.theorem42_steps(
                    epsilon, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1
                ),
            ),
        ),
    ),
    Algorithm(
        "poisson-barker",
        "Barker's test on Poisson minibatches, exact; bound is m, rate is λ",
        {"n": 100_000, "bound": 0.005, "rate": 1500.0},
        lambda s: PoissonBarkerBit(s["n"], s["bound"], s["rate"]),
    ),
    Algorithm(
        "fastmh",
        "DP-Fast MH as published, in its branch without noise: not private",
        {"shift": 0.01},
        lambda s: MetropolisBit(s["shift"]),
        (PublishedBound("Z23 Thm 1, composed", _fast_mh, sound=False),),
    ),
    Algorithm(
        "selection",
        "one choice among any number of candidates; range is that of the change of utility",
        {"range": 0.01},
        lambda s: Selection(s["range"]),
        (
            PublishedBound(
                "pure DP, advanced composition",
                lambda s, k, delta: min(k * s["range"], _advanced_composition(s["range"], k, delta)),
            ),
        ),
    ),
    Algorithm(
        "sgld",
        "noisy gradients of Poisson minibatches under add/remove, DP-SGLD or DP-SGD",
        {"n": 1_000_000, "batch": 100, "noise_multiplier": 1.2},
        lambda s: SubsampledGaussian(s["noise_multiplier"], s["n"], s["batch"], "poisson", ADD_REMOVE),
        (
            PublishedBound(
                "H19 (Rényi, orders 2–499)",
                lambda s, k, delta: heikkila2019.sgld_epsilon(k, s["noise_multiplier"], s["n"], s["batch"], delta),
                sound=False,  # the batches drawn (with replacement) are not the ones accounted for
            ),
        ),
    ),
)

#: Every algorithm that can be named, in the order of the tables.
ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in _ALGORITHMS}

#: The cases of the table "iterations at (1, 1e-6)" in docs/accounting.md.
STANDARD_CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("barker", {"shift": 0.01}),
    ("barker", {"shift": 0.04}),
    ("barker", {"shift": 0.1}),
    ("barker-subsampled", {"n": 1_000_000, "batch": 1000}),
    *(("penalty", {"shift": std / 31.6, "std": std}) for std in (0.5, 1.0, 2.0, 3.0)),
    ("penalty", {"shift": 1 / 316, "std": 1.0}),
    *(
        ("penalty-minibatch", {"n": 100_000, "batch": 1000, "bound": 0.14, "std": std, "temperature": 0.01})
        for std in (0.415, 1.0)
    ),
    ("hmc", {"shift": 1 / 31.6, "std": 1.0, "gradient_noise": 126.5, "leapfrog": 10}),
    ("poisson-barker", {"n": 100_000, "bound": 0.005, "rate": 1500.0}),
    ("selection", {"range": 0.01}),
    ("sgld", {"n": 1_000_000, "batch": 100, "noise_multiplier": 1.2}),
    ("fastmh", {"shift": 0.01}),
)
