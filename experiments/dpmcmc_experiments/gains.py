"""One table of what is gained over all papers: ``python -m dpmcmc_experiments.gains docs/results``.

Reads ``<paper>/gains.csv`` of every paper under the folder and writes ``gains.md`` there. A gain is a factor, above 1
where ours is better: more steps for the same ε, less ε for the same steps, a smaller distance or error.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from dpmcmc_experiments.figures import PAPERS

MORE_IS_BETTER = ("length", "effective draws", "records the posterior counts")
ABOUT = """# What is gained, figure by figure

Made by `python -m dpmcmc_experiments.gains docs/results` from the tables `gains.csv` of each paper. *Published* is the
published algorithm with its published accounting; *ours* the same chain with dpmcmc's accounting, or the better twin
that the setting names. *Gain* is the factor, above 1 where ours is better.

| paper | figure | setting | measure | published | ours | gain |
|---|---|---|---|---|---|---|
"""


def gain(measure: str, published: float, ours: float) -> float:
    """The factor by which ours is better."""
    better = any(measure.startswith(kind) for kind in MORE_IS_BETTER)
    over, under = (ours, published) if better else (published, ours)
    return over / under if under else float("nan")


def table(folder: Path) -> str:
    """The Markdown page."""
    found = [folder / paper / "gains.csv" for paper in PAPERS if (folder / paper / "gains.csv").exists()]
    if not found:
        raise FileNotFoundError(f"no gains.csv under {folder}; run dpmcmc reproduce first")
    rows = pd.concat([pd.read_csv(path) for path in found], ignore_index=True)
    lines = [
        f"| {r.paper} | {r.figure} | {r.setting} | {r.measure} | {r.published:.4g} | {r.ours:.4g} "
        f"| {gain(r.measure, r.published, r.ours):.3g} |"
        for r in rows.itertuples()
    ]
    return ABOUT + "\n".join(lines) + "\n"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results")
    (folder / "gains.md").write_text(table(folder))


if __name__ == "__main__":
    main()
