"""The default against NUTS without privacy, on the same records and for as many effective draws.

Logistic regressions, each in a process of its own without a cache of compiled programs: "cold" is the first call in it,
"warm" the second. Seconds of NUTS are those for 2048 effective draws (benchmarks/peers.py). With many records a peer
takes minutes, so fewer sizes are run, and fewer times.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness import ROUNDS, Comparison, interleaved
from benchmarks.once import measured
from benchmarks.peers import FEWER

SIZES = {20_000: (1, 4, 8, 20), 1_000_000: (1, 20)}
"""Records, and with how many covariates."""

PEERS = ("BlackJAX", "NumPyro")


def both(covariates: int, records: int, rounds: int) -> Iterator[Comparison]:
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ("dpmcmc", *PEERS)}

    def run(name: str) -> None:
        found[name].append(measured(name, covariates, records))

    interleaved({name: (lambda name=name: run(name)) for name in found}, rounds, warm=False)
    for state, call in (("cold", "first"), ("warm", "second")):
        seconds = {name: [each[call] for each in runs] for name, runs in found.items()}
        for peer in PEERS:
            pair = {name: seconds[name] for name in ("dpmcmc", peer)}
            yield Comparison(f"{covariates} covariates, n = {records}, {state}", "dpmcmc", pair, peer, 1.0)


def comparisons() -> Iterator[Comparison]:
    for records, sizes in SIZES.items():
        for covariates in sizes:
            yield from both(covariates, records, ROUNDS if records < FEWER else min(ROUNDS, 2))
