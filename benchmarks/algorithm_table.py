"""The table of docs/algorithms.md: what each algorithm needs, reads and costs, from the recipes themselves.

python benchmarks/algorithm_table.py            # rewrites the table
python benchmarks/algorithm_table.py --check    # only says whether it is up to date
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dpmcmc import algorithms, privacy

PAGE = Path(__file__).parents[1] / "docs" / "algorithms.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

N, CLIP, ORDER = 100_000, 0.01, 22.0
TEMPERED = 0.01  # temperature of the batch algorithms: the records count as 1000


@dataclass(frozen=True)
class Row:
    """A recipe at the table's standard setting."""

    recipe: str
    kernel: Callable[[], object]
    target: str
    needs: str
    records: float
    temperature: float = 1.0


ROWS = [
    Row("dp_barker", lambda: algorithms.dp_barker(0.1, CLIP), "exact unless clipped", "a clip", N),
    Row(
        "dp_barker_subsampled",
        lambda: algorithms.dp_barker_subsampled(0.1, 1000),
        "approximate (tempered)",
        "a temperature; clips at √b/(τn)",
        1000,
        TEMPERED,
    ),
    Row(
        "dp_barker_minibatch",
        lambda: algorithms.dp_barker_minibatch(0.1, TEMPERED * CLIP),
        "exact if the bound is true",
        "a true bound on the tempered log ratio",
        4 * N * TEMPERED * CLIP,
        TEMPERED,
    ),
    Row(
        "dp_penalty", lambda: algorithms.dp_penalty(0.1, CLIP, std=1.0), "exact unless clipped", "a clip, noise std", N
    ),
    Row(
        "dp_penalty_one_component",
        lambda: algorithms.dp_penalty_one_component(0.1, CLIP),
        "exact unless clipped",
        "a clip, noise std",
        N,
    ),
    Row(
        "dp_penalty_guided",
        lambda: algorithms.dp_penalty_guided(0.1, CLIP),
        "exact unless clipped",
        "a clip, noise std",
        N,
    ),
    Row(
        "dp_penalty_minibatch",
        lambda: algorithms.dp_penalty_minibatch(0.1, 1000, CLIP),
        "approximate",
        "a clip, noise std, a batch",
        1000,
        TEMPERED,
    ),
    Row(
        "dp_hmc",
        lambda: algorithms.dp_hmc(0.1, 5, 1.0, 100.0, CLIP),
        "exact unless log ratios are clipped",
        "gradient clip and noise, a clip, noise std",
        7 * N,
    ),
    Row(
        "dp_sgld",
        lambda: algorithms.dp_sgld(1e-8, 1.0),
        "approximate in step and clipping",
        "a gradient clip, a step",
        N,
    ),
    Row(
        "dp_orbit",
        lambda: algorithms.dp_orbit(np.zeros(2), np.eye(2), 16, CLIP),
        "exact for the clipped likelihood",
        "a Gaussian fit, a clip",
        16 * N,
    ),
    Row(
        "dp_hidden_centre",
        lambda: algorithms.dp_hidden_centre(0.1, 16, CLIP),
        "exact unless clipped",
        "a clip",
        16 * N,
    ),
    Row("metropolis", lambda: algorithms.metropolis(0.1), "exact", "nothing", N),
    Row("barker", lambda: algorithms.barker(0.1), "exact", "nothing", N),
    Row("hmc", lambda: algorithms.hmc(0.1, 5), "exact", "gradients", 11 * N),
    Row("sgld", lambda: algorithms.sgld(1e-8), "approximate in the step", "gradients", N),
    Row("seita", lambda: algorithms.seita(0.1, 1000), "approximate", "nothing", 1000),
    Row(
        "tuna_mh", lambda: algorithms.tuna_mh(0.1, 1.0), "exact if the bound is true", "record-wise Lipschitz bounds", N
    ),
    Row(
        "published_fast_mh",
        lambda: algorithms.published_fast_mh(0.1, 1.0),
        "as published",
        "record-wise Lipschitz bounds",
        N,
    ),
]


def table() -> str:
    lines = [
        "| recipe | target | what it needs | records a step | event of a step | zCDP a step |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        event = row.kernel().event(N, row.temperature)  # type: ignore[attr-defined]
        rho = privacy.renyi(event, [ORDER])[0] / ORDER
        names = " + ".join(type(part).__name__ for part in privacy.parts(event))
        cost = "not private" if np.isinf(rho) else f"{rho:.2g}"
        records = "grows" if row.recipe == "seita" else "random" if "_mh" in row.recipe else f"{row.records:,.0f}"
        lines.append(f"| `{row.recipe}` | {row.target} | {row.needs} | {records} | {names} | {cost} |")
    return "\n".join(lines)


def main() -> int:
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{table()}\n"
    if "--check" in sys.argv:
        print("up to date" if new == old else "out of date: run python benchmarks/algorithm_table.py")
        return int(new != old)
    PAGE.write_text(f"{before}{BEGIN}{new}{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
