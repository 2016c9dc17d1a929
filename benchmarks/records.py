"""The default with more and more records: time per record, and time over that of the passes it makes.

Logistic regression with 8 covariates, second call in a process. Time per record is compared with a tenth as many
records; seconds of passes are those spent within the reads of the same run. The records are random, and said to be
(`shuffled=True`): at 10⁷ the search begins with a part of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.harness import Comparison, interleaved
from benchmarks.once import measured

RECORDS, COVARIATES = (10**5, 10**6, 10**7), 8


def comparisons() -> Iterator[Comparison]:
    found: dict[int, list[dict[str, float]]] = {n: [] for n in RECORDS}

    def run(n: int) -> None:
        found[n].append(measured("dpmcmc", COVARIATES, n))

    interleaved({str(n): (lambda n=n: run(n)) for n in RECORDS}, warm=False)
    for few, many in pairwise(RECORDS):
        seconds = {f"n = {n}, for {few}": [each["second"] * few / n for each in found[n]] for n in (many, few)}
        top, bottom = seconds
        yield Comparison(f"time per record, n = {many} over {few}", top, seconds, bottom, 1.2)
    for n in RECORDS:
        seconds = {"run": [each["second"] for each in found[n]], "its passes": [each["passes"] for each in found[n]]}
        limit = 3.0 if n == RECORDS[-1] else None
        yield Comparison(f"run over its passes, n = {n}", "run", seconds, "its passes", limit)
