"""Writes the tables and pictures of docs/accounting.md and docs/theory/published.md.

    python docs/scripts/accounting_table.py            # everything; a minute or two
    python docs/scripts/accounting_table.py --check    # say whether the files are up to date, write nothing

Each table stands between two marker lines in its page and is replaced as a whole.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dpmcmc.algorithms import accounting, standard_cases
from dpmcmc.commands.account import markdown_table, number
from dpmcmc.privacy.compare import Row, compare_steps
from dpmcmc.privacy.published import heikkila2019, raisa2021, zhang2023

DOCS = Path(__file__).parents[1]
EPSILON, DELTA = 1.0, 1e-6


def standard_rows() -> list[Row]:
    """Iterations at (1, 1e-6) for all algorithms."""
    return [row for one, settings in standard_cases() for row in compare_steps(one, EPSILON, DELTA, **settings)]


def table(header: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A Markdown table; numbers as :func:`number` writes them."""
    text = [tuple(cell if isinstance(cell, str) else number(cell) for cell in row) for row in rows]  # type: ignore[arg-type]
    lines = [header, tuple("---" for _ in header), *text]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def theorem2_table() -> str:
    """H19 Thm 2 beside the divergence it bounds."""
    orders = np.array([2, 5, 10, 20, 50, 100, 150])
    published, exact = heikkila2019.theorem2_rdp(orders, 1000), heikkila2019.exact_batch_rdp(orders, 1000)
    rows = [(int(a), float(p), float(e), f"{p / e:.3g}") for a, p, e in zip(orders, published, exact, strict=True)]
    return table(("α", "Thm 2", "exact", "ratio"), rows)


def corollary2_table() -> str:
    """ε of H19's 20 000 iterations, and iterations at ε = 1, by reading of Thm 2."""
    rows: list[tuple[object, ...]] = [
        (
            name,
            f"{heikkila2019.corollary2_epsilon(20_000, 10**6, 1000, DELTA, cost=cost):.4f}",
            heikkila2019.corollary2_steps(EPSILON, DELTA, 10**6, 1000, cost=cost),
        )
        for cost, name in (("plain", "as published"), ("monotone", "made monotone"), ("exact", "exact divergence"))
    ]
    capped = heikkila2019.corollary2_epsilon(20_000, 10**6, 1000, DELTA, largest_order=9)
    rows.append(("as published, orders up to 9 (default of the code)", f"{capped:.4f}", "—"))
    return table(("Cor. 2 with Thm 2 …", "ε of 20 000 iterations", "iterations at ε = 1"), rows)


def theorem35_table() -> str:
    """Minibatch penalty at τ = 0.7, n = 1e5, b = 1000: iterations by reading of Thm 3.5."""
    rows: list[tuple[object, ...]] = []
    for epsilon in (1.0, 2.0, 4.0, 6.0):
        rdp = [raisa2021.theorem35_rdp_steps(epsilon, DELTA, 0.7, 10**5, 1000, variant=v) for v in ("text", "as_coded")]
        pld = [
            raisa2021.theorem35_fourier_steps(epsilon, DELTA, 0.7, 10**5, 1000, variant=v)
            for v in ("as_coded", "one_sided", "text")
        ]
        rows.append((epsilon, *rdp, *pld))
    header = ("ε", "Rényi, text", "Rényi, as coded", "Fourier, as coded (±1)", "Fourier, 0 to 1", "Fourier, ±½ (text)")
    return table(header, rows)


def zhang_table() -> str:
    """What the noise-free branch of Z23 claims and what it could at best be."""
    rows: list[tuple[object, ...]] = []
    for sensitivity in (0.0005, 0.005, 0.05):
        claim = zhang2023.theorem2_full(sensitivity, 1e-5, sensitivity)
        many = zhang2023.composition(claim, 1000, 1e-6)
        rows.append((sensitivity, f"({claim.epsilon:g}, {claim.delta:g})", claim.necessary_delta, many.necessary_delta))
    return table(("Δ", "claimed (ε, δ) of one step", "δ at least, one step", "δ at least, 1000 steps"), rows)


BLOCKS: dict[tuple[str, str], Callable[[], str]] = {
    ("accounting.md", "steps"): lambda: markdown_table(standard_rows()),
    ("theory/published.md", "theorem2"): theorem2_table,
    ("theory/published.md", "corollary2"): corollary2_table,
    ("theory/published.md", "theorem35"): theorem35_table,
    ("theory/published.md", "zhang2023"): zhang_table,
}


def block(page: str, name: str) -> str:
    """The table that stands in the page now."""
    found = _pattern(name).search((DOCS / page).read_text())
    if found is None:
        raise ValueError(f"docs/{page} has no markers for {name!r}")
    return found.group(2).strip()


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- {name}: [^\n]* -->\n)(.*?)(\n<!-- /{name} -->)", re.DOTALL)


def pictures() -> None:
    """ε against steps for four algorithms."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "accounting"})
    import matplotlib.pyplot as plt

    from dpmcmc.commands.account_plot import curves

    cases = (
        ("barker", 3000, {"shift": 0.01}),
        ("penalty", 300, {"shift": 1 / 31.6, "std": 1.0}),
        ("barker-subsampled", 30_000_000, {"n": 10**6, "batch": 1000}),
        ("hmc", 200, {}),
    )
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.2), layout="constrained")
    for axis, (name, most, settings) in zip(axes.flat, cases, strict=True):
        curves(axis, accounting(name), DELTA, most, settings)
        axis.legend(fontsize=7)
    figure.savefig(DOCS / "img" / "accounting.svg", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--no-pictures", action="store_true")
    arguments = parser.parse_args()
    stale = []
    for (page, name), make in BLOCKS.items():
        made = make()
        if made == block(page, name):
            continue
        stale.append(f"docs/{page}: {name}")
        if not arguments.check:
            text = (DOCS / page).read_text()
            (DOCS / page).write_text(_pattern(name).sub(rf"\g<1>{made}\g<3>", text))
    if not (arguments.check or arguments.no_pictures):
        pictures()
    print("\n".join(stale) if stale else "up to date")
    sys.exit(bool(stale) and arguments.check)


if __name__ == "__main__":
    main()
