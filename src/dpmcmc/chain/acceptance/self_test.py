"""γ on the device in use: the relative error of the probabilities that decisions are drawn with.

Measured once a process and device against arithmetic of 60 digits, before chains are charged.

Reference: docs/theory/finite-precision.md, (b) and "On the device in use".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np

from dpmcmc.chain.acceptance.barker import Barker
from dpmcmc.chain.acceptance.penalty import SMALLEST_STD, clamp, penalty_probabilities
from dpmcmc.mechanisms.coin import CLAMP, COIN_ERROR, RAREST
from dpmcmc.mechanisms.self_test import refuse

STDS = (SMALLEST_STD, 1.0, 4.0, 30.0)
POINTS = 41
_TERMS = 200
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")

Pair = tuple[Decimal, Decimal]


def check_decisions() -> None:
    """Refuse to go on where probabilities of decisions are farther off than γ, which is what is charged for."""
    refuse(_failures(jax.default_backend()))


@lru_cache(maxsize=8)
def _failures(backend: str) -> tuple[str, ...]:
    return tuple(
        f"probabilities of {name} are off by a relative {error:.2g}, more than {COIN_ERROR:.2g}"
        for name, error in measured()
        if not error <= COIN_ERROR
    )


def measured() -> Iterator[tuple[str, float]]:
    """The largest relative error of the compiled probabilities: Barker's test, and penalty tests."""
    t = np.linspace(-CLAMP, CLAMP, 2 * POINTS)
    edges = np.array([clamp(std) for std in STDS])
    s = np.stack([np.r_[np.linspace(-edge, edge, POINTS), std * np.linspace(-8, 8, POINTS)] for std, edge in
                  zip(STDS, edges, strict=True)])  # fmt: skip
    with jax.enable_x64(True):

        def both(t: jax.Array, s: jax.Array, std: jax.Array) -> tuple[jax.Array, jax.Array]:
            return jnp.stack(Barker(1.0).probabilities(t)), jnp.stack(penalty_probabilities(s, std))

        barker, penalty = jax.device_get(jax.jit(both)(t, s, np.array(STDS)[:, None]))
    yield "Barker's test", _worst(t, barker, _barker)
    for k, std in enumerate(STDS):
        yield f"the penalty test with noise {std:g}", _worst(s[k], penalty[:, k], partial(_penalty, std=std))


def _worst(points: np.ndarray, computed: np.ndarray, exact: Callable[[Decimal], Pair]) -> float:
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        for point, pair in zip(points, computed.T, strict=True):
            for found, right in zip(pair, exact(Decimal(float(point))), strict=True):
                if right >= Decimal(RAREST) / 2:  # below, a coin takes RAREST
                    worst = max(worst, float(abs(Decimal(float(found)) / right - 1))) if np.isfinite(found) else np.inf
                elif not found <= RAREST:
                    worst = np.inf
    return worst


def _barker(t: Decimal) -> Pair:
    return 1 / (1 + (-t).exp()), 1 / (1 + t.exp())


def _penalty(excess: Decimal, std: float) -> Pair:
    """At t = excess + σ²/2: Φ(x) + φ(x) M(y) and φ(x) (M(x) − M(y)), x = excess/σ, y = x + σ."""
    sigma = Decimal(std)
    x = excess / sigma
    accept = _tail(-x) + (excess + sigma * sigma / 2).exp() * _tail(x + sigma)
    reject = _tail(x) - (excess + sigma * sigma / 2).exp() * _tail(x + sigma)
    return accept, reject


def _tail(x: Decimal) -> Decimal:
    """1 − Φ(x): by Φ(x) − ½ = φ(x) Σ x^(2n+1)/(2n+1)!!, and from 4 by the continued fraction of Mills' ratio."""
    if x < 0:
        return 1 - _tail(-x)
    density = (-x * x / 2).exp() / (2 * _PI).sqrt()
    if x < 4:
        term = total = x
        for n in range(1, _TERMS):
            term = term * x * x / (2 * n + 1)
            total += term
        return Decimal("0.5") - density * total
    fraction = x
    for n in range(_TERMS, 0, -1):
        fraction = x + n / fraction
    return density / fraction
