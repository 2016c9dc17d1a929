"""How sure a reader can become: the table of docs/how-private.md. Run from the repository: prints and writes it.

Pure ε: the odds of two data sets change by at most a factor e^ε.
"""

import math
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "how-private.md"
PRIORS = (0.5, 0.1, 0.01)
EPSILONS = (0.1, 0.5, 1, 2, 3, 5)


def posterior(prior: float, epsilon: float) -> float:
    odds = prior / (1 - prior) * math.exp(epsilon)
    return odds / (1 + odds)


def shown(share: float) -> str:
    return f"{100 * share:.2g} %"


def table() -> str:
    head = ["ε", *(f"{100 * prior:g} % can become at most" for prior in PRIORS)]
    rows = [[f"{epsilon:g}", *(shown(posterior(prior, epsilon)) for prior in PRIORS)] for epsilon in EPSILONS]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, *rows]).replace("|\n", "|\n|" + "---|" * 4 + "\n", 1)


if __name__ == "__main__":
    begin, end = r"(<!-- odds: written by docs/scripts/odds_table.py -->\n)", r"(\n<!-- /odds -->)"
    PAGE.write_text(re.sub(begin + ".*?" + end, lambda m: m[1] + table() + m[2], PAGE.read_text(), flags=re.S))
    print(table())
