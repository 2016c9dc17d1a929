"""The default against NUTS without privacy, on the same records and for as many effective draws.

Logistic regressions, each in a process of its own without a cache of compiled programs: "cold" is the first call in it,
"warm" the second. Seconds of NUTS are those for 2048 effective draws (benchmarks/peers.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import Comparison, interleaved
from benchmarks.once import measured

COVARIATES, RECORDS = (1, 4, 8, 20), (20_000, 1_000_000)
PEERS = ("BlackJAX", "NumPyro")


def both(covariates: int, records: int) -> Iterator[Comparison]:
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("dpmcmc", *PEERS)}

    def run(name: str) -> None:
        found[name].append(measured(name, covariates, records))

    interleaved({name: (lambda name=name: run(name)) for name in found}, warm=False)
    for state, call in (("cold", "first"), ("warm", "second")):
        seconds = {name: [each[call] for each in runs] for name, runs in found.items()}
        for peer in PEERS:
            pair = {name: seconds[name] for name in ("dpmcmc", peer)}
            yield Comparison(f"{covariates} covariates, n = {records}, {state}", "dpmcmc", pair, peer, 1.0)


def comparisons() -> Iterator[Comparison]:
    for records in RECORDS:
        for covariates in COVARIATES:
            yield from both(covariates, records)
