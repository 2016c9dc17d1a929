"""Writes the table of docs/accounting.md that sets claimed ε against ε that is attained.

    python docs/scripts/accounting_excess.py            # some minutes
    python docs/scripts/accounting_excess.py --check    # say whether the table is up to date, write nothing

What is attained is the ε of one fixed choice, repeated (for 10 steps of a bit, of an adversary who chooses again after
every bit): two data sets, or for the conditional row two laws given the rest of the batch. Compositions of bits are
binomial sums; those of sums over batches are laws of the privacy loss on a fine lattice, which are good to about
0.2 %.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from scipy.special import expit, gammaln, ndtr
from scipy.stats import binom, hypergeom

from dpmcmc import privacy
from dpmcmc.privacy.accept_bit import penalty_losses
from dpmcmc.privacy.batch_law import release_curve
from dpmcmc.privacy.convert import epsilon_from_renyi
from dpmcmc.privacy.correction import optimal_correction
from dpmcmc.privacy.loss_law import Curve, best_tilt, composed, loss_law
from dpmcmc.privacy.pair_recursion import Pairs
from dpmcmc.privacy.pair_recursion import curves as pair_curves
from dpmcmc.privacy.recursion import read_epsilon

PAGE = Path(__file__).parents[1] / "accounting.md"
DELTA, STEPS = 1e-6, (10, 100, 1000, 10**4, 10**5)
RANGE = (0.1, 10.0)


def binomial_epsilon(gain: float, loss: float, steps: int, delta: float) -> float:
    """ε at δ of so many independent bits with log P/Q = gain and −loss, the larger of both directions."""
    best = 0.0
    for low, high in ((-loss, gain), (-gain, loss)):
        first = math.expm1(low) / math.expm1(low - high)  # P of the high outcome
        second = first * math.exp(-high)

        def shown(epsilon: float, low: float = low, high: float = high, p: float = first, q: float = second) -> float:
            least = math.floor((epsilon - steps * low) / (high - low))
            return float(binom.sf(least, steps, p) - math.exp(epsilon) * binom.sf(least, steps, q))

        bottom, top = 0.0, 60.0
        for _ in range(50):
            middle = (bottom + top) / 2
            bottom, top = (middle, top) if shown(middle) > delta else (bottom, middle)
        best = max(best, bottom)
    return best


def ratios(p: np.ndarray, q: np.ndarray) -> Iterator[tuple[float, float]]:
    """(gain, loss) of bits with probabilities p ≥ q, those with the largest products first."""
    gain, loss = np.log(p / q), np.log1p((p - q) / (1 - p))
    for i in np.argsort(-gain * loss)[:40]:
        yield float(gain[i]), float(loss[i])


def most(pairs: Iterator[tuple[float, float]], steps: int) -> float:
    """The dearest fixed choice among the bits; for few steps also an adversary who chooses again after every bit."""
    found = list(pairs)
    fixed = max(binomial_epsilon(gain, loss, steps, DELTA) for gain, loss in found)
    return max(fixed, adaptive_epsilon(np.array(found), steps)) if steps <= 10 else fixed


def adaptive_epsilon(front: np.ndarray, steps: int) -> float:
    """ε at δ of an adversary who follows the recursion's advice; all outputs enumerated, so it is attained."""
    gain, loss = front.T
    pairs = Pairs(np.append(-loss, -gain), np.append(gain, loss), 0.0, 2 * math.sqrt(float(np.max(gain * loss))))
    h, reach = pairs.scale / 32, 32 * (steps + 4)
    advice = list(islice(pair_curves(pairs, h, -reach, reach), steps))[::-1]
    high = np.expm1(pairs.lo) / np.expm1(pairs.lo - pairs.hi)
    grid = h * np.arange(-reach, reach + 1)

    def shown(epsilon: float) -> float:
        left, chance = np.array([epsilon]), np.ones(1)
        for curve in advice:
            value = high * np.interp(left[:, None] - pairs.hi, grid, curve)
            value += (1 - high) * np.interp(left[:, None] - pairs.lo, grid, curve)
            choice = np.argmax(value, axis=1)
            left = np.append(left - pairs.hi[choice], left - pairs.lo[choice])
            chance = np.append(chance * high[choice], chance * (1 - high[choice]))
        return float(chance @ -np.expm1(np.minimum(left, 0.0)))

    bottom, top = 0.0, 60.0
    for _ in range(40):
        middle = (bottom + top) / 2
        bottom, top = (middle, top) if shown(middle) > DELTA else (bottom, middle)
    return bottom


def penalty(event: privacy.PenaltyBit, steps: int) -> float:
    gain, loss = penalty_losses(event.std**2 / 2 + event.std * np.linspace(-3, 3, 121), event.shift, event.std)
    order = np.argsort(-gain * loss)[:60]
    return most(iter(zip(gain[order], loss[order], strict=True)), steps)


def poisson(event: privacy.PoissonBarkerBit, steps: int) -> float:
    """One record at either end of its range, the others in the middle, where they add nothing."""
    a, m = event.rate / event.n, event.bound
    t = np.linspace(-4, 4, 81)[:, None]
    s = np.arange(0, 200 + int(20 * (a + m)))
    values = []
    for phi in (0.0, m):
        mean, weight = a + phi, math.log((a + m - phi) / (a + phi))
        values.append(expit(t + s * weight) @ np.exp(s * math.log(mean) - mean - gammaln(s + 1)))
    return most(ratios(values[0], values[1]), steps)


def corrected(event: privacy.SubsampledBarkerBit, x: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Accept probability of statistic x and batch variance."""
    atoms, weights = np.array(optimal_correction(event.noise_variance).pairs).T
    clamped = np.clip(x, -event.clamp, event.clamp)
    noise = np.sqrt(event.noise_variance - variance)
    return sum(w * ndtr((clamped - z) / noise) for z, w in zip(atoms, weights, strict=True))  # type: ignore[return-value]


def barker_data(event: privacy.SubsampledBarkerBit, steps: int) -> float:
    """Data sets: the others all alike, or half at −1 and half at 1; batches enumerated."""
    n, b = event.n, event.batch
    q, t, best = b / n, np.linspace(-3, 3, 61)[:, None], 0.0
    for other in (-1.0, 0.0, 1.0, None):
        law = []
        for value in (1.0, -1.0):
            parts = []
            for inside, count in ((True, b - 1), (False, b)):
                if other is None:
                    ups = np.arange(max(0, count - (n - 1 - (n - 1) // 2)), min(count, (n - 1) // 2) + 1)
                    chance = hypergeom.pmf(ups, n - 1, (n - 1) // 2, count)
                    total, squares = 2.0 * ups - count, np.full(ups.size, float(count))
                else:
                    chance, total, squares = np.ones(1), np.array([other * count]), np.array([other**2 * count])
                if inside:
                    total, squares = total + value, squares + value**2
                middle = 0.0 if other is None else other * b
                x = t + (total - middle) / math.sqrt(b)
                parts.append(corrected(event, x, np.maximum(squares / b - (total / b) ** 2, 0.0)) @ chance)
            law.append(q * parts[0] + (1 - q) * parts[1])
        best = max(best, most(ratios(law[0], law[1]), steps))
    return best


def barker_given_rest(event: privacy.SubsampledBarkerBit, steps: int) -> float:
    """The pair of Lemma 5 given the rest of the batch, of variance 1 and mean 0."""
    b = event.batch
    q, t, one = b / event.n, np.linspace(-3, 3, 121), (b - 1) / b
    value = {y: corrected(event, t + y / math.sqrt(b), np.array(one + one / b * y**2)) for y in (-1.0, 1.0)}
    return max(most(ratios(q * value[1.0] + (1 - q) * g, q * value[-1.0] + (1 - q) * g), steps) for g in value.values())


def batch_sum(event: privacy.SubsampledGaussian, steps: int) -> float:
    """All others at −1, the record at 1 or at −1: qN₂ + (1−q)N₀ against N₀."""
    q, std = event.batch / event.n, event.noise_multiplier
    spread = q * math.sqrt(math.expm1(4 / std**2))
    end = math.log1p(q * math.expm1(2 / std**2 + 8 * 2 / std))  # beyond it less than 1e-15
    h = max(min(spread, q) / 40, end / 25_000, spread * math.sqrt(steps) / 20_000)
    points = math.ceil(end / h)
    upper = release_curve(event, h, points).delta[points:]
    grid = h * np.arange(1, points + 1)
    inside = np.expm1(-grid) > -q  # γ above 1 − q: the Gaussian's profile at s < 1
    s = 1 + np.expm1(-grid[inside]) / q
    mu = 2 / std
    below = q * (ndtr(mu / 2 - np.log(s) / mu) - s * ndtr(-mu / 2 - np.log(s) / mu))
    floor = -np.expm1(-grid)
    left = np.maximum(floor, np.append(below, floor[inside.sum() :]))
    curve = np.concatenate([left[::-1], upper])
    laws = [(loss_law(Curve(np.minimum(curve, 1.0), -points, h)), steps)]
    for guess in (0.1, 0.3, 1.0, 3.0, 9.0):
        for _ in range(4):
            made = composed(laws, best_tilt(laws, guess))
            guess = (read_epsilon(*made, DELTA) if made else None) or 0.0
            if not guess:
                break
        else:
            return guess
    raise RuntimeError(f"no lower bound for {event}, {steps} steps")


CASES = (
    (
        [privacy.PenaltyBit(*one) for one in ((0.003, 1.0), (0.01, 1.0), (0.03, 1.0), (0.1, 3.0), (0.016, 0.5))],
        ((penalty, "data sets"),),
    ),
    (
        [
            privacy.PoissonBarkerBit(*one)
            for one in ((10**5, 0.005, 500.0), (10**5, 0.005, 1500.0), (10**4, 0.05, 1500.0), (10**6, 0.001, 10_000.0))
        ],
        ((poisson, "data sets"),),
    ),
    (
        [
            privacy.SubsampledBarkerBit(*one)
            for one in ((10**6, 1000), (10**5, 1000), (10**4, 1000), (10**4, 100), (10**3, 100), (10**3, 500))
        ],
        ((barker_given_rest, "given the rest of the batch"), (barker_data, "data sets")),
    ),
    (
        [
            privacy.SubsampledGaussian(std, 10**6, round(q * 10**6), "without_replacement")
            for std in (1.0, 2.0, 4.0, 8.0)
            for q in (0.001, 0.01, 0.1, 0.5)
        ],
        ((batch_sum, "data sets"),),
    ),
)


def rows(events: list[privacy.Event], attained: tuple) -> Iterator[tuple[str, int, float, float, list[float]]]:
    """Event, steps, ε by Rényi divergences alone, ε claimed, ε attained; for the steps at which ε is in RANGE."""
    for event in events:
        for steps in (*STEPS, 10**6, 10**7) if isinstance(event, privacy.SubsampledBarkerBit) else STEPS:
            repeated = privacy.Repeat(event, steps)
            renyi, _ = epsilon_from_renyi(lambda orders, e=repeated: privacy.renyi(e, orders), DELTA)
            if not RANGE[0] / 3 <= renyi <= 3 * RANGE[1]:
                continue
            claimed = float(privacy.epsilon(repeated, DELTA))
            if RANGE[0] <= claimed <= RANGE[1]:
                yield str(event), steps, renyi, claimed, [bound(event, steps) for bound, _ in attained]


def table() -> str:
    """The worst and the median excess of each kind, over what is attained."""
    lines = ["| event | attained by | settings | before: worst | now: worst | median | worst at |", "|" + " --- |" * 7]
    for events, attained in CASES:
        found = list(rows(events, attained))  # type: ignore[arg-type]
        for i, (_, how) in enumerate(attained):
            excess = [row[3] / row[4][i] - 1 for row in found]
            worst = found[int(np.argmax(excess))]
            before = max(row[2] / row[4][i] - 1 for row in found)
            name = type(events[0]).__name__
            where = f"{worst[0]}, {worst[1]} steps: {worst[3]:.4g} against {worst[4][i]:.4g}"
            numbers = f"{100 * before:.3g} % | {100 * max(excess):.2g} % | {100 * float(np.median(excess)):.2g} %"
            lines.append(f"| {name} | {how} | {len(found)} | {numbers} | {where} |")
            for name, steps, _, claimed, values in found:
                print(f"{name} {steps} claimed {claimed:.4f} attained {values[i]:.4f} {claimed / values[i] - 1:.2%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    pattern = re.compile(r"(<!-- excess: [^\n]* -->\n)(.*?)(\n<!-- /excess -->)", re.DOTALL)
    text = PAGE.read_text()
    made = pattern.sub(lambda match: match.group(1) + table() + match.group(3), text)
    if not check:
        PAGE.write_text(made)
    print("up to date" if made == text else f"{PAGE.name}: stale")
    sys.exit(made != text and check)


if __name__ == "__main__":
    main()
