"""The table of docs/algorithms.md: what each registered algorithm needs, reads and costs.

python docs/scripts/algorithm_table.py            # rewrites the table
python docs/scripts/algorithm_table.py --check    # only says whether it is up to date
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from dpmcmc import privacy
from dpmcmc.algorithms import ALGORITHMS, Algorithm
from dpmcmc.algorithms.registry import RECORDS

PAGE = Path(__file__).parents[1] / "algorithms.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
ORDER = 22.0

HEADER = """\
| recipe | target | what it needs | records a step | event of a step | zCDP a step |
|---|---|---|---|---|---|"""


def row(algorithm: Algorithm) -> str:
    event = algorithm.example().event(RECORDS, algorithm.temperature)
    rho = privacy.renyi(event, [ORDER])[0] / ORDER
    names = " + ".join(type(part).__name__ for part in privacy.parts(event))
    cost = "not private" if np.isinf(rho) else f"{rho:.2g}"
    records = algorithm.records if isinstance(algorithm.records, str) else f"{algorithm.records:,.0f}"
    return f"| `{algorithm.name}` | {algorithm.target} | {algorithm.needs} | {records} | {names} | {cost} |"


def table() -> str:
    return "\n".join([HEADER, *map(row, ALGORITHMS.values())])


def main() -> int:
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    new = f"\n{table()}\n"
    if "--check" in sys.argv:
        print("up to date" if new == old else "out of date: run python docs/scripts/algorithm_table.py")
        return int(new != old)
    PAGE.write_text(f"{before}{BEGIN}{new}{END}{after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
