"""Accounting by name: what one iteration of an algorithm is, and the bounds that have been published about it.

    barker = Accounting("barker", "Barker's test", {"shift": 0.01}, lambda s: BarkerBit(s["shift"]), (H19_COROLLARY_1,))
    barker.event(barker.settings(shift=0.04))

Which algorithms there are is said where they are registered (:mod:`dpmcmc.algorithms`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from dpmcmc.privacy.events import Event
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
class Accounting:
    """What one iteration of an algorithm is, with which settings, and what has been published about it.

    ``cases`` are the settings at which tables show it, each a change of the defaults.
    """

    name: str
    about: str
    defaults: Settings
    event: Callable[[Settings], Event]
    published: tuple[PublishedBound, ...] = ()
    cases: tuple[Settings, ...] = ({},)

    def settings(self, **given: Any) -> dict[str, Any]:
        """The defaults with what is given in their place; a setting the algorithm does not have raises."""
        given = {name: value for name, value in given.items() if value is not None}
        unknown = sorted(given.keys() - self.defaults.keys())
        if unknown:
            raise ValueError(f"{self.name} has no {', '.join(unknown)}; its settings are {', '.join(self.defaults)}")
        return {**self.defaults, **given}


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
    multiplier: float = s["std"] / s["shift"]
    return multiplier


def _tau(s: Settings) -> float:
    """R21's τ of a minibatch penalty: noise variance over squared sensitivity."""
    tau: float = (s["std"] / raisa2021.theorem35_sensitivity(s["bound"], s["n"], s["batch"], s["temperature"])) ** 2
    return tau


def _advanced_composition(epsilon: float, steps: int, delta: float) -> float:
    return epsilon * (math.sqrt(-2 * steps * math.log(delta)) + steps * math.expm1(epsilon))


def _fast_mh(s: Settings, steps: int, delta: float) -> float:
    one = zhang2023.theorem2_full(s["shift"], delta, s["shift"])  # Δ ≤ ε: the branch without noise
    return zhang2023.best_composition(one, steps, delta).epsilon


#: Barker's test on all records (settings: shift).
H19_COROLLARY_1 = PublishedBound(
    "H19 Cor. 1",
    lambda s, k, delta: heikkila2019.corollary1_epsilon(k, s["shift"] / 2, delta),
    lambda s, epsilon, delta: heikkila2019.corollary1_steps(epsilon, delta, s["shift"] / 2),
)

#: The corrected Barker test on batches (n, batch).
H19_COROLLARY_2 = PublishedBound(
    "H19 Cor. 2",
    lambda s, k, delta: heikkila2019.corollary2_epsilon(k, s["n"], s["batch"], delta),
    lambda s, epsilon, delta: heikkila2019.corollary2_steps(epsilon, delta, s["n"], s["batch"]),
)

#: The same with a Theorem 2 that does not fall with the order.
H19_COROLLARY_2_MONOTONE = PublishedBound(
    "H19 Cor. 2, made monotone",
    lambda s, k, delta: heikkila2019.corollary2_epsilon(k, s["n"], s["batch"], delta, cost="monotone"),
    lambda s, epsilon, delta: heikkila2019.corollary2_steps(epsilon, delta, s["n"], s["batch"], cost="monotone"),
)

#: DP-SGLD (n, batch, noise_multiplier). The batches drawn (with replacement) are not the ones accounted for.
H19_SGLD = PublishedBound(
    "H19 (Rényi, orders 2–499)",
    lambda s, k, delta: heikkila2019.sgld_epsilon(k, s["noise_multiplier"], s["n"], s["batch"], delta),
    sound=False,
)

#: The penalty test on all records (shift, std).
R21_THEOREM_32 = PublishedBound(
    "R21 Thm 3.2",
    lambda s, k, delta: _epsilon(lambda e: raisa2021.theorem32_delta(e, k, _multiplier(s), 1), delta),
    lambda s, epsilon, delta: raisa2021.theorem32_steps(epsilon, delta, _multiplier(s), 1),
)

#: The same by zCDP (shift, std).
YE19_PENALTY = PublishedBound(
    "YE19, R21 Thm 3.1",
    lambda s, k, delta: yildirim2019.epsilon(k, delta, _multiplier(s), 1),
    lambda s, epsilon, delta: yildirim2019.steps(epsilon, delta, _multiplier(s), 1),
)

#: The penalty test on batches (n, batch, bound, std, temperature).
R21_THEOREM_35_RENYI = PublishedBound(
    "R21 Thm 3.5 (Rényi)",
    lambda s, k, delta: raisa2021.theorem35_rdp_epsilon(k, delta, _tau(s), s["n"], s["batch"]),
    lambda s, epsilon, delta: raisa2021.theorem35_rdp_steps(epsilon, delta, _tau(s), s["n"], s["batch"]),
)

#: The same by the Fourier accountant (n, batch, bound, std, temperature).
R21_THEOREM_35_FOURIER = PublishedBound(
    "R21 Thm 3.5 (Fourier, as coded; approximate)",
    lambda s, k, delta: _epsilon(lambda e: raisa2021.theorem35_fourier_delta(e, k, _tau(s), s["n"], s["batch"]), delta),
    lambda s, epsilon, delta: raisa2021.theorem35_fourier_steps(epsilon, delta, _tau(s), s["n"], s["batch"]),
)

#: DP HMC (shift, std, gradient_noise, leapfrog).
R21_THEOREM_43 = PublishedBound(
    "R21 Thm 4.3",
    lambda s, k, delta: _epsilon(
        lambda e: raisa2021.theorem43_delta(e, k, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1), delta
    ),
    lambda s, epsilon, delta: raisa2021.theorem43_steps(
        epsilon, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1
    ),
)

#: The same by zCDP (shift, std, gradient_noise, leapfrog).
R21_THEOREM_42 = PublishedBound(
    "R21 Thm 4.2",
    lambda s, k, delta: raisa2021.theorem42_epsilon(k, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1),
    lambda s, epsilon, delta: raisa2021.theorem42_steps(
        epsilon, delta, _multiplier(s), s["gradient_noise"], s["leapfrog"], 1
    ),
)

#: DP-Fast MH in its branch without noise (shift): no such guarantee holds.
Z23_THEOREM_2 = PublishedBound("Z23 Thm 2, composed optimally", _fast_mh, sound=False)

#: A choice of that range as a pure mechanism (range).
PURE_COMPOSED = PublishedBound(
    "pure DP, advanced composition",
    lambda s, k, delta: min(k * s["range"], _advanced_composition(s["range"], k, delta)),
)
