"""What DP-Fast MH, as published, gives away in one step: exact sums, no simulation. Writes docs/theory/fast-mh.md.

    python docs/scripts/fast_mh_leak.py            # replaces the table in the page
    python docs/scripts/fast_mh_leak.py --check    # says whether the page is up to date, writes nothing

The neighbours: one record's log likelihood rises by m = cM in the proposed step, or falls by m; the other records do
not care. No prior, symmetric proposal.
"""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path

import numpy as np
from scipy.stats import poisson

PAGE = Path(__file__).parents[1] / "theory" / "fast-mh.md"
MARKED = re.compile(r"(<!-- fast-mh-leak[^>]*-->\n).*?(<!-- /fast-mh-leak -->)", re.DOTALL)

N, EPSILON, DELTA, RATE = 50_000, 0.05, 1e-5, 10.0  # the authors' mixture experiment
CONSTANT = math.hypot((2 * 3 + 3 * 3) / 2, (3 + 2 * 3) / 2) / 500  # c of a record at ±3, tempered


def allowance(largest_batch: float, n: int = N) -> tuple[float, float]:
    """(ε', δ') of a minibatch of at most K records, equal constants (Z23 Thm 2)."""
    return EPSILON * n / (6 * largest_batch), DELTA * n / (2 * largest_batch)


def is_free(distance: float, largest_batch: float, constant: float = CONSTANT, n: int = N, rate: float = RATE) -> bool:
    """Whether the step adds no noise, on a minibatch and on all records alike."""
    minibatch = 2 * math.log1p(n * constant * distance / rate) <= allowance(largest_batch, n)[0]
    return minibatch and 2 * constant * distance <= EPSILON


def rejection(
    sign: int, distance: float, largest_batch: float, constant: float = CONSTANT, n: int = N, rate: float = RATE
) -> float:
    """P(reject) of the noise-free step: all batch sizes B and, given B, all counts of the one record summed.

    Given B < K the record is drawn with probability 1/n a draw and kept with probability (a + φ)/(a + m); a kept draw
    adds w = log((a + m − φ)/(a + φ)) to the log ratio, to which the other records (φ = m/2) add nothing.
    """
    m, a = constant * distance, rate / n
    mean = rate + n * m
    w = sign * math.log1p(m / a)
    hit = (1 / n) * ((a + (0 if sign > 0 else m)) / (a + m))
    b = np.arange(math.ceil(largest_batch))  # B < K
    # E min(1, e^{sw}), s ~ Binomial(B, hit): 1 if w ≥ 0, else the generating function at e^w
    accept = np.ones(len(b)) if w >= 0 else (1 - hit * -np.expm1(w)) ** b
    law = poisson.pmf(b, mean)
    all_records = 0.0 if sign > 0 else -math.expm1(-m)
    return float(law @ (1 - accept)) + float(poisson.sf(b[-1], mean)) * all_records


def delta_needed(epsilon: float, distance: float, largest_batch: float, **setting: float) -> float:
    """The least δ for which the step is (ε, δ)-DP on this pair: the hockey-stick divergence of the bits, both ways."""
    up, down = (rejection(sign, distance, largest_batch, **setting) for sign in (1, -1))  # type: ignore[arg-type]
    ways = ((up, down), (down, up))
    return max(max(0.0, p - math.exp(epsilon) * q) + max(0.0, (1 - p) - math.exp(epsilon) * (1 - q)) for p, q in ways)


def table() -> str:
    rows = [
        "| ‖θ' − θ‖ | K | P(B < K) | m | claimed | rejects on x, x' | δ at ε = 0.05 | δ at ε = 10 | 1000 such steps |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for distance, batch in ((0.015, 60.0), (0.075, 60.0), (0.15, 60.0), (0.015, 222.0)):
        assert is_free(distance, batch)
        small = poisson.cdf(math.ceil(batch) - 1, RATE + N * CONSTANT * distance)
        up, down = rejection(1, distance, batch), rejection(-1, distance, batch)
        near, far = (delta_needed(epsilon, distance, batch) for epsilon in (EPSILON, 10.0))
        rows.append(
            f"| {distance:g} | {batch:g} | {small:.3f} | {CONSTANT * distance:.2e} | ({EPSILON:g}, {DELTA:.0e}) "
            f"| {up:g}, {down:.3e} | {near:.3e} | {far:.3e} | {-math.expm1(1000 * math.log1p(-far)):.3f} |"
        )
    return "\n".join(rows) + "\n"


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    new = MARKED.sub(lambda match: match[1] + table() + match[2], text)
    if "--check" in sys.argv:
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
